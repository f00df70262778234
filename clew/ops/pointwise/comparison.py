"""Comparisons: elementwise to bool, and whole tensors to a Python bool."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.core.meta.device import refuse_read
from clew.core.op import camel
from clew.core.public import FUNCTIONS, methods, public
from clew.core.state import local
from clew.core.tensor import Tensor, of_values, sync
from clew.ops.define import vmap_errors
from clew.ops.define.rows import (
    BOOL,
    EVERYTHING,
    REALS,
    Row,
    binary_in_place,
    binary_row,
    out_form,
    require_tensors,
)
from clew.ops.pointwise.arithmetic import binary_operator, zeros_of

WHY = "bool output"


def _comparison(name: str, forward: Any, takes: str, aliases: tuple[str, ...], **docs: Any) -> Any:
    function = binary_row(
        name, forward, rule=BOOL, takes=takes, aliases=aliases, in_place=False,
        non_differentiable=WHY, **docs,
    )  # fmt: skip
    # The result is bool and has no history, but `x.eq_(y)` stores it in a float tensor.
    stored = Row(
        f"{name}.in_place", forward, inputs=("self", "other"), rule=BOOL, takes=takes,
        node=f"{camel(name)}Backward0",
        grads={"self": lambda g: zeros_of(g), "other": lambda g: zeros_of(g)},
    )  # fmt: skip
    method = binary_in_place(stored)

    def compare(input: Tensor, other: Any) -> Tensor:
        if not isinstance(input, Tensor):
            raise errors.wrong_argument(name, "input", 1, "Tensor", input)
        return function(input, other)

    compare.__doc__ = function.__doc__
    for each in (name, *aliases):
        FUNCTIONS[each] = out_form(compare, differentiable=False)
        methods(**{f"{each}_": method})
    return function


eq = _comparison(
    "eq", np.equal, EVERYTHING, (),
    doc="Where elements are equal, as a tensor of bools; NaN equals nothing.",
    example=(
        ">>> clew.eq(clew.tensor([1., 2., 3.]), clew.tensor([1., 0., 3.]))\n"
        "tensor([ True, False,  True])"
    ),
)  # fmt: skip
ne = _comparison(
    "ne", np.not_equal, EVERYTHING, ("not_equal",),
    doc="Where elements differ, as a tensor of bools; NaN differs from everything.",
    example=">>> clew.ne(clew.tensor([1., 2., 3.]), 2)\ntensor([ True, False,  True])",
)  # fmt: skip
lt = _comparison(
    "lt", np.less, REALS, ("less",),
    doc="Where elements of `input` are smaller, as a tensor of bools.",
    example=">>> clew.lt(clew.tensor([1., 2., 3.]), 2)\ntensor([ True, False, False])",
)  # fmt: skip
le = _comparison(
    "le", np.less_equal, REALS, ("less_equal",),
    doc="Where elements of `input` are smaller or equal, as a tensor of bools.",
    example=">>> clew.le(clew.tensor([1., 2., 3.]), 2)\ntensor([ True,  True, False])",
)  # fmt: skip
gt = _comparison(
    "gt", np.greater, REALS, ("greater",),
    doc="Where elements of `input` are larger, as a tensor of bools.",
    example=">>> clew.gt(clew.tensor([1., 2., 3.]), 2)\ntensor([False, False,  True])",
)  # fmt: skip
ge = _comparison(
    "ge", np.greater_equal, REALS, ("greater_equal",),
    doc="Where elements of `input` are larger or equal, as a tensor of bools.",
    example=">>> clew.ge(clew.tensor([1., 2., 3.]), 2)\ntensor([False,  True,  True])",
)  # fmt: skip


methods(
    __eq__=binary_operator(eq), __ne__=binary_operator(ne),
    __lt__=binary_operator(lt), __le__=binary_operator(le),
    __gt__=binary_operator(gt), __ge__=binary_operator(ge),
)  # fmt: skip


# -- closeness -------------------------------------------------------------------------------


def _is_close(
    self: np.ndarray, other: np.ndarray, *, rtol: float, atol: float, equal_nan: bool
) -> Any:
    close = self == other
    if equal_nan and self.dtype.kind in "fc":
        close |= np.isnan(self) & np.isnan(other)
    if rtol == 0 and atol == 0:
        return close
    if self.dtype.kind in "biu":
        self, other = self.astype(np.float64), other.astype(np.float64)
    allowed = atol + np.abs(rtol * other)
    actual = np.abs(self - other)
    return close | (np.isfinite(actual) & (actual <= allowed))


def _require_numbers(function: str, rtol: object, atol: object) -> None:
    """Tolerances may be tensors of one number, but gradients do not pass them."""
    for position, (name, value) in enumerate((("rtol", rtol), ("atol", atol)), 3):
        if isinstance(value, Tensor) and (value.requires_grad or value._array.ndim):
            raise errors.wrong_argument(function, name, position, "float", value)


ISCLOSE = Row("isclose", _is_close, rule=BOOL, non_differentiable=WHY)
# PyTorch computes it by operations that have derivatives, and so ask for the history.
ISCLOSE.sync = sync


@public(checked=True, out=False)
def isclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    """Where `|input - other| <= atol + rtol * |other|`, as a tensor of bools.

    Args:
        input: a tensor
        other: a tensor of the same dtype; broadcasts with `input`
        rtol: the difference allowed, relative to `other`
        atol: the difference allowed besides
        equal_nan: whether two NaN are close

    Example:
        >>> clew.isclose(clew.tensor([1., 1.]), clew.tensor([1.000001, 1.1]))
        tensor([ True, False])
    """
    require_tensors("isclose", input=input, other=other)
    _require_numbers("isclose", rtol, atol)
    rtol, atol = float(rtol), float(atol)
    if input.dtype is not other.dtype:
        raise RuntimeError(
            f"{input.dtype.scalar_name} did not match {other.dtype.scalar_name}"
            + errors.at_user_line()
        )
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:
            raise RuntimeError(
                f"{name} must be greater than or equal to zero, but got {value:g}"
                + errors.at_user_line()
            )
    return ISCLOSE(input, other, rtol=rtol, atol=atol, equal_nan=equal_nan)


@public(checked=True, out=False)
def allclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> bool:
    """Whether all elements are close, in the sense of `isclose`; a Python bool.

    Args:
        input: a tensor
        other: a tensor of the same dtype; broadcasts with `input`
        rtol: the difference allowed, relative to `other`
        atol: the difference allowed besides
        equal_nan: whether two NaN are close

    Example:
        >>> clew.allclose(clew.tensor([1., 2.]), clew.tensor([1., 2.000001]))
        True
    """
    _require_numbers("allclose", rtol, atol)
    rtol, atol = float(rtol), float(atol)
    state = local.state
    # As in PyTorch it does not ask where its operands come from, which may be lost.
    grad_enabled, state.grad_enabled = state.grad_enabled, False
    try:
        close = isclose(input, other, rtol, atol, equal_nan)
    finally:
        state.grad_enabled = grad_enabled
    if close._is_lifted:
        raise vmap_errors.no_fallback("allclose", "vmap over torch.allclose isn't supported yet.")
    refuse_read(close, "allclose")
    return bool(of_values(lambda values: bool(values.all()), close))


@public(out=False)
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and the same elements; a Python bool.

    Args:
        input: a tensor
        other: a second tensor; it is not broadcast

    Example:
        >>> clew.equal(clew.tensor([1, 2]), clew.tensor([1, 2]))
        True
        >>> clew.equal(clew.tensor([1, 1]), clew.tensor(1))
        False
    """
    require_tensors("equal", input=input, other=other)
    # (NumPy's own `array_equal` takes an exception of a signal's handler for a no.)
    if input._is_lifted or other._is_lifted:
        raise vmap_errors.no_fallback("equal")
    refuse_read(input, "equal")
    refuse_read(other, "equal")
    a, b = input._array, other._array
    return a.shape == b.shape and bool(of_values(lambda x, y: bool((x == y).all()), input, other))
