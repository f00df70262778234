"""Elementwise operations: one row each, from which function, method and in-place form follow.

The row gives the forward over arrays of one common dtype, the gradients, and a rule that says how
the common dtype and the dtype of the result are found. The functions made here have a short path
for float32 and float64 operands, because for small tensors the path is what an operation costs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.op import F32 as F32
from clew.core.op import Formula, Op
from clew.core.overrides import first_met
from clew.core.result_layout import Placement, as_promoted, laid_out, visiting_order
from clew.core.state import local
from clew.core.tensor import Tensor, wrap
from clew.kernels.compiled.threaded_ufuncs import THREADED, THRESHOLD, THRESHOLDS
from clew.kernels.numpy.conversion import converted
from clew.kernels.numpy.strides import runs_into_itself
from clew.overloads import wrong_operand

F64 = np.dtype(np.float64)
_I64 = np.dtype(np.int64)
# What counters are written with: of integers, these give integers.
_COUNTING = (np.add, np.subtract, np.multiply)
_ndarray = np.ndarray
NO_PARAMS: dict[str, Any] = {}

# How the dtype of the computation and of the result follow from the operands.
SAME = "same"  # the promoted dtype
FLOAT = "float"  # the promoted dtype; integers become the default float
BOOL = "bool"  # computed in the promoted dtype, the result is bool
REAL = "real"  # the promoted dtype; complex gives its real dtype
NUMBER = (bool, int, float, complex, np.number, np.bool_)
_FOREIGN = (*NUMBER, np.ndarray)


class Elementwise(Op):
    """An operation on corresponding elements of its broadcast inputs."""

    # What computes complex64 and complex128, where that is not the forward of all other dtypes.
    complex_forward: Callable[..., Any] | None = None

    def __init__(
        self,
        name: str,
        forward: Callable[..., Any],
        *,
        grads: Mapping[str, Formula] | None = None,
        inputs: tuple[str, ...] | None = None,
        rule: str = SAME,
        node: str | None = None,
        bare: bool = False,
        kinks: str = "",
        non_differentiable: str = "",
        placement: Placement = laid_out,
    ) -> None:
        super().__init__(
            name, forward, grads=grads, inputs=inputs, node=node, bare=bare,
            kinks=kinks, non_differentiable=non_differentiable,
        )  # fmt: skip
        self.rule = rule
        # Where the result lies in memory; `laid_out` leaves vectors where they are.
        self.placement = placement
        # The threaded version of a NumPy ufunc, for large arrays and for low-precision floats.
        self.threaded = THREADED.get(forward) if isinstance(forward, np.ufunc) else None
        self.large = THRESHOLDS.get(forward, THRESHOLD) if self.threaded is not None else THRESHOLD
        # Whether the result of operands of one float type has this type, too.
        self.keeps_floats = rule != BOOL
        # Whether the result's dtype is the promoted one; else that is the one to compute in.
        self.keeps_promoted = rule in (SAME, FLOAT)
        # Whether the forward takes low-precision floats as they are, and computes wider by itself;
        # and whether numbers beside them stay exact, or are rounded as they are.
        self.takes_halves = False
        self.exact_numbers = False
        self.takes_floats = True
        # Of which other dtypes the forward takes arrays as they are, and gives the result's dtype.
        self.taken_plainly: frozenset[np.dtype] = frozenset()
        # Of which dtypes the forward writes its result into memory that it is given.
        self.written: tuple[np.dtype, ...] = ()
        if type(forward) is np.ufunc and rule != BOOL:
            self.written = (F32, F64, _I64) if forward in _COUNTING else (F32, F64)

    def compute(self, inputs: tuple[Any, ...], params: dict[str, Any]) -> np.ndarray:
        if self.keeps_floats:
            out = self._of_one_type(inputs, params)
            if out is not None:
                return out
        inputs = self.prepared(inputs)
        compute, result = self.result_dtype(inputs)
        arrays = [_as_operand(value, compute) for value in inputs]
        of_complex = self.complex_forward if compute.is_complex else None
        try:
            out = (of_complex or self.forward)(*arrays, **params)
        except ValueError as error:
            raise self._explain(inputs, error) from None
        except OverflowError:
            raise RuntimeError(
                f"value cannot be converted to type {compute.name} without overflow"
                + errors.at_user_line()
            ) from None
        if out.dtype is not result.np:
            out = converted(np.asarray(out), result.np)
        if out.ndim < 2 and self.placement is laid_out:
            return out
        promoted = result.np if self.keeps_promoted else compute.np
        given = [
            as_promoted(value._array, promoted) if isinstance(value, Tensor) else value
            for value in inputs
        ]
        return self.placement(given, np.asarray(out))

    def prepared(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The inputs as they take part in type promotion."""
        return inputs

    def _of_one_type(self, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """The result for tensors of one float type, which need no promotion; None for others."""
        dtype: Any = None
        arrays: list[Any] = []
        numbers = False
        for value in inputs:
            if isinstance(value, Tensor):
                array = value._array
                if dtype is None:
                    dtype = array.dtype
                elif array.dtype is not dtype:
                    return None
                arrays.append(array)
            elif type(value) is float or type(value) is int:
                numbers = True
                arrays.append(value)
            else:
                return None
        function: Any = self.forward
        if dtype is not F32 and dtype is not F64:
            if dtype not in dtypes.HALVES or (numbers and not self._round(arrays, dtype)):
                return None
            if self.threaded is not None and not params:
                function = self.threaded.specialize(np.empty((), dtype))
            elif not self.takes_halves or numbers:
                return None
        try:
            out = function(*arrays, **params)
        except OverflowError:
            return None  # the usual way finds the words for it
        except ValueError as error:
            raise self._explain(inputs, error) from None
        if out.dtype is not dtype:
            out = np.asarray(out).astype(dtype)
        if out.ndim < 2 and self.placement is laid_out:
            return out
        return self.placement(arrays, np.asarray(out))

    def _round(self, arrays: list[Any], dtype: np.dtype) -> bool:
        """Put numbers as a low-precision type has them into the list; False if they do not fit."""
        for place, value in enumerate(arrays):
            if not isinstance(value, np.ndarray):
                with np.errstate(over="ignore"):
                    arrays[place] = rounded = np.asarray(value).astype(dtype)
                if self.exact_numbers and float(rounded) != value:
                    return False
        return True

    def write_into(
        self, target: np.ndarray, inputs: tuple[Any, ...], params: dict[str, Any]
    ) -> bool:
        if not target.flags.c_contiguous:
            if runs_into_itself(target):
                return self._write_one_by_one(target, inputs, params)
            if self.forward is np.negative and not target.flags.contiguous:
                # NumPy (2.3, 2.4) reads the wrong elements when both sides are strided
                return False
        dtype = target.dtype
        if params or dtype not in self.written:
            return False
        operands: list[Any] = []
        for value in inputs:
            if isinstance(value, Tensor):
                if value._array.dtype is not dtype:
                    return False
                operands.append(value._array)
            elif type(value) is int or (type(value) is float and dtype is not _I64):
                operands.append(value)
            else:
                return False
        try:
            if self.threaded is not None and target.size >= self.large:
                self.threaded.specialize(target)(*operands, out=target)
            else:
                self.forward(*operands, out=target)
        except (ValueError, OverflowError, TypeError):
            return False  # the usual way finds the words for it
        return True

    def _write_one_by_one(
        self, target: np.ndarray, inputs: tuple[Any, ...], params: dict[str, Any]
    ) -> bool:
        """Where elements share places, PyTorch computes each from what was written before it."""
        whole = self.compute(inputs, params)
        have, want = dtypes.of_array(whole), dtypes.of_array(target)
        if whole.shape != target.shape or not dtypes.can_cast(have, want):
            return False  # the usual way finds the words for it
        dtypes_given = {each._array.dtype for each in inputs if isinstance(each, Tensor)}
        if have is not want and len(dtypes_given) > 1:
            return False  # what has to be converted is computed elsewhere first
        others = [
            np.broadcast_to(each._array, target.shape)
            if isinstance(each, Tensor) and each._array.ndim
            else each
            for each in inputs[1:]
        ]
        strides = [each.strides for each in (target, *others) if isinstance(each, np.ndarray)]
        order = visiting_order(strides, target.shape)
        for place in np.ndindex(*[target.shape[dim] for dim in order]):
            key = [slice(None)] * target.ndim
            for dim, index in zip(order, place, strict=True):
                key[dim] = slice(index, index + 1)
            one = tuple(key)
            parts = [wrap(each[one]) if isinstance(each, np.ndarray) else each for each in others]
            result = self.compute((wrap(target[one]), *parts), params)
            np.copyto(target[one], result, casting="unsafe")
        return True

    def refuse_target(self, dtype: dtypes.dtype, inputs: tuple[Any, ...]) -> None:
        _, have = self.result_dtype(self.prepared(inputs))
        if not dtypes.can_cast(have, dtype):
            raise errors.in_place_dtype(have.scalar_name, dtype.scalar_name)

    def result_dtype(self, inputs: tuple[Any, ...]) -> tuple[dtypes.dtype, dtypes.dtype]:
        """The dtype to compute in and the dtype of the result."""
        promotion = dtypes.Promotion()
        for value in inputs:
            if isinstance(value, Tensor):
                promotion.add_array(value._array)
            elif value is not None:
                promotion.add_number(value)
        promoted = promotion.result()
        if self.rule == FLOAT and promoted.category < dtypes.FLOAT:
            promoted = dtypes.get_default_dtype()
        result = promoted
        if self.rule == BOOL:
            result = dtypes.bool_
        elif self.rule == REAL:
            result = promoted.to_real()
        return dtypes.COMPUTED_IN.get(promoted, promoted), result

    def _explain(self, inputs: tuple[Any, ...], error: ValueError) -> Exception:
        shapes = [value._array.shape for value in inputs if isinstance(value, Tensor)]
        for index, a in enumerate(shapes):
            for b in shapes[index + 1 :]:
                mismatch = errors.broadcast_mismatch(self.name, a, b)
                if mismatch is not None:
                    return mismatch
        return error


def _as_operand(value: Any, compute: dtypes.dtype) -> Any:
    if isinstance(value, Tensor):
        array = value._array
        return converted(array, compute.np)
    if value is None:
        return None
    # NumPy treats Python numbers as weak, except that a float would turn integers into float64.
    return np.asarray(value).astype(compute.np) if compute.category < dtypes.FLOAT else value


def unary(op: Elementwise) -> Callable[[Tensor], Tensor]:
    """The function `op(input)`, with a short path for float32 and float64."""
    forward, threaded, large = op.forward, op.threaded, op.large
    placement = op.placement

    def function(input: Tensor) -> Tensor:
        state = local.state
        try:
            array = input._array
        except AttributeError:
            if first_met(input):
                return function(input)
            raise errors.wrong_argument(op.name, "input", 1, "Tensor", input) from None
        dtype = array.dtype
        if (dtype is not F32 and dtype is not F64) or state.intercept is not None:
            return op(input)
        if threaded is not None and array.size >= large:
            result = threaded.specialize(array)(array)
        else:
            result = forward(array)
        if result.strides != array.strides:
            result = placement((array,), result)
        return op.output(state, (input,), NO_PARAMS, result)

    return _named(function, op.name)


def binary(op: Elementwise, is_operator: bool = False) -> Callable[[Any, Any], Any]:
    """`op(input, other)` with a short path for float32 and float64; one may be a Python number."""
    forward, threaded, placement = op.forward, op.threaded, op.placement
    # Where a complex result turns real there is more to do than to compute.
    has_short_path = op.rule != REAL
    taken_plainly, takes_floats = op.taken_plainly, op.takes_floats

    def function(input: Any, other: Any) -> Any:
        right: Any
        if isinstance(other, Tensor):
            right = other._array
        elif type(other) is float or type(other) is int:
            right = other
        elif isinstance(other, _FOREIGN):
            return op(*operands(op, input, other))
        elif first_met(input, other):
            return function(input, other)
        else:
            return NotImplemented if is_operator else op(*operands(op, input, other))
        state = local.state
        try:
            array = input._array
        except AttributeError:
            if first_met(input):
                return function(input, other)
            if is_operator:
                raise errors.operator_of_other(op.name, input) from None
            return op(*operands(op, input, other))
        if state.intercept is not None or not has_short_path:
            return op(*operands(op, input, other))
        dtype = array.dtype
        if right is not other and right.dtype is not dtype:
            return op(input, other)
        if dtype is not F32 and dtype is not F64:
            if dtype not in taken_plainly or (
                right is other and (dtype is not _I64 or type(right) is not int)
            ):
                return op(input, other)
        elif not takes_floats:
            return op(input, other)
        elif type(right) is float:
            right = dtypes.as_scalar(right, dtype)
        try:
            if threaded is not None and array.size >= THRESHOLD and dtype.kind == "f":
                result = threaded.specialize(array)(array, right)
            else:
                result = forward(array, right)
        except (ValueError, OverflowError):
            return op(input, other)  # the usual way finds the words for it
        if result.ndim > 1 and result.strides != array.strides:
            result = placement((array, right), result)
        return op.output(state, (input, other), NO_PARAMS, result)

    return _named(function, op.name)


def operator(op: Elementwise) -> Callable[[Any, Any], Any]:
    """The dunder method of an operation: operands of unknown types are left to the other side."""
    return binary(op, is_operator=True)


# PyTorch's arithmetic takes two numbers for tensors without dimensions.
_OF_NUMBERS = frozenset({"add", "sub", "mul", "div", "floor_divide"})


def operands(op: Op, *values: Any) -> tuple[Any, ...]:
    """Check operands: tensors and numbers pass, 0-dim arrays become numbers."""
    has_tensor = False
    if any(type(value) is np.bool_ for value in values):
        values = tuple(float(v) if type(v) is np.bool_ else v for v in values)
    for position, value in enumerate(values):
        if isinstance(value, Tensor):
            has_tensor = True
        elif not isinstance(value, NUMBER):
            if isinstance(value, np.ndarray):
                return tuple(wrap(v) if isinstance(v, np.ndarray) else v for v in values)
            raise wrong_operand(op.name, op.inputs[position], position + 1, value)
    if not has_tensor:
        if op.name in _OF_NUMBERS:
            return tuple(wrap(np.array(v, dtypes.scalar_dtype(v).np)) for v in values)
        raise wrong_operand(op.name, op.inputs[0], 1, values[0])
    return values


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    return function


def rounded_numbers(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Beside half-precision tensors, numbers and 0-dim tensors are first rounded to their type."""
    for value in inputs:
        if isinstance(value, Tensor) and value._array.dtype in dtypes.LOW_PRECISION:
            half = value._array.dtype
            break
    else:
        return inputs
    promotion = dtypes.Promotion()
    for value in inputs:
        if isinstance(value, Tensor):
            promotion.add_array(value._array)
        elif value is not None:
            promotion.add_number(value)
    if promotion.result().np is not half:
        return inputs
    return tuple(_rounded(value, half) for value in inputs)


def _rounded(value: Any, half: np.dtype) -> Any:
    if isinstance(value, Tensor):
        array = value._array
        is_fine = array.ndim or array.dtype is half or array.dtype.kind == "b"
        return value if is_fine else wrap(array.astype(half))
    if value is None or isinstance(value, bool):
        return value
    return float(np.asarray(value).astype(half))
