"""Choosing between values: where, clamp, maximum and minimum."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.arguments import is_wrapped_number
from clew.core.elementwise import F32, F64, NO_PARAMS, NUMBER, Elementwise
from clew.core.public import FUNCTIONS, public
from clew.core.result_layout import as_promoted, laid_out, laid_out_without_numbers
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.kernels.codegen import ir
from clew.kernels.codegen.ufunc import elementwise
from clew.kernels.compiled.threaded_ufuncs import threaded
from clew.ops.define import out_checks, rows, vmap_errors
from clew.ops.define.rows import REALS, SAME_OUT, Row, out_form, require_tensors
from clew.ops.pointwise.logic import check_where
from clew.ops.tensor.copying import fits_all, scalar_as
from clew.ops.tensor.info import result_type
from clew.overloads import no_overload

BOOLS = np.dtype(np.bool_)


class Where(Elementwise):
    """`where`: the condition takes no part in type promotion, and nothing is rounded."""

    keeps_complex = True

    def compute(self, inputs: tuple[Any, ...], params: dict[str, Any]) -> np.ndarray:
        _, result = self.result_dtype(inputs[1:])
        condition, *branches = (v._array if isinstance(v, Tensor) else v for v in inputs)
        chosen = [
            value if isinstance(value, np.ndarray) and value.dtype is result.np
            else np.asarray(value).astype(result.np)
            for value in branches
        ]  # fmt: skip
        try:
            result_array = np.asarray(self.forward(condition, *chosen))
        except ValueError as error:
            raise self._explain(inputs, error) from None
        if result_array.ndim < 2:
            return result_array
        given = [as_promoted(np.asarray(value), result.np) for value in branches]
        return laid_out((condition, *given), result_array)


_FLOATS = ir.F16, ir.F32, ir.F64, ir.BF16
_CHOSEN_KERNEL = elementwise("where", 3, types=[([t, t, ir.BOOL], [t]) for t in _FLOATS])(
    lambda self, other, condition: ir.where(condition, self, other)
)


def chosen(condition: np.ndarray, self: np.ndarray, other: np.ndarray) -> np.ndarray:
    """`self` where the condition holds, else `other`; both of one dtype."""
    kernel = _CHOSEN_KERNEL.specialize(self)
    if kernel is None or condition.dtype is not BOOLS:
        return np.where(condition, self, other)
    return np.asarray(kernel(self, other, condition))


def keep(condition: Any, g: Any) -> Any:
    """The gradient where the condition holds, else zero; of tensors or bare arrays."""
    if type(g) is np.ndarray:
        return chosen(condition, g, np.zeros((), g.dtype))
    return WHERE(condition, g, 0)


def _drop(condition: Any, g: Any) -> Any:
    """Zero where the condition holds, else the gradient; of tensors or bare arrays."""
    if type(g) is np.ndarray:
        return chosen(condition, np.zeros((), g.dtype), g)
    return WHERE(condition, 0, g)


WHERE: Where = Where(
    "where", chosen, bare=True,
    grads={
        "self": lambda g, condition: keep(condition, g),
        "other": lambda g, condition: _drop(condition, g),
    },
)  # fmt: skip


def _quick_where(condition: Any, input: Any, other: Any) -> Tensor | None:
    """The short path for two tensors of one float dtype; None where there is more to look at."""
    if not (isinstance(condition, Tensor) and isinstance(input, Tensor)):
        return None
    if not isinstance(other, Tensor):
        return None
    state = local.state
    mask, a, b = condition._array, input._array, other._array
    dtype = a.dtype
    if (
        (dtype is not F32 and dtype is not F64)
        or dtype is not b.dtype
        or mask.dtype is not BOOLS
        or state.intercept is not None
        or not mask.shape == a.shape == b.shape
    ):
        return None
    result = chosen(mask, a, b)
    if result.ndim > 1 and result.strides != a.strides:
        result = laid_out((mask, a, b), result)
    return WHERE.output(state, (condition, input, other), NO_PARAMS, result)


@public(
    method=False,
    out=out_checks.same_or_apart,
    accept=out_checks.of_result_dtype(out_checks.where_words),
)
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """`input` where the condition holds, else `other`.

    With a condition only: the indices where it holds, one tensor a dimension.

    Args:
        condition: a tensor of bools
        input: a tensor or a number
        other: a tensor or a number; all three broadcast

    Example:
        >>> x = clew.tensor([-1., 2., -3.])
        >>> clew.where(x > 0, x, 0)
        tensor([0., 2., 0.])
        >>> clew.where(x > 0)
        (tensor([1]),)
    """
    quick = _quick_where(condition, input, other)
    if quick is not None:
        return quick
    if input is None and other is None:
        if condition._is_lifted:
            raise vmap_errors.dynamic_shape("where")
        return condition.nonzero(as_tuple=True)
    check_where(condition, input, other)
    _check_numbers(WHERE, condition, input, other)
    return WHERE(condition, *_beside_complex_number(input, other))


def _beside_complex_number(input: Any, other: Any) -> tuple[Any, Any]:
    """A real tensor beside a complex number is converted first: it has a gradient then."""
    if isinstance(other, complex) and isinstance(input, Tensor):
        return input.to(result_type(input, other)), other
    if isinstance(input, complex) and isinstance(other, Tensor):
        return input, other.to(result_type(input, other))
    return input, other


@public(function=False, name="where")
def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """The tensor's own elements where the condition holds, else those of `other`.

    Args:
        condition: a tensor of bools
        other: a tensor or a number; all three broadcast

    Example:
        >>> x = clew.tensor([-1., 2., -3.])
        >>> x.where(x > 0, 0)
        tensor([0., 2., 0.])
    """
    result: Tensor = where(condition, self, other)
    return result


def _check_numbers(op: Elementwise, *values: Any) -> None:
    """Refuse numbers that the dtype of the result cannot hold."""
    numbers = [value for value in values if isinstance(value, NUMBER) and not fits_all(value)]
    if numbers:
        dtype = op.result_dtype(values)[1].np
        if op is WHERE and dtype in dtypes.LOW_PRECISION:
            return  # such numbers become infinite
        for number in numbers:
            scalar_as(number, dtype)


# -- maximum and minimum ---------------------------------------------------------------------


def _share(g: Any, self: Any, other: Any, loses: Any) -> Any:
    """The gradient of the winner; equal values get half each. Of tensors or bare arrays."""
    if type(g) is np.ndarray:
        shared = chosen(self == other, np.asarray(g / 2), g)
        return chosen(loses, np.zeros((), g.dtype), shared)
    return WHERE(loses, 0, WHERE(self == other, g / 2, g))


def _no_complex(name: str) -> dict[str, Exception]:
    return {"C": RuntimeError(f"{name} not implemented for complex tensors.")}


maximum = rows.binary_row(
    "maximum", np.maximum,
    lambda g, self, other: _share(g, self, other, self < other),
    lambda g, self, other: _share(g, self, other, other < self),
    bare=True, takes=REALS, refusals=_no_complex("maximum"), in_place=False, numbers=False,
    kinks="half each where equal",
    doc="The larger of two elements; NaN if one of them is NaN.",
    example=">>> clew.maximum(clew.tensor([1, 5]), clew.tensor([3, 4]))\ntensor([3, 5])",
)  # fmt: skip
minimum = rows.binary_row(
    "minimum", np.minimum,
    lambda g, self, other: _share(g, self, other, self > other),
    lambda g, self, other: _share(g, self, other, other > self),
    bare=True, takes=REALS, refusals=_no_complex("minimum"), in_place=False, numbers=False,
    kinks="half each where equal",
    doc="The smaller of two elements; NaN if one of them is NaN.",
    example=">>> clew.minimum(clew.tensor([1, 5]), clew.tensor([3, 4]))\ntensor([1, 4])",
)  # fmt: skip
fmax = rows.binary_row(
    "fmax", np.fmax,
    lambda g, self, other: keep((self >= other) | other.isnan(), g),
    lambda g, self, other: keep(~((self >= other) | other.isnan()), g),
    takes=REALS, refusals=_no_complex("fmax"), in_place=False, numbers=False,
    kinks="the first where equal",
    doc="The larger of two elements; if one of them is NaN, the other.",
    example=(
        ">>> clew.fmax(clew.tensor([1., float(\"nan\")]), clew.tensor([3., 4.]))\n"
        "tensor([3., 4.])"
    ),
)  # fmt: skip
fmin = rows.binary_row(
    "fmin", np.fmin,
    lambda g, self, other: keep((self <= other) | other.isnan(), g),
    lambda g, self, other: keep(~((self <= other) | other.isnan()), g),
    takes=REALS, refusals=_no_complex("fmin"), in_place=False, numbers=False,
    kinks="the first where equal",
    doc="The smaller of two elements; if one of them is NaN, the other.",
    example=(
        ">>> clew.fmin(clew.tensor([1., float(\"nan\")]), clew.tensor([3., 4.]))\n"
        "tensor([1., 4.])"
    ),
)  # fmt: skip


# -- clamp -----------------------------------------------------------------------------------


@elementwise("clamp", 3, scalars=(1, 2), half=True)
def _CLAMP_KERNEL(x: Any, low: Any, high: Any) -> Any:
    return x.maximum(low).minimum(high)


def _clamped(self: np.ndarray, min: Any, max: Any) -> Any:
    if min is None:
        return np.minimum(self, max)
    if max is None:
        return np.maximum(self, min)
    raised = np.asarray(np.maximum(self, min))
    if isinstance(max, np.ndarray) and max.ndim:
        return np.minimum(raised, max)
    return np.minimum(raised, max, out=raised)


def _within(self: Any, min: Any, max: Any) -> Any:
    if min is None:
        return self <= max
    if max is None:
        return self >= min
    return (self >= min) & (self <= max)


def _grad_of_min(g: Tensor, self: Tensor, min: Tensor, max: Tensor | None) -> Tensor:
    below = self < min
    return keep(below if max is None else below & (min < max), g)


def _grad_of_max(g: Tensor, self: Tensor, min: Tensor | None, max: Tensor) -> Tensor:
    above = self > max
    return keep(above if min is None else above | (max < min), g)


REFUSED = {"c": NotImplementedError(f"clamp is not supported for complex types{errors.BY_PARTS}")}
_INSIDE = "1 at the bounds"
CLAMP_NUMBERS = Row(
    "clamp.numbers", _clamped, node="ClampBackward1", takes="ihf", torch_kernel="clamp_scalar_cpu",
    refusals=REFUSED, kinks=_INSIDE, bare=True, placement=laid_out_without_numbers,
    grads={"self": lambda g, self, min, max: keep(_within(self, min, max), g)},
)  # fmt: skip


class Clamp(Row):
    """Bools can be limited on one side, but not on both."""

    def result_dtype(self, inputs: tuple[Any, ...]) -> tuple[dtypes.dtype, dtypes.dtype]:
        compute, result = super().result_dtype(inputs)
        if result is dtypes.bool_ and None not in inputs:
            self.refuse(result, inputs)
        return compute, result


CLAMP = Clamp(
    "clamp", _clamped, takes=REALS, refusals=REFUSED, kinks=_INSIDE,
    grads={
        "self": lambda g, self, min, max: keep(_within(self, min, max), g),
        "min": _grad_of_min,
        "max": _grad_of_max,
    },
)  # fmt: skip
CLAMP_MIN_NUMBER = Row(
    "clamp_min.number", np.maximum, inputs=("self", "min"), node="ClampMinBackward0",
    takes="ihf", torch_kernel="clamp_min_scalar_cpu", refusals=REFUSED, kinks=_INSIDE,
    placement=laid_out_without_numbers,
    grads={"self": lambda g, self, min: keep(self >= min, g)},
)  # fmt: skip
CLAMP_MIN = Row(
    "clamp_min", np.maximum, inputs=("self", "min"), node="ClampMinBackward1",
    takes=REALS, torch_kernel="maximum_cpu", kinks=_INSIDE,
    grads={
        "self": lambda g, self, min: keep(self >= min, g),
        "min": lambda g, self, min: keep(self < min, g),
    },
)  # fmt: skip
CLAMP_MAX_NUMBER = Row(
    "clamp_max.number", np.minimum, inputs=("self", "max"), node="ClampMaxBackward0",
    takes="ihf", torch_kernel="clamp_max_scalar_cpu", refusals=REFUSED, kinks=_INSIDE,
    placement=laid_out_without_numbers,
    grads={"self": lambda g, self, max: keep(self <= max, g)},
)  # fmt: skip
CLAMP_MAX = Row(
    "clamp_max", np.minimum, inputs=("self", "max"), node="ClampMaxBackward1",
    takes=REALS, torch_kernel="minimum_cpu", kinks=_INSIDE,
    grads={
        "self": lambda g, self, max: keep(self <= max, g),
        "max": lambda g, self, max: keep(self > max, g),
    },
)  # fmt: skip


_PLAIN_BOUNDS = (float, int)
_HALF_LIMIT = 65504


def _quick_clamp(input: Tensor, min: float, max: float) -> Tensor | None:
    """The short path for floats between two numbers; None where there is more to look at."""
    state = local.state
    array = input._array
    dtype = array.dtype
    if _CLAMP_KERNEL.specialize(array) is None or state.intercept is not None:
        return None
    scalar: Any = dtypes.as_scalar
    if dtype in dtypes.HALVES:
        if not (abs(min) <= _HALF_LIMIT and abs(max) <= _HALF_LIMIT):
            return None
        scalar, dtype = np.asarray, F32
    try:
        limited = _CLAMP_KERNEL.ufunc(array, scalar(min, dtype), scalar(max, dtype))
    except OverflowError:
        return None
    if limited.strides != array.strides:
        limited = laid_out((array,), limited)
    return CLAMP_NUMBERS.output(state, (input, min, max), NO_PARAMS, limited)


def _quick_bound(input: Tensor, ufunc: np.ufunc, bound: float) -> np.ndarray | None:
    """The elements of floats limited by one number; None where there is more to look at."""
    array = input._array
    dtype = array.dtype
    if (dtype is not F32 and dtype is not F64) or local.state.intercept is not None:
        return None
    try:
        limited = threaded(ufunc, array, dtypes.as_scalar(bound, dtype))
    except OverflowError:
        return None
    return limited if limited.strides == array.strides else laid_out((array,), limited)


@public(inplace=True, out=False, aliases=("clip",))
def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Elements limited to [min, max]. The bounds are both numbers or both tensors.

    Args:
        input: a tensor
        min: the lower bound; None sets none
        max: the upper bound; None sets none; where it is below `min`, the result is `max`

    Example:
        >>> x = clew.tensor([-2., 0.5, 3.])
        >>> clew.clamp(x, min=0, max=1)
        tensor([0.0000, 0.5000, 1.0000])
        >>> clew.clamp(x, max=clew.tensor([0., 0., 5.]))
        tensor([-2.,  0.,  3.])
    """
    require_tensors("clamp", input=input)
    if type(min) in _PLAIN_BOUNDS and type(max) in _PLAIN_BOUNDS:
        quick = _quick_clamp(input, min, max)
        if quick is not None:
            return quick
    elif (min is None or max is None) and (
        type(min) in _PLAIN_BOUNDS or type(max) in _PLAIN_BOUNDS
    ):
        limited = _quick_bound(input, *((np.minimum, max) if min is None else (np.maximum, min)))
        if limited is not None:
            return CLAMP_NUMBERS.output(local.state, (input, min, max), NO_PARAMS, limited)
    if min is None and max is None:
        raise RuntimeError(
            "torch.clamp: At least one of 'min' or 'max' must not be None" + errors.at_user_line()
        )
    tensors = [isinstance(bound, Tensor) for bound in (min, max) if bound is not None]
    if not any(tensors):
        _check_numbers(CLAMP_NUMBERS, input, min, max)
        return CLAMP_NUMBERS(input, min, max)
    if not all(tensors):
        # Beside a number, a tensor without dimensions or history is one, too.
        read = [bound.item() if is_wrapped_number(bound) else bound for bound in (min, max)]
        if not any(isinstance(bound, Tensor) for bound in read):
            return clamp(input, *read)
        raise TypeError(
            "clamp() received an invalid combination of arguments - got "
            f"({type(min).__name__}, {type(max).__name__}), but the bounds must be both numbers "
            "or both tensors" + errors.at_user_line()
        )
    return CLAMP(input, min, max)


@public(inplace=True, out=False)
def clamp_min(input: Tensor, min: Any) -> Tensor:
    """Elements that are at least `min`.

    Args:
        input: a tensor
        min: the lower bound, a number or a tensor

    Example:
        >>> clew.clamp_min(clew.tensor([-2., 3.]), 0)
        tensor([0., 3.])
    """
    require_tensors("clamp_min", input=input)
    if min is None:
        raise no_overload("clamp_min", (input, min), "a number or a tensor")
    if isinstance(min, Tensor):
        return CLAMP_MIN(input, min)
    _check_numbers(CLAMP_MIN_NUMBER, input, min)
    return CLAMP_MIN_NUMBER(input, min)


@public(inplace=True, out=False)
def clamp_max(input: Tensor, max: Any) -> Tensor:
    """Elements that are at most `max`.

    Args:
        input: a tensor
        max: the upper bound, a number or a tensor

    Example:
        >>> clew.clamp_max(clew.tensor([-2., 3.]), 0)
        tensor([-2.,  0.])
    """
    require_tensors("clamp_max", input=input)
    if max is None:
        raise no_overload("clamp_max", (input, max), "a number or a tensor")
    if isinstance(max, Tensor):
        return CLAMP_MAX(input, max)
    _check_numbers(CLAMP_MAX_NUMBER, input, max)
    return CLAMP_MAX_NUMBER(input, max)


def _bounded_form(function: Any) -> Any:
    """With numbers for bounds, the dtype of `out=` must be that of the result."""
    exact, any_dtype = out_form(function, SAME_OUT), out_form(function)

    @functools.wraps(function)
    def with_out(*args: Any, **kwargs: Any) -> Any:
        bounds = (*args[1:], kwargs.get("min"), kwargs.get("max"))
        chosen = any_dtype if any(isinstance(b, Tensor) for b in bounds) else exact
        return chosen(*args, **kwargs)

    with_out.__doc__ = exact.__doc__
    return with_out


FUNCTIONS.update(
    clamp=_bounded_form(clamp), clip=_bounded_form(clamp), clamp_min=_bounded_form(clamp_min),
    clamp_max=_bounded_form(clamp_max),
)  # fmt: skip
