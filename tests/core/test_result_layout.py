"""Strides of results, where operands lie in memory in different orders."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

from tests.twice import outcome, twice


def _inputs(lib: Any) -> list[Any]:
    last = lib.ones(2, 3, 4, 5).to(memory_format=lib.channels_last)
    plain, sliced = lib.ones(2, 3, 4, 5), lib.ones(2, 3, 4, 10)[..., ::2]
    return [
        last, plain, sliced, lib.ones(1, 3, 1, 1), lib.ones(5), lib.ones(3, 1, 1),
        plain.permute(3, 0, 2, 1).contiguous().permute(1, 3, 2, 0),
        lib.ones(2, 3, 4, 1).expand(2, 3, 4, 5),
    ]  # fmt: skip


@twice
def test_of_two_operands(lib: Any) -> Any:
    functions = [lib.add, lib.eq, lib.atan2, lambda a, b: a * b, lambda a, b: a.int() + b]
    seen: list[Any] = []
    for a, b in itertools.product(_inputs(lib), repeat=2):
        seen += [function(a, b).stride() for function in functions]
        seen.append(lib.add(a, b, out=lib.empty(0)).stride())
        seen.append(lib.addcmul(a, b, b).stride())
    return seen


@twice
def test_of_one_operand(lib: Any) -> Any:
    functions = [lib.exp, lib.digamma, lib.neg, lambda a: a * 5, lambda a: a.half() + 1]
    return [function(a).stride() for a in _inputs(lib) for function in functions]


@twice
def test_of_permuted_matrices(lib: Any) -> Any:
    x = lib.ones(2, 3, 8)[:, :, ::2]
    seen = []
    for order in itertools.permutations(range(3)):
        turned = x.permute(order)
        row = lib.ones(turned.size(-1))
        seen += [(turned + row).stride(), (row + turned).stride(), (turned == row).stride()]
    return seen


@twice
def test_of_dimensions_of_size_one(lib: Any) -> Any:
    x = lib.ones(1, 1, 4, 12)[..., ::2]
    seen = []
    for order in itertools.permutations(range(4)):
        turned = x.permute(order)
        row = lib.ones(turned.size(-1))
        for a, b in ((turned, turned), (turned, row), (row, turned)):
            seen += [(a + b).stride(), lib.add(a, b, out=lib.empty(0)).stride()]
            seen.append(lib.eq(a, b, out=lib.empty(0, dtype=lib.bool)).stride())
        seen += [turned.exp().stride(), lib.exp(turned, out=lib.empty(0)).stride()]
    return seen


@twice
def test_of_normalized_images_with_a_dimension_of_size_one(lib: Any) -> Any:
    seen = []
    for shape in ((1, 3, 2, 1), (2, 3, 2, 1), (2, 1, 2, 4), (3, 1, 2, 1)):
        x = lib.arange(24.0)[: math.prod(shape)].reshape(shape).permute(0, 2, 1, 3)
        for training in (True, False):
            out = lib.nn.BatchNorm2d(2).train(training)(x)
            seen.append((out.stride(), out))
    return seen


def _turned(lib: Any) -> list[Any]:
    block = lib.arange(24.0).reshape(4, 3, 2)
    return [
        block, block.permute(2, 0, 1), block[:, :1], block[:, :1].transpose(0, 1),
        lib.ones(1, 3).T, lib.ones(1, 2).movedim(0, -1), lib.ones(3, 1)[::2], lib.ones(4, 3).T,
    ]  # fmt: skip


@twice
def test_of_reductions(lib: Any) -> Any:
    names = ("sum", "mean", "prod", "amax", "amin", "std", "logsumexp", "all", "argmax", "nansum")
    seen: list[Any] = []
    for x in _turned(lib):
        for dim, keepdim in itertools.product(range(x.ndim), (False, True)):
            seen += [getattr(x, name)(dim, keepdim=keepdim).stride() for name in names]
            for name in ("max", "median", "nanmedian", "mode", "kthvalue"):
                args = (1, dim) if name == "kthvalue" else (dim,)
                seen += [each.stride() for each in getattr(x, name)(*args, keepdim=keepdim)]
    return seen


@twice
def test_of_copies_and_rearrangements(lib: Any) -> Any:
    functions = [
        lambda x: x.clone(), lambda x: x.double(), lib.zeros_like, lambda x: x > 0, lib.neg,
        lambda x: x * 7, lambda x: x + x, lambda x: x.flip(0), lambda x: x.roll(1, 0),
        lambda x: x.tril() if x.ndim > 1 else x, lambda x: x.masked_fill(x > 0, 1),
        lambda x: x.index_fill(0, lib.tensor([0]), 1), lambda x: lib.where(x > 0, x, x.clone()),
        lambda x: lib.index_put(x, (lib.tensor([0]),), lib.tensor(1.0)),
    ]  # fmt: skip
    return [function(x).stride() for x in _turned(lib) for function in functions]


@twice
def test_of_sorting(lib: Any) -> Any:
    seen: list[Any] = []
    for x in _turned(lib):
        for dim, descending in itertools.product(range(x.ndim), (False, True)):
            found = [*lib.sort(x, dim=dim, stable=True, descending=descending), *x.topk(1, dim)]
            seen += [(each.stride(), each.storage_offset()) for each in found]
    return seen


@twice
def test_of_indices(lib: Any) -> Any:
    row, column, mask = lib.tensor([0, 1]), lib.tensor([[0], [1]]), lib.tensor([True, True])
    seen: list[Any] = []
    for x in (each for each in _turned(lib) if min(each.shape) > 1):
        keys: list[Any] = [row, column, (slice(None), row), (slice(None), column)]
        if x.ndim > 2:
            keys += [(row, slice(None), row), (slice(None), slice(None), column)]
            keys += [(slice(None), row, row), (0, slice(None), row)]
        seen += [x[key].stride() for key in keys]
    return [*seen, lib.ones(2, 3, 2).permute(2, 1, 0)[mask].stride()]


def _with_ones(lib: Any) -> list[Any]:
    """Memory where dimensions of one element have strides of their own."""
    block = lib.arange(24.0).reshape(4, 3, 2) + 1
    return [
        lib.ones(4)[::4], lib.ones(2, 3)[::2], lib.ones(3, 1).T, lib.ones(1, 3).T,
        lib.ones(3, 4)[:, ::4], lib.ones(2, 1, 4).permute(1, 2, 0), block[:, :1].permute(2, 1, 0),
        lib.ones(1, 2, 4, 3).diagonal(), lib.ones(2, 1, 2)[:, ::2], lib.ones(1, 1, 3)[:, :, 1],
        lib.ones(1).expand(1), lib.ones(4, 3).unfold(0, 2, 1), block.permute(2, 0, 1),
        lib.ones(2, 2).T,
        lib.ones(2, 3, 1, 2).permute(3, 0, 2, 1), lib.ones(3, 1).expand(3, 2), block[::2, 1:],
    ]  # fmt: skip


_PLACED: list[Callable[[Any, Any], Any]] = [
    lambda lib, x: x.nan_to_num(), lambda lib, x: x.deg2rad(), lambda lib, x: x.isreal(),
    lambda lib, x: x.long().isinf(), lambda lib, x: x.long().isfinite(), lambda lib, x: x + 0j,
    lambda lib, x: (x + 0j).abs(), lambda lib, x: (x + 0j).angle(), lambda lib, x: x.angle(),
    lambda lib, x: (x + 0j).isreal(), lambda lib, x: (x + 0j).isinf(),
    lambda lib, x: (x + 0j).sgn(),
    lambda lib, x: lib.conj_physical(x + 0j), lambda lib, x: lib.complex(x, x),
    lambda lib, x: lib.polar(x, x), lambda lib, x: x**2, lambda lib, x: x**0.5,
    lambda lib, x: 2**x,
    lambda lib, x: 1**x, lambda lib, x: x.clamp(0, 1), lambda lib, x: x.clamp(min=0),
    lambda lib, x: x.long().clamp(0, 1), lambda lib, x: x.clamp(min=x),
    lambda lib, x: x.lerp(x, 0.5),
    lambda lib, x: x.cumsum(0), lambda lib, x: x.cumprod(-1), lambda lib, x: x.long().cumsum(-1),
    lambda lib, x: lib.rot90(x) if x.ndim > 1 else x,
    lambda lib, x: x.renorm(2, 0, 1.0) if x.ndim > 1 else x,
    lambda lib, x: lib.kron(x, x), lambda lib, x: lib.mvlgamma(x + 1, 1),
    lambda lib, x: lib.nn.functional.hardtanh(x), lambda lib, x: lib.nn.functional.gelu(x),
    lambda lib, x: lib.nn.functional.logsigmoid(x), lambda lib, x: lib.nn.functional.rrelu(x),
    lambda lib, x: lib.nn.functional.elu(x), lambda lib, x: lib.nn.functional.threshold(x, 0, 1),
    lambda lib, x: lib.nn.functional.prelu(x, lib.tensor([0.5])),
    lambda lib, x: lib.nn.functional.mse_loss(x, x, reduction="none"),
    lambda lib, x: lib.nn.functional.huber_loss(x, x, reduction="none"),
    lambda lib, x: lib.nn.functional.binary_cross_entropy_with_logits(x, x, reduction="none"),
    lambda lib, x: lib.add(x, x, out=lib.empty(0)),
]  # fmt: skip


@twice
def test_of_operations_with_a_place_of_their_own(lib: Any) -> Any:
    return [[function(lib, x).stride() for function in _PLACED] for x in _with_ones(lib)]


@twice
def test_of_two_dtypes(lib: Any) -> Any:
    """An operand that is converted lies where the copy does."""
    functions = [lib.add, lib.eq, lib.atan2, lib.maximum, lambda a, b: lib.where(a > 0, a, b)]
    seen: list[Any] = []
    for a, b in itertools.product(_with_ones(lib), repeat=2):
        if a.shape == b.shape:
            seen += [function(a, b.double()[...]).stride() for function in functions]
            seen += [function(a.int(), b).stride() for function in functions]
    return seen


@twice
def test_of_views(lib: Any) -> Any:
    seen: list[Any] = []
    for x in _with_ones(lib):
        shapes = [(-1,), x.shape, (1, *x.shape), (*x.shape, 1), (x.numel(), 1), (1, x.numel(), 1)]
        for shape in shapes:
            seen.append(x.reshape(shape).stride())
            seen.append(outcome(lambda x=x, shape=shape: x.view(shape).stride()))
        seen += [x.flatten().stride(), x.ravel().stride(), x.view_as(x).stride()]
    return seen


@twice
def test_of_batched_products(lib: Any) -> Any:
    a, b = lib.ones(1, 3, 3, 2).permute(0, 1, 3, 2), lib.ones(3, 1, 3, 2).transpose(0, 1)
    return [(a.mT @ b.mT).stride(), (b @ a).stride(), (b @ b.mT).stride(), (a[0] @ b).stride()]


@twice
def test_of_indices_and_ones(lib: Any) -> Any:
    row, column, mask = lib.tensor([0, 0]), lib.tensor([[0], [0]]), lib.tensor([True])
    seen: list[Any] = []
    for x in _with_ones(lib):
        keys: list[Any] = [row, column, column.T, True, (..., row), (..., column), (None, row)]
        keys += [(..., row, slice(0, 1))] if x.ndim > 1 else []
        keys += [(row, ..., row), (slice(None), column, row), (0, row)] if x.ndim > 2 else []
        keys += [mask] if x.shape[0] == 1 else []
        seen += [x[key].stride() for key in keys]
    return seen


@twice
def test_of_expansion(lib: Any) -> Any:
    x, one = lib.ones(3, 4), lib.tensor(1.0)
    shapes = [(1, 3, 4), (1, 1, 3, 4), (1, 2, 3, 4), (2, 1, 3, 4)]
    return [
        [x.expand(shape).stride() for shape in shapes],
        [one.expand(shape).stride() for shape in [(1,), (1, 1), (1, 2), (2, 1)]],
    ]
