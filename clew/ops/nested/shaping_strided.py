"""Views, joins and parts of nested tensors of the strided layout: component by component."""

from __future__ import annotations

import math
from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.ops.define.dims import wrap_dim
from clew.ops.nested.cuts import Pieces
from clew.ops.nested.shaping import sizes_of
from clew.ops.nested.tensor import (
    components,
    each,
    is_nested,
    nested,
    of_components,
    strided,
    values_of,
)


def _transposed(tensor: Any, one: int, two: int) -> Tensor:
    """Each component transposed, anew in memory; `is_contiguous` says what PyTorch's view does."""
    if not one or not two:
        raise RuntimeError("Nested tensor dimension 0 cannot be transposed" + errors.at_user_line())
    return each(tensor, lambda component: component.transpose(one - 1, two - 1), False)


@strided("transpose", "swapaxes", "swapdims")
def transpose_strided(plain: Any, input: Any, dim0: int, dim1: int) -> Tensor:
    """Two dimensions of each component in each other's place."""
    ndim = input._layout.ndim
    return _transposed(input, wrap_dim(dim0, ndim), wrap_dim(dim1, ndim))


@strided("contiguous")
def contiguous(plain: Any, self: Any, memory_format: Any = None) -> Any:
    """The tensor itself, unless it is transposed."""
    if self._cuts.is_contiguous:
        return self
    return nested(values_of(self).clone(), Pieces(self._cuts.shapes))


@strided("view", "reshape", "reshape_as")
def view_strided(plain: Any, self: Any, *given: Any) -> Tensor:
    """Other dimensions; -1 is a size that differs between components, and stays."""
    size = tuple(given[0].shape) if given and isinstance(given[0], Tensor) else sizes_of(given)
    cuts: Pieces = self._cuts
    if len(size) < 2 or size[0] not in (cuts.count, -1):
        raise RuntimeError(
            f"view: For now nested view cannot change or infer the implicit batch dimension, of "
            f"{cuts.count} components" + errors.at_user_line()
        )
    shapes = [_shape_of_view(shape, size) for shape in cuts.shapes]
    return nested(values_of(self), Pieces(shapes))


def _shape_of_view(shape: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...]:
    """-1 keeps the size that a component has there; behind its dimensions, what is left."""
    sizes = [shape[dim] if n == -1 and dim < len(shape) else n for dim, n in enumerate(wanted[1:])]
    known = math.prod(n for n in sizes if n != -1)
    total = math.prod(shape)
    if -1 in sizes and known:
        sizes = [total // known if n == -1 else n for n in sizes]
    if math.prod(sizes) != total:
        raise RuntimeError(
            f"shape '{list(wanted)}' is invalid for input of size {total}" + errors.at_user_line()
        )
    return tuple(sizes)


@strided("squeeze")
def squeeze_strided(plain: Any, input: Any, *dims: Any) -> Tensor:
    """Without a dimension of size 1 of all components."""
    if len(dims) != 1:
        raise RuntimeError(
            "squeeze(): For nested tensors, a dimension to be squeezed is required"
            + errors.at_user_line()
        )
    wrapped = wrap_dim(dims[0], input._layout.ndim)
    if not wrapped:
        raise RuntimeError(
            "squeeze(): For nested tensors, squeezing dimension 0 is not supported"
            + errors.at_user_line()
        )
    return each(input, lambda component: component.squeeze(wrapped - 1))


@strided("unsqueeze")
def unsqueeze_strided(plain: Any, input: Any, dim: int) -> Tensor:
    """With a new dimension of size 1 in all components."""
    wrapped = wrap_dim(dim, input._layout.ndim + 1)
    if not wrapped:
        raise RuntimeError(
            "unsqueeze(): For nested tensors, unsqueezing dimension 0 is not supported"
            + errors.at_user_line()
        )
    return each(input, lambda component: component.unsqueeze(wrapped - 1))


@strided("select")
def select_strided(plain: Any, input: Any, dim: int, index: int) -> Tensor:
    """A component, or one index of a dimension of all."""
    wrapped = wrap_dim(dim, input._layout.ndim)
    if not wrapped:
        return components(input)[index]
    return each(input, lambda component: component.select(wrapped - 1, index), False)


@strided("narrow")
def narrow_strided(plain: Any, input: Any, dim: int, start: int, length: int) -> Tensor:
    """Some components, one after another."""
    if dim:
        raise RuntimeError(
            f"narrow(): only dim=0 supported for nested tensors, but got: {dim}"
            + errors.at_user_line()
        )
    return of_components(components(input)[start : start + length], not start)


@strided("chunk")
def chunk_strided(plain: Any, input: Any, chunks: int, dim: int = 0) -> Any:
    """Equal parts of the last dimension."""
    if wrap_dim(dim, input._layout.ndim) != input._layout.ndim - 1:
        raise RuntimeError(
            "Chunk for nested tensors is currently only supported for the last dimension."
            + errors.at_user_line()
        )
    parts = [component.chunk(chunks, -1) for component in components(input)]
    return tuple(of_components(group, False) for group in zip(*parts, strict=True))


@strided("unbind")
def unbind_strided(plain: Any, input: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """The components."""
    if dim:
        raise RuntimeError(
            f"NestedTensor can only be unbound along dimension 0 got dimension {dim} instead."
            + errors.at_user_line()
        )
    return tuple(components(input))


@strided("cat", "concat", "concatenate")
def cat_strided(plain: Any, tensors: Any, dim: int = 0) -> Tensor:
    """The components of several nested tensors, or each joined to the others' of its place."""
    if not all(is_nested(each) for each in tensors):
        raise RuntimeError(
            "cat(): expected each tensor in given list to be nested" + errors.at_user_line()
        )
    lists = [components(each) for each in tensors]
    wrapped = wrap_dim(dim, tensors[0]._layout.ndim)
    if not wrapped:
        return of_components([component for group in lists for component in group])
    return of_components([plain(group, wrapped - 1) for group in zip(*lists, strict=True)])


@strided("__getitem__")
def getitem_strided(plain: Any, self: Any, index: Any) -> Any:
    """A component by its number, then its elements; slices and numbers of other dimensions."""
    parts = index if isinstance(index, tuple) else (index,)
    if parts and isinstance(parts[0], int) and not isinstance(parts[0], bool):
        component = components(self)[parts[0]]
        return component[parts[1:]] if len(parts) > 1 else component
    raise RuntimeError(
        "Internal error: NestedTensorImpl doesn't support sizes.\n  Of a nested tensor of the "
        "strided layout only x[i] and x[i, ...] are there; unbind() gives all components."
        + errors.at_user_line()
    )
