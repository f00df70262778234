"""Ranges, evenly spaced points, identity and index grids."""

from __future__ import annotations

import math
import warnings
from typing import Any, Unpack

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.backend.normal_streams import scale_and_shift
from clew.core.interception import by_example
from clew.core.public import public
from clew.core.tensor import Tensor
from clew.ops.define.dims import is_int
from clew.ops.define.options import (
    Options,
    float_dtype,
    made,
    overflow,
    read_dtype,
    warn_of_length,
)
from clew.ops.shape.joining import cat
from clew.overloads import no_overload
from clew.source import user_stacklevel

Dtype = dtypes.dtype | None
_COUNTABLE = frozenset(
    d for d in dtypes.ALL_DTYPES
    if d.category in (dtypes.INTEGER, dtypes.FLOAT) and d.name not in ("uint16", "uint32", "uint64")
)  # fmt: skip
# So many numbers certainly fit in memory.
_MANY = 1 << 24


def _number(function: str, name: str, position: int, value: Any) -> Any:
    """A bound as a Python number; 0-dim tensors are read."""
    number = value.item() if isinstance(value, (Tensor, np.generic)) else value
    if not isinstance(number, (int, float, complex)):
        raise errors.wrong_argument(function, name, position, "Number", value)
    return number


def _real_bounds(function: str, start: Any, end: Any, step: Any) -> list[Any]:
    last = _number(function, "end", 1, end)
    numbers = [_number(function, "start", 1, start), last, _number(function, "step", 3, step)]
    if any(isinstance(number, complex) for number in numbers):
        raise overflow(dtypes.float64)
    return numbers


@public(method=False, out=False)
def arange(
    *bounds: Any,
    start: Any = None,
    end: Any = None,
    step: Any = None,
    out: Tensor | None = None,
    dtype: Dtype = None,
    **options: Unpack[Options],
) -> Tensor:
    """Numbers from start to before end, `step` apart: `arange(end)` or `arange(start, end, step)`.

    Args:
        bounds: `start`, `end` and `step` by position; one number alone is the end
        start: the first number; 0 unless given
        end: where to stop; it is left out
        step: the distance between neighbours; 1 unless given
        out: the tensor to store the result in; None makes a new one
        dtype: the dtype of the elements; None is int64 for integers, else the default float
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> clew.arange(4)
        tensor([0, 1, 2, 3])
        >>> clew.arange(1, 2, 0.25)
        tensor([1.0000, 1.2500, 1.5000, 1.7500])
    """
    if (
        len(bounds) == 1
        and type(bounds[0]) is int
        and 0 <= bounds[0] < _MANY
        and dtype is None
        and not any(each is not None for each in (start, end, step, out))
    ):
        return made("arange", np.arange(bounds[0]), options)
    if len(bounds) > 3 or (not bounds and end is None):
        raise TypeError(
            f"arange() received an invalid combination of arguments - got {len(bounds)} "
            "positional ones, but expected (end), (start, end) or (start, end, step)"
            + errors.at_user_line()
        )
    if len(bounds) == 1 and end is None:
        end = bounds[0]
    else:
        start, end, step = (*bounds, *(start, end, step)[len(bounds) :])
    given = [bound for bound in (start, end, step) if bound is not None]
    kind = read_dtype("arange", dtype) or (None if out is None else out.dtype)
    first, last, stride = _real_bounds(
        "arange", 0 if start is None else start, end, 1 if step is None else step
    )
    if kind is None:
        integers = not any(map(_is_floating, given))
        kind = dtypes.int64 if integers else dtypes.get_default_dtype()
    numbers = _arange_array(first, last, stride, kind)
    warn_of_length(out, numbers.size)
    return _delivered("arange", numbers, options, out)


def _delivered(function: str, numbers: np.ndarray, options: Options, out: Tensor | None) -> Tensor:
    """The tensor of some numbers; an `out=` for as many of them keeps its shape."""
    if out is not None and out._array.size == numbers.size:
        numbers = numbers.reshape(out._array.shape)
    return made(function, numbers, options, out)


def _is_floating(bound: Any) -> bool:
    if isinstance(bound, Tensor):
        return bound.dtype.category >= dtypes.FLOAT
    return isinstance(bound, (float, np.floating))


def _arange_array(first: Any, last: Any, step: Any, kind: dtypes.dtype) -> np.ndarray:
    if kind not in _COUNTABLE:
        raise _not_implemented("arange_cpu", kind)
    _check_range(first, last, step)
    if kind is dtypes.int64:
        first, last, step = int(first), int(last), int(step)
        if step == 0:
            raise ValueError("step must be nonzero as an integer" + errors.at_user_line())
        numbers = np.arange(-((first - last) // step), dtype=np.int64)
        if step != 1:
            numbers *= step
        if first:
            numbers += first
        return numbers
    count = math.ceil((last - first) / step)
    if count >= 2**63:
        raise RuntimeError("invalid size, possible overflow?" + errors.at_user_line())
    if kind.category == dtypes.INTEGER:
        return (np.arange(count) * int(step) + int(first)).astype(kind.np)
    if kind is dtypes.float32:
        return _arange_float32(first, step, count)
    return (np.arange(count) * step + first).astype(kind.np)


def _arange_float32(first: float, step: float, count: int) -> np.ndarray:
    """PyTorch's rounding: vectors of 8 count from their own, already rounded, first number."""
    values = (np.arange(count) * step + first).astype(np.float32)
    whole = count // 16 * 16
    starts = values[:whole:8].astype(np.float64)
    values[:whole] = (starts[:, None] + np.arange(8) * step).astype(np.float32).ravel()
    return values


def _not_implemented(torch_kernel: str, kind: dtypes.dtype) -> NotImplementedError:
    return errors.no_kernel(torch_kernel, kind, "Use another dtype, such as torch.float32")


def _check_range(first: Any, last: Any, step: Any) -> None:
    if step == 0:
        raise RuntimeError("step must be nonzero" + errors.at_user_line())
    if not (math.isfinite(first) and math.isfinite(last)):
        raise RuntimeError(f"unsupported range: {first} -> {last}" + errors.at_user_line())
    if (last - first) * step < 0:
        raise RuntimeError(
            "upper bound and lower bound inconsistent with step sign" + errors.at_user_line()
        )


@public(method=False, out=False)
def range(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    *,
    out: Tensor | None = None,
    dtype: Dtype = None,
    **options: Unpack[Options],
) -> Tensor:
    """Deprecated: numbers from start to end, both included; `arange` leaves the end out.

    Args:
        start: the first number
        end: the last number, if a whole number of steps leads to it
        step: the distance between neighbours
        out: the tensor to store the result in; None makes a new one
        dtype: the dtype of the elements; None is the default float
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> clew.range(1, 4)
        tensor([1., 2., 3., 4.])
    """
    if end is None:
        raise TypeError(
            'range() missing 1 required positional arguments: "end"' + errors.at_user_line()
        )
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is "
        "inconsistent with Python's range builtin. Instead, use torch.arange, which produces "
        "values in [start, end).",
        stacklevel=user_stacklevel(),
    )
    kind = float_dtype("range", dtype, out)
    if kind is dtypes.bool_ or kind.is_complex:
        raise errors.no_kernel("range_cpu", kind)
    first, last, stride = _real_bounds("range", start, end, step)
    _check_range(first, last, stride)
    count = math.floor((last - first) / stride) + 1
    if kind.category == dtypes.INTEGER:
        first, stride = int(first), int(stride)
    return _delivered("range", (np.arange(count) * stride + first).astype(kind.np), options, out)


# -- evenly spaced ---------------------------------------------------------------------------


def _spaced(function: str, start: Any, end: Any, steps: Any, kind: dtypes.dtype) -> np.ndarray:
    """Evenly spaced points, counted from the nearer end."""
    if not is_int(steps):
        raise no_overload(function, (start, end, steps), "an int for the number of steps")
    steps = int(steps)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative" + errors.at_user_line())
    if steps > 1 and kind not in _COUNTABLE and not kind.is_complex:
        raise _not_implemented(f"{function}_cpu", kind)
    exact = dtypes.float64 if kind.category < dtypes.FLOAT else kind
    wide = np.dtype(np.complex128 if kind.is_complex else np.float64)
    if kind.category == dtypes.INTEGER:
        start, end = int(start), int(end)
    first, last = (np.asarray(point).astype(exact.np).astype(wide) for point in (start, end))
    if steps < 2:
        return np.full(steps, first, wide)
    step = ((last - first) / (steps - 1)).astype(exact.np).astype(wide)
    index = np.arange(float(steps))
    if exact is dtypes.float64:
        # A product and a sum round once.
        from_start = scale_and_shift(index, float(step), float(first))
        from_end = scale_and_shift(index[::-1], -float(step), float(last))
    else:
        offsets = step * index
        if kind.np in dtypes.LOW_PRECISION:
            offsets = offsets.astype(kind.np).astype(wide)
        from_start, from_end = first + offsets, last - offsets[::-1]
    return np.where(index < steps // 2, from_start, from_end)


def _end_points(function: str, start: Any, end: Any) -> tuple[Any, Any]:
    """Both ends as numbers."""
    for name, value in (("start", start), ("end", end)):
        if isinstance(value, Tensor) and value._array.ndim:
            raise RuntimeError(
                f"{function} only supports 0-dimensional start and end tensors, but got {name} "
                f"with {value._array.ndim} dimension(s)." + errors.at_user_line()
            )
    return _number(function, "start", 1, start), _number(function, "end", 2, end)


def _spaced_dtype(
    function: str, dtype: Any, out: Tensor | None, points: tuple[Any, ...]
) -> dtypes.dtype:
    kind = read_dtype(function, dtype)
    complex_points = any(isinstance(point, complex) for point in points)
    if kind is None:
        if out is not None:
            kind = out.dtype
        else:
            kind = dtypes.default_complex() if complex_points else dtypes.get_default_dtype()
    if complex_points and not kind.is_complex:
        raise RuntimeError(
            f"torch.{function}(): inferred dtype {dtypes.default_complex()!r} can't be safely cast "
            f"to passed dtype {kind!r}" + errors.at_user_line()
        )
    return kind


@public(method=False, out=False)
@by_example
def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    out: Tensor | None = None,
    dtype: Dtype = None,
    **options: Unpack[Options],
) -> Tensor:
    """`steps` points from start to end, both included, evenly spaced.

    Args:
        start: the first point, a number or a 0-dim tensor
        end: the last point, a number or a 0-dim tensor
        steps: how many points
        out: the tensor to store the result in; None makes a new one
        dtype: the dtype of the elements; None is the default float
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> clew.linspace(0, 1, steps=5)
        tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    first, last = _end_points("linspace", start, end)
    kind = _spaced_dtype("linspace", dtype, out, (first, last))
    points = _spaced("linspace", first, last, steps, kind)
    return _delivered("linspace", points.astype(kind.np, copy=False), options, out)


@public(method=False, out=False)
@by_example
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    out: Tensor | None = None,
    dtype: Dtype = None,
    **options: Unpack[Options],
) -> Tensor:
    """`base` to the power of `steps` evenly spaced exponents.

    Args:
        start: the first exponent, a number or a 0-dim tensor
        end: the last exponent, a number or a 0-dim tensor
        steps: how many points
        base: what to raise to the exponents
        out: the tensor to store the result in; None makes a new one
        dtype: the dtype of the elements; None is the default float
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> clew.logspace(0, 3, steps=4)
        tensor([   1.,   10.,  100., 1000.])
        >>> clew.logspace(0, 3, steps=4, base=2)
        tensor([1., 2., 4., 8.])
    """
    base = _number("logspace", "base", 4, base)
    first, last = _end_points("logspace", start, end)
    kind = _spaced_dtype("logspace", dtype, out, (first, last))
    exponents = _spaced("logspace", first, last, steps, kind)
    points = np.power(exponents.dtype.type(base), exponents)
    return _delivered("logspace", points.astype(kind.np, copy=False), options, out)


# -- identity and index grids ----------------------------------------------------------------


@public(method=False, out=False)
def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    dtype: Dtype = None,
    **options: Unpack[Options],
) -> Tensor:
    """A matrix with ones on the diagonal and zeros elsewhere.

    Args:
        n: how many rows
        m: how many columns; None is `n`
        out: the tensor to store the result in; None makes a new one
        dtype: the dtype of the elements; None is the default float
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> clew.eye(2, 3)
        tensor([[1., 0., 0.],
                [0., 1., 0.]])
    """
    for name, value in (("n", n), ("m", m)):
        if value is not None and value < 0:
            raise RuntimeError(
                f"{name} must be greater or equal to 0, got {value}" + errors.at_user_line()
            )
    return made("eye", np.eye(n, m, dtype=float_dtype("eye", dtype, out).np), options, out)


def _triangle(
    function: str, first: np.ndarray, stop: np.ndarray, dtype: Any, options: Options
) -> Tensor:
    """Row and column numbers, the columns of each row being range(first, stop)."""
    kind = read_dtype(function, dtype) or dtypes.int64
    if kind not in (dtypes.int32, dtypes.int64):
        raise errors.no_kernel(function, kind, "Indices are of torch.int64 or torch.int32")
    lengths = np.maximum(stop - first, 0)
    found = np.empty((2, lengths.sum()), np.int64)
    found[0] = np.repeat(np.arange(len(lengths)), lengths)
    before = np.cumsum(lengths) - lengths
    found[1] = np.arange(found.shape[1]) - np.repeat(before - first, lengths)
    return made(function, found.astype(kind.np, copy=False), options)


def _check_grid(row: int, col: int) -> None:
    for name, value in (("row", row), ("col", col)):
        if value < 0:
            raise RuntimeError(f"{name} must be non-negative, got{value}" + errors.at_user_line())


@public(method=False, out=False, checked=True)
def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: Dtype = None, **options: Unpack[Options]
) -> Tensor:
    """Row and column numbers of the lower triangle of a matrix, as the two rows of a tensor.

    Args:
        row: how many rows the matrix has
        col: how many columns
        offset: which diagonal the triangle ends with: 0 is the main one, above it is positive
        dtype: the dtype of the elements; None is int64
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> clew.tril_indices(2, 3)
        tensor([[0, 1, 1],
                [0, 0, 1]])
    """
    _check_grid(row, col)
    stop = np.clip(np.arange(1, row + 1) + offset, 0, col)
    return _triangle("tril_indices", np.zeros(row, np.int64), stop, dtype, options)


@public(method=False, out=False, checked=True)
def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: Dtype = None, **options: Unpack[Options]
) -> Tensor:
    """Row and column numbers of the upper triangle of a matrix, as the two rows of a tensor.

    Args:
        row: how many rows the matrix has
        col: how many columns
        offset: which diagonal the triangle begins with: 0 is the main one, above it is positive
        dtype: the dtype of the elements; None is int64
        options: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> clew.triu_indices(2, 3)
        tensor([[0, 0, 0, 1, 1],
                [0, 1, 2, 1, 2]])
    """
    _check_grid(row, col)
    first = np.clip(np.arange(row) + offset, 0, col)
    return _triangle("triu_indices", first, np.full(row, col), dtype, options)


@public(method=False, out=False, checked=True)
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The Vandermonde matrix: columns of powers of the elements of x.

    Args:
        x: a tensor of one dimension
        N: how many columns; None is as many as elements
        increasing: whether the powers increase from left to right

    Example:
        >>> clew.vander(clew.tensor([1, 2, 3]))
        tensor([[1, 1, 1],
                [4, 2, 1],
                [9, 3, 1]])
        >>> clew.vander(clew.tensor([1, 2, 3]), N=2, increasing=True)
        tensor([[1, 1],
                [1, 2],
                [1, 3]])
    """
    if x._array.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor." + errors.at_user_line())
    columns = x._array.size if N is None else N
    if columns < 0:
        raise RuntimeError("N must be non-negative." + errors.at_user_line())
    powers = x.new_ones((x._array.size, min(columns, 1)))
    if columns > 1:
        repeated = x.unsqueeze(-1).expand(x._array.size, columns - 1)
        powers = cat((powers, repeated.cumprod(-1)), -1)
    return powers if increasing else powers.flip(-1)
