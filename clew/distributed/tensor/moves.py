"""Parts of tensors that move between ranks: cut, gathered, reduced; gradients move back.

A tensor is cut along a dimension as `chunk` cuts it: the last ranks may have less, or nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import distributed as dist
from clew.autograd.function import Function
from clew.core.tensor import Tensor, wrap


def bounds(length: int, parts: int, index: int) -> tuple[int, int]:
    """Where a part of a dimension begins and ends."""
    each = -(-length // parts)
    return min(index * each, length), min((index + 1) * each, length)


def cut(array: np.ndarray, dim: int, parts: int, index: int) -> np.ndarray:
    """A part of an array, without gaps."""
    start, end = bounds(array.shape[dim], parts, index)
    place = [slice(None)] * array.ndim
    place[dim] = slice(start, end)
    return np.ascontiguousarray(array[tuple(place)])


def gathered(array: np.ndarray, dim: int, length: int, group: Any) -> np.ndarray:
    """The whole of which each rank has a part."""
    parts = group.size()
    if parts == 1:
        return array
    each = -(-length // parts)
    rows = np.moveaxis(array, dim, 0)
    padded = np.zeros((each, *rows.shape[1:]), array.dtype)
    padded[: rows.shape[0]] = rows
    whole = wrap(np.empty((parts * each, *rows.shape[1:]), array.dtype))
    dist.all_gather_into_tensor(whole, wrap(padded), group=group)
    return np.ascontiguousarray(np.moveaxis(whole._array[:length], 0, dim))


def summed_part(array: np.ndarray, dim: int, group: Any) -> np.ndarray:
    """This rank's part of the sum of arrays."""
    parts, length = group.size(), array.shape[dim]
    if parts == 1:
        return array
    each = -(-length // parts)
    rows = np.moveaxis(array, dim, 0)
    padded = np.zeros((parts * each, *rows.shape[1:]), array.dtype)
    padded[:length] = rows
    part = wrap(np.empty((each, *rows.shape[1:]), array.dtype))
    dist.reduce_scatter_tensor(part, wrap(padded), group=group)
    start, end = bounds(length, parts, group.rank())
    return np.ascontiguousarray(np.moveaxis(part._array[: end - start], 0, dim))


def summed(array: np.ndarray, group: Any) -> np.ndarray:
    """The sum of arrays."""
    total = wrap(np.array(array, order="C"))
    dist.all_reduce(total, group=group)
    return total._array


class _Split(Function):
    """A part of what all have; the gradients of the parts are put together."""

    @staticmethod
    def forward(ctx: Any, whole: Tensor, dim: int, group: Any) -> Tensor:
        ctx.facts = dim, whole.shape[dim], group
        return wrap(cut(whole._array, dim, group.size(), group.rank()))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        dim, length, group = ctx.facts
        return wrap(gathered(grad._array, dim, length, group)), None, None


class _Gather(Function):
    """The whole of which each has a part. Gradients are cut, or summed and cut where each rank
    has a term of them."""

    @staticmethod
    def forward(ctx: Any, part: Tensor, dim: int, length: int, group: Any, terms: bool) -> Tensor:
        ctx.facts = dim, group, terms
        return wrap(gathered(part._array, dim, length, group))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        dim, group, terms = ctx.facts
        if terms:
            part = summed_part(grad._array, dim, group)
        else:
            part = cut(grad._array, dim, group.size(), group.rank())
        return wrap(part), None, None, None, None


class _SumPart(Function):
    """A part of a sum of which each has a term."""

    @staticmethod
    def forward(ctx: Any, term: Tensor, dim: int, group: Any) -> Tensor:
        ctx.facts = dim, term.shape[dim], group
        return wrap(summed_part(term._array, dim, group))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        dim, length, group = ctx.facts
        return wrap(gathered(grad._array, dim, length, group)), None, None


class _Sum(Function):
    """A sum of which each has a term; all have its gradient."""

    @staticmethod
    def forward(ctx: Any, term: Tensor, group: Any) -> Tensor:
        return wrap(summed(term._array, group))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad, None


class _Shared(Function):
    """What all have and each uses for its part: each has a term of the gradient."""

    @staticmethod
    def forward(ctx: Any, whole: Tensor, group: Any) -> Tensor:
        ctx.group = group
        return whole.view_as(whole)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return wrap(summed(grad._array, ctx.group)), None


class _Extreme(Function):
    """The greatest or least elements; those that are equal to one share its gradient."""

    @staticmethod
    def forward(
        ctx: Any, part: Tensor, dims: tuple[int, ...], greatest: bool, groups: list[Any]
    ) -> Tensor:
        choose = np.amax if greatest else np.amin
        found = choose(part._array, axis=dims, keepdims=True)
        for group in groups:
            every = gathered(found[None], 0, group.size(), group)
            found = choose(every, axis=0)
        equal = part._array == found
        count = equal.sum(axis=dims, keepdims=True)
        for group in groups:
            count = summed(count, group)
        ctx.share = wrap((equal / count).astype(part._array.dtype))
        return wrap(found)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad * ctx.share, None, None, None


def split(whole: Tensor, dim: int, group: Any) -> Tensor:
    """This rank's part of a tensor that all have."""
    return _Split.apply(whole, dim % whole.dim(), group)


def gather(part: Tensor, dim: int, length: int, group: Any, terms: bool = False) -> Tensor:
    """The tensor of which each rank has a part."""
    return _Gather.apply(part, dim % part.dim(), length, group, terms)


def sum_part(term: Tensor, dim: int, group: Any) -> Tensor:
    """This rank's part of the sum of all ranks' tensors."""
    return _SumPart.apply(term, dim % term.dim(), group)


def sum_all(term: Tensor, group: Any) -> Tensor:
    """The sum of all ranks' tensors."""
    return _Sum.apply(term, group)


def share(whole: Tensor, group: Any) -> Tensor:
    """A tensor that all ranks have, before each uses it for its own part."""
    return _Shared.apply(whole, group)


def extreme(part: Tensor, dims: tuple[int, ...], greatest: bool, groups: list[Any]) -> Tensor:
    """The greatest or least elements along dimensions that may be cut; the dimensions stay."""
    return _Extreme.apply(part, dims, greatest, groups)
