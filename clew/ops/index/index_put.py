"""Reading and writing at index tensors: `index`, `index_put` and their gradients.

One operation for each number of index tensors, so that every index is an input of its own: it is
saved, and overwriting it before backward is noticed.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.inplace import apply_inplace, keep_apart, refuse_leaf
from clew.core.mirror import MIRRORS, bits_of
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor, wrap
from clew.kernels import numpy as kernels
from clew.kernels.numpy.strides import is_gapless
from clew.ops.index.walking import ALL, Pattern, Shape, Walk, in_memory, walk
from clew.ops.index.writing import WritingOp
from clew.ops.shape.slicing import formula
from clew.ops.tensor.copying import fitting
from clew.source import user_stacklevel

_BYTES = np.dtype(np.uint8)
INDEX_DTYPES = frozenset(np.dtype(name) for name in ("int64", "int32", "uint8", "bool"))


def _key(indices: Sequence[np.ndarray], pattern: Pattern) -> tuple[Any, ...]:
    """What NumPy takes: a full slice for each dimension that is not indexed."""
    if len(pattern) == len(indices):
        return tuple(indices)
    given = iter(indices)
    return tuple(next(given) if indexed else ALL for indexed in pattern)


def _indexed(self: np.ndarray, *indices: np.ndarray, pattern: Pattern) -> np.ndarray:
    first = indices[0]
    try:
        if len(indices) == 1 and first.dtype.kind != "b" and (self.ndim == 1 or pattern[0]):
            result = self.take(first, axis=0)
        else:
            _check_empty_masks(self, indices, pattern)
            result = self[_key(indices, pattern)]
        return in_memory(self, indices, pattern, result) if result.ndim > 1 else result
    except IndexError:
        empty = _nothing_at(self, indices, pattern)
        if empty is None:
            raise index_error(self.shape, indices, pattern) from None
        return empty


def _check_empty_masks(self: np.ndarray, indices: Sequence[np.ndarray], pattern: Pattern) -> None:
    """NumPy takes an empty mask for any dimension."""
    for index in indices:
        if not index.size and index.dtype.kind == "b":
            mismatch = mask_error(self.shape, indices, pattern)
            if mismatch is not None:
                raise mismatch


def _nothing_at(
    self: np.ndarray, indices: Sequence[np.ndarray], pattern: Pattern
) -> np.ndarray | None:
    """The empty result of indices that are outside: PyTorch looks only where it reads."""
    selected = _selected(self, indices, pattern)
    return None if selected is None or selected.size else selected


def _index_put(
    self: np.ndarray, values: np.ndarray, *indices: np.ndarray, pattern: Pattern, accumulate: bool
) -> None:
    key = _key(indices, pattern)
    _check_empty_masks(self, indices, pattern)
    if not values.size or (values.ndim > 1 and values.shape[0] == 1):
        _check_values(self, values, indices, pattern)
    try:
        if accumulate:
            kernels.scatter.add_at(self, key, values)
        else:
            self[key] = values
    except IndexError:
        if _nothing_at(self, indices, pattern) is not None:
            return
        raise index_error(self.shape, indices, pattern) from None
    except (ValueError, TypeError):
        # Places are looked up after shapes: those that are not there count here, too.
        selected = _selected(self, indices, pattern)
        if selected is None:
            raise index_error(self.shape, indices, pattern) from None
        raise _value_mismatch(selected.shape, values.shape) from None


class _Put(WritingOp):
    """Writing at indices, element by element where that shows.

    PyTorch writes until it comes to an index that is out of range, and what it writes may lie where
    it has written.
    """

    def write_into(
        self, target: np.ndarray, inputs: tuple[Any, ...], params: dict[str, Any]
    ) -> bool:
        if super().write_into(target, inputs, params):
            return True
        values, *indices = (each._array for each in inputs[1:])
        if inputs[0]._array is not target or not np.may_share_memory(target, values):
            return False
        if MIRRORS and bits_of(target):
            return False  # to a conjugate view PyTorch writes when everything has been read
        way = _walk(target, values, indices, params["pattern"])
        if way is None or way.wrong.any():
            return False
        spread = np.broadcast_to(values, way.shape)
        for number, source in zip(way.numbers, way.sources, strict=True):
            place = np.unravel_index(number, target.shape)
            value = spread[np.unravel_index(source, way.shape)]
            target[place] = target[place] + value if params["accumulate"] else value
        return True

    def write_first_part(
        self, target: np.ndarray, inputs: tuple[Any, ...], params: dict[str, Any]
    ) -> None:
        values, *indices = (each._array for each in inputs[1:])
        way = _walk(target, values, indices, params["pattern"])
        if way is None:
            return
        count = int(np.argmax(way.wrong))
        where = np.unravel_index(way.numbers[:count], target.shape)
        written = np.broadcast_to(values, way.shape).ravel()[way.sources[:count]]
        if params["accumulate"]:
            np.add.at(target, where, written)
        else:
            target[where] = written


def _walk(
    target: np.ndarray, values: np.ndarray, indices: Sequence[np.ndarray], pattern: Pattern
) -> Walk | None:
    """How PyTorch writes; None where nothing is selected, or values do not fit."""
    chosen = _selected(target, indices, pattern)
    if chosen is None or not chosen.size or not _fits(values.shape, chosen.shape):
        return None
    return walk(target, values, indices, pattern, chosen.shape)


def _fits(shape: Shape, wanted: Shape) -> bool:
    try:
        return np.broadcast_shapes(shape, wanted) == wanted
    except ValueError:
        return False


def _selected(
    self: np.ndarray, indices: Sequence[np.ndarray], pattern: Pattern
) -> np.ndarray | None:
    """Elements in the shape that indices select, as if all of them were inside; None if none is."""
    if mask_error(self.shape, indices, pattern) is not None:
        return None
    inside = [each if each.dtype.kind == "b" else np.zeros_like(each) for each in indices]
    try:
        result: np.ndarray = self[_key(inside, pattern)]
    except IndexError:
        return None
    return result


def _check_values(
    self: np.ndarray, values: np.ndarray, indices: Sequence[np.ndarray], pattern: Pattern
) -> None:
    """NumPy takes no values for whatever is selected, and drops leading dimensions of size 1."""
    selected = _selected(self, indices, pattern)
    if selected is None:
        return
    if not _fits(values.shape, selected.shape):
        raise _value_mismatch(selected.shape, values.shape)


def _value_mismatch(shape: Shape, value: Shape) -> RuntimeError:
    return RuntimeError(
        f"shape mismatch: value tensor of shape {errors.shape_list(value)} cannot be broadcast to "
        f"indexing result of shape {errors.shape_list(shape)}" + errors.at_user_line()
    )


def _names(count: int) -> tuple[str, ...]:
    return tuple(f"index{i}" for i in range(count))


@functools.cache
def index_op(count: int) -> Op:
    """Reading at `count` index tensors; a fixed number, so that each is saved and checked."""
    names = _names(count)

    @formula("self_shape", "pattern", *names)
    def gradient(g: Any, shape: Shape, pattern: Pattern, *indices: Any) -> Any:
        return index_backward_op(count).over(g, *indices, input_sizes=shape, pattern=pattern)

    return Op(
        "index" if count == 1 else f"index_{count}", _indexed, inputs=("self", *names),
        bare=True, grads={"self": gradient}, linear=True, node="IndexBackward0",
    )  # fmt: skip


@functools.cache
def index_backward_op(count: int) -> Op:
    """The gradient of reading: adds into zeros."""
    names = _names(count)

    def forward(
        grad_output: np.ndarray, *indices: np.ndarray, input_sizes: Shape, pattern: Pattern
    ) -> np.ndarray:
        zeros = np.zeros(input_sizes, grad_output.dtype)
        if not grad_output.size:
            # Nothing was read, and so nobody has looked whether the indices are inside.
            return zeros
        if all(index.dtype.kind == "b" for index in indices) and len(indices) == 1:
            # A mask names no element twice.
            zeros[_key(indices, pattern)] = grad_output
            return zeros
        return kernels.scatter.add_at(zeros, _key(indices, pattern), grad_output)

    @formula("pattern", *names)
    def gradient(g: Tensor, pattern: Pattern, *indices: Tensor) -> Tensor:
        return index_op(count)(g, *indices, pattern=pattern)

    return Op(
        "index_backward" if count == 1 else f"index_backward_{count}", forward,
        inputs=("grad_output", *names), grads={"grad_output": gradient}, linear=True,
        node="IndexPutImplBackward0",
    )  # fmt: skip


@functools.cache
def index_put_op(count: int) -> Op:
    """Writing at `count` index tensors."""
    names = _names(count)

    @formula("pattern", "accumulate", "values_dtype", *names)
    def of_self(
        g: Tensor, pattern: Pattern, accumulate: bool, dtype: dtypes.dtype, *indices: Tensor
    ) -> Tensor:
        if accumulate:
            return g
        zero = wrap(np.zeros((), g._array.dtype))
        return index_put_op(count)(g, zero, *indices, pattern=pattern, accumulate=False)

    @formula("pattern", *names)
    def of_values(g: Tensor, pattern: Pattern, *indices: Tensor) -> Tensor:
        return index_op(count)(g, *indices, pattern=pattern)

    return _Put(
        "index_put" if count == 1 else f"index_put_{count}", _index_put, keeps_layout=True,
        # Not that its elements are equal: PyTorch lets it write to memory that overlaps.
        uniform=True,
        inputs=("self", "values", *names), grads={"self": of_self, "values": of_values},
        linear=True, node="IndexPutBackward0",
    )  # fmt: skip


def index_error(shape: Shape, indices: Sequence[np.ndarray], pattern: Pattern) -> IndexError:
    """Why NumPy refused an index, in PyTorch's words."""
    mismatch = mask_error(shape, indices, pattern)
    if mismatch is not None:
        return mismatch
    shapes = [_index_shape(index) for index in indices]
    if not _can_broadcast(shapes):
        listed = ", ".join(map(errors.shape_list, shapes))
        return IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {listed}"
            + errors.at_user_line()
        )
    for dim, index in _by_dimension(indices, pattern):
        n = shape[dim]
        if index.dtype.kind != "b" and n:
            wrong = index[(index < -n) | (index >= n)]
            if wrong.size:
                return out_of_bounds(int(wrong.flat[0]), dim, n)
    return IndexError("index is out of bounds for dimension with size 0" + errors.at_user_line())


def _can_broadcast(shapes: Sequence[Shape]) -> bool:
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        return False
    return True


def mask_error(shape: Shape, indices: Sequence[np.ndarray], pattern: Pattern) -> IndexError | None:
    """That a mask does not have the sizes of the dimensions that it is for."""
    for dim, index in _by_dimension(indices, pattern):
        for i, n in enumerate(index.shape if index.dtype.kind == "b" else ()):
            if dim + i >= len(shape) or shape[dim + i] != n:
                return IndexError(
                    f"The shape of the mask {errors.shape_list(index.shape)} at index {i} does "
                    f"not match the shape of the indexed tensor {errors.shape_list(shape)} at "
                    f"index {dim + i}" + errors.at_user_line()
                )
    return None


def _by_dimension(
    indices: Sequence[np.ndarray], pattern: Pattern
) -> Iterator[tuple[int, np.ndarray]]:
    """Each index with its dimension; a mask takes as many as it has itself."""
    given = iter(indices)
    dim = 0
    for indexed in pattern:
        index = next(given) if indexed else None
        if index is not None:
            yield dim, index
        dim += index.ndim if index is not None and index.dtype.kind == "b" else 1


def _index_shape(index: np.ndarray) -> Shape:
    return (int(np.count_nonzero(index)),) if index.dtype.kind == "b" else index.shape


def out_of_bounds(index: int, dim: int, n: int) -> IndexError:
    return IndexError(
        f"index {index} is out of bounds for dimension {dim} with size {n}" + errors.at_user_line()
    )


def apart(target: Tensor, advanced: Sequence[Tensor | None], value: Tensor) -> Tensor:
    """The value to write, after making sure that writing it changes neither it nor an index.

    One value where one mask is true is read, and converted, before anything is written.
    """
    indices = [each for each in advanced if each is not None]
    if value._array.size == len(indices) == 1 and indices[0]._array.dtype.kind == "b":
        if indices[0]._storage is target._storage:
            # That the mask does not fit is said before that it is being written to.
            refuse_mask(target, advanced)
        if value._array.ndim:
            value = value.reshape(())
        if value._array.dtype is not target._array.dtype:
            return fitting(value, target).to(target.dtype)
        return value.clone() if value._storage is target._storage else value
    if value is target or any(each is target for each in indices):
        raise errors.partial_overlap()
    if is_gapless(target._array):
        keep_apart(target, value, *indices)
    return value


def split_indices(advanced: Sequence[Tensor | None]) -> tuple[list[Tensor], Pattern]:
    """The index tensors, with bytes as the masks that they stand for, and where they are."""
    tensors = [
        wrap(each._array.astype(np.bool_)) if each._array.dtype is _BYTES else each
        for each in advanced
        if each is not None
    ]
    return tensors, tuple(each is not None for each in advanced)


def refuse_mask(target: Tensor, advanced: Sequence[Tensor | None]) -> None:
    """Raise if a mask does not have the sizes of what it indexes."""
    masks, pattern = split_indices(advanced)
    mismatch = mask_error(target._array.shape, [each._array for each in masks], pattern)
    if mismatch is not None:
        raise mismatch


def refuse_bytes(target: Tensor, advanced: Sequence[Tensor | None], value: Tensor) -> None:
    """One value where one mask is true is a `masked_fill_`, which takes no bytes."""
    if value._array.size == 1:
        tensors = [each for each in advanced if each is not None]
        if len(tensors) == 1 and tensors[0]._array.dtype is _BYTES:
            refuse_mask(target, advanced)
            raise RuntimeError(
                "masked_fill_ only supports boolean masks, but got mask with dtype unsigned char\n"
                "  Write x[mask.bool()]" + errors.at_user_line()
            )


def check_dtypes(advanced: Sequence[Tensor | None]) -> None:
    for index in advanced:
        if index is not None and index._array.dtype not in INDEX_DTYPES:
            raise IndexError(
                "tensors used as indices must be long, int, byte or bool tensors"
                + errors.at_user_line()
            )


def _put_arguments(
    name: str, self: Tensor, indices: Any, values: Any
) -> tuple[list[Tensor], Pattern, Tensor]:
    if not isinstance(indices, tuple | list):
        raise errors.wrong_argument(name, "indices", 1, "tuple of Tensors", indices)
    if not isinstance(values, Tensor):
        raise errors.wrong_argument(name, "values", 2, "Tensor", values)
    for position, each in enumerate(indices):
        if each is not None and not isinstance(each, Tensor):
            raise TypeError(
                f"expected Tensor as element {position} in argument 1, but got "
                f"{type(each).__name__}" + errors.at_user_line()
            )
    if not indices:
        raise RuntimeError(
            "index_put: there must be an index: to write all elements, use copy_"
            + errors.at_user_line()
        )
    if len(indices) > self._array.ndim:
        raise IndexError(
            f"too many indices for tensor of dimension {self._array.ndim} (got {len(indices)})"
            + errors.at_user_line()
        )
    check_put_dtype(self, values)
    tensors, pattern = split_indices(indices)
    if any(each is not None and each._array.dtype is _BYTES for each in indices):
        warnings.warn(
            "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool "
            "instead.",
            stacklevel=user_stacklevel(),
        )
    return tensors, pattern, values


def check_put_dtype(self: Tensor, values: Tensor) -> None:
    if values._array.dtype is not self._array.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{self.dtype.scalar_name} for the destination and {values.dtype.scalar_name} for the "
            "source." + errors.at_user_line()
        )


@public(out=False)
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with `values` written (or added) at indices: `out[indices] = values`.

    Args:
        input: what to copy
        indices: a tuple of index tensors (or boolean masks), one for each leading dimension
        values: what to write; broadcasts to the shape that the indices select
        accumulate: add instead, and add several times where an index repeats

    Example:
        >>> rows, columns = clew.tensor([0, 1]), clew.tensor([2, 0])
        >>> clew.zeros(2, 3).index_put((rows, columns), clew.tensor([5., 7.]))
        tensor([[0., 0., 5.],
                [7., 0., 0.]])
    """
    tensors, pattern, values = _put_arguments("index_put", input, indices, values)
    if not accumulate:
        refuse_bytes(input, indices, values)
    check_dtypes(indices)
    op = index_put_op(len(tensors))
    return op(input, values, *tensors, pattern=pattern, accumulate=accumulate)


@public(out=False)
def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """In-place version of `index_put`: write (or add) `values` at indices.

    Args:
        indices: a tuple of index tensors (or boolean masks), one for each leading dimension
        values: what to write; broadcasts to the shape that the indices select
        accumulate: add instead, and add several times where an index repeats
    """
    refuse_leaf(self, "index_put_")
    tensors, pattern, values = _put_arguments("index_put_", self, indices, values)
    if not accumulate:
        refuse_bytes(self, indices, values)
        values = apart(self, indices, values)
    else:
        keep_apart(self, values, *tensors)
    check_dtypes(indices)
    return apply_inplace(
        index_put_op(len(tensors)), self, values, *tensors, pattern=pattern, accumulate=accumulate
    )
