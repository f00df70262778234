"""float16 and bfloat16 are rounded where PyTorch rounds them: results and gradients, bit for bit.

The numbers of a case are given as shapes (of normal numbers) or as tensors. Sizes are small: sums
over many elements are in another order than PyTorch's, whose own depends on the processor.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import clew
from tests.oracle import to_clew
from tests.tensors import to_torch
from tests.twice import twice

Shapes = tuple[Any, ...]
Case = tuple[str, Callable[..., Any], Shapes]

PLACES = torch.arange(90) * 7 % 20
ROWS = PLACES[:, None].expand(90, 8).contiguous()
SIGNS = torch.tensor([1.0, -1.0, -1.0, 1.0, -1.0])

SUMS: list[Case] = [
    ("scatter_add", lambda lib, x, y: x.scatter_add(0, _own(lib, ROWS), y), ((20, 8), (90, 8))),
    ("index_add", lambda lib, x, y: x.index_add(0, _own(lib, PLACES), y), ((20, 8), (90, 8))),
    ("index_add of numbers", lambda lib, x, y: x.index_add(0, _own(lib, PLACES), y), (20, 90)),
    (
        "index_put",
        lambda lib, x, y: x.index_put((_own(lib, PLACES),), y, accumulate=True),
        ((20, 8), (90, 8)),
    ),
    ("put", lambda lib, x, y: x.put(_own(lib, PLACES), y, accumulate=True), (20, 90)),
    ("indexing", lambda lib, x: x[_own(lib, PLACES)], ((20, 8),)),
    ("take", lambda lib, x: x.take(_own(lib, PLACES)), (20,)),
    ("gather", lambda lib, x: x.gather(0, _own(lib, ROWS)), ((20, 8),)),
    ("index_select", lambda lib, x: x.index_select(0, _own(lib, PLACES)), ((20, 8),)),
    ("embedding", lambda lib, x: lib.nn.functional.embedding(_own(lib, PLACES), x), ((20, 8),)),
    ("as_strided", lambda lib, x: x.as_strided((10, 3), (1, 1)), (20,)),
    (
        "segment_reduce",
        lambda lib, x: lib.segment_reduce(
            x, "mean", lengths=_own(lib, torch.tensor([40, 0, 50])), initial=1
        ),
        ((90, 3),),
    ),
    *(
        (
            f"index_reduce {kind}",
            lambda lib, x, y, kind=kind: x.detach().index_reduce(
                0, _own(lib, PLACES), y.detach(), kind
            ),
            ((20, 8), (90, 8)),
        )
        for kind in ("mean", "prod", "amax")
    ),
]
FORMULAS: list[Case] = [
    ("times a number", lambda lib, x: x * 0.6 + 0.3 / x, (200,)),
    ("from float64", lambda lib, x: (x.double() * (1 + 2.0**-12)).to(x.dtype), (200,)),
    ("div by a number", lambda lib, x: lib.div(x, 0.17, rounding_mode="trunc"), (200,)),
    ("div", lambda lib, x, y: lib.div(x * 8, y, rounding_mode="trunc"), (200, 200)),
    ("copysign", lambda lib, x, y: lib.copysign(x, y), (200, 200)),
    ("lerp", lambda lib, x, y, z: lib.lerp(x, y, z), (200, 200, 200)),
    ("prelu", lambda lib, x, y: lib.prelu(x, y), ((2, 7, 5), 7)),
    ("addr", lambda lib, x, y, z: lib.addr(x, y, z, beta=0.6, alpha=0.2), ((40, 30), 40, 30)),
    ("addr of nothing", lambda lib, x, y, z: lib.addr(x, y, z, beta=0), ((40, 30), 40, 30)),
    ("hypot", lambda lib, x, y: lib.hypot(x, y), (200, 200)),
    ("ldexp", lambda lib, x, y: lib.ldexp(x, y), (200, 200)),
    ("xlogy", lambda lib, x, y: lib.xlogy(x, y.abs() + 0.2), (200, 200)),
    ("xlog1py", lambda lib, x, y: lib.special.xlog1py(x, y.abs()), (200, 200)),
    ("pow", lambda lib, x: x.pow(3) + x.pow(-2), (192,)),
    ("log_softmax", lambda lib, x: lib.log_softmax(x * 4, -1), ((10, 20),)),
    ("log_softmax across", lambda lib, x: lib.log_softmax(x * 4, 0), ((10, 20),)),
    ("mse_loss", lambda lib, x, y: lib.nn.functional.mse_loss(x, y), (5, 5)),
    ("mse_loss of many", lambda lib, x, y: lib.nn.functional.mse_loss(x, y), ((5, 5), (5, 5))),
    (
        "binary_cross_entropy",
        lambda lib, x, y, w: lib.nn.functional.binary_cross_entropy(
            x.detach().sigmoid(), y.detach().sigmoid(), w.detach(), reduction="none"
        ),
        ((5, 5), (5, 5), (5, 5)),
    ),
    (
        "kl_div",
        lambda lib, x, y: lib.nn.functional.kl_div(x, y.abs(), reduction="sum"),
        ((5, 6), (5, 6)),
    ),
    ("unfold", lambda lib, x: x.unfold(1, 3, 1), ((4, 12),)),
    ("repeat", lambda lib, x: x.repeat(2, 3, 2), ((3, 2),)),
    ("logsumexp", lambda lib, x: lib.logsumexp(x * 4, 1), ((10, 20),)),
    ("logsumexp of all", lambda lib, x: lib.logsumexp(x * 4, (0, 1), True), ((10, 20),)),
    ("logcumsumexp", lambda lib, x: lib.logcumsumexp(x * 4, 0), ((9, 3),)),
    ("prod", lambda lib, x: lib.prod(x, 1), ((6, 9),)),
    ("prod of all", lambda lib, x: lib.prod(x), ((3, 4),)),
    ("prod across", lambda lib, x: lib.prod(x, 0, keepdim=True), ((9, 6),)),
    *(
        (f"i0e of {size}", lambda lib, x: lib.special.i0e(x * 5), (size,))
        for size in (20, 100, (5, 40))
    ),
    ("i0e of columns", lambda lib, x: lib.special.i0e(x.t() * 5), ((5, 40),)),
    ("sinc", lambda lib, x: lib.sinc(x * 4), (200,)),
    ("addcdiv", lambda lib, x, y, z: lib.addcdiv(x, y, z, value=0.7), (90, 90, 90)),
    (
        "soft_margin_loss",
        lambda lib, x: lib.nn.functional.soft_margin_loss(
            x.detach() * 3, _own(lib, SIGNS).to(x.dtype), reduction="none"
        ),
        (5,),
    ),
]
IMAGES: list[Case] = [
    *(
        (
            f"pad {mode}",
            lambda lib, x, mode=mode: lib.nn.functional.pad(x, (2, 1, 1, 2), mode),
            shape,
        )
        for mode in ("reflect", "replicate", "circular")
        for shape in [((2, 3, 5, 6),)]
    ),
    (
        "pad by less than nothing",
        lambda lib, x: lib.nn.functional.pad(x, (-2, 3), "replicate"),
        ((2, 3, 5),),
    ),
    ("avg_pool2d", lambda lib, x: lib.nn.functional.avg_pool2d(x, 3, 1, 1), ((2, 3, 9, 8),)),
    (
        "avg_pool2d with other divisors",
        lambda lib, x: lib.nn.functional.avg_pool2d(x, 3, 2, 1, True, False),
        ((2, 3, 9, 8),),
    ),
    (
        "avg_pool2d of one divisor",
        lambda lib, x: lib.nn.functional.avg_pool2d(x, 3, divisor_override=5),
        ((2, 3, 9, 8),),
    ),
    (
        "adaptive_avg_pool2d",
        lambda lib, x: lib.nn.functional.adaptive_avg_pool2d(x, (5, 7)),
        ((2, 3, 9, 8),),
    ),
    (
        "adaptive_avg_pool3d",
        lambda lib, x: lib.nn.functional.adaptive_avg_pool3d(x, (3, 7, 1)),
        ((2, 3, 8, 9, 4),),
    ),
    ("pooling of no image", lambda lib, x: lib.nn.functional.avg_pool2d(x, 3), ((0, 3, 9, 8),)),
    *(
        (
            f"interpolate {mode}",
            lambda lib, x, mode=mode, size=size: lib.nn.functional.interpolate(x, size, mode=mode),
            (shape,),
        )
        for mode, shape, size in (
            ("linear", (2, 3, 14), (37,)),
            ("bicubic", (2, 3, 6, 7), (9, 5)),
            ("area", (2, 3, 6, 7, 5), (9, 5, 3)),
        )
    ),
]
NORMS: list[Case] = [
    (
        "batch_norm",
        lambda lib, x, w, b: lib.nn.functional.batch_norm(x, None, None, w, b, True, eps=0.5),
        ((3, 8, 3, 4), 8, 8),
    ),
    (
        "batch_norm by running statistics",
        lambda lib, x, w, b: lib.nn.functional.batch_norm(
            x, w.detach() * 0.5, b.detach() * b.detach(), w, b, eps=0.5
        ),
        ((3, 8, 3, 4), 8, 8),
    ),
    (
        "group_norm",
        lambda lib, x, w, b: lib.nn.functional.group_norm(x, 2, w, b, eps=0.5),
        ((2, 6, 5), 6, 6),
    ),
    (
        "layer_norm",
        lambda lib, x, w, b: lib.nn.functional.layer_norm(x, (6,), w, b, eps=0.5),
        ((1, 6), 6, 6),
    ),
]


# They are sums in float32 in another order than PyTorch's: the last bit may differ.
SUMMED_OTHERWISE = (
    "avg_pool2d",
    "avg_pool2d with other divisors",
    "adaptive_avg_pool2d",
    "batch_norm",
)


def _own(lib: Any, tensor: torch.Tensor) -> Any:
    return to_clew(tensor) if lib is clew else tensor


def _outcome(lib: Any, function: Callable[..., Any], given: list[Any]) -> list[Any]:
    leaves = [each.clone().requires_grad_() for each in given]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = function(lib, *leaves)
    if result.requires_grad:
        waves = lib.arange(result.numel(), dtype=lib.float32).sin()
        result.backward(waves.reshape(result.shape).to(result.dtype))
    return [result.detach(), *(leaf.grad for leaf in leaves)]


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    ("name", "function", "shapes"),
    [*SUMS, *FORMULAS, *IMAGES, *NORMS],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_same_bits(name: str, function: Callable[..., Any], shapes: Shapes, half: str) -> None:
    numbers = torch.Generator().manual_seed(3)
    given = [
        torch.randn(shape, generator=numbers).to(getattr(torch, half))
        for shape in (each if isinstance(each, tuple) else (each,) for each in shapes)
    ]
    theirs = _outcome(torch, function, given)
    ours = _outcome(clew, function, to_clew(given))
    for place, (expected, actual) in enumerate(zip(theirs, ours, strict=True)):
        where = "the result" if not place else f"the gradient of input {place - 1}"
        assert (expected is None) == (actual is None), where
        if expected is not None:
            last_bit = torch.finfo(expected.dtype).eps
            rtol = last_bit if name in SUMMED_OTHERWISE else 0
            torch.testing.assert_close(
                to_torch(actual), expected, rtol=rtol, atol=0, equal_nan=True
            )


def test_addbmm_rounds_after_each_batch() -> None:
    numbers = torch.Generator().manual_seed(3)
    shapes = ((5, 10), (5, 5, 5), (5, 5, 10))
    given = [torch.randn(shape, generator=numbers).bfloat16() * 3 for shape in shapes]
    expected = torch.addbmm(*given, beta=0.6, alpha=0.2)
    actual = clew.addbmm(*to_clew(given), beta=0.6, alpha=0.2)
    torch.testing.assert_close(to_torch(actual), expected, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("number", [1e-3, 0.1, 0.3, 3, 0.7, -0.1])
def test_floor_division_and_xlogy_by_numbers(dtype: str, number: float) -> None:
    """A divisor stays as it is, in float32; what is divided, and a logarithm, is rounded first."""

    def scenario(lib: Any) -> Any:
        seen: list[Any] = []
        for count in (1, 5, 40):
            x = (lib.arange(count, dtype=lib.float32) * 0.1 + number).to(getattr(lib, dtype))
            one = lib.tensor(number)
            seen += [
                x // number, number // x, x // one, lib.floor_divide(x, number),
                lib.div(x, number, rounding_mode="floor"), x.clone().floor_divide_(number),
                lib.div(x, number, rounding_mode="trunc"), x % number, lib.fmod(x, number),
            ]  # fmt: skip
            seen += [lib.xlogy(x, abs(number)), lib.xlogy(number, x), lib.xlogy(x, x)]
        return [each.double().tolist() for each in seen]

    twice(scenario)()
