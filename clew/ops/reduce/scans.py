"""Scans: cumsum, cumprod, logcumsumexp, cummax, cummin."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.elementwise import F32, F64
from clew.core.op import Op
from clew.core.public import public
from clew.core.state import local
from clew.core.tensor import Tensor, every_value, of_values, wrap
from clew.kernels import compiled
from clew.kernels import numpy as kernels
from clew.kernels.codegen.ufunc import Scan, scan
from clew.kernels.numpy.arrays import as_new, widened
from clew.ops import define
from clew.ops.define import out_checks
from clew.ops.define.dims import numpy_names, wrap_dim
from clew.ops.define.rows import refuse_complex_history
from clew.ops.pointwise.arithmetic import conj
from clew.ops.pointwise.clamping import WHERE
from clew.ops.reduce.choosing import found_op, orderable
from clew.ops.reduce.reductions import convert, sum_dtype

# Running totals are kept in more digits than the results, so that their errors do not pile up.
_RUNNING: dict[np.dtype, np.dtype] = {
    dtypes.float16.np: F32, dtypes.bfloat16.np: F32, F32: F64,
    np.dtype(np.complex64): np.dtype(np.complex128),
}  # fmt: skip


_KERNELS: dict[Any, Scan] = {
    np.add: scan("running_sum", is_associative=True)(lambda total, x: total + x),
    np.multiply: scan("running_product", start=1.0, is_associative=True)(
        lambda total, x: total * x
    ),
}


def _accumulate(ufunc: np.ufunc, self: np.ndarray, dim: int, dtype: np.dtype) -> np.ndarray:
    values = convert(self, dtype)
    if not values.ndim:
        return values.copy()
    kernel = _KERNELS[ufunc].specialize(values)
    if kernel is not None:
        return _scanned(kernel, values, dim=dim)
    running = _RUNNING.get(dtype, dtype)
    return as_new(ufunc.accumulate(values, axis=dim, dtype=running).astype(dtype, copy=False))


def _scanned(kernel: Any, *arrays: np.ndarray, dim: int, backwards: bool = False) -> np.ndarray:
    """What a scan makes of arrays along a dimension, from its start or from its end."""
    if dim == arrays[-1].ndim - 1 and not backwards:
        return as_new(np.asarray(kernel(*arrays)))
    result = np.empty(arrays[-1].shape, arrays[-1].dtype)
    operands = [*arrays, result]
    if dim != result.ndim - 1:
        operands = [each.swapaxes(dim, -1) for each in operands]
    if backwards:
        operands = [each[..., ::-1] for each in operands]
    kernel(*operands)
    return result


def _reversed_cumsum(g: Any, dim: int) -> Any:
    """Sums from each element to the end; of tensors or bare arrays."""
    if type(g) is not np.ndarray:
        return g.flip(dim).cumsum(dim).flip(dim) if g._array.size > 1 else g
    if not g.ndim:
        return g
    kernel = _KERNELS[np.add].specialize(g)
    if kernel is not None:
        return _scanned(kernel, g, dim=dim, backwards=True)
    return np.flip(_accumulate(np.add, np.flip(g, dim), dim, g.dtype), dim)


def _in_dtype(g: Any, dtype: dtypes.dtype) -> Any:
    """A gradient, tensor or bare array, in the dtype of the input, before anything is summed."""
    if type(g) is np.ndarray:
        return convert(g, dtype.np)
    return g if g.dtype is dtype or (g.dtype.is_complex and not dtype.is_complex) else g.to(dtype)


def _quick_scan(op: Op, ufunc: np.ufunc, input: Tensor, dim: int) -> Tensor | None:
    """The short path for floats; None where there is more to look at."""
    array, state = input._array, local.state
    dtype = array.dtype
    if (dtype is not F32 and dtype is not F64) or not array.ndim or state.intercept is not None:
        return None
    last = array.ndim - 1
    kernel = _KERNELS[ufunc].specialize(array)
    # A look at what is usual is shorter than calls.
    if type(dim) is int and (dim == last or dim == -1):
        return op.output(state, (input,), {"dim": last, "dtype": dtype}, as_new(kernel(array)))
    dim = wrap_dim(dim, array.ndim)
    result = _scanned(kernel, array, dim=dim)
    return op.output(state, (input,), {"dim": dim, "dtype": dtype}, result)


CUMSUM = Op(
    "cumsum",
    lambda self, *, dim, dtype: _accumulate(np.add, self, dim, dtype),
    grads={"self": lambda g, dim, self_dtype: _reversed_cumsum(_in_dtype(g, self_dtype), dim)},
    linear=True,
    bare=True,
)


def _keeps_dtype(args: tuple[Any, ...], kwargs: dict[str, Any], target: Tensor) -> None:
    """In place, the dtype that is asked for is the one that there is."""
    asked = kwargs.get("dtype")
    if asked is not None and dtypes.of_python(asked) is not target.dtype:
        raise RuntimeError(
            f"Bad in-place call: input tensor dtype {target.dtype.c_name} and output tensor dtype "
            f"{dtypes.of_python(asked).c_name} should match" + errors.at_user_line()
        )


@public(inplace=_keeps_dtype, out=out_checks.decides_dtype)
@numpy_names
def cumsum(input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Running sums along a dimension.

    Args:
        input: any tensor; bools and integers are summed as int64
        dim: the dimension
        dtype: what to convert to before summing

    Example:
        >>> clew.cumsum(clew.tensor([[1, 2, 3], [4, 5, 6]]), dim=1)
        tensor([[ 1,  3,  6],
                [ 4,  9, 15]])
    """
    quick = _quick_scan(CUMSUM, np.add, input, dim) if dtype is None else None
    if quick is not None:
        return quick
    return _scan(CUMSUM, input, dim, dtype)


def _scan(op: Op, input: Tensor, dim: int, dtype: dtypes.dtype | None) -> Tensor:
    dim = wrap_dim(dim, input._array.ndim)
    if dtype in (dtypes.bool_, bool) and input._array.ndim and input._array.size:
        raise errors.no_kernel(f"{op.name}_out_cpu", dtypes.bool_)
    result: Tensor = op(input, dim=dim, dtype=sum_dtype(input, dtype))
    return result


# -- linear recurrences, which gradients of scans are --------------------------------------------


@scan("recurrence", 2)
def _RECURRENCE(following: Any, factor: Any, term: Any) -> Any:
    return term + factor * following


def _recurrence(factors: np.ndarray, terms: np.ndarray, *, dim: int) -> np.ndarray:
    """r[i] = terms[i] + factors[i] r[i+1]; for complex numbers in log2(length) doubling steps."""
    kernel = _RECURRENCE.specialize(terms)
    if kernel is not None and factors.dtype is terms.dtype and terms.ndim:
        return _scanned(
            kernel, np.broadcast_to(factors, terms.shape), terms, dim=dim, backwards=True
        )
    result = np.moveaxis(np.array(terms), dim, 0)
    factors = np.moveaxis(np.array(np.broadcast_to(factors, terms.shape)), dim, 0)
    step, length = 1, len(result)
    while step < length:
        result[:-step] += factors[:-step] * result[step:]
        factors[:-step] *= factors[step:].copy()
        step *= 2
    return np.moveaxis(result, 0, dim)


def _only(length: int, place: int, ndim: int, dim: int) -> Tensor:
    """A mask that is true at one place along `dim` and broadcasts along the others."""
    mask = np.zeros((length,) + (1,) * (ndim - dim - 1), np.bool_)
    mask[place] = True
    return wrap(mask)


def shifted_left(x: Tensor, dim: int, fill: float) -> Tensor:
    """x[i + 1] at i, and `fill` at the end."""
    array = x._array
    return x.roll(-1, dim).masked_fill(_only(array.shape[dim], -1, array.ndim, dim), fill)


def shifted_right(x: Tensor, dim: int, fill: float) -> Tensor:
    """x[i - 1] at i, and `fill` at the start."""
    array = x._array
    return x.roll(1, dim).masked_fill(_only(array.shape[dim], 0, array.ndim, dim), fill)


def _terms_grad(g: Tensor, factors: Tensor, dim: int) -> Tensor:
    # The transpose of the recurrence runs the other way.
    return LINEAR_RECURRENCE(
        conj(shifted_right(factors, dim, 0)).flip(dim), g.flip(dim), dim=dim
    ).flip(dim)


LINEAR_RECURRENCE = Op(
    "_linear_recurrence",
    _recurrence,
    grads={
        "factors": lambda g, factors, out, dim: (
            _terms_grad(g, factors, dim) * conj(shifted_left(out, dim, 0))
        ),
        "terms": _terms_grad,
    },
)


# -- cumprod ---------------------------------------------------------------------------------


def _cumprod_grad(g: Tensor, self: Tensor, out: Tensor, dim: int, dtype: np.dtype) -> Tensor:
    array = self._array
    if not array.ndim or array.size <= 1 or array.shape[dim] == 1:
        # Nothing is multiplied: also NaN has a gradient.
        return g.real if g.dtype.is_complex and not self.dtype.is_complex else g
    if every_value(self).all():
        return _reversed_cumsum(_in_dtype(g, self.dtype) * conj(out), dim) / conj(self)
    # With zeros nothing can be divided by.
    x = conj(self.to(dtypes.BY_NUMPY[dtype]))
    if not local.state.grad_enabled:
        return _cumprod_grad_with_zeros(g, x, conj(out), dim)
    # The same sum as a recurrence, which has derivatives of its own.
    before = shifted_right(x, dim, 1).cumprod(dim)
    return before * LINEAR_RECURRENCE(shifted_left(x, dim, 0), g, dim=dim)


def _cumprod_grad_with_zeros(g: Tensor, x: Tensor, out: Tensor, dim: int) -> Tensor:
    """Up to the first zero by division, at it by a product; what comes after changes nothing."""
    is_zero = x == 0
    zeros = is_zero.cumsum(dim)
    is_before, is_next = zeros == 0, zeros == 1
    before = _reversed_cumsum((g * out).masked_fill(~is_before, 0), dim) / x
    following = x.masked_fill(~is_next | is_zero, 1).cumprod(dim) * g.masked_fill(~is_next, 0)
    at_zero = following.sum(dim, keepdim=True) * shifted_right(out, dim, 1)
    return WHERE(is_before, before, WHERE(is_next & is_zero, at_zero, 0))


CUMPROD = Op(
    "cumprod",
    lambda self, *, dim, dtype: _accumulate(np.multiply, self, dim, dtype),
    grads={"self": _cumprod_grad},
)
CUMPROD.keeps_complex = True


@public(inplace=_keeps_dtype, out=out_checks.decides_dtype)
@numpy_names
def cumprod(input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Running products along a dimension.

    Args:
        input: any tensor; bools and integers are multiplied as int64
        dim: the dimension
        dtype: what to convert to before multiplying

    Example:
        >>> clew.cumprod(clew.tensor([1, 2, 3, 4]), dim=0)
        tensor([ 1,  2,  6, 24])
    """
    quick = _quick_scan(CUMPROD, np.multiply, input, dim) if dtype is None else None
    if quick is not None:
        return quick
    return _scan(CUMPROD, input, dim, dtype)


# -- logcumsumexp ------------------------------------------------------------------------------


def _logcumsumexp(self: np.ndarray, *, dim: int) -> np.ndarray:
    if not self.ndim or not self.size:
        return self.copy()
    running = self.astype(_RUNNING.get(self.dtype, self.dtype))
    if running.dtype.kind in "cW":
        _complex_logcumsumexp(np.moveaxis(running, dim, 0))
    else:
        running = np.logaddexp.accumulate(running, axis=dim)
    return np.ascontiguousarray(running.astype(self.dtype, copy=False))


def _complex_logcumsumexp(rows: np.ndarray) -> None:
    # Before the first one there is the logarithm of nothing.
    rows[0] = kernels.complex_logarithms.logaddexp(np.full_like(rows[0], -np.inf), rows[0])
    for i in range(1, len(rows)):
        rows[i] = kernels.complex_logarithms.logaddexp(rows[i - 1], rows[i])


def _logcumsumexp_grad(g: Tensor, self: Tensor, out: Tensor, dim: int) -> Tensor:
    if not self._array.ndim or not self._array.size:
        return g
    in_halves = self._array.dtype in dtypes.HALVES
    if in_halves or not of_values(lambda values: bool(np.isfinite(values).all()), g):
        return _grad_in_logarithms(g, self, out, dim)
    # Each result is at least the one before it, so no factor exceeds one.
    last = _only(self._array.shape[dim], -1, self._array.ndim, dim)
    following = shifted_left(out, dim, 0)
    # Equal infinities have no difference.
    factors = (out - following).masked_fill(last | (out == following), 0).exp()
    return LINEAR_RECURRENCE(conj(factors), g, dim=dim) * conj((self - out).exp())


def _grad_in_logarithms(g: Tensor, self: Tensor, out: Tensor, dim: int) -> Tensor:
    """The same by PyTorch's formula, where NaN counts for nothing and infinities have a sign."""

    def from_the_end(x: Tensor) -> Tensor:
        reversed_: Tensor = LOGCUMSUMEXP(x.flip(dim), dim=dim)
        return reversed_.flip(dim)

    if g.dtype.is_complex:
        return (from_the_end(g.log() - conj(out)) + conj(self)).exp()
    size = g.abs().log()
    none = dtypes.finfo(g.dtype).min
    parts = [
        (from_the_end(WHERE(has_sign, size, none) - out) + self).exp()
        for has_sign in (g > 0, g < 0)
    ]
    return parts[0] - parts[1]


LOGCUMSUMEXP = Op("logcumsumexp", _logcumsumexp, grads={"self": _logcumsumexp_grad})


@public(out=out_checks.input_dtype(out_checks.scan_words))
@numpy_names
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """log of the running sums of exp along a dimension, computed without overflow.

    Args:
        input: floating point or complex
        dim: the dimension

    Example:
        >>> clew.logcumsumexp(clew.tensor([1000., 1000.]), dim=0)
        tensor([1000.0000, 1000.6932])
    """
    dim = wrap_dim(dim, input._array.ndim)
    if input.dtype.category < dtypes.FLOAT or input.dtype is dtypes.complex32:
        raise errors.no_kernel("logcumsumexp_out_cpu", input.dtype)
    return LOGCUMSUMEXP(input, dim=dim)


# -- cummax, cummin ------------------------------------------------------------------------------


# With so many elements at every step it is quicker to go across.
_WIDE = 256


def _running_extreme(
    ufunc: np.ufunc, self: np.ndarray, dim: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Values and places; None if there is no kernel for the dtype."""
    of = compiled.cumulative_extrema
    running = of.CUMMAX if ufunc is np.maximum else of.CUMMIN
    wide = widened(self)
    kernel = running.specialize(wide) if self.ndim else None
    if kernel is None:
        return None
    values, places = np.empty(self.shape, wide.dtype), np.empty(self.shape, np.int64)
    operands = wide, values, places
    if dim == self.ndim - 1 or self.size <= _WIDE * self.shape[dim]:
        kernel(*(each.swapaxes(dim, -1) for each in operands))
        return values.astype(self.dtype, copy=False), places
    x, best, found = (each.swapaxes(dim, 0) for each in operands)
    best[0], found[0] = x[0], 0
    go_on = running.step.specialize(wide)
    for j in range(1, len(x)):
        go_on(x[j], best[j - 1], found[j - 1], j, best[j], found[j])
    return values.astype(self.dtype, copy=False), places


def _running_places(ufunc: np.ufunc, self: np.ndarray, dim: int) -> np.ndarray:
    if not self.ndim:
        return np.zeros((), np.int64)
    found = _running_extreme(ufunc, self, dim)
    if found is not None:
        return found[1]
    values = orderable(self)
    running = ufunc.accumulate(values, axis=dim)
    is_new = running == values
    if values.dtype.kind == "f":
        is_new |= np.isnan(values)
    places = np.arange(self.shape[dim]).reshape((-1,) + (1,) * (self.ndim - dim - 1))
    return as_new(np.maximum.accumulate(np.where(is_new, places, 0), axis=dim))


def _at(self: np.ndarray, indices: np.ndarray, *, dim: int) -> np.ndarray:
    return as_new(np.take_along_axis(self, indices, dim)) if self.ndim else self.copy()


# As in PyTorch the input is saved, although only its shape is used.
def _gathered_grad(g: Tensor, self: Tensor, indices: Tensor, dim: int) -> Tensor:
    return g.new_zeros(self._array.shape).scatter_add(dim, indices, g)


def _running_op(name: str) -> Op:
    return Op(name, _at, grads={"self": _gathered_grad}, multilinear=True)


ARGCUMMAX = found_op("_argcummax", lambda self, *, dim: _running_places(np.maximum, self, dim))
ARGCUMMIN = found_op("_argcummin", lambda self, *, dim: _running_places(np.minimum, self, dim))
CUMMAX, CUMMIN = _running_op("cummax"), _running_op("cummin")


def _running(
    find: Op, choose: Op, ufunc: np.ufunc, input: Tensor, dim: int
) -> tuple[Tensor, Tensor]:
    if not input._array.ndim and dim not in (0, -1):
        raise IndexError(
            f"{choose.name}(): Expected reduction dim -1 or 0 for scalar but got {dim}"
            + errors.at_user_line()
        )
    # Of nothing, PyTorch does not ask whether the dimension is there.
    dim, state = wrap_dim(dim, input._array.ndim) if input._array.size else 0, local.state
    found = _running_extreme(ufunc, input._array, dim) if state.intercept is None else None
    if found is not None:
        params = {"dim": dim}
        indices = find.output(state, (input,), params, found[1])
        return choose.output(state, (input, indices), params, found[0]), indices
    if input.dtype.is_complex:
        if input._array.ndim and input._array.size:
            raise errors.no_kernel(f"{choose.name}_cpu", input.dtype)
        refuse_complex_history(choose.name, input)
    indices = find(input, dim=dim)
    return choose(input, indices, dim=dim), indices


@public(accept=out_checks.of_result_dtype(out_checks.scan_words))
@numpy_names
def cummax(input: Tensor, dim: int) -> define.return_types.cummax:
    """The largest element so far along a dimension, and where (the latest of equals).

    Args:
        input: a tensor that is not complex
        dim: the dimension

    Example:
        >>> values, indices = clew.cummax(clew.tensor([1, 3, 2, 3]), dim=0)
        >>> values, indices
        (tensor([1, 3, 3, 3]), tensor([0, 1, 1, 3]))
    """
    return define.return_types.cummax(*_running(ARGCUMMAX, CUMMAX, np.maximum, input, dim))


@public(accept=out_checks.of_result_dtype(out_checks.scan_words))
@numpy_names
def cummin(input: Tensor, dim: int) -> define.return_types.cummin:
    """The smallest element so far along a dimension, and where (the latest of equals).

    Args:
        input: a tensor that is not complex
        dim: the dimension

    Example:
        >>> values, indices = clew.cummin(clew.tensor([3, 1, 2, 1]), dim=0)
        >>> values, indices
        (tensor([3, 1, 1, 1]), tensor([0, 1, 1, 3]))
    """
    return define.return_types.cummin(*_running(ARGCUMMIN, CUMMIN, np.minimum, input, dim))
