"""Results with the very bits of PyTorch's: where it rounds, and in which order it adds up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import clew
from tests.oracle import to_clew
from tests.tensors import short_name, tensors_in, to_torch

HALVES = [torch.float16, torch.bfloat16]
Function = Callable[..., Any]


def _same_bits(function: Function, *given: Any) -> None:
    """`function(lib, ...)` of both libraries, from the same random stream."""
    torch.manual_seed(3)
    expected = tensors_in(function(torch, *given))
    clew.manual_seed(3)
    found = tensors_in(function(clew, *to_clew(given)))
    for mine, other in zip(found, expected, strict=True):
        theirs = other.detach()
        assert torch.equal(to_torch(mine.detach()).nan_to_num(1e9), theirs.nan_to_num(1e9))


def _grads(function: Function) -> Function:
    """The function's results, and the gradients of its floating inputs."""

    def call(lib: Any, *given: Any) -> list[Any]:
        inputs = [each.clone().requires_grad_() if each.is_floating_point() else each
                  for each in given]  # fmt: skip
        results = tensors_in(function(lib, *inputs))
        seeds = [lib.linspace(-1, 2, each.numel()).to(each.dtype).reshape(each.shape)
                 for each in results]  # fmt: skip
        wanted = [each for each in inputs if each.requires_grad]
        return [*results, *lib.autograd.grad(results, wanted, seeds)]

    return call


def _random(*shape: int, dtype: torch.dtype, low: float = -3.0, high: float = 3.0) -> torch.Tensor:
    return (torch.rand(shape) * (high - low) + low).to(dtype)


# -- elementwise: blocks of neighbours are rounded once, single elements after each step -----------

ELEMENTWISE: dict[str, Function] = {
    "rsqrt": lambda lib, x, y: x.rsqrt(),
    "pow": lambda lib, x, y: x.pow(-0.5),
    "add": lambda lib, x, y: x.add(y, alpha=0.1),
    "sub": lambda lib, x, y: x.sub(y, alpha=-3.125),
    "rsub": lambda lib, x, y: lib.rsub(x, y, alpha=0.3),
    "add_": lambda lib, x, y: x.clone().add_(y, alpha=0.7),
    "logit": lambda lib, x, y: x.logit(),
    "logit_eps": lambda lib, x, y: x.logit(0.02),
    "entr": lambda lib, x, y: lib.special.entr(x),
    "polygamma": lambda lib, x, y: [lib.polygamma(n, 8 * x - 6) for n in (2, 5, 6)],
}
LAYOUTS: dict[str, Function] = {
    "few": lambda x: x[0, :20].clone(),
    "one": lambda x: x[0, 0].clone(),
    "rows": lambda x: x[:3, :100],
    "gaps": lambda x: x[:3, ::2],
    "transposed": lambda x: x[:3, :100].T,
    "columns": lambda x: x.T.contiguous().T,
    "expanded": lambda x: x[0, :5].expand(4, 5),
    "blocks": lambda x: x,
}


@pytest.mark.parametrize("dtype", HALVES, ids=short_name)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name: str, layout: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x, y = (LAYOUTS[layout](_random(8, 200, dtype=dtype, low=0.1, high=0.9)) for _ in range(2))
    _same_bits(ELEMENTWISE[name], x, y)


# -- gradients of halves -----------------------------------------------------------------------


GRADIENTS: dict[str, tuple[Function, tuple[tuple[int, ...], ...]]] = {
    "gradient": (lambda lib, x: lib.gradient(x, spacing=[2.0, 2.1]), ((5, 6),)),
    "gradient_order_2": (lambda lib, x: lib.gradient(x, spacing=0.7, edge_order=2), ((5, 3),)),
    "gradient_points": (
        lambda lib, x: lib.gradient(
            x, dim=0, edge_order=2,
            spacing=[lib.tensor([0.0, 0.7, 2.0, 3.3, 4.1], dtype=x.dtype)],
        ),
        ((5, 6),),
    ),
    "renorm": (lambda lib, x: x.renorm(2, 1, 0.5), ((4, 5, 6),)),
    "vector_norm": (lambda lib, x: lib.linalg.vector_norm(x, 0.5, dim=1), ((4, 5),)),
    "fold": (lambda lib, x: lib.nn.functional.fold(x, (6, 6), 3), ((2, 18, 16),)),
    "unfold": (lambda lib, x: lib.nn.functional.unfold(x, 3, padding=1), ((2, 3, 6, 6),)),
    "conv_transpose2d": (
        lambda lib, x, w, b: lib.nn.functional.conv_transpose2d(x, w, b, stride=2, padding=1),
        ((2, 4, 5, 5), (4, 3, 3, 3), (3,)),
    ),
    "conv_transpose2d_wide_end": (
        lambda lib, x, w: lib.nn.functional.conv_transpose2d(
            x, w, stride=(3, 2), padding=(1, 2), output_padding=(2, 3), groups=2, dilation=4
        ),
        ((2, 2, 4, 4), (2, 2, 4, 5)),
    ),
    "conv2d": (
        lambda lib, x, w: lib.nn.functional.conv2d(x, w, padding=1, stride=2),
        ((2, 4, 7, 7), (3, 4, 3, 3)),
    ),
    "poisson_nll_loss": (
        lambda lib, x, y: lib.nn.functional.poisson_nll_loss(
            x.abs() + 0.5, y.abs() + 1, log_input=False, full=True
        ),
        ((9,), (9,)),
    ),
    "binary_cross_entropy": (
        lambda lib, x, y: lib.nn.functional.binary_cross_entropy(x, y), ((4, 5), (4, 5))
    ),
}  # fmt: skip


@pytest.mark.parametrize("dtype", HALVES, ids=short_name)
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name: str, dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    function, shapes = GRADIENTS[name]
    low = 0.01 if name == "binary_cross_entropy" else -3.0
    inputs = [
        _random(*shape, dtype=dtype, low=low, high=0.99 if low > 0 else 3.0) for shape in shapes
    ]
    grads = _grads(function)
    # PyTorch's gradients of the weight of a convolution depend on the processor.
    count = 2 if "conv" in name else None
    # In float16 PyTorch's convolutions do, too: some processors have instructions for it.
    with torch.backends.mkldnn.flags(enabled=dtype is not torch.float16):
        _same_bits(lambda lib, *given: grads(lib, *given)[:count], *inputs)


def _own(lib: Any, tensor: torch.Tensor) -> Any:
    return tensor if lib is torch else to_clew(tensor)


@pytest.mark.parametrize("dtype", HALVES, ids=short_name)
def test_gradients_of_bags(dtype: torch.dtype) -> None:
    torch.manual_seed(2)
    weight, index = _random(10, 5, dtype=dtype), torch.randint(0, 10, (6, 7))

    def weighted(lib: Any, table: Any, factors: Any) -> Any:
        options = {"mode": "sum", "per_sample_weights": factors}
        return lib.nn.functional.embedding_bag(_own(lib, index), table, **options)

    def of_mode(mode: str) -> Function:
        return lambda lib, table: lib.nn.functional.embedding_bag(
            _own(lib, index), table, mode=mode
        )

    # Results are compared elsewhere: the last bit of means is the processor's.
    for function, given in (
        (of_mode("sum"), (weight,)),
        (of_mode("mean"), (weight,)),
        (weighted, (weight, _random(6, 7, dtype=dtype))),
    ):
        grads = _grads(function)
        _same_bits(lambda lib, *x, grads=grads: grads(lib, *x)[1:], *given)


# -- floats --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=short_name)
@pytest.mark.parametrize("name", ["hermite_polynomial_h", "hermite_polynomial_he",
                                  "laguerre_polynomial_l", "legendre_polynomial_p"])  # fmt: skip
def test_orthogonal_polynomials(name: str, dtype: torch.dtype) -> None:
    torch.manual_seed(4)
    x = _random(300, dtype=dtype, low=-6, high=6)
    for degree in (0, 1, 2, 5, 13):
        _same_bits(lambda lib, x, n=degree: getattr(lib.special, name)(x, n), x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=short_name)
def test_ctc_loss(dtype: torch.dtype) -> None:
    torch.manual_seed(5)
    chances = torch.randn(30, 4, 7, dtype=dtype).log_softmax(-1)
    targets, lengths = torch.randint(1, 7, (4, 9)), torch.tensor([9, 5, 0, 1])
    read = torch.tensor([30, 25, 30, 2])
    _same_bits(
        lambda lib, *given: lib.nn.functional.ctc_loss(*given, reduction="none"),
        chances, targets, read, lengths,
    )  # fmt: skip


def test_the_weight_of_layer_norm() -> None:
    x, weight, bias = torch.tensor([1000.0]), torch.tensor([2.0]), torch.tensor([1.0])
    function = _grads(lambda lib, x, w, b: lib.nn.functional.layer_norm(x, [1], w, b))
    _same_bits(function, x, weight, bias)


def test_numbers_of_multinomial_come_in_the_order_of_memory() -> None:
    weights = torch.rand(4, 5, generator=torch.manual_seed(6))
    for given in (weights, weights.T, weights[:, ::2].T, weights[:1].T):
        _same_bits(lambda lib, p: lib.multinomial(p, p.shape[-1]), given)
    _same_bits(
        lambda lib, p: lib.vmap(
            lambda row: lib.multinomial(row, 4), in_dims=1, randomness="different"
        )(p),
        weights,
    )


# -- complex numbers -------------------------------------------------------------------------------

COMPLEX: dict[str, Function] = {
    "div": lambda lib, x, y: x / y,
    "by_itself": lambda lib, x, y: x / x,
    "by_a_number": lambda lib, x, y: [x / 3.0, x / (1.5 - 0.3j)],
    "reciprocal": lambda lib, x, y: [x.reciprocal(), 2 / x],
    "abs": lambda lib, x, y: x.abs(),
    "sgn": lambda lib, x, y: x.sgn(),
    "sigmoid": lambda lib, x, y: x.sigmoid(),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers(name: str) -> None:
    for count in (1, 2, 3, 7, 16, 33):
        torch.manual_seed(count)
        x, y = (torch.randn(count, dtype=torch.complex64) for _ in range(2))
        _same_bits(COMPLEX[name], x, y)
    if name not in ("abs", "sgn"):  # of which PyTorch's vectors of doubles are less exact
        _same_bits(COMPLEX[name], x.to(torch.complex128), y.to(torch.complex128))


@pytest.mark.parametrize("dtype", HALVES, ids=short_name)
def test_numbers_without_dimensions_before_and_after_halves(dtype: torch.dtype) -> None:
    x = torch.tensor([3.0, 7.0, 0.3], dtype=dtype)
    for value in (1 / 3, 70000.0, 1e-42):
        number = torch.tensor(value)
        _same_bits(lambda lib, x, n: [n * x, x * n, n / x, x / n, n - x, x + n], x, number)
