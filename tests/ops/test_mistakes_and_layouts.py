"""What is refused among tensors that do not go together, and how gradients lie in memory."""

from __future__ import annotations

import warnings
from typing import Any

from tests.twice import leaf, outcome, raised, twice


@twice
def test_stacks_of_matrices_that_do_not_broadcast(lib: Any) -> Any:
    four, two = lib.eye(3).expand(4, 3, 3), lib.zeros(2, 3, 1)
    pivots = lib.ones(4, 3, dtype=lib.int32)
    return [
        raised(lib.cholesky_solve, two, four, words=16),
        raised(lib.linalg.lu_solve, four, pivots, two, words=16),
        raised(lib.linalg.lu_solve, four, pivots[0], lib.zeros(4, 3, 1), words=16),
        raised(lib.linalg.ldl_solve, four, pivots, two, words=16),
        raised(lib.linalg.lstsq, four, two, words=16),
        raised(lib.take_along_dim, lib.zeros(2, 3), lib.zeros(3, 1, dtype=lib.int64), 1, words=16),
    ]


@twice
def test_dtypes_that_do_not_go_together(lib: Any) -> Any:
    functional, f64 = lib.nn.functional, lib.float64
    image, bytes_ = lib.zeros(2, 3, 2), lib.zeros(2, 2, dtype=lib.uint8)
    weight = lib.zeros(5, 3, 4)
    return [
        raised(functional.nll_loss, image, bytes_),
        raised(functional.cross_entropy, image, bytes_),
        outcome(functional.cross_entropy, lib.zeros(2, 3), bytes_[0]),
        raised(
            functional.bilinear, lib.zeros(2, 3), lib.zeros(2, 4), weight, lib.zeros(5, dtype=f64)
        ),
        raised(lib.zeros(3, dtype=lib.int64).index_fill, 0, lib.tensor([0]), lib.tensor(1j)),
        raised(lib.zeros(3).index_fill, 0, lib.tensor([0]), lib.tensor(1j)),
        raised(lambda: lib.cov(lib.ones(2, 3), fweights=lib.ones(3, dtype=lib.bool)), words=20),
        raised(lambda: lib.histogramdd(lib.ones(3, 2), [2, 2], weight=lib.ones(3, dtype=f64))),
        outcome(lib.take_along_dim, lib.arange(4.0), lib.tensor([2, 0], dtype=lib.int32)),
        lib.diff(lib.tensor([True, False, False]), prepend=lib.tensor([3])),
        lib.diff(lib.tensor([True, False]), n=6, append=lib.tensor([3])),
    ]


@twice
def test_the_dtype_of_masked_logaddexp_is_that_of_its_first_argument(lib: Any) -> Any:
    x, halves = lib.tensor([0.5, -1.0]), lib.tensor([2.0, 1.0], dtype=lib.float16)
    doubles = x.double()
    call = lib.masked.logaddexp
    return call(x, halves), call(halves, x), call(x, doubles, other_mask=x > 0), call(doubles, x)


@twice
def test_numbers_of_random_fills(lib: Any) -> Any:
    x = lib.zeros(2)
    names = ("normal_", "log_normal_", "cauchy_", "exponential_", "geometric_")
    return [raised(getattr(x, name), "x", words=9) for name in names]


@twice
def test_values_to_search_for(lib: Any) -> Any:
    x, seen = lib.tensor([1.0, 2.0]), []
    for wrong in ("x", None, [1.0]):
        seen.append(raised(lib.isin, x, wrong))
        seen.append(raised(lib.searchsorted, x, wrong))
        seen.append(raised(lib.bucketize, wrong, x, words=2))
    return seen


@twice
def test_sparse_copies_of_nothing(lib: Any) -> Any:
    return lib.zeros(0, 5).to_sparse(1), lib.zeros(2, 0).to_sparse(1), lib.zeros(0).to_sparse(1)


@twice
def test_renorm_of_complex_numbers_by_the_largest(lib: Any) -> Any:
    x = leaf(lib, [[1 + 2j, 3 - 1j], [0.5j, 2.0]], "complex128")
    return lib.autograd.grad(lib.renorm(x, float("inf"), 0, 0.5), x, lib.ones_like(x))


def test_renorm_in_single_precision() -> None:
    """PyTorch's gradient is NaN there: it looks for a double among floats."""
    import clew

    grads = []
    for kind in (clew.complex64, clew.complex128):
        x = clew.tensor([[1 + 2j, 3 - 1j], [0.5j, 2.0]], dtype=kind, requires_grad=True)
        clew.renorm(x, float("inf"), 0, 0.5).backward(clew.ones_like(x))
        grads.append(x.grad.to(clew.complex128))
    clew.testing.assert_close(grads[0], grads[1], rtol=1e-6, atol=1e-6)


@twice
def test_where_gradients_have_their_channels(lib: Any) -> Any:
    functional = lib.nn.functional
    x = lib.ones(2, 4, 5, 5, dtype=lib.float64).to(memory_format=lib.channels_last)
    x.requires_grad_()
    calls = {
        "square": lambda: x.square(),
        "power": lambda: x**2.0,
        "lp_pool2d": lambda: functional.lp_pool2d(x, 2.0, 2),
        "group_norm": lambda: functional.group_norm(x, 2),
        "transposed": lambda: x.mT.square(),
    }
    return {
        name: lib.autograd.grad((call() * 1).sum(), x)[0].stride() for name, call in calls.items()
    }


@twice
def test_where_factors_have_their_columns(lib: Any) -> Any:
    matrix = lib.tensor([[4.0, 1.0, 2.0], [1.0, 3.0, 0.5], [2.0, 0.5, 5.0]]).expand(2, 3, 3)
    LD, pivots = lib.linalg.ldl_factor(matrix)
    solution = lib.linalg.ldl_solve(LD, pivots, lib.ones(2, 3, 2))
    return LD.stride(), solution.stride(), solution


@twice
def test_where_transforms_have_their_rows(lib: Any) -> Any:
    real = lib.arange(210.0, dtype=lib.float64).reshape(5, 6, 7)
    seen = {}
    for name, x in (("rows", real), ("columns", real.permute(2, 0, 1)), ("every", real[::2])):
        seen[name] = [
            transform(x, dim=dim).stride()
            for transform in (lib.fft.fftn, lib.fft.rfftn, lib.fft.irfftn, lib.fft.hfftn)
            for dim in ((0,), (1,), (2,), (0, 2), (2, 0), (1, 0, 2))
        ]
    return seen, lib.fft.rfftn(real, dim=(2, 0)), lib.fft.irfftn(real, dim=(0, 1))


@twice
def test_a_loss_whose_weight_alone_has_examples(lib: Any) -> Any:
    lib.manual_seed(0)
    call = lib.nn.functional.binary_cross_entropy
    x, weights = lib.tensor([[0.2, 0.9], [0.5, 0.1]]), lib.arange(12.0).reshape(2, 2, 3)
    return [
        lib.vmap(lambda w, r=r: call(x, x.t(), weight=w, reduction=r), in_dims=-1)(weights)
        for r in ("none", "mean", "sum")
    ]


@twice
def test_slopes_that_alone_have_examples(lib: Any) -> Any:
    x, slopes = (
        lib.tensor([[1.0, -2.0], [-3.0, 4.0]]),
        lib.tensor([[0.5, 0.1, 2.0], [1.0, 3.0, 0.0]]),
    )
    with warnings.catch_warnings():
        # PyTorch warns of the memory that it takes for the result of one example.
        warnings.simplefilter("ignore")
        return lib.vmap(lambda slope: lib.nn.functional.prelu(x, slope), in_dims=-1)(slopes)
