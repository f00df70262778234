"""Largest and smallest: max, min, amax, amin, aminmax, argmax, argmin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.elementwise import F32, F64, NO_PARAMS
from clew.core.op import Op
from clew.core.public import public
from clew.core.state import local
from clew.core.tensor import Tensor, every_value
from clew.kernels.numpy.arrays import as_new
from clew.kernels.numpy.reduce import extreme_of_all, extreme_of_rows
from clew.ops import define
from clew.ops.define import out_checks
from clew.ops.define.dims import is_int, numpy_names, require_bool, wrap_dim
from clew.ops.define.rows import refuse_complex_history
from clew.ops.reduce.choosing import (
    choosing_op,
    chosen,
    found_op,
    orderable,
    require_elements,
)
from clew.ops.reduce.reductions import DimArgument, Dims, fold, reduced_dims, restore_dims
from clew.overloads import no_overload

MAX_DIM = choosing_op("max_dim", "MaxBackward0")
MIN_DIM = choosing_op("min_dim", "MinBackward0")


# -- argmax, argmin --------------------------------------------------------------------------


def _argmax(self: np.ndarray, *, dim: int | None, keepdim: bool) -> np.ndarray:
    if not self.ndim:
        return np.zeros((), np.int64)
    values: Any = orderable(self)
    return np.asarray(values.argmax(dim, keepdims=keepdim))


def _argmin(self: np.ndarray, *, dim: int | None, keepdim: bool) -> np.ndarray:
    if not self.ndim:
        return np.zeros((), np.int64)
    values: Any = orderable(self)
    return np.asarray(values.argmin(dim, keepdims=keepdim))


ARGMAX = found_op("argmax", _argmax)
ARGMIN = found_op("argmin", _argmin)


def _find_extreme(op: Op, input: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    name = op.name
    dtype = input.dtype
    if isinstance(dim, (tuple, list)):
        raise errors.wrong_argument(name, "dim", 1, "int", dim)
    if dtype.is_complex or dtype is dtypes.bool_:
        kind = "complex" if dtype.is_complex else "bool"
        raise RuntimeError(f"{name}(): does not support {kind} input" + errors.at_user_line())
    if keepdim is not False:
        require_bool("keepdim", keepdim)
    if dim is not None:
        dim = wrap_dim(dim, input._array.ndim)
        require_elements(name, input, dim)
    elif not input._array.size:
        raise IndexError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify "
            "the reduction dim with the 'dim' argument." + errors.at_user_line()
        )
    return op(input, dim=dim, keepdim=keepdim)


# Quicker than NumPy's functions of these names, which look for the method first.
_argmax_of, _argmin_of = np.ndarray.argmax, np.ndarray.argmin


def _place_of_all(op: Op, find: Callable[..., Any], input: Tensor) -> Tensor | None:
    """The short path for all elements of floats; None where there is more to look at."""
    array, state = input._array, local.state
    if (array.dtype is not F32 and array.dtype is not F64) or not array.size:
        return None
    if state.intercept is not None:
        return None
    return op.output(state, (input,), {"dim": None, "keepdim": False}, find(array))


@public(accept=out_checks.exact, differentiable=False)
@numpy_names
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the largest element (the first one; NaN counts as largest).

    Args:
        input: a tensor that is not complex
        dim: the dimension; by default the index counts in the flattened tensor
        keepdim: keep `dim`, with size 1

    Example:
        >>> x = clew.tensor([[1., 5., 2.], [7., 0., 3.]])
        >>> clew.argmax(x, dim=1)
        tensor([1, 0])
        >>> clew.argmax(x)
        tensor(3)
    """
    if dim is None and keepdim is False:
        quick = _place_of_all(ARGMAX, _argmax_of, input)
        if quick is not None:
            return quick
    return _find_extreme(ARGMAX, input, dim, keepdim)


@public(accept=out_checks.exact, differentiable=False)
@numpy_names
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the smallest element (the first one; NaN counts as smallest).

    Args:
        input: a tensor that is not complex
        dim: the dimension; by default the index counts in the flattened tensor
        keepdim: keep `dim`, with size 1

    Example:
        >>> clew.argmin(clew.tensor([[1., 5., 2.], [7., 0., 3.]]), dim=1)
        tensor([0, 1])
    """
    if dim is None and keepdim is False:
        quick = _place_of_all(ARGMIN, _argmin_of, input)
        if quick is not None:
            return quick
    return _find_extreme(ARGMIN, input, dim, keepdim)


def require_any_element(name: str, input: Tensor) -> None:
    if not input._array.size:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the 'dim' argument." + errors.at_user_line()
        )


# -- amax, amin, and the extreme of all elements -----------------------------------------------


def _extreme(ufunc: np.ufunc, self: np.ndarray, dims: Dims, keepdim: bool) -> np.ndarray:
    if len(dims) == 1 and dims[0] == self.ndim - 1 and self.size:
        largest = extreme_of_rows(ufunc, self)
        if largest is not None:
            return as_new(largest[..., None]) if keepdim else largest
    if self.dtype in dtypes.LOW_PRECISION and len(dims) == self.ndim and self.size:
        extreme = _extreme_of_halves(ufunc, self)
        return extreme.reshape((1,) * self.ndim) if keepdim else extreme
    result = fold(ufunc, orderable(self), dims, keepdim)
    return result if result.dtype is self.dtype else result.astype(self.dtype)


def _extreme_of_halves(ufunc: np.ufunc, array: np.ndarray) -> np.ndarray:
    """The extreme of all elements by their bits, which are ordered as magnitudes with a sign."""
    bits = array.view(np.uint16)
    infinity = np.asarray(np.inf).astype(array.dtype).view(np.uint16)
    if (bits & np.uint16(0x7FFF)).max() > infinity:
        return np.asarray(np.nan).astype(array.dtype)
    if ufunc is np.maximum:
        # As signed numbers, all that are negative come before the others, in the opposite order.
        signed = array.view(np.int16)
        found = signed.max()
        return np.asarray(found if found >= 0 else signed.min()).view(array.dtype)
    found = bits.max()
    return np.asarray(found if found >= 0x8000 else bits.min()).view(array.dtype)


def _shared_evenly(g: Tensor, self: Tensor, out: Tensor, dims: Dims, keepdim: bool) -> Tensor:
    """All the elements that equal the extreme share its gradient."""
    is_extreme = restore_dims(out, dims, keepdim) == self
    count = is_extreme.sum(dims or None, keepdim=True)
    return restore_dims(g, dims, keepdim) * is_extreme / count


def all_shared_evenly(g: Any, self: Any, out: Any) -> Any:
    """All the elements that equal the extreme share its gradient; of tensors or bare arrays."""
    if type(g) is np.ndarray:
        places = np.isnan(self) if np.isnan(out) else np.equal(self, out)
        share = g / np.asarray(np.count_nonzero(places)).astype(g.dtype)
        # Chosen, not multiplied by 0 and 1: the gradient may be infinite.
        return np.where(places, share, np.zeros((), g.dtype))
    is_extreme = self == out
    if np.isnan(every_value(out)).any():
        is_extreme = is_extreme | (self.isnan() & out.isnan())
    return (g / is_extreme.sum()).expand(self._array.shape).masked_fill(~is_extreme, 0)


_TIES = "shared evenly among equal elements"
AMAX = Op(
    "amax",
    lambda self, *, dims, keepdim: _extreme(np.maximum, self, dims, keepdim),
    grads={"self": _shared_evenly},
    kinks=_TIES,
)
AMIN = Op(
    "amin",
    lambda self, *, dims, keepdim: _extreme(np.minimum, self, dims, keepdim),
    grads={"self": _shared_evenly},
    kinks=_TIES,
)
MAX_ALL = Op(
    "max",
    lambda self: _extreme(np.maximum, self, tuple(range(self.ndim)), False),
    grads={"self": all_shared_evenly},
    node="MaxBackward1",
    bare=True,
    kinks=_TIES,
)
MIN_ALL = Op(
    "min",
    lambda self: _extreme(np.minimum, self, tuple(range(self.ndim)), False),
    grads={"self": all_shared_evenly},
    node="MinBackward1",
    bare=True,
    kinks=_TIES,
)


def _reduce_extreme(op: Op, input: Tensor, dim: DimArgument, keepdim: bool) -> Tensor:
    array, state = input._array, local.state
    dims = reduced_dims(dim, array.ndim, keepdim)
    if (array.dtype is F32 or array.dtype is F64) and array.size and state.intercept is None:
        params = {"dims": dims, "keepdim": keepdim}
        return op.output(state, (input,), params, op.forward(array, **params))
    if dim is None or (isinstance(dim, tuple) and not dim):
        require_any_element(op.name, input)
    for each in dims:
        require_elements(op.name, input, each)
    if input.dtype.is_complex:
        if input._array.size:
            raise errors.no_kernel(f"{op.name[1:]}_values_cpu", input.dtype)
        refuse_complex_history(op.name, input)
    return op(input, dims=dims, keepdim=keepdim)


@public(out=out_checks.input_dtype(out_checks.extreme_words))
@numpy_names
def amax(input: Tensor, dim: DimArgument = (), keepdim: bool = False) -> Tensor:
    """The largest value over some dimensions; equal ones share the gradient.

    Args:
        input: a tensor that is not complex
        dim: the dimension, or several; by default all
        keepdim: keep reduced dimensions, with size 1

    Example:
        >>> x = clew.tensor([2., 3., 3.], requires_grad=True)
        >>> clew.amax(x, 0).backward()
        >>> x.grad
        tensor([0.0000, 0.5000, 0.5000])
    """
    return _reduce_extreme(AMAX, input, dim, keepdim)


@public(out=out_checks.input_dtype(out_checks.extreme_words))
@numpy_names
def amin(input: Tensor, dim: DimArgument = (), keepdim: bool = False) -> Tensor:
    """The smallest value over some dimensions; equal ones share the gradient.

    Args:
        input: a tensor that is not complex
        dim: the dimension, or several; by default all
        keepdim: keep reduced dimensions, with size 1

    Example:
        >>> clew.amin(clew.tensor([[1., 5.], [7., 0.]]), dim=1)
        tensor([1., 0.])
    """
    return _reduce_extreme(AMIN, input, dim, keepdim)


def _aminmax(self: np.ndarray, *, dims: Dims, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    return (
        _extreme(np.minimum, self, dims, keepdim),
        _extreme(np.maximum, self, dims, keepdim),
    )


def _aminmax_grad(
    g: tuple[Tensor | None, Tensor | None],
    self: Tensor,
    out: tuple[Tensor, Tensor],
    dims: Dims,
    keepdim: bool,
) -> Tensor:
    parts = [
        _shared_evenly(grad, self, result, dims, keepdim)
        for grad, result in zip(g, out, strict=True)
        if grad is not None
    ]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


AMINMAX = Op("aminmax", _aminmax, grads={"self": _aminmax_grad}, outputs=2, kinks=_TIES)


@public(checked=True, out=out_checks.pair_of_input_dtype)
@numpy_names
def aminmax(
    input: Tensor, *, dim: int | None = None, keepdim: bool = False
) -> define.return_types.aminmax:
    """The smallest and the largest value, over one dimension or over all.

    Args:
        input: a tensor that is not complex
        dim: the dimension; by default all
        keepdim: keep `dim`, with size 1

    Example:
        >>> smallest, largest = clew.aminmax(clew.tensor([3, 1, 2]))
        >>> smallest, largest
        (tensor(1), tensor(3))
    """
    shape = input._array.shape
    if dim is None and not input._array.size:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
            "identity." + errors.at_user_line()
        )
    dims = reduced_dims(dim, len(shape), keepdim)
    if dim is not None and shape and shape[dims[0]] == 0:
        raise IndexError(
            f"aminmax: Expected reduction dim {dims[0]} to have non-zero size."
            + errors.at_user_line()
        )
    if input.dtype.is_complex:
        if dim is not None and not shape:
            raise RuntimeError(
                f"aminmax not implemented for {input.dtype.scalar_name}" + errors.at_user_line()
            )
        raise errors.no_kernel("aminmax_cpu", input.dtype)
    return define.return_types.aminmax(*AMINMAX(input, dims=dims, keepdim=keepdim))


# -- max, min ----------------------------------------------------------------------------------


def _along(
    name: str, find: Op, choose: Op, input: Tensor, dim: int, keepdim: bool
) -> tuple[Tensor, Tensor]:
    array, state = input._array, local.state
    if (
        (array.dtype is F32 or array.dtype is F64)
        and array.size
        and array.ndim
        and type(keepdim) is bool
        and state.intercept is None
    ):
        params: dict[str, Any] = {"dim": wrap_dim(dim, array.ndim), "keepdim": keepdim}
        places = find.output(state, (input,), params, find.forward(array, **params))
        values = chosen(array, places._array, **params)
        return choose.output(state, (input, places), params, values), places
    require_bool("keepdim", keepdim)
    dim = wrap_dim(dim, input._array.ndim)
    require_elements(name, input, dim)
    if input.dtype.is_complex:
        raise RuntimeError(f"{name}(): does not support complex input" + errors.at_user_line())
    indices = find(input, dim=dim, keepdim=keepdim)
    return choose(input, indices, dim=dim, keepdim=keepdim), indices


# To look for the place of the largest of fewer numbers is quicker than to reduce.
_SOUGHT = 1 << 15


def _of_all(op: Op, ufunc: Any, input: Tensor) -> Tensor:
    array, state = input._array, local.state
    if (array.dtype is F32 or array.dtype is F64) and array.size and state.intercept is None:
        return op.output(state, (input,), NO_PARAMS, extreme_of_all(ufunc, array))
    require_any_element(op.name, input)
    if input.dtype.is_complex:
        raise errors.no_kernel(f"{op.name}_all", input.dtype)
    return op(input)


_EXTREME = """The {words} element; with `dim`, the {words} along it and where; or of two.

Args:
    input: a tensor that is not complex; where an element is NaN, so is the result
    dim: the dimension; by default all elements; a tensor here is `other`
    keepdim: keep `dim`, with size 1
    other: a tensor to compare with, element by element, as `{name}imum` does

Example:
    >>> clew.{name}(clew.tensor([[1., 5.], [7., 0.]]))
    tensor({found[0]})
    >>> values, indices = clew.{name}(clew.tensor([[1., 5.], [7., 0.]]), dim=1)
    >>> values, indices
    (tensor({found[1]}), tensor({found[2]}))
"""


def _extreme_function(
    name: str,
    words: str,
    found: tuple[str, ...],
    op: Op,
    ufunc: Any,
    sought: Any,
    along: tuple[Op, Op],
) -> Callable[..., Any]:
    """`max` or `min`, from the operations for all elements and along a dimension."""

    def extreme(
        input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Tensor | None = None
    ) -> Any:
        if not isinstance(input, Tensor):
            raise errors.wrong_argument(name, "input", 1, "Tensor", input)
        if dim is None and other is None and keepdim is False:
            array, state = input._array, local.state
            dtype = array.dtype
            if (
                (dtype is F32 or dtype is F64)
                and array.ndim == 1
                and 0 < array.size < _SOUGHT
                and state.intercept is None
            ):
                # A NaN is found first, too.
                value = array[sought(array), ...].copy()
                return op.output(state, (input,), NO_PARAMS, value)
            return _of_all(op, ufunc, input)
        if isinstance(dim, Tensor):
            other, dim = dim, None
        if other is not None:
            if keepdim is not False:
                given = input, other, keepdim
                raise no_overload(name, given, "two tensors, or a dimension")
            return getattr(input, f"{name}imum")(other)
        if type(dim) is not int and not is_int(dim) and dim is not None:
            if keepdim is not False and not errors.is_function_call():
                # One signature is left, and the words are of its argument.
                raise errors.wrong_argument(name, "dim", 1, "int", dim)
            raise TypeError(
                f"{name}() received an invalid combination of arguments - got a "
                f"{type(dim).__name__} for dim, but expected an int\n"
                f"  For several dimensions there is a{name}(input, dim)." + errors.at_user_line()
            )
        result = getattr(define.return_types, name)
        return result(*_along(name, *along, input, dim, keepdim))

    extreme.__name__ = extreme.__qualname__ = name
    extreme.__doc__ = _EXTREME.format(name=name, words=words, found=found)
    return extreme


max, min = (
    public(out=out_checks.extreme_and_index)(numpy_names(_extreme_function(*given)))
    for given in (
        (
            "max",
            "largest",
            ("7.", "[5., 7.]", "[1, 0]"),
            MAX_ALL,
            np.maximum,
            _argmax_of,
            (ARGMAX, MAX_DIM),
        ),
        (
            "min",
            "smallest",
            ("0.", "[1., 0.]", "[0, 1]"),
            MIN_ALL,
            np.minimum,
            _argmin_of,
            (ARGMIN, MIN_DIM),
        ),
    )
)
