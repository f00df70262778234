"""Views, joins and parts of nested tensors of the jagged layout."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.core.size import SymInt
from clew.core.tensor import Tensor
from clew.ops.define.dims import wrap_dim
from clew.ops.nested.cuts import Jagged
from clew.ops.nested.pointwise import raggedness_matches, write
from clew.ops.nested.tensor import (
    components,
    constant,
    contiguous_only,
    is_nested,
    jagged,
    nested,
    values_of,
)


def refusal(name: str, where: str) -> RuntimeError:
    """What PyTorch says of a function along a dimension that it does not take."""
    return RuntimeError(
        f"{name}(): not supported for NestedTensor on {where}" + errors.at_user_line()
    )


def inner_dim(tensor: Any, dim: int, name: str, ndim: int | None = None) -> int:
    """The dimension of the values for one that is neither the batch nor ragged."""
    wrapped = wrap_dim(dim, tensor._layout.ndim if ndim is None else ndim)
    if wrapped == tensor._cuts.ragged and ndim is None:
        raise refusal(name, "ragged dim")
    if not wrapped:
        raise refusal(name, "dim=0")
    return wrapped - 1


def sizes_of(given: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(given[0]) if len(given) == 1 and isinstance(given[0], (tuple, list)) else given


def _view(plain: Any, self: Any, given: tuple[Any, ...]) -> Tensor:
    cuts: Jagged = self._cuts
    size = sizes_of(given)
    own = tuple(self.shape)
    if cuts.ragged != 1 and own != size:
        raise RuntimeError(
            "view(): does not support ragged_idx != 1 except when inp._size == size. inp._size is "
            f"({own}) and size is ({size})." + errors.at_user_line()
        )
    if (len(size) < 3 and own != size) or not raggedness_matches(self, size):
        raise RuntimeError(
            f"view(): cannot view shape {own} as {list(size)}\n  The batch and the ragged dimension"
            " stay where they are." + errors.at_user_line()
        )
    values = values_of(self)
    place = cuts.ragged - 1
    inner = [values._layout.shape[place] if i == place else n for i, n in enumerate(size[1:])]
    return nested(plain(values, inner), cuts)


@jagged("view", "reshape", "_unsafe_view")
def view(plain: Any, self: Any, *shape: Any, **named: Any) -> Any:
    """Other dimensions behind the ragged one; `view(dtype)` is not there."""
    return _view(plain, self, shape or tuple(named.values()))


@jagged("view_as", "reshape_as")
def view_as(plain: Any, self: Any, other: Any) -> Tensor:
    """The shape of another nested tensor."""
    result: Tensor = self.view(other.shape)
    return result


@jagged("unflatten")
def unflatten(plain: Any, self: Any, dim: int, sizes: Any) -> Tensor:
    """One dimension as several."""
    wrapped = wrap_dim(dim, self._layout.ndim)
    shape = self.shape
    length = shape[wrapped]
    sizes = tuple(sizes)
    if type(length) is SymInt or not wrapped:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim "
            f"{wrapped} ({length}) in the input tensor" + errors.at_user_line()
        )
    values = plain(values_of(self), wrapped - 1, sizes)
    ragged = self._cuts.ragged
    return nested(values, self._cuts.at(ragged + len(sizes) - 1 if wrapped < ragged else ragged))


@jagged("flatten")
def flatten(plain: Any, input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Several dimensions as one; the batch and the ragged one are not among them."""
    start, end = (inner_dim(input, dim, "flatten") for dim in (start_dim, end_dim))
    if start == end:
        return input
    ragged = input._cuts.ragged
    if start < ragged - 1 < end:
        raise refusal("flatten", "ragged dim")
    values = plain(values_of(input), start, end)
    return nested(values, input._cuts.at(ragged - (end - start) if end < ragged else ragged))


@jagged("transpose", "swapaxes", "swapdims")
def transpose(plain: Any, input: Any, dim0: int, dim1: int) -> Tensor:
    """Two dimensions in each other's place; the ragged one may be one of them."""
    one, two = (wrap_dim(dim, input._layout.ndim) for dim in (dim0, dim1))
    ragged = input._cuts.ragged
    if not one or not two:
        if ragged in (one, two):
            raise ValueError(
                "Transpose is not supported on the batch dimension for jagged NT"
                + errors.at_user_line()
            )
        raise refusal("transpose", "dim=0")
    where = {one: two, two: one}.get(ragged, ragged)
    return nested(plain(values_of(input), one - 1, two - 1), input._cuts.at(where))


@jagged("permute")
def permute(plain: Any, input: Any, *dims: Any) -> Tensor:
    """The dimensions in another order; the batch stays first."""
    order = sizes_of(dims)
    ndim = input._layout.ndim
    if len(order) != ndim:
        raise ValueError(
            f"permute(): number of dimensions in the tensor input ({ndim}) does not match the "
            f"length of the desired ordering of dimensions ({len(order)})." + errors.at_user_line()
        )
    wrapped = [wrap_dim(dim, ndim) for dim in order]
    if len(set(wrapped)) != ndim:
        raise ValueError("permute(): duplicate dims are not allowed." + errors.at_user_line())
    if input._cuts.lengths is not None:
        raise ValueError(
            "permute(): not supported on jagged layout nested tensor with holes"
            + errors.at_user_line()
        )
    if wrapped[0]:
        raise ValueError(
            "Permute is not supported on the batch dimension for jagged NT" + errors.at_user_line()
        )
    cuts = input._cuts.at(wrapped.index(input._cuts.ragged))
    return nested(plain(values_of(input), [dim - 1 for dim in wrapped[1:]]), cuts)


@jagged("T", "mT")
def reversed_dims(plain: Any, input: Any) -> Tensor:
    """`mT`, the last two dimensions in each other's place; `T` would move the batch."""
    ndim = input._layout.ndim
    order = (
        range(ndim)[::-1]
        if plain.__name__ == "_all_transposed"
        else (*range(ndim - 2), ndim - 1, ndim - 2)
    )
    result: Tensor = input.permute(tuple(order))
    return result


@jagged("movedim", "moveaxis")
def movedim(plain: Any, input: Any, source: Any, destination: Any) -> Tensor:
    """Some dimensions elsewhere, the others in their order."""
    ndim = input._layout.ndim
    both = (source, destination)
    pairs = both if isinstance(source, (list, tuple)) else ([source], [destination])
    sources, places = ([wrap_dim(dim, ndim) for dim in dims] for dims in pairs)
    rest = iter(dim for dim in range(ndim) if dim not in sources)
    where = dict(zip(places, sources, strict=True))
    order = [where[dim] if dim in where else next(rest) for dim in range(ndim)]
    result: Tensor = input.permute(order)
    return result


@jagged("squeeze")
def squeeze(plain: Any, input: Any, *dims: Any) -> Tensor:
    """Without a dimension of size 1."""
    if len(dims) != 1 or not isinstance(dims[0], int):
        raise type(input).refusal("squeeze")
    contiguous_only(input, "squeeze_dim(self: jt, dim: any)", "self")
    return nested(plain(values_of(input), inner_dim(input, dims[0], "squeeze")), input._cuts)


@jagged("unsqueeze")
def unsqueeze(plain: Any, input: Any, dim: int) -> Tensor:
    """With a new dimension of size 1, anywhere but before the batch."""
    inner = inner_dim(input, dim, "unsqueeze", input._layout.ndim + 1)
    ragged = input._cuts.ragged
    return nested(plain(values_of(input), inner), input._cuts.at(ragged + (inner < ragged)))


@jagged("select")
def select(plain: Any, input: Any, dim: int, index: int) -> Tensor:
    """A component, or one index of a dimension that is not ragged."""
    wrapped = wrap_dim(dim, input._layout.ndim)
    if not wrapped:
        return components(input)[index]
    inner = inner_dim(input, dim, "select")
    ragged = input._cuts.ragged
    if input._cuts.lengths is not None:
        raise ValueError(
            "select(): not yet supported on dim != 0 for non-contiguous nested tensor with holes"
            + errors.at_user_line()
        )
    return nested(
        plain(values_of(input), inner, index), input._cuts.at(ragged - (wrapped < ragged))
    )


@jagged("narrow")
def narrow(plain: Any, input: Any, dim: int, start: Any, length: int) -> Tensor:
    """A range of a dimension that is not ragged."""
    contiguous_only(input, "narrow(self: jt, dim: any, start: any, length: any)", "self")
    return nested(
        plain(values_of(input), inner_dim(input, dim, "narrow"), start, length), input._cuts
    )


@jagged("split", "split_with_sizes")
def split(plain: Any, tensor: Any, sizes: Any, dim: int = 0) -> Any:
    """Parts of a dimension that is neither the batch nor ragged."""
    contiguous_only(tensor, "split_tensor(self: jt, split_size: any, dim: any?)", "self")
    inner = inner_dim(tensor, dim, "split")
    return tuple(nested(part, tensor._cuts) for part in plain(values_of(tensor), sizes, inner))


@jagged("chunk")
def chunk(plain: Any, input: Any, chunks: int, dim: int = 0) -> Any:
    """Some equal parts; of the batch, some components each."""
    contiguous_only(input, "chunk_default(self: jt, chunks: any, dim: any?)", "self")
    values, cuts = values_of(input), input._cuts
    if wrap_dim(dim, input._layout.ndim):
        inner = inner_dim(input, dim, "chunk")
        return tuple(nested(part, cuts) for part in plain(values, chunks, inner))
    groups = [each._array for each in plain(constant(cuts.sizes), chunks)]
    parts = values.split([int(sizes.sum()) for sizes in groups])
    return tuple(
        nested(part, Jagged(constant(np.concatenate([[0], np.cumsum(sizes)]))))
        for part, sizes in zip(parts, groups, strict=True)
    )


@jagged("unbind")
def unbind(plain: Any, input: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """The components."""
    if dim:
        raise RuntimeError(
            "unbind(): only supported for NestedTensor on dim=0" + errors.at_user_line()
        )
    return tuple(components(input))


@jagged("cat", "concat", "concatenate")
def cat(plain: Any, tensors: Any, dim: int = 0) -> Tensor:
    """Joined along a dimension that is neither the batch nor ragged."""
    first = next(each for each in tensors if is_nested(each))
    alike = [each if is_nested(each) else each.expand_as(first) for each in tensors]
    for other in alike:
        if not raggedness_matches(first, other.shape):
            raise RuntimeError(
                f"cat(): nested tensors of shapes {first.shape} and {other.shape} are cut at "
                "different offsets" + errors.at_user_line()
            )
    inner = inner_dim(first, dim, "cat")
    return nested(plain([values_of(each) for each in alike], inner), alike[0]._cuts)


@jagged("stack")
def stack(plain: Any, tensors: Any, dim: int = 0) -> Tensor:
    """Joined along a new dimension behind the ragged one."""
    first = tensors[0]
    for other in tensors:
        if not is_nested(other):
            raise RuntimeError(
                "stack(): expected all nested tensors inputs" + errors.at_user_line()
            )
        if other._layout.ndim != first._layout.ndim:
            raise RuntimeError(
                "stack(): expected all nested tensors to have the same dim" + errors.at_user_line()
            )
        if not raggedness_matches(other, first.shape):
            raise RuntimeError(
                "stack(): expected all nested tensors to have the same nested structure"
                + errors.at_user_line()
            )
    wrapped = wrap_dim(dim, first._layout.ndim + 1)
    if wrapped == first._cuts.ragged:
        raise refusal("stack", "ragged dim")
    inner = inner_dim(first, dim, "stack", first._layout.ndim + 1)
    ragged = first._cuts.ragged
    values = plain([values_of(each) for each in tensors], inner)
    return nested(values, first._cuts.at(ragged + (wrapped < ragged)))


@jagged("expand", "broadcast_to")
def expand(plain: Any, self: Any, *given: Any) -> Tensor:
    """Dimensions of size 1 repeated; the batch and the ragged dimension stay."""
    size = sizes_of(given)
    if not raggedness_matches(self, size):
        raise RuntimeError(
            f"expand(): cannot expand shape {tuple(self.shape)} -> {size}" + errors.at_user_line()
        )
    inner = [-1 if type(n) is SymInt else n for n in size[1:]]
    inner[self._cuts.ragged - 1] = -1
    return nested(values_of(self).expand(*inner), self._cuts)


@jagged("expand_as")
def expand_as(plain: Any, self: Any, other: Any) -> Tensor:
    """The shape of another nested tensor; of a strided tensor, values for its components."""
    if is_nested(self):
        return self.expand(other.shape)
    return nested(self.expand(values_of(other)._layout.shape), other._cuts)


@jagged("__getitem__")
def getitem(plain: Any, self: Any, index: Any) -> Any:
    """A component by its number, and its elements; or parts of dimensions behind the ragged one."""
    parts = list(index) if isinstance(index, tuple) else [index]
    if any(isinstance(part, (Tensor, np.ndarray, list)) for part in parts):
        raise type(self).refusal("index")
    if Ellipsis in parts:
        place = parts.index(Ellipsis)
        missing = self._layout.ndim - sum(p is not None and p is not Ellipsis for p in parts)
        parts[place : place + 1] = [slice(None)] * max(missing, 0)
        is_whole = lambda dim: place <= dim < place + missing  # noqa: E731  # short, used below
    else:
        is_whole = lambda dim: False  # noqa: E731  # the same
    if parts and isinstance(parts[0], int) and not isinstance(parts[0], bool):
        component = components(self)[parts[0]]
        return component[tuple(parts[1:])] if len(parts) > 1 else component
    result, dim = self, 0
    for number, part in enumerate(parts):
        if is_whole(number):
            dim += 1
        elif part is None:
            result = result.unsqueeze(dim)
            dim += 1
        elif isinstance(part, slice):
            result = _sliced(result, dim, part)
            dim += 1
        else:
            result = result.select(dim, part)
    return result


_SLICE = "slice_tensor(self: jt, dim: any?, start: any?, end: any?, step: any?)"


def _sliced(tensor: Any, dim: int, part: slice) -> Tensor:
    contiguous_only(tensor, _SLICE, "self")
    inner = inner_dim(tensor, dim, "slice")
    return nested(values_of(tensor)[(*[slice(None)] * inner, part)], tensor._cuts)


@jagged("__setitem__")
def setitem(plain: Any, self: Any, index: Any, value: Any) -> None:
    """Write to a component, or to elements of it."""
    first, *rest = index if isinstance(index, tuple) else (index,)
    if not isinstance(first, int) or isinstance(first, bool):
        raise type(self).refusal("index_put_")
    changed = nested(values_of(self).clone(), self._cuts)
    components(changed)[first][tuple(rest)] = value
    write(self, changed, "__setitem__")
