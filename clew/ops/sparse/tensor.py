"""The sparse tensor: its parts, where its elements are, and the table of rules for functions.

A COO tensor has indices, (sparse dimensions, nnz), and values, (nnz, dense dimensions). A
compressed one has where each row (or column) begins, the other index of each element, and values;
those of blocked layouts have two dimensions more. Leading dimensions of all three are a batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from clew import errors
from clew.backend import layout as layouts
from clew.core.overrides import Override
from clew.core.tensor import Tensor, wrap
from clew.core.unstrided import NotStrided, Unstrided, blank, could_not_run, plain_name
from clew.kernels.numpy.scatter import add_at

Array = np.ndarray
F = TypeVar("F", bound=Callable[..., Any])

COO = layouts.sparse_coo
CSR, CSC = layouts.sparse_csr, layouts.sparse_csc
BSR, BSC = layouts.sparse_bsr, layouts.sparse_bsc
COMPRESSED = (CSR, CSC, BSR, BSC)
BY_ROW = (CSR, BSR)
BLOCKED = (BSR, BSC)
# What PyTorch calls layouts in its errors.
TITLES = {
    layouts.strided: "Strided", COO: "Sparse", CSR: "SparseCsr", CSC: "SparseCsc",
    BSR: "SparseBsr", BSC: "SparseBsc", layouts.jagged: "Jagged",
}  # fmt: skip

# What functions do with sparse tensors, by the last part of their name.
RULES: dict[str, Callable[..., Any]] = {}


def rule(*names: str) -> Callable[[F], F]:
    """Make a function what others of these names do with sparse tensors."""

    def enter(function: F) -> F:
        for name in names:
            RULES[name] = function
        return function

    return enter


class SparseTensor(Unstrided):
    """A tensor that lists its elements; all others are zero."""

    __slots__ = ("_is_merged",)

    # Whether no index of a COO tensor occurs twice, and they are in order.
    _is_merged: bool

    @staticmethod
    def rules(own: Override, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name = plain_name(own.name)
        found = None if own.name.startswith("torch.sparse.") else RULES.get(name)
        if found is not None:
            return found(*args, **kwargs)
        try:
            return own.implementation(*args, **kwargs)
        except NotStrided:
            raise could_not_run(name, backend_of((*args, *kwargs.values()))) from None


for _name in ("__name__", "__qualname__", "__module__"):
    setattr(SparseTensor, _name, getattr(Tensor, _name))


def backend_of(values: tuple[Any, ...]) -> str:
    """What PyTorch calls the backend of the first sparse tensor."""
    for value in values:
        for each in value if isinstance(value, (list, tuple)) else (value,):
            if is_sparse(each):
                return "SparseCPU" if each._kind is COO else "SparseCsrCPU"
    return "SparseCPU"


def is_sparse(value: Any) -> bool:
    """Whether a value is a sparse tensor of any layout."""
    return type(value) is SparseTensor


def is_coo(value: Any) -> bool:
    return type(value) is SparseTensor and value._kind is COO


def layout_of(tensor: Any) -> Any:
    """The layout of a tensor."""
    return tensor._kind if tensor._is_unstrided else layouts.strided


def title_of(tensor: Any) -> str:
    """What PyTorch calls a tensor's layout in its errors."""
    return TITLES[layout_of(tensor)]


def coo(indices: Any, values: Tensor, shape: tuple[int, ...], merged: bool = False) -> Tensor:
    """A COO tensor of these parts, without history."""
    return of_parts(COO, (as_part(indices), as_part(values)), shape, merged)


def of_parts(
    kind: Any, parts: tuple[Tensor, ...], shape: tuple[int, ...], merged: bool = False
) -> Tensor:
    """A sparse tensor of a layout and its parts, without history."""
    result: Any = blank(SparseTensor, tuple(shape), parts[-1]._array.dtype)
    result._kind, result._parts, result._is_merged = kind, parts, merged
    made: Tensor = result
    return made


def as_part(value: Any) -> Tensor:
    """A strided tensor without history."""
    if not isinstance(value, Tensor):
        return wrap(np.ascontiguousarray(value))
    return value if value._node is None and not value.requires_grad else value.detach()


def like(tensor: Tensor, values: Tensor) -> Tensor:
    """A tensor with the same places and other values."""
    parts = (*tensor._parts[:-1], as_part(values))
    return of_parts(tensor._kind, parts, tensor._layout.shape, tensor._is_merged)


# -- places ----------------------------------------------------------------------------------------


def batch_dims(tensor: Tensor) -> int:
    """How many leading dimensions are a batch: those of the compressed indices but one."""
    return 0 if tensor._kind is COO else tensor._parts[0]._array.ndim - 1


def sparse_dims(tensor: Tensor) -> int:
    return len(tensor._parts[0]._array) if tensor._kind is COO else 2


def dense_dims(tensor: Tensor) -> int:
    values = tensor._parts[-1]._array
    if tensor._kind is COO:
        return values.ndim - 1
    return values.ndim - batch_dims(tensor) - 1 - 2 * (tensor._kind in BLOCKED)


def nnz(tensor: Tensor) -> int:
    """How many elements are listed; of each matrix of a batch, and of blocks the blocks."""
    return int(tensor._parts[-2]._array.shape[-1])


def block_size(tensor: Tensor) -> tuple[int, int]:
    """The size of a block; 1 x 1 where there are none."""
    if tensor._kind not in BLOCKED:
        return 1, 1
    first = batch_dims(tensor) + 1
    rows, columns = tensor._parts[-1]._array.shape[first : first + 2]
    return rows, columns


def coordinates(tensor: Tensor) -> tuple[Array, ...]:
    """Where the values are: for each dimension that is not dense, an array of indices.

    They broadcast to the shape of the values without their dense dimensions.
    """
    if tensor._kind is COO:
        return tuple(tensor._parts[0]._array)
    starts, others = tensor._parts[0]._array, tensor._parts[1]._array
    batch = starts.shape[:-1]
    count = others.shape[-1]
    majors = np.empty(others.shape, np.int64)
    flat_starts = starts.reshape(math.prod(batch), -1)
    for row, pointers in zip(majors.reshape(math.prod(batch), count), flat_starts, strict=True):
        row[:] = np.repeat(np.arange(len(pointers) - 1), np.diff(pointers))
    pair = (majors, others.astype(np.int64, copy=False))
    rows, columns = pair if tensor._kind in BY_ROW else pair[::-1]
    extra = 1
    if tensor._kind in BLOCKED:
        height, width = block_size(tensor)
        rows = rows[..., None, None] * height + np.arange(height)[:, None]
        columns = columns[..., None, None] * width + np.arange(width)
        extra = 3
    leading = [
        np.arange(n).reshape(-1, *(1,) * (len(batch) - dim - 1 + extra))
        for dim, n in enumerate(batch)
    ]
    return (*leading, rows, columns)


def flat_places(places: tuple[Array, ...], shape: tuple[int, ...]) -> Array:
    """One number for each place: its position in row-major order."""
    flat: Any = np.zeros((), np.int64)
    for index, n in zip(places, shape, strict=False):
        flat = flat * n + index
    return np.asarray(flat)


def merged(tensor: Tensor) -> Tensor:
    """A COO tensor with every index once, in order; equal ones are added up. No history."""
    if tensor._is_merged:
        return tensor
    indices, values = (part._array for part in tensor._parts)
    shape = tensor._layout.shape
    if indices.shape[1] < 2:
        return of_parts(COO, tensor._parts, shape, True)
    flat = flat_places(tuple(indices), shape)
    order = np.argsort(flat, kind="stable") if len(indices) else np.arange(indices.shape[1])
    ordered = flat[order] if len(indices) else np.zeros(indices.shape[1], np.int64)
    is_first = np.empty(len(ordered), bool)
    is_first[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    if is_first.all():
        return coo(indices[:, order], wrap(values[order]), shape, True)
    segment = np.cumsum(is_first) - 1
    total = summed(values[order], segment, int(segment[-1]) + 1)
    return coo(indices[:, order[is_first]], wrap(total), shape, True)


def summed(values: Array, places: Array, count: int) -> Array:
    """Sums of rows of values that go to the same place, in their order."""
    if values.dtype == bool:
        result = np.zeros((count, *values.shape[1:]), bool)
        np.logical_or.at(result, places, values)
        return result
    return add_at(np.zeros((count, *values.shape[1:]), values.dtype), (places,), values)


def expected(tensor: Any, name: str, what: str) -> RuntimeError:
    """The error of asking a tensor for parts that its layout does not have."""
    return RuntimeError(
        f"{name} expected {what} tensor layout but got {title_of(tensor)}" + errors.at_user_line()
    )
