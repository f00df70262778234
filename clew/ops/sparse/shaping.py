"""Other arrangements of sparse tensors: transposes, parts, and several joined to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.core.tensor import Tensor, wrap
from clew.core.unstrided import LayoutOp, could_not_run
from clew.ops.define.dims import wrap_dim
from clew.ops.shape.joining import cat as join
from clew.ops.sparse.conversion import coalesce, to_sparse
from clew.ops.sparse.pointwise import values_of, with_values
from clew.ops.sparse.tensor import (
    BSC,
    BSR,
    COMPRESSED,
    CSC,
    CSR,
    RULES,
    SparseTensor,
    backend_of,
    batch_dims,
    coo,
    dense_dims,
    is_coo,
    is_sparse,
    of_parts,
    rule,
    sparse_dims,
)

_OTHER_WAY = {CSR: CSC, CSC: CSR, BSR: BSC, BSC: BSR}


def _permuted(self: Tensor, *, dims: tuple[int, ...]) -> Tensor:
    shape = tuple(self._layout.shape[d] for d in dims)
    if self._kind in COMPRESSED:
        return _turned(self, dims, shape)
    count = sparse_dims(self)
    indices, values = (part._array for part in self._parts)
    inner = [d - count for d in dims[count:]]
    places = indices[list(dims[:count])]
    moved = wrap(values.transpose(0, *(1 + d for d in inner)))
    same = dims[:count] == tuple(range(count))
    return coo(places, moved, shape, self._is_merged and same)


def _turned(self: Tensor, dims: tuple[int, ...], shape: tuple[int, ...]) -> Tensor:
    """A compressed tensor with rows for columns, in the layout that is the other way."""
    batch = batch_dims(self)
    wanted = (*range(batch), batch + 1, batch, *range(batch + 2, len(dims)))
    if dims == tuple(range(len(dims))):
        return self.without_history()
    if dims != wanted:
        raise could_not_run("as_strided", "SparseCsrCPU")
    starts, others, values = self._parts
    if self._kind in (BSR, BSC):
        values = wrap(values._array.swapaxes(batch + 1, batch + 2))
    return of_parts(_OTHER_WAY[self._kind], (starts, others, values), shape)


def _inverse(dims: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(d) for d in np.argsort(dims))


PERMUTE = LayoutOp(
    "sparse_permute", _permuted, node="PermuteBackward0",
    grads={"self": lambda g, dims: g.permute(_inverse(dims))},
)  # fmt: skip
TRANSPOSE = LayoutOp(
    "sparse_transpose", _permuted, node="TransposeBackward0",
    grads={"self": lambda g, dims: _turn_back(g, dims)},
)  # fmt: skip
T = LayoutOp(
    "sparse_t", _permuted, node="TBackward0", grads={"self": lambda g, dims: _turn_back(g, dims)}
)


def _turn_back(g: Tensor, dims: tuple[int, ...]) -> Tensor:
    moved = [d for d, n in enumerate(dims) if d != n] or [0, 0]
    result: Tensor = g.transpose(moved[0], moved[-1])
    return result


@rule("permute")
def permute(input: Tensor, *dims: Any) -> Tensor:
    """The dimensions in another order; sparse ones stay in front."""
    given = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    rank = input._layout.ndim
    if len(given) != rank:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {rank} is not equal "
            f"to len(dims) = {len(given)}" + errors.at_user_line()
        )
    order = tuple(wrap_dim(d, rank) for d in given)
    if is_coo(input):
        _keep_apart(input, order)
    result: Tensor = PERMUTE(input, dims=order)
    return result


def _keep_apart(input: Tensor, order: tuple[int, ...]) -> None:
    count = sparse_dims(input)
    if any(d >= count for d in order[:count]):
        raise RuntimeError(
            "permute(sparse_coo): transpositions between sparse and dense dimensions are not "
            f"allowed.Found transposition between {[d for d in order[:count] if d >= count]} "
            "and sparse dimensions" + errors.at_user_line()
        )


@rule("transpose", "swapaxes", "swapdims")
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions in each other's place."""
    rank = input._layout.ndim
    one, two = wrap_dim(dim0, rank), wrap_dim(dim1, rank)
    order = list(range(rank))
    order[one], order[two] = order[two], order[one]
    if is_coo(input):
        _keep_apart(input, tuple(order))
    result: Tensor = TRANSPOSE(input, dims=tuple(order))
    return result


@rule("t")
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix."""
    rank = input._layout.ndim
    if rank > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {rank} sparse "
            "and 0 dense dimensions" + errors.at_user_line()
        )
    result: Tensor = T(input, dims=tuple(range(rank))[::-1])
    return result


@rule("movedim", "moveaxis")
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Dimensions at other places; the rest keep their order."""
    rank = input._layout.ndim
    taken = [wrap_dim(d, rank) for d in np.atleast_1d(source).tolist()]
    placed = [wrap_dim(d, rank) for d in np.atleast_1d(destination).tolist()]
    rest = iter(d for d in range(rank) if d not in taken)
    goes = dict(zip(placed, taken, strict=True))
    return permute(input, *(goes[d] if d in goes else next(rest) for d in range(rank)))


RULES["mT"] = lambda self: transpose(self, -2, -1)
RULES["T"] = lambda self: permute(self, *range(self._layout.ndim)[::-1])
RULES["adjoint"] = RULES["mH"] = RULES["H"] = lambda self: (
    transpose(self, -2, -1).conj() if self.dtype.is_complex else transpose(self, -2, -1)
)


# -- parts -----------------------------------------------------------------------------------------


def _in_coordinates(input: Tensor) -> Tensor:
    """A tensor in coordinates, with its history."""
    return input if is_coo(input) else to_sparse(input)


def _kept(
    input: Tensor, places: np.ndarray, chosen: np.ndarray, shape: Any, in_order: bool
) -> Tensor:
    """Some of the elements, at other places."""
    values = values_of(input)[wrap(chosen)]
    return with_values(coo(places, values.detach(), tuple(shape), in_order), values)


@rule("select")
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """One index of a dimension, which is gone in the result."""
    source = coalesce(_in_coordinates(input))
    shape = list(source._layout.shape)
    dim = wrap_dim(dim, len(shape))
    size = shape[dim]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {errors.shape_list(shape)} "
            f"at dimension {dim}" + errors.at_user_line()
        )
    index %= size
    count = sparse_dims(source)
    del shape[dim]
    places = source._parts[0]._array
    if dim >= count:
        values = values_of(source).select(dim - count + 1, index)
        return with_values(coo(places, values.detach(), tuple(shape), True), values)
    chosen = np.flatnonzero(places[dim] == index)
    rest = np.delete(places[:, chosen], dim, 0)
    if count == 1:
        return values_of(source)[wrap(chosen)].sum(0, dtype=source.dtype)
    return _kept(source, rest, chosen, shape, True)


@rule("__getitem__")
def getitem(self: Tensor, index: Any) -> Tensor:
    """Single indices, whole slices, `...` and None."""
    items = list(index) if isinstance(index, tuple) else [index]
    rank = self._layout.ndim
    if Ellipsis in items:
        place = items.index(Ellipsis)
        used = sum(each is not None for each in items) - 1
        items[place : place + 1] = [slice(None)] * (rank - used)
    result, dim = self, 0
    for each in items:
        if each is None:
            result, dim = result.unsqueeze(dim), dim + 1
        elif isinstance(each, slice):
            size = result._layout.shape[dim]
            if each.indices(size) != (0, size, 1):
                raise could_not_run("as_strided", backend_of((self,)))
            dim += 1
        elif isinstance(each, Tensor) and each._layout.ndim:
            raise could_not_run("index.Tensor", backend_of((self,)))
        else:
            result = result.select(dim, int(each))
    return result


@rule("unbind")
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """All parts of a dimension."""
    dim = wrap_dim(dim, input._layout.ndim)
    return tuple(select(input, dim, index) for index in range(input._layout.shape[dim]))


setattr(SparseTensor, "__iter__", lambda self: iter(unbind(self)))  # noqa: B010  # Tensor has none
setattr(SparseTensor, "__len__", lambda self: self._layout.shape[0])  # noqa: B010  # the same
RULES["__len__"] = lambda self: self._layout.shape[0]


def _as_view(*args: Any, **kwargs: Any) -> Any:
    """What PyTorch makes by `as_strided`, no sparse tensor has."""
    if is_coo(args[0]):
        raise could_not_run("as_strided", "SparseCPU")
    raise RuntimeError("Sparse CSR tensors do not have strides" + errors.at_user_line())


for _name in ("squeeze", "narrow", "chunk", "split", "diagonal", "tensor_split"):
    RULES[_name] = _as_view
RULES["equal"] = lambda input, other: _refuse("equal", input, other)
RULES["broadcast_tensors"] = lambda *tensors: tensors


def _refuse(name: str, *args: Any) -> Any:
    raise could_not_run(name, backend_of(args))


@rule("narrow_copy")
def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A range of indices of a dimension."""
    if not is_coo(input):
        raise RuntimeError("Sparse CSR tensors do not have strides" + errors.at_user_line())
    shape = list(input._layout.shape)
    dim = wrap_dim(dim, len(shape))
    size = shape[dim]
    if not 0 <= start <= size or length < 0 or start + length > size:
        raise RuntimeError(
            f"Invalid range to narrow. range(start, start+length) must be a subset of range(0, "
            f"{size})." + errors.at_user_line()
        )
    shape[dim] = length
    count = sparse_dims(input)
    places = input._parts[0]._array
    if dim >= count:
        values = values_of(input).narrow(dim - count + 1, start, length)
        template = coo(places, values.detach(), tuple(shape), input._is_merged)
        return with_values(template, values)
    chosen = np.flatnonzero((places[dim] >= start) & (places[dim] < start + length))
    moved = places[:, chosen]
    moved[dim] -= start
    return _kept(input, moved, chosen, shape, input._is_merged)


@rule("index_select")
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The parts of a dimension that an index lists, in its order."""
    if not is_coo(input):
        raise could_not_run("index_select", "SparseCsrCPU")
    shape = list(input._layout.shape)
    if not shape:
        raise IndexError(
            "index_select() cannot be applied to a 0-dim tensor." + errors.at_user_line()
        )
    dim = wrap_dim(dim, len(shape))
    wanted = index._array.reshape(-1).astype(np.int64)
    size = shape[dim]
    if wanted.size and (wanted.min() < -size or wanted.max() >= size):
        bad = wanted[(wanted < -size) | (wanted >= size)][0]
        raise IndexError(
            f"index_select(): index contains {int(bad)} that is out of range for tensor of size "
            f"{errors.shape_list(shape)} at dimension {dim}" + errors.at_user_line()
        )
    wanted = np.where(wanted < 0, wanted + size, wanted)
    shape[dim] = wanted.size
    count = sparse_dims(input)
    places = input._parts[0]._array
    if dim >= count:
        values = values_of(input).index_select(dim - count + 1, wrap(wanted))
        template = coo(places, values.detach(), tuple(shape), input._is_merged)
        return with_values(template, values)
    # For each listed element all positions of the index that ask for it.
    order = np.argsort(wanted, kind="stable")
    ordered = wanted[order]
    first = np.searchsorted(ordered, places[dim], "left")
    number = np.searchsorted(ordered, places[dim], "right") - first
    chosen = np.repeat(np.arange(places.shape[1]), number)
    within = np.arange(chosen.size) - np.repeat(np.cumsum(number) - number, number)
    moved = places[:, chosen]
    moved[dim] = order[np.repeat(first, number) + within]
    result = _kept(input, moved, chosen, shape, False)
    return coalesce(result) if input._is_merged else result


@rule("unsqueeze")
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A new dimension of size one: sparse among sparse ones, dense among dense ones."""
    if not is_coo(input):
        raise RuntimeError("Sparse CSR tensors do not have strides" + errors.at_user_line())
    shape = list(input._layout.shape)
    dim = wrap_dim(dim, len(shape) + 1)
    shape.insert(dim, 1)
    count = sparse_dims(input)
    places = input._parts[0]._array
    values = values_of(input)
    if dim <= count:
        places = np.insert(places, dim, 0, 0)
    else:
        values = values.unsqueeze(dim - count + 1)
    return with_values(coo(places, values.detach(), tuple(shape), input._is_merged), values)


# -- joined ----------------------------------------------------------------------------------------


@rule("cat", "concat", "concatenate")
def cat(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Sparse tensors side by side."""
    for position, each in enumerate(tensors):
        if not is_sparse(each):
            raise RuntimeError(
                "Concatenating sparse tensors, but a dense tensor was found at position "
                f"{position}." + errors.at_user_line()
            )
        if not is_coo(each):
            raise RuntimeError(
                "Sparse CSR tensors do not have is_contiguous" + errors.at_user_line()
            )
    first = tensors[0]
    rank, count = first._layout.ndim, sparse_dims(first)
    dim = wrap_dim(dim, rank)
    for position, each in enumerate(tensors):
        _check_beside(first, each, position, dim)
    total = sum(each._layout.shape[dim] for each in tensors)
    shape = (*first._layout.shape[:dim], total, *first._layout.shape[dim + 1 :])
    places, values, offset = [], [], 0
    for each in tensors:
        own = each._parts[0]._array
        listed = values_of(each)
        if dim < count:
            own = own.copy()
            own[dim] += offset
        else:
            behind = total - offset - each._layout.shape[dim]
            axis = dim - count + 1
            listed = join(
                [_zeros(listed, axis, offset), listed, _zeros(listed, axis, behind)], axis
            )
        offset += each._layout.shape[dim]
        places.append(own)
        values.append(listed)
    joined = join(values)
    return with_values(coo(np.concatenate(places, 1), joined.detach(), shape), joined)


def _zeros(like: Tensor, axis: int, size: int) -> Tensor:
    shape = list(like._layout.shape)
    shape[axis] = size
    return wrap(np.zeros(shape, like._layout.dtype))


def _check_beside(first: Tensor, each: Tensor, position: int, dim: int) -> None:
    if sparse_dims(each) != sparse_dims(first) or dense_dims(each) != dense_dims(first):
        raise RuntimeError(
            f"All tensors must have the same sparse_dim and dense_dim: {sparse_dims(first)}, "
            f"{dense_dims(first)}, but tensor at position {position} has {sparse_dims(each)}, "
            f"{dense_dims(each)}." + errors.at_user_line()
        )
    one, two = list(first._layout.shape), list(each._layout.shape)
    one[dim] = two[dim] = 0
    if one != two:
        raise RuntimeError(
            f"All tensors must have the same shape: {errors.shape_list(first._layout.shape)} "
            "(except in the concatenating dimension), but found shape: "
            f"{errors.shape_list(each._layout.shape)} at position {position}."
            + errors.at_user_line()
        )


@rule("stack")
def stack(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Sparse tensors along a new dimension."""
    return cat([unsqueeze(each, dim) for each in tensors], dim)
