"""Rounding, signs, and the other functions that move in steps or only change the sign."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.op import OPS, Op
from clew.core.public import FUNCTIONS, public
from clew.core.recording import NOT_IMPLEMENTED
from clew.core.result_layout import laid_out
from clew.core.tensor import Tensor
from clew.kernels.compiled import complex_parts
from clew.ops import define
from clew.ops.define import out_checks
from clew.ops.define.dims import refuse_flag
from clew.ops.define.memory_layout import as_first
from clew.ops.define.rows import (
    BOOL,
    BOOL_OUT,
    FLOAT,
    FLOATS,
    REALS,
    SAME_OUT,
    NativeRow,
    Row,
    binary_row,
    out_form,
    require_tensors,
    unary_row,
)
from clew.ops.pointwise.arithmetic import conj, no_derivative, zeros_of
from clew.ops.pointwise.clamping import WHERE

STEPS = "0 everywhere, also at the steps"


def _kept_integers(ufunc: Any) -> Any:
    """Integers are already whole; NumPy would turn them into floats."""

    def forward(self: np.ndarray) -> Any:
        return self.copy() if self.dtype.kind in "iu" else ufunc(self)

    return forward


def _refused(name: str) -> dict[str, Exception]:
    return {
        "c": NotImplementedError(f"{name} is not supported for complex inputs{errors.BY_PARTS}")
    }


floor = unary_row(
    "floor", _kept_integers(np.floor), zeros_of, takes="ihf", torch_kernel="floor_vml_cpu",
    refusals=_refused("floor"), out_text=SAME_OUT, kinks=STEPS,
    doc="The largest integer that is not above each element.",
    example=">>> clew.floor(clew.tensor([1.7, -1.2]))\ntensor([ 1., -2.])",
)  # fmt: skip
ceil = unary_row(
    "ceil", _kept_integers(np.ceil), zeros_of, takes="ihf", torch_kernel="ceil_vml_cpu",
    refusals=_refused("ceil"), out_text=SAME_OUT, kinks=STEPS,
    doc="The smallest integer that is not below each element.",
    example=">>> clew.ceil(clew.tensor([1.2, -1.7]))\ntensor([ 2., -1.])",
)  # fmt: skip
trunc = unary_row(
    "trunc", _kept_integers(np.trunc), zeros_of, takes="ihf", torch_kernel="trunc_vml_cpu",
    refusals=_refused("trunc"), out_text=SAME_OUT, aliases=("fix",),
    kinks=STEPS,
    doc="Each element without its fraction: rounded towards zero.",
    example=">>> clew.trunc(clew.tensor([1.7, -1.7]))\ntensor([ 1., -1.])",
)  # fmt: skip
frac = unary_row(
    "frac", lambda self: self - np.trunc(self), lambda g: g, takes=FLOATS, out_text=SAME_OUT,
    bare=True, kinks="1 everywhere",
    doc="The fraction of each element, with its sign: `input - trunc(input)`.",
    example=">>> clew.frac(clew.tensor([1.5, -2.25]))\ntensor([ 0.5000, -0.2500])",
)  # fmt: skip

ROUND = Row(
    "round", _kept_integers(np.rint), inputs=("self",), takes="ihf", torch_kernel="round_vml_cpu",
    grads={"self": lambda g: zeros_of(g)}, kinks=STEPS,
)  # fmt: skip


def _round_decimals(self: np.ndarray, *, decimals: int) -> Any:
    if decimals == 0:
        return np.rint(self)
    scale = 10.0 ** abs(decimals)
    if decimals < 0:
        return np.rint(self / scale) * scale
    return np.rint(self * scale) / scale


ROUND_DECIMALS = Row(
    "round.decimals", _round_decimals, takes=FLOATS, torch_kernel="round_cpu",
    node="RoundBackward1", grads={"self": lambda g: zeros_of(g)}, kinks=STEPS,
)  # fmt: skip


@public(inplace=True, out=False)
def round(input: Tensor, *, decimals: int | None = None) -> Tensor:
    """The nearest integer, or multiple of 10^-decimals; halves go to the even neighbour.

    Args:
        input: a tensor
        decimals: how many digits to keep after the point; a negative number rounds to tens,
            hundreds

    Example:
        >>> clew.round(clew.tensor([0.5, 1.5, 2.6]))
        tensor([0., 2., 3.])
        >>> clew.round(clew.tensor([123.456]), decimals=-1)
        tensor([120.])
    """
    require_tensors("round", input=input)
    refuse_flag("decimals", decimals)
    if decimals is None:
        return ROUND(input)
    if decimals == 0 and input.dtype.category < dtypes.FLOAT:
        raise errors.no_kernel(ROUND.torch_kernel, input.dtype)
    return ROUND_DECIMALS(input, decimals=operator.index(decimals))


FUNCTIONS["round"] = out_form(round, SAME_OUT)


def special_round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """The nearest multiple of 10^-decimals; halves go to the even neighbour.

    Args:
        input: floating point
        decimals: how many digits to keep after the point; a negative number rounds to tens,
            hundreds

    Example:
        >>> clew.special.round(clew.tensor([0.5, 1.5, 2.6]))
        tensor([0., 2., 3.])
    """
    return round(input, decimals=decimals)


# -- signs -----------------------------------------------------------------------------------


def _sign(self: np.ndarray) -> Any:
    """-1, 0 or 1; NaN has no sign and gives 0. A complex number gives its direction."""
    kind = self.dtype.kind
    if kind == "b":
        return self.copy()
    if self.dtype == dtypes.complex32.np:
        return _sign(self.astype(np.complex64)).astype(self.dtype)
    if kind == "c":
        return complex_parts.directions(self)
    result = np.asarray(np.sign(self))
    if kind == "f":
        np.copyto(result, 0, where=np.isnan(result))
    return result


def _grad_of_direction(g: Tensor, self: Tensor, out: Tensor) -> Tensor:
    # Only the part of the gradient across the direction survives.
    size = self.abs()
    across = (g - out * out * conj(g)) / (2 * size)
    return WHERE(size == 0, 0, across)


sign = unary_row(
    "sign", _sign, zeros_of, takes=REALS, out_text=SAME_OUT, kinks="0 at 0",
    refusals={"c": NotImplementedError(
        "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use "
        "torch.sgn instead."
    )},
    doc="-1, 0 or 1: the sign of each element; 0 for NaN.",
    example=">>> clew.sign(clew.tensor([-2., 0., 3.]))\ntensor([-1.,  0.,  1.])",
)  # fmt: skip
SGN = Row(
    "sgn", _sign, inputs=("self",), grads={"self": lambda g, self, out: zeros_of(g)},
    kinks="0 at 0",
)  # fmt: skip
# Not an elementwise op to forward mode: as a function of complex numbers it is not holomorphic.
SGN_COMPLEX = Op(
    "sgn.complex",
    lambda self: laid_out((self,), _sign(self)),
    grads={"self": _grad_of_direction},
    node="SgnBackward0",
    kinks="0 at 0",
)


@public(inplace=True, out=False)
def sgn(input: Tensor) -> Tensor:
    """The sign of real numbers, the direction (`input / |input|`) of complex ones; 0 at 0.

    Args:
        input: a tensor

    Example:
        >>> clew.sgn(clew.tensor([3 + 4j, 0j]))
        tensor([0.6000+0.8000j, 0.0000+0.0000j])
    """
    require_tensors("sgn", input=input)
    return (SGN_COMPLEX if input.dtype.is_complex else SGN)(input)


FUNCTIONS["sgn"] = out_form(sgn, SAME_OUT)

for _name in ("floor", "ceil", "trunc", "round", "round.decimals", "sign", "sgn"):
    OPS[_name].is_step = True

signbit = unary_row(
    "signbit", lambda self: np.signbit(self) if self.dtype.kind == "f" else self < False,
    rule=BOOL, takes=REALS, in_place=False, out_text=BOOL_OUT,
    non_differentiable="bool output",
    refusals={"c": NotImplementedError(
        f"signbit is not implemented for complex tensors.{errors.BY_PARTS}"
    )},
    doc="Where the sign bit is set, as a tensor of bools: for negative numbers and for -0.",
    example=">>> clew.signbit(clew.tensor([-1., 0., -0.]))\ntensor([ True, False,  True])",
)  # fmt: skip


def _grad_of_magnitude(g: Tensor, self: Any, out: Tensor) -> Tensor:
    return g * WHERE(self == 0, 0, out / self)


COPYSIGN = Row(
    "copysign", np.copysign, inputs=("self", "other"), rule=FLOAT, takes=REALS,
    grads={"self": _grad_of_magnitude, "other": lambda g: zeros_of(g)}, kinks="0 at 0",
)  # fmt: skip
COPYSIGN_NUMBER = Row(
    "copysign.number", np.copysign, inputs=("self", "other"), rule=FLOAT, takes=REALS,
    torch_kernel="copysign_cpu", node="CopysignBackward1", grads={"self": _grad_of_magnitude},
    kinks="0 at 0",
)  # fmt: skip


@public(inplace=out_checks.same_or_apart, out=out_checks.same_or_apart)
def copysign(input: Tensor, other: Any) -> Tensor:
    """The magnitude of `input` with the sign of `other`.

    Args:
        input: a tensor
        other: a tensor or a number; broadcasts with `input`

    Example:
        >>> clew.copysign(clew.tensor([1., -2.]), clew.tensor([-1., 0.]))
        tensor([-1.,  2.])
    """
    require_tensors("copysign", input=input)
    op = COPYSIGN if isinstance(other, Tensor) else COPYSIGN_NUMBER
    return op(input, other)


def _heaviside(self: Any, other: Any) -> Any:
    return np.where(self == 0, other, self > 0)


HEAVISIDE = Row(
    "heaviside", _heaviside, inputs=("self", "values"), takes=REALS, node=NOT_IMPLEMENTED,
    refusals={"c": RuntimeError("heaviside is not yet implemented for complex tensors.")},
    grads={"self": no_derivative("heaviside"), "values": no_derivative("heaviside")},
)  # fmt: skip


@public(inplace=True, out=False)
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """The step function: 0 below zero, 1 above, `values` at zero.

    Args:
        input: a tensor
        values: the result where `input` is 0; of the same dtype, broadcasts

    Example:
        >>> clew.heaviside(clew.tensor([-1.5, 0., 2.]), clew.tensor(0.5))
        tensor([0.0000, 0.5000, 1.0000])
    """
    require_tensors("heaviside", input=input, values=values)
    if input.dtype.is_complex or values.dtype.is_complex:
        raise RuntimeError(
            "heaviside is not yet implemented for complex tensors." + errors.at_user_line()
        )
    if input.dtype is not values.dtype:
        raise RuntimeError(
            "heaviside is not yet implemented for tensors with different dtypes."
            + errors.at_user_line()
        )
    return HEAVISIDE(input, values)


_heaviside_out_form = out_form(
    heaviside, "heaviside is not yet implemented for tensors with different dtypes.",
    differentiable=None,
)  # fmt: skip


@functools.wraps(_heaviside_out_form)
def _heaviside_function(*args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
    if out is not None and out.dtype.is_complex:
        raise RuntimeError(
            "heaviside is not yet implemented for complex tensors." + errors.at_user_line()
        )
    result: Tensor = _heaviside_out_form(*args, out=out, **kwargs)
    return result


FUNCTIONS["heaviside"] = _heaviside_function

# -- the representation of floats ------------------------------------------------------------


# The neighbouring number depends on the dtype.
NEXTAFTER = NativeRow(
    "nextafter", np.nextafter, inputs=("self", "other"), takes=FLOATS,
    grads={
        "self": lambda g, self, other: WHERE(self != other, g, 0),
        "other": lambda g: zeros_of(g),
    },
    kinks="0 where equal",
)  # fmt: skip


@public(inplace=out_checks.same_or_apart, out=out_checks.same_or_apart)
def nextafter(input: Tensor, other: Tensor) -> Tensor:
    """The next representable number after `input` towards `other`.

    Args:
        input: a tensor of floats
        other: a tensor of floats; broadcasts with `input`

    Example:
        >>> one = clew.tensor(1.)
        >>> clew.nextafter(one, clew.tensor(2.)) - one == clew.finfo(clew.float32).eps
        tensor(True)
    """
    require_tensors("nextafter", input=input, other=other)
    return NEXTAFTER(input, other)


class _LdexpRow(NativeRow):
    """Of halves that integers scale, the product is rounded and not the power."""

    keeps_complex = True

    def prepared(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        is_integer = inputs[1].dtype.category < dtypes.FLOAT
        return inputs if is_integer else super().prepared(inputs)

    def result_dtype(self, inputs: tuple[Any, ...]) -> tuple[dtypes.dtype, dtypes.dtype]:
        if inputs[1].dtype.category < dtypes.FLOAT:
            return Row.result_dtype(self, inputs)
        return super().result_dtype(inputs)


ldexp = binary_row(
    "ldexp", lambda self, other: self * np.exp2(other),
    lambda g, other: g * conj(2.0**other),
    lambda g, out: g * conj(out) * math.log(2.0),
    rule=FLOAT, numbers=False, row=_LdexpRow,
    doc="`input * 2**other`: a float from mantissa and exponent.",
    example=">>> clew.ldexp(clew.tensor([0.5, 0.75]), clew.tensor([1, 3]))\ntensor([1., 6.])",
)  # fmt: skip


def _frexp(self: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    wide = self.astype(np.float32) if self.dtype in dtypes.LOW_PRECISION else self
    mantissa, exponent = np.frexp(wide)
    finite = np.isfinite(wide)
    # The exponent of inf and NaN is left open by C; PyTorch's is 0.
    return (
        np.asarray(mantissa).astype(self.dtype, copy=False),
        np.where(finite, exponent, 0).astype(np.int32),
    )


FREXP = Op(
    "frexp", _frexp, outputs=2, grads={"self": lambda g, out: g[0] * 2.0 ** (-out[1])},
)  # fmt: skip


@public(accept=out_checks.of_result_dtype(out_checks.mantissa_words, out_checks.exponent_words))
def frexp(input: Tensor) -> Any:
    """`(mantissa, exponent)` with input = mantissa · 2^exponent and 0.5 <= |mantissa| < 1.

    Args:
        input: a tensor of floats

    Example:
        >>> mantissa, exponent = clew.frexp(clew.tensor([1., 6.]))
        >>> mantissa, exponent
        (tensor([0.5000, 0.7500]), tensor([1, 3], dtype=torch.int32))
    """
    require_tensors("frexp", input=input)
    if not input.dtype.is_floating_point:
        raise RuntimeError(
            "torch.frexp() only supports floating-point dtypes" + errors.at_user_line()
        )
    return define.return_types.frexp(*FREXP(input))


# -- integers --------------------------------------------------------------------------------

gcd = binary_row(
    "gcd", np.gcd, takes="i", numbers=False, non_differentiable="integer output",
    doc="The greatest common divisor.",
    example=">>> clew.gcd(clew.tensor([12, 7]), clew.tensor([18, 3]))\ntensor([6, 1])",
)  # fmt: skip
lcm = binary_row(
    "lcm", np.lcm, takes="i", numbers=False, non_differentiable="integer output",
    doc="The least common multiple.",
    example=">>> clew.lcm(clew.tensor([4, 7]), clew.tensor([6, 3]))\ntensor([12, 21])",
)  # fmt: skip

deg2rad = unary_row(
    "deg2rad", lambda self: self * (math.pi / 180.0), lambda g: g * (math.pi / 180.0),
    rule=FLOAT, takes=REALS, node="Deg2RadBackward0", bare=True, placement=as_first,
    refusals={"c": RuntimeError("deg2rad is not supported for complex tensors.")},
    doc="Degrees as radians: `input * pi / 180`.",
    example=">>> clew.deg2rad(clew.tensor([180., 45.]))\ntensor([3.1416, 0.7854])",
)  # fmt: skip
rad2deg = unary_row(
    "rad2deg", lambda self: self * (180.0 / math.pi), lambda g: g * (180.0 / math.pi),
    rule=FLOAT, takes=REALS, node="Rad2DegBackward0", bare=True, placement=as_first,
    refusals={"c": RuntimeError("rad2deg is not supported for complex tensors.")},
    doc="Radians as degrees: `input * 180 / pi`.",
    example=">>> clew.rad2deg(clew.tensor([clew.pi, clew.pi / 4]))\ntensor([180.,  45.])",
)  # fmt: skip
