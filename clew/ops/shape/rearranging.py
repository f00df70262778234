"""Copies in another arrangement: flip, roll, rot90, repeat, grids."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.backend.layout import contiguous_format
from clew.core.interception import by_example
from clew.core.op import Op
from clew.core.public import methods, public
from clew.core.tensor import Tensor, wrap
from clew.kernels.numpy.arrays import as_new
from clew.ops.define.dims import numpy_names, shape_argument, wrap_dim
from clew.ops.define.memory_layout import channels_last_order, in_memory_as, in_order
from clew.ops.define.rows import require_tensors
from clew.ops.shape.joining import stack, tensor_list
from clew.source import user_stacklevel

Shape = tuple[int, ...]


# -- other orders of elements --------------------------------------------------------------


def _flipped(self: np.ndarray, *, dims: Shape) -> np.ndarray:
    return in_memory_as(self, np.flip(self, dims) if dims else self.copy())


def _rolled(self: np.ndarray, *, shifts: Shape, dims: Shape) -> np.ndarray:
    if not dims:
        return as_new(np.roll(self, shifts))
    # Channels stay last in memory; any other order is that of the dimensions.
    order = channels_last_order(self)
    result = as_new(np.roll(self, shifts, dims))
    return result if order is None else in_order(result, order)


FLIP = Op(
    "flip",
    _flipped,
    grads={"self": lambda g, dims: g.flip(dims)},
    linear=True,
)
ROLL = Op(
    "roll",
    _rolled,
    grads={"self": lambda g, shifts, dims: g.roll(tuple(-n for n in shifts), dims)},
    linear=True,
)


def _rotated(self: np.ndarray, *, k: int, dims: Shape) -> np.ndarray:
    """A quarter turn is a flip of one dimension, then a view with both exchanged."""
    turns = k % 4
    flipped = {0: (), 1: dims[1:], 2: dims, 3: dims[:1]}[turns]
    if not flipped:
        return as_new(self.copy())
    result = in_memory_as(self, np.flip(self, flipped).copy())
    return result.swapaxes(*dims) if turns % 2 else result


ROT90 = Op(
    "rot90",
    _rotated,
    grads={"self": lambda g, k, dims: g.rot90(-k, dims)},
    linear=True,
)


@public(out=False)
def flip(input: Tensor, *args: Any, dims: Any = None) -> Tensor:
    """A copy with the order of elements reversed along dimensions.

    Args:
        input: any tensor
        dims: the dimensions to reverse: a tuple, or as arguments of their own

    Example:
        >>> clew.flip(clew.tensor([[1, 2], [3, 4]]), dims=(0,))
        tensor([[3, 4],
                [1, 2]])
    """
    ndim = input._array.ndim
    wrapped = tuple(wrap_dim(dim, ndim) for dim in shape_argument(args, dims, "flip", "dims"))
    for dim in wrapped:
        if wrapped.count(dim) > 1:
            raise RuntimeError(
                f"dim {dim} appears multiple times in the list of dims" + errors.at_user_line()
            )
    return FLIP(input, dims=wrapped if ndim else ())


def _reversed(self: Tensor) -> Tensor:
    """`reversed(x)`: the elements of the first dimension from the last to the first."""
    return flip(self, 0) if self._array.ndim else self


methods(__reversed__=_reversed)


@public(out=False)
def fliplr(input: Tensor) -> Tensor:
    """A copy with the columns (the second dimension) reversed.

    Args:
        input: at least two dimensions

    Example:
        >>> clew.fliplr(clew.tensor([[1, 2], [3, 4]]))
        tensor([[2, 1],
                [4, 3]])
    """
    if input._array.ndim < 2:
        raise RuntimeError("Input must be >= 2-d." + errors.at_user_line())
    return flip(input, (1,))


@public(out=False)
def flipud(input: Tensor) -> Tensor:
    """A copy with the rows (the first dimension) reversed.

    Args:
        input: at least one dimension

    Example:
        >>> clew.flipud(clew.tensor([[1, 2], [3, 4]]))
        tensor([[3, 4],
                [1, 2]])
    """
    if input._array.ndim < 1:
        raise RuntimeError("Input must be >= 1-d." + errors.at_user_line())
    return flip(input, (0,))


@public(out=False)
def roll(input: Tensor, shifts: Any, dims: Any = ()) -> Tensor:
    """A copy with elements shifted; what falls off the end comes back at the start.

    Args:
        input: any tensor
        shifts: how far, for each of `dims`; negative shifts go towards the start
        dims: the dimensions; without them, the tensor is shifted as one vector

    Example:
        >>> clew.roll(clew.tensor([1, 2, 3, 4]), 1)
        tensor([4, 1, 2, 3])
        >>> clew.roll(clew.tensor([[1, 2], [3, 4]]), shifts=1, dims=0)
        tensor([[3, 4],
                [1, 2]])
    """
    require_tensors("roll", input=input)
    moves = shape_argument((shifts,))
    along = shape_argument((() if dims is None else dims,))
    if not moves:
        raise RuntimeError("`shifts` required" + errors.at_user_line())
    if len(along) != len(moves) and (along or len(moves) > 1):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(moves)}, dims:{len(along)}"
            + errors.at_user_line()
        )
    if along and not input._array.ndim:
        raise errors.no_dimensions(along[0])
    # Of nothing, PyTorch does not ask whether the dimensions are there.
    ndim, size = input._array.ndim, input._array.size
    wrapped = tuple(wrap_dim(dim, ndim) if size else 0 for dim in along)
    return ROLL(input, shifts=moves, dims=wrapped)


@public(checked=True, out=False)
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """A copy rotated by quarter turns in the plane of two dimensions.

    Args:
        input: at least two dimensions
        k: how many turns, from the first of `dims` towards the second
        dims: the plane

    Example:
        >>> clew.rot90(clew.tensor([[1, 2], [3, 4]]))
        tensor([[2, 4],
                [1, 3]])
    """
    plane = tuple(dims)
    ndim = input._array.ndim
    if len(plane) != 2:
        raise RuntimeError(
            f"expected total rotation dims == 2, but got dims = {len(plane)}"
            + errors.at_user_line()
        )
    if ndim < 2:
        raise RuntimeError(
            f"expected total dims >= 2, but got total dims = {ndim}" + errors.at_user_line()
        )
    wrapped = tuple(wrap_dim(dim, ndim) for dim in plane)
    if wrapped[0] == wrapped[1]:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {plane[0]} and dim1 = "
            f"{plane[1]}" + errors.at_user_line()
        )
    return ROT90(input, k=k, dims=wrapped)


# -- repetition ----------------------------------------------------------------------------


def _unrepeated(g: Tensor, self_shape: Shape, repeats: Shape) -> Tensor:
    if not repeats:
        return g
    if 0 in repeats:
        return g.new_zeros(self_shape)
    # New dimensions are added up one by one, as in PyTorch, which shows in halves.
    for _ in range(len(repeats) - len(self_shape)):
        g = g.sum(0)
    if not self_shape:
        return g
    own = repeats[len(repeats) - len(self_shape) :]
    split = tuple(itertools.chain.from_iterable(zip(own, self_shape, strict=True)))
    return g.reshape(split).sum(tuple(range(0, len(split), 2)))


REPEAT = Op(
    "repeat",
    lambda self, *, repeats: np.tile(self, repeats) if repeats else self.copy(),
    grads={"self": _unrepeated},
    linear=True,
)


@public(function=False)
def repeat(self: Tensor, *args: Any, repeats: Any = None) -> Tensor:
    """Copies of the tensor side by side, a number of times along each dimension.

    Args:
        repeats: one number per dimension, further ones in front; a tuple, or as own arguments

    Example:
        >>> clew.tensor([1, 2]).repeat(2, 2)
        tensor([[1, 2, 1, 2],
                [1, 2, 1, 2]])
    """
    times = shape_argument(args, repeats, "repeat", "repeats")
    if len(times) < self._array.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor" + errors.at_user_line()
        )
    if any(n < 0 for n in times):
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(times)}" + errors.at_user_line()
        )
    return REPEAT(self, repeats=times)


@public(out=False)
def tile(input: Tensor, *args: Any, dims: Any = None) -> Tensor:
    """Copies of the tensor side by side; missing leading numbers count as 1.

    Args:
        input: any tensor
        dims: how often along each dimension; a tuple, or as arguments of their own

    Example:
        >>> clew.tile(clew.tensor([[1, 2], [3, 4]]), dims=(2,))
        tensor([[1, 2, 1, 2],
                [3, 4, 3, 4]])
    """
    times = shape_argument(args, dims, "tile", "dims")
    return repeat(input, (1,) * (input._array.ndim - len(times)) + times)


@public(checked=True, out=False)
@numpy_names
def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each slice of a dimension, a number of times in a row.

    Args:
        input: any tensor; given alone it means `repeats`, and the result has the indices
        repeats: how often: a number, or a vector with one for each slice
        dim: the dimension; by default the tensor is seen as a vector
        output_size: the size that `dim` will have, where it is known

    Example:
        >>> clew.repeat_interleave(clew.tensor([1, 2]), 2)
        tensor([1, 1, 2, 2])
        >>> clew.repeat_interleave(clew.tensor([[1, 2], [3, 4]]), clew.tensor([1, 2]), dim=0)
        tensor([[1, 2],
                [3, 4],
                [3, 4]])
    """
    if repeats is None:
        return _repeated_positions(input, output_size)
    if dim is None:
        input, dim = input.flatten(), 0
    if not input._array.ndim:
        if isinstance(repeats, Tensor):
            raise IndexError(
                f"Dimension specified as {dim} but tensor has no dimensions" + errors.at_user_line()
            )
        raise errors.dimension_out_of_range(wrap_dim(dim, 0) + 1, 0)
    dim = wrap_dim(dim, input._array.ndim)
    if isinstance(repeats, Tensor):
        return _interleave_each(input, repeats, dim, output_size)
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative" + errors.at_user_line())
    n = input._array.shape[dim]
    _check_output_size(output_size, n * repeats)
    shape = list(input._array.shape)
    spread = input.unsqueeze(dim + 1).expand(*shape[: dim + 1], repeats, *shape[dim + 1 :])
    copied = spread.clone(memory_format=contiguous_format)
    return copied.view(*shape[:dim], n * repeats, *shape[dim + 1 :])


def _interleave_each(input: Tensor, repeats: Tensor, dim: int, output_size: int | None) -> Tensor:
    n = input._array.shape[dim]
    if repeats._array.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor" + errors.at_user_line())
    if repeats._array.size == 1:
        repeats = repeats.reshape(1).expand(n)
    elif repeats._array.size != n:
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{repeats._array.size} and input.size({dim}) = {n}" + errors.at_user_line()
        )
    return input.index_select(dim, _repeated_positions(repeats, output_size))


@by_example
def _repeated_positions(repeats: Tensor, output_size: int | None) -> Tensor:
    """`[2, 1]` -> `[0, 0, 1]`."""
    times = repeats._array
    if times.ndim != 1:
        raise RuntimeError(
            "repeat_interleave only accept 1D vector as repeat" + errors.at_user_line()
        )
    if times.dtype not in (np.int64, np.int32):
        raise errors.no_kernel(
            "repeat_interleave_cpu", repeats.dtype, "Convert first: repeats.long()"
        )
    if (times < 0).any():
        raise RuntimeError("repeats can not be negative" + errors.at_user_line())
    positions = np.repeat(np.arange(times.size, dtype=times.dtype), times)
    _check_output_size(output_size, positions.size)
    return wrap(positions)


def _check_output_size(output_size: int | None, size: int) -> None:
    if output_size is not None and output_size != size:
        raise RuntimeError(
            "repeat_interleave: Invalid output_size, the sum of repeats along dim is "
            f"{size} but got {output_size}" + errors.at_user_line()
        )


# -- grids and combinations ----------------------------------------------------------------


@public(method=False, out=False)
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Views of vectors, expanded over the grid that they span.

    Args:
        tensors: vectors or numbers, as arguments or in one sequence
        indexing: "ij": the first vector runs along the rows (the default; not naming it warns);
            "xy": along the columns

    Example:
        >>> x, y = clew.tensor([1, 2]), clew.tensor([3, 4, 5])
        >>> rows, columns = clew.meshgrid(x, y, indexing="ij")
        >>> rows
        tensor([[1, 1, 1],
                [2, 2, 2]])
        >>> columns
        tensor([[3, 4, 5],
                [3, 4, 5]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    listed = tensor_list("meshgrid", tensors)
    if not listed:
        raise RuntimeError("meshgrid expects a non-empty TensorList" + errors.at_user_line())
    if indexing is None:
        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing "
            "argument.",
            stacklevel=user_stacklevel(),
        )
    elif not isinstance(indexing, str):
        raise errors.wrong_argument("meshgrid", "indexing", None, "str", indexing)
    elif indexing not in ("ij", "xy"):
        raise RuntimeError(
            'torch.meshgrid: indexing must be one of "xy" or "ij", but received: '
            f"{indexing}" + errors.at_user_line()
        )
    _check_vectors(listed)
    swap = indexing == "xy" and len(listed) >= 2
    if swap:
        listed[0], listed[1] = listed[1], listed[0]
    shape = tuple(each._array.size for each in listed)
    grids = []
    for place, each in enumerate(listed):
        line = each.view(*(-1 if i == place else 1 for i in range(len(listed))))
        grids.append(line.expand(shape))
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def _check_vectors(listed: list[Tensor]) -> None:
    for each in listed:
        if each._array.ndim > 1:
            raise RuntimeError(
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: "
                f"{each._array.ndim}" + errors.at_user_line()
            )
        if each._array.dtype is not listed[0]._array.dtype:
            raise RuntimeError(
                "meshgrid expects all tensors to have the same dtype" + errors.at_user_line()
            )


@public(method=False, out=False)
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All rows that take one element from each vector.

    Args:
        tensors: vectors

    Example:
        >>> clew.cartesian_prod(clew.tensor([1, 2]), clew.tensor([3, 4]))
        tensor([[1, 3],
                [1, 4],
                [2, 3],
                [2, 4]])
    """
    for each in tensors:
        if each._array.ndim != 1:
            raise RuntimeError(
                f"Expect a 1D vector, but got shape {errors.shape_list(each._array.shape)}"
                + errors.at_user_line()
            )
    if len(tensors) == 1:
        return tensors[0]
    grids = meshgrid(*tensors, indexing="ij")
    return stack([grid.flatten() for grid in grids], 1)


@public(checked=True, method=False, out=False)
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All ways to choose `r` elements of a vector, one row each, in the vector's order.

    Args:
        input: a vector
        r: how many elements to choose
        with_replacement: whether an element may be chosen several times

    Example:
        >>> clew.combinations(clew.tensor([1, 2, 3]))
        tensor([[1, 2],
                [1, 3],
                [2, 3]])
    """
    if input._array.ndim != 1:
        raise RuntimeError(
            f"Expect a 1D vector, but got shape {errors.shape_list(input._array.shape)}"
            + errors.at_user_line()
        )
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}" + errors.at_user_line())
    if r == 0:
        return input.new_empty(0)
    n = input._array.size
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    count = math.comb(n + r - 1, r) if with_replacement and n else math.comb(n, r)
    flat = itertools.chain.from_iterable(choose(range(n), r))
    rows = np.fromiter(flat, np.int64, count * r).reshape(count, r)
    return stack([input.index_select(0, wrap(rows[:, place].copy())) for place in range(r)], 1)
