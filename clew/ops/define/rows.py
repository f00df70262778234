"""Rows of the elementwise table: one call defines an operation and all its public forms."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.arguments import by_torch_names, called, explain, reread
from clew.core.casting import without_autocast
from clew.core.elementwise import (
    BOOL,
    FLOAT,
    REAL,
    SAME,
    Elementwise,
    binary,
    operands,
    rounded_numbers,
    unary,
)
from clew.core.inplace import apply_inplace, check_overlap, refuse_leaf
from clew.core.op import Formula, camel
from clew.core.overrides import unseen
from clew.core.public import FUNCTIONS, deliver, methods, out_doc, refuse_history
from clew.core.result_layout import Placement, laid_out
from clew.core.state import local
from clew.core.tensor import Tensor

__all__ = ["BOOL", "FLOAT", "REAL", "SAME", "Row", "binary_row", "unary_row"]

# What a row takes, as letters: bool, integer, low-precision float, float, complex.
EVERYTHING = "bihfc"
REALS = "bihf"
INEXACT = "hfc"
FLOATS = "hf"
INTEGERS = "bi"
_WORDS = {"b": "bools", "i": "integers", "f": "floats", "c": "complex numbers"}

# NumPy's functions give the dtypes that PyTorch's do for two of these.
_PLAIN = {"b": np.dtype(np.bool_), "i": np.dtype(np.int64)}

# The rows that give numbers of complex32; PyTorch has few.
_OF_COMPLEX32 = frozenset(
    {"add", "addcmul", "conj_physical", "mul", "neg", "positive", "rsub", "sgn", "sub", "where"}
)

# For a letter that a row refuses: the exception, where it is not the usual one. For a capital, it
# is said before shapes that do not fit.
Refusals = Mapping[str, Exception]


def kind_letter(dtype: dtypes.dtype) -> str:
    """The letter of a dtype in what a row `takes`."""
    if dtype.np in dtypes.LOW_PRECISION:
        return "h"
    return "bifc"[dtype.category]


# What PyTorch computes by a library for vectors, which the names of its kernels tell.
_VECTOR_MATH = {
    "exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "erf", "expm1", "log1p", "log2", "log10",
    "atan", "asin", "acos",
}  # fmt: skip


class Row(Elementwise):
    """An elementwise operation that knows which dtypes it takes.

    `takes` lists kinds of the promoted dtype; others raise as PyTorch does, which names its kernel.
    """

    def __init__(
        self,
        name: str,
        forward: Callable[..., Any],
        *,
        grads: Mapping[str, Formula] | None = None,
        inputs: tuple[str, ...] | None = None,
        rule: str = SAME,
        takes: str = EVERYTHING,
        torch_kernel: str | None = None,
        refusals: Refusals | None = None,
        exact_numbers: bool = False,
        takes_halves: bool = False,
        node: str | None = None,
        bare: bool = False,
        kinks: str = "",
        non_differentiable: str = "",
        placement: Placement = laid_out,
    ) -> None:
        super().__init__(
            name, forward, grads=grads, inputs=inputs, rule=rule, node=node, bare=bare,
            kinks=kinks, non_differentiable=non_differentiable, placement=placement,
        )  # fmt: skip
        # Variants are told apart by a suffix ("add.scaled"); users know the operation by its name.
        self.name = name.partition(".")[0]
        self.takes = takes
        self.keeps_floats = self.keeps_floats and "f" in takes and "h" in takes
        # What PyTorch calls its kernel: the name is in the error for a dtype that it does not take.
        library = "_vml" if self.name in _VECTOR_MATH else ""
        self.torch_kernel = torch_kernel or f"{self.name}{library}_cpu"
        self.refusals = refusals or {}
        self.exact_numbers, self.takes_halves = exact_numbers, takes_halves
        self.takes_floats = "f" in takes
        own = type(self)
        if (
            isinstance(forward, np.ufunc)
            and rule in (SAME, BOOL)
            and own.compute is Elementwise.compute
            and own.result_dtype is Row.result_dtype
            and own.prepared is Row.prepared
        ):
            self.taken_plainly = frozenset(_PLAIN[letter] for letter in takes if letter in _PLAIN)

    def prepared(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(inputs) == 1:
            return inputs
        if not self.exact_numbers:
            return rounded_numbers(inputs)
        first, second = inputs[0], inputs[1]
        if (
            isinstance(first, Tensor)
            and not first._array.ndim
            and isinstance(second, Tensor)
            and second._array.dtype in dtypes.LOW_PRECISION
        ):
            # Only the second operand of PyTorch's kernels is taken as it is.
            return (rounded_numbers(inputs)[0], *inputs[1:])
        return inputs

    def result_dtype(self, inputs: tuple[Any, ...]) -> tuple[dtypes.dtype, dtypes.dtype]:
        compute, result = super().result_dtype(inputs)
        if self.takes != EVERYTHING:
            promoted = compute if self.rule in (BOOL, REAL) else result
            if kind_letter(promoted) not in self.takes:
                self.refuse(promoted, inputs)
        if result is dtypes.complex32:
            if self.name not in _OF_COMPLEX32:
                self.refuse(result, inputs)
            errors.warn_of_complex32()
        return compute, result

    def refuse(self, promoted: dtypes.dtype, inputs: tuple[Any, ...]) -> None:
        """Raise for a dtype; shapes that do not fit are mostly the earlier mistake."""
        letter = kind_letter(promoted)
        problem = self._explain(inputs, ValueError())
        if not isinstance(problem, ValueError) and letter.upper() not in self.refusals:
            raise problem
        special = self.refusals.get(letter.upper(), self.refusals.get(letter))
        if special is not None:
            raise type(special)(str(special) + errors.at_user_line())
        advice = "" if "f" in self.takes else "It takes integers: x.long()"
        raise errors.no_kernel(self.torch_kernel, promoted, advice)


class NativeRow(Row):
    """An operation that PyTorch computes in half precision itself, not wider."""

    def result_dtype(self, inputs: tuple[Any, ...]) -> tuple[dtypes.dtype, dtypes.dtype]:
        _, result = super().result_dtype(inputs)
        return result, result


def unary_row(
    name: str,
    forward: Callable[[np.ndarray], Any],
    grad: Formula | None = None,
    *,
    rule: str = SAME,
    takes: str = EVERYTHING,
    torch_kernel: str | None = None,
    refusals: Refusals | None = None,
    aliases: tuple[str, ...] = (),
    in_place: bool = True,
    in_place_grad: bool = True,
    out: bool = True,
    out_text: str = "",
    function: bool = True,
    method: bool = True,
    takes_halves: bool = False,
    node: str | None = None,
    bare: bool = False,
    kinks: str = "",
    non_differentiable: str = "",
    placement: Placement = laid_out,
    kind: type[Row] = Row,
    doc: str = "",
    example: str = "",
) -> Callable[[Tensor], Tensor]:
    """Define `clew.name(input)`, `Tensor.name()` and `Tensor.name_()`.

    `forward` maps an array of one dtype to an array; `grad` is the gradient of the input. `bare`
    says that the formula uses nothing but operators, so that it holds for bare arrays too. `doc`
    says what it computes and `example` shows it: the docstrings are made of these. `torch_kernel`
    is PyTorch's name in the error for a dtype that is not taken.
    """
    op = kind(
        name, forward, inputs=("self",), grads={"self": grad} if grad else None, rule=rule,
        takes=takes, torch_kernel=torch_kernel, refusals=refusals, takes_halves=takes_halves,
        node=node, bare=bare, kinks=kinks, non_differentiable=non_differentiable,
        placement=placement,
    )  # fmt: skip
    # What has no short path has its checks in `op` itself.
    implementation = unary(op) if "f" in takes else _named(lambda input: op(input), name)
    implementation.__doc__ = _row_doc(op, doc, example)
    if function:
        checked = _checked_unary(name, implementation)
        checked.__doc__ = implementation.__doc__
        if out:
            checked = out_form(checked, out_text, op.differentiable)
        _export(op.name, aliases, checked, FUNCTIONS.__setitem__)
    if method:
        _export(op.name, aliases, implementation, _set_method)
    if in_place:
        _export_in_place(op.name, aliases, _unary_in_place(op if in_place_grad else _final(op)))
    return implementation


def _row_doc(op: Row, doc: str, example: str, numbers: bool | None = None) -> str | None:
    """The docstring of a row; `numbers` says what the second operand may be, if there is one."""
    if not doc:
        return None
    kinds = [word for letter, word in _WORDS.items() if letter in op.takes]
    listed = ", ".join(kinds[:-1]) + " or " * (len(kinds) > 1) + kinds[-1]
    words = "any dtype" if op.takes == EVERYTHING else listed
    becomes = "; integers become the default float" if op.rule == FLOAT and "i" in op.takes else ""
    arguments = f"    input: a tensor of {words}{becomes}"
    if numbers is not None:
        other = "a tensor or a number" if numbers else "a second tensor"
        arguments += f"\n    other: {other}; broadcasts with `input`"
    return f"{doc}\n\nArgs:\n{arguments}\n\nExample:\n    " + example.replace("\n", "\n    ")


def _checked_unary(name: str, implementation: Callable[[Tensor], Tensor]) -> Any:
    def function(input: Tensor) -> Tensor:
        if not isinstance(input, Tensor):
            raise errors.wrong_argument(name, "input", 1, "Tensor", input)
        return implementation(input)

    return _named(function, name)


def _unary_in_place(op: Row) -> Callable[[Tensor], Tensor]:
    def method(self: Tensor) -> Tensor:
        if op.rule == REAL and self.dtype.is_complex:
            refuse_leaf(self, op.name + "_")
            raise RuntimeError(
                f"In-place {op.name} is not supported for complex tensors." + errors.at_user_line()
            )
        return apply_inplace(op, self)

    return _named(method, op.name + "_")


def _final(op: Row) -> Row:
    """The same operation without a derivative, for in-place forms that PyTorch gives none."""

    def refuse(g: Tensor) -> Tensor:
        raise NotImplementedError(
            f"the derivative for 'inplace version of {op.name}' is not implemented.\n"
            f"  That of {op.name} is: leave out the underscore." + errors.at_user_line()
        )

    return Row(
        f"{op.name}.in_place", op.forward, inputs=op.inputs, grads={"self": refuse}, rule=op.rule,
        takes=op.takes, torch_kernel=op.torch_kernel, node=f"{camel(op.name)}Backward1",
    )  # fmt: skip


def binary_row(
    name: str,
    forward: Callable[[np.ndarray, np.ndarray], Any],
    self_grad: Formula | None = None,
    other_grad: Formula | None = None,
    *,
    rule: str = SAME,
    takes: str = EVERYTHING,
    torch_kernel: str | None = None,
    refusals: Refusals | None = None,
    exact_numbers: bool = False,
    aliases: tuple[str, ...] = (),
    in_place: bool = True,
    numbers: bool = True,
    row: type[Row] = Row,
    function: bool = True,
    method: bool = True,
    node: str | None = None,
    bare: bool = False,
    kinks: str = "",
    non_differentiable: str = "",
    doc: str = "",
    example: str = "",
) -> Callable[[Any, Any], Tensor]:
    """Define `clew.name(input, other)`, `Tensor.name(other)` and `Tensor.name_(other)`.

    `numbers` says whether either side may be a Python number, `row` what the operation is made
    with. `doc` and `example` are for the docstrings, as those of a `unary_row`.
    """
    formulas = {"self": self_grad, "other": other_grad}
    op = row(
        name, forward, inputs=("self", "other"),
        grads={key: formula for key, formula in formulas.items() if formula is not None},
        rule=rule, takes=takes, torch_kernel=torch_kernel, refusals=refusals,
        exact_numbers=exact_numbers, node=node, bare=bare,
        kinks=kinks, non_differentiable=non_differentiable,
    )  # fmt: skip
    implementation = binary_function(op, numbers)
    implementation.__doc__ = _row_doc(op, doc, example, numbers)
    if function:
        as_function = out_form(implementation, differentiable=op.differentiable)
        _export(op.name, aliases, as_function, FUNCTIONS.__setitem__)
    if method:
        _export(op.name, aliases, implementation, _set_method)
    if in_place:
        _export_in_place(op.name, aliases, binary_in_place(op, numbers))
    return implementation


def binary_function(op: Row, numbers: bool = True) -> Callable[[Any, Any], Tensor]:
    """The function of a binary row, with the short path where floats are taken."""
    # Operations that refuse floats have no short path: their checks are in `op` itself.
    has_short_path = op.takes_floats or bool(op.taken_plainly)
    implementation = binary(op) if has_short_path else op
    if has_short_path and numbers:
        return implementation

    def function(input: Any, other: Any) -> Tensor:
        if not (isinstance(input, Tensor) and isinstance(other, Tensor)):
            if not numbers:
                require_tensors(op.name, input=input, other=other)
            input, other = operands(op, input, other)
        result: Tensor = implementation(input, other)
        return result

    return _named(function, op.name)


def binary_in_place(op: Row, numbers: bool = True) -> Callable[[Tensor, Any], Tensor]:
    """The method `x.name_(other)` of a binary row."""

    def method(self: Tensor, other: Any) -> Tensor:
        if not numbers:
            require_tensors(op.name + "_", other=other)
        return write_binary(op, self, other)

    return _named(method, op.name + "_")


def write_binary(op: Row, self: Tensor, other: Any) -> Tensor:
    """Run a binary row in place."""
    _, other = operands(op, self, other)
    try:
        return apply_inplace(op, self, other)
    except NotImplementedError:
        # The result could not be stored in any case: that is the earlier mistake.
        have = self._array.shape
        shape = np.broadcast_shapes(have, other._array.shape if isinstance(other, Tensor) else ())
        if shape != have:
            raise errors.in_place_shape(have, shape) from None
        _, result = Elementwise.result_dtype(op, (self, other))
        if not dtypes.can_cast(result, self.dtype):
            raise errors.in_place_dtype(result.scalar_name, self.dtype.scalar_name) from None
        raise


def require_tensors(name: str, **values: Any) -> None:
    """Refuse numbers and everything else that is not a tensor."""
    for value in values.values():
        if not isinstance(value, Tensor):
            break
    else:
        return
    for position, (argument, value) in enumerate(values.items()):
        if not isinstance(value, Tensor):
            raise errors.wrong_argument(name, argument, position + 1, "Tensor", value)


def refuse_gradient(name: str, **values: Any) -> None:
    """Refuse tensors that require grad where PyTorch has no derivative; `name` is its kernel's."""
    for argument, value in values.items():
        if isinstance(value, Tensor) and value.requires_grad and local.state.grad_enabled:
            raise RuntimeError(
                f"The function '{name}' is not differentiable with respect to argument "
                f"'{argument}'. This input cannot have requires_grad True." + errors.at_user_line()
            )


def refuse_complex_history(name: str, *inputs: Tensor) -> None:
    """Complex numbers have no order; those that pass as they are still have no derivative."""
    if local.state.grad_enabled and any(input.requires_grad for input in inputs):
        raise RuntimeError(
            f"{name} does not support automatic differentiation for outputs with complex dtype."
            + errors.at_user_line()
        )


# What PyTorch says of an `out=` whose dtype must be exactly that of the result.
SAME_OUT = "Found dtype {found} but expected {expected}"
BOOL_OUT = "{name} does not support non-boolean outputs."


def out_form(
    implementation: Callable[..., Any],
    text: str = "",
    differentiable: bool | None = True,
    elementwise: bool = True,
    warns: bool = True,
) -> Callable[..., Any]:
    """The same function with an `out=` argument.

    With a `text`, the dtype of `out` must be that of the result. Functions that are not
    differentiable themselves (False, or None where `out` may have no history) do not mind inputs
    with history: what there is goes to `out`. For those that are `elementwise`, `out` must not
    share a part of an input's memory. `warns`: of an `out` that gets another shape.
    """

    @functools.wraps(implementation)
    def function(*args: Any, out: Tensor | None = None, **kwargs: Any) -> Any:
        if out is None:
            try:
                return implementation(*args, **kwargs)
            except Exception as error:  # whatever it is, the call may explain it
                if unseen(*args, *kwargs.values()):
                    return function(*args, **kwargs)
                again = reread(implementation, args, kwargs)
                if again is not None:
                    return implementation(*again[0], **again[1])
                explain(implementation, args, kwargs, error, name=called(function))
                raise
        kwargs = by_torch_names(implementation, kwargs) or kwargs
        refuse_history(called(function), args, kwargs, out, differentiable)
        if elementwise:
            check_overlap((out, *args, *kwargs.values()))
        result = without_autocast(implementation, *args, **kwargs)
        if text and out.dtype is not result.dtype:
            words = {
                "name": implementation.__name__,
                "found": out.dtype.scalar_name,
                "expected": result.dtype.scalar_name,
                "c_found": out.dtype.c_name,
                "c_expected": result.dtype.c_name,
            }
            raise RuntimeError(text.format(**words) + errors.at_user_line())
        deliver(result, out, implementation.__name__, warns)
        if result.requires_grad:
            out.copy_(result)
        return out

    function.__doc__ = out_doc(implementation.__doc__)
    return function


def _export(
    name: str,
    aliases: tuple[str, ...],
    implementation: Callable[..., Tensor],
    put: Callable[[str, Any], None],
) -> None:
    for each in (name, *aliases):
        put(each, implementation)


def _set_method(name: str, implementation: Callable[..., Tensor]) -> None:
    setattr(Tensor, name, implementation)


def _export_in_place(name: str, aliases: tuple[str, ...], method: Callable[..., Tensor]) -> None:
    methods(**{f"{each}_": method for each in (name, *aliases)})


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    return function
