"""Sets and searching: unique, isin, searchsorted, bucketize."""

from __future__ import annotations

import warnings
from numbers import Number
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor, every_value, wrap
from clew.kernels import compiled
from clew.kernels.numpy.arrays import as_new
from clew.ops.define import out_checks
from clew.ops.define.dims import require_bool, wrap_dim
from clew.ops.reduce.choosing import orderable
from clew.overloads import no_overload
from clew.source import user_stacklevel

# -- unique ----------------------------------------------------------------------------------------


def _no_gradient(name: str) -> Any:
    def refuse(g: Any) -> Tensor:
        raise NotImplementedError(
            f"the derivative for '{name}' is not implemented.\n"
            "  A set of values has no derivative." + errors.at_user_line()
        )

    return refuse


Arrays = tuple[np.ndarray, ...]


def _unique(self: np.ndarray) -> Arrays:
    """The distinct elements in order, where each element went, and the counts."""
    # Every NaN is a value of its own.
    found, inverse, counts = np.unique(
        orderable(self), return_inverse=True, return_counts=True, equal_nan=False
    )
    return found.astype(self.dtype, copy=False), inverse.reshape(self.shape), counts


def _unique_slices(self: np.ndarray, *, dim: int) -> Arrays:
    rows = np.moveaxis(orderable(self), dim, 0)
    rows = rows.reshape(len(rows), -1) if rows.size else rows.reshape(0, 1)
    # lexsort takes the most significant column last.
    order = np.lexsort(rows.T[::-1])
    is_new = _differs_from_last(rows[order])
    inverse = np.empty(len(rows), np.int64)
    inverse[order] = np.cumsum(is_new) - 1
    starts = np.flatnonzero(is_new)
    return _chosen(self, order[starts], dim), inverse, np.diff(starts, append=len(rows))


def _differs_from_last(rows: np.ndarray) -> np.ndarray:
    is_new = np.ones(len(rows), np.bool_)
    differs = rows[1:] != rows[:-1]
    is_new[1:] = differs[:, 0] if rows.shape[1] == 1 else differs.any(axis=1)
    return is_new


def _unique_runs(self: np.ndarray, *, dim: int | None, inverse: bool, counts: bool) -> Arrays:
    rows = self.reshape(-1, 1) if dim is None else np.moveaxis(self, dim, 0)
    rows = rows.reshape(len(rows), -1) if rows.size else rows.reshape(len(rows), 1)
    is_new = _differs_from_last(rows)
    starts = np.flatnonzero(is_new)
    # What is not asked for has no elements.
    places = lengths = np.empty(0, np.int64)
    if inverse:
        numbers = np.cumsum(is_new) - 1
        places = numbers.reshape(self.shape) if dim is None else numbers
    if counts:
        lengths = np.diff(starts, append=len(rows))
    values = self.reshape(-1)[starts] if dim is None else _chosen(self, starts, dim)
    return values, places, lengths


def _chosen(self: np.ndarray, places: np.ndarray, dim: int) -> np.ndarray:
    """Slices of a dimension, one after the other in memory."""
    slices = as_new(np.moveaxis(self, dim, 0).take(places, axis=0))
    return np.moveaxis(slices, 0, dim)


UNIQUE = Op(
    "_unique2", _unique, outputs=3, node="Unique2Backward0",
    grads={"self": _no_gradient("_unique2")},
)  # fmt: skip
UNIQUE_DIM = Op("unique_dim", _unique_slices, outputs=3, grads={"self": _no_gradient("unique_dim")})
UNIQUE_CONSECUTIVE = Op(
    "unique_consecutive", _unique_runs, outputs=3,
    grads={"self": _no_gradient("unique_consecutive")},
)  # fmt: skip


def _asked(found: tuple[Tensor, ...], return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = found
    if not return_inverse and not return_counts:
        return values
    wanted = [values]
    if return_inverse:
        wanted.append(inverse)
    if return_counts:
        wanted.append(counts)
    return tuple(wanted)


def _require_bools(**flags: Any) -> None:
    for name, value in flags.items():
        require_bool(name, value)


def _set_dim(input: Tensor, dim: int) -> int:
    shape = input._array.shape
    if not shape:
        raise IndexError(
            f"Dimension specified as {dim} but tensor has no dimensions" + errors.at_user_line()
        )
    dim = wrap_dim(dim, len(shape))
    if any(n == 0 for i, n in enumerate(shape) if i != dim):
        raise RuntimeError(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
            + errors.at_user_line()
        )
    return dim


@public(out=False)
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements in order, or the distinct slices along a dimension.

    Args:
        input: a tensor that is not complex
        sorted: ignored; the result is always sorted
        return_inverse: return also, for each element, which distinct one it is
        return_counts: return also how often each occurs
        dim: compare slices of this dimension; by default elements

    Example:
        >>> clew.unique(clew.tensor([3, 1, 3, 2]))
        tensor([1, 2, 3])
        >>> values, counts = clew.unique(clew.tensor([3, 1, 3, 2]), return_counts=True)
        >>> counts
        tensor([1, 1, 2])
    """
    _require_bools(sorted=sorted, return_inverse=return_inverse, return_counts=return_counts)
    if input.dtype.is_complex:
        raise errors.no_kernel("unique", input.dtype)
    if dim is None:
        found = UNIQUE(input)
    else:
        found = UNIQUE_DIM(input, dim=_set_dim(input, dim))
    return _asked(found, return_inverse, return_counts)


@public(out=False)
def unique_consecutive(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The first element of each run of equal elements (or slices along a dimension).

    Args:
        input: a tensor that is not complex
        return_inverse: return also, for each element, in which run it is
        return_counts: return also how long each run is
        dim: compare slices of this dimension; by default elements

    Example:
        >>> clew.unique_consecutive(clew.tensor([1, 1, 2, 2, 1]))
        tensor([1, 2, 1])
    """
    _require_bools(return_inverse=return_inverse, return_counts=return_counts)
    if input.dtype.is_complex:
        raise errors.no_kernel("unique", input.dtype)
    wanted = {"inverse": return_inverse, "counts": return_counts}
    found = UNIQUE_CONSECUTIVE(input, dim=None if dim is None else _set_dim(input, dim), **wanted)
    return _asked(found, return_inverse, return_counts)


# -- isin ------------------------------------------------------------------------------------------


def _isin(
    elements: np.ndarray, test_elements: np.ndarray, *, assume_unique: bool, invert: bool
) -> np.ndarray:
    found = np.isin(
        orderable(elements), orderable(test_elements), assume_unique=assume_unique, invert=invert
    )
    return np.asarray(found)


ISIN = Op("isin", _isin, non_differentiable="boolean output")


@public(method=False, accept=out_checks.exact, differentiable=False)
def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Whether each element is among `test_elements`.

    Args:
        elements: a tensor or a number
        test_elements: a tensor or a number; one of the two is a tensor
        assume_unique: a promise that neither has an element twice, which saves time
        invert: whether each element is *not* among them

    Example:
        >>> clew.isin(clew.tensor([[1, 2], [3, 4]]), clew.tensor([2, 3]))
        tensor([[False,  True],
                [ True, False]])
    """
    given = (elements, test_elements)
    if not any(isinstance(value, Tensor) for value in given):
        raise TypeError(
            f"isin() received an invalid combination of arguments - got "
            f"({', '.join(type(value).__name__ for value in given)}), but one must be a Tensor"
            + errors.at_user_line()
        )
    if not all(isinstance(value, (Tensor, Number)) for value in given):
        raise no_overload("isin", given, "tensors or numbers")
    first, second = (
        value if isinstance(value, Tensor) else wrap(np.asarray(value)) for value in given
    )
    for value in (first, second):
        if value.dtype.is_complex or value.dtype is dtypes.bool_:
            raise RuntimeError(
                f"Unsupported input type encountered for isin(): {value.dtype.scalar_name}"
                + errors.at_user_line()
            )
    return ISIN(first, second, assume_unique=assume_unique, invert=invert)


# -- searchsorted ----------------------------------------------------------------------------------


def _searchsorted(
    sorted_sequence: np.ndarray,
    self: np.ndarray,
    sorter: np.ndarray | None,
    *,
    right: bool,
    out_int32: bool,
) -> np.ndarray:
    sequence, values = orderable(sorted_sequence), orderable(self)
    if sorter is not None:
        sequence = np.take_along_axis(sequence, sorter, -1)
    if sequence.ndim == 1:
        # The steps are those of PyTorch, which show among NaN and where nothing is sorted.
        sequence, values = sequence[None], values.reshape(1, -1)
    same = np.result_type(sequence, values)
    if same.kind in "biu" and same.name != "uint64":
        same = np.dtype(np.int64)
    if same in compiled.bisection.TYPES:
        sequence, values = (each.astype(same, copy=False) for each in (sequence, values))
        places = compiled.bisection.bisect(sequence, values, right)
    else:
        places = _bisect(sequence, values, right)
    return places.reshape(self.shape).astype(np.int32 if out_int32 else np.int64, copy=False)


def _bisect(sequence: np.ndarray, values: np.ndarray, right: bool) -> np.ndarray:
    """Binary search in each row of `sequence`, for all values at once."""
    low = np.zeros(values.shape, np.int64)
    high = np.full(values.shape, sequence.shape[-1])
    while (low < high).any():
        middle = (low + high) // 2
        found = np.take_along_axis(sequence, np.minimum(middle, sequence.shape[-1] - 1), -1)
        go_up = (low < high) & ~((found > values) if right else (found >= values))
        high = np.where((low < high) & ~go_up, middle, high)
        low = np.where(go_up, middle + 1, low)
    return low


SEARCHSORTED = Op("searchsorted", _searchsorted, non_differentiable="integer output")


def _search_error(text: str) -> RuntimeError:
    return RuntimeError(f"torch.searchsorted(): {text}" + errors.at_user_line())


def _require_values(function: str, values: Any, given: tuple[Any, ...]) -> None:
    if not isinstance(values, (Tensor, Number)):
        raise no_overload(function, given, "a tensor or a number for the values")


def _check_search(sequence: Tensor, values: Tensor, sorter: Tensor | None) -> None:
    have, wanted = sequence._array.shape, values._array.shape
    if sorter is not None:
        if sorter._array.shape != have:
            raise _search_error(
                "boundary and sorter must have the same size, but got boundary tensor "
                f"{errors.shape_list(have)}and got sorter tensor "
                f"{errors.shape_list(sorter._array.shape)}"
            )
        if sorter.dtype is not dtypes.int64:
            raise _search_error(
                f"sorter must be a tensor of long dtype but got dtype {sorter.dtype.scalar_name}"
            )
        places = every_value(sorter)
        if places.size and (places.min() < 0 or places.max() >= have[-1]):
            raise _search_error("sorter index out of range")
    if not wanted and len(have) != 1:
        raise _search_error(
            "input value can be a scalar only when boundaries tensor dimension is 1, but we got "
            f"boundaries tensor dim({len(have)}) and input value's dim(0) numel(1)"
        )
    if not have:
        raise _search_error(
            "input value tensor must have at least 1 dimension, but got boundaries tensor of 0"
        )
    if len(have) != 1 and have[:-1] != wanted[:-1]:
        raise _search_error(
            "boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            "tensor and input value tensor must match, but we got boundaries tensor "
            f"{errors.shape_list(have)} and input value tensor {errors.shape_list(wanted)}"
        )
    common = dtypes.promote_types(sequence.dtype, values.dtype)
    if values._array.size and (common.is_complex or common is dtypes.bool_):
        raise errors.no_kernel("searchsorted_out_cpu", common)


@public(
    method=False,
    accept=out_checks.of_result_dtype(out_checks.search_words),
    differentiable=False,
)
def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where values would be inserted into a sorted sequence (its last dimension).

    Args:
        sorted_sequence: rising along the last dimension: a vector, or (..., n)
        input: the values, a number or a tensor; its leading dimensions are those of the sequence
        out_int32: return int32 instead of int64
        right: insert after equal elements instead of before
        side: "left" or "right", the same by name
        sorter: the indices that sort a sequence that is not sorted

    Example:
        >>> clew.searchsorted(clew.tensor([1, 3, 5]), clew.tensor([3, 4]))
        tensor([1, 2])
        >>> clew.searchsorted(clew.tensor([1, 3, 5]), clew.tensor([3, 4]), right=True)
        tensor([2, 2])
    """
    if side not in (None, "left", "right"):
        raise _search_error(f"side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise _search_error(
            "side and right can't be set to opposites, got side of left while right was True"
        )
    _require_values("searchsorted", input, (sorted_sequence, input))
    values = input if isinstance(input, Tensor) else wrap(np.asarray(input))
    _check_search(sorted_sequence, values, sorter)
    for role, tensor in (
        ("input value", values),
        ("boundary", sorted_sequence),
        ("sorter", sorter),
    ):
        if tensor is not None and not tensor._array.flags.c_contiguous:
            warnings.warn(
                f"torch.searchsorted(): {role} tensor is non-contiguous, this will lower the "
                "performance: it is copied first.",
                stacklevel=user_stacklevel(),
            )
    return SEARCHSORTED(
        sorted_sequence, values, sorter, right=right or side == "right", out_int32=out_int32
    )


@public(
    method=False,
    accept=out_checks.of_result_dtype(out_checks.search_words),
    differentiable=False,
)
def bucketize(
    input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    """The index of the interval between `boundaries` that each value falls into.

    Args:
        input: the values, a number or a tensor
        boundaries: a rising vector
        out_int32: return int32 instead of int64
        right: a value equal to a boundary falls into the interval above it, instead of below

    Example:
        >>> clew.bucketize(clew.tensor([0.5, 2.0, 9.0]), clew.tensor([1., 2., 3.]))
        tensor([0, 1, 3])
    """
    _require_values("bucketize", input, (input, boundaries))
    if boundaries._array.ndim != 1:
        raise RuntimeError(
            f"boundaries tensor must be 1 dimension, but got dim({boundaries._array.ndim})"
            + errors.at_user_line()
        )
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)
