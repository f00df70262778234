"""The scalar expressions of elementwise operations: what fusion puts into one kernel.

An operation that has a compiled kernel is fused by that kernel's own formula. The others are here,
one line each. An operation without an expression is never fused.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from clew.core.elementwise import Elementwise
from clew.core.op import OPS, Op
from clew.kernels.codegen.ir import BOOL, F32, Expr, where
from clew.kernels.codegen.ufunc import formulas

Formula = Callable[..., Any]


def _truth(x: Any) -> Any:
    return x if not isinstance(x, Expr) or x.dtype == BOOL else x.ne(0.0)


def _power(x: Any, exponent: Any) -> Any:
    if isinstance(exponent, Expr) or not isinstance(x, Expr):
        base = exponent.like(x) if not isinstance(x, Expr) else x
        return base.pow(exponent)
    usual = {
        0.5: lambda: x.sqrt(), 1: lambda: x, 2: lambda: x * x, 3: lambda: x * x * x,
        -1: lambda: 1.0 / x, -2: lambda: 1.0 / (x * x), -0.5: lambda: 1.0 / x.sqrt(),
    }  # fmt: skip
    return usual[exponent]() if exponent in usual else x.pow(exponent)


def _clamped(x: Any, low: Any, high: Any) -> Any:
    return x.clamp(low, high)


def _chosen(condition: Any, yes: Any, no: Any) -> Any:
    return where(_truth(condition), yes, no)


def _compared(name: str) -> Formula:
    flipped = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
    method = {"lt": "__lt__", "gt": "__gt__", "le": "__le__", "ge": "__ge__"}

    def compare(x: Any, y: Any) -> Any:
        if isinstance(x, Expr):
            return getattr(x, method.get(name, name))(y)
        return getattr(y, method.get(flipped[name], flipped[name]))(x)

    return compare


def _scaled(sign: float) -> Formula:
    return lambda x, y, alpha: x + y * (sign * alpha)


def _elu(x: Any, alpha: float, scale: float, input_scale: float) -> Any:
    numbers = [x.like(each) for each in (scale, alpha * scale, input_scale)]
    return formulas()["elu"](x, *numbers)


def _elu_backward(g: Any, x: Any, alpha: float, scale: float, input_scale: float) -> Any:
    numbers = [x.like(each) for each in (scale, alpha * scale, input_scale)]
    return formulas()["elu_backward"](g, x, *numbers)


def _dropped(x: Any, kept: Any, p: float) -> Any:
    # Divided in the type in which the operation does it.
    number = np.float32 if x.dtype == F32 else np.float64
    scale = float(number(1) / number(1 - p))
    return x * where(_truth(kept), x.like(scale), 0.0)


def _sign(x: Any) -> Any:
    # What is not a number has none.
    return where(x > 0.0, x.like(1.0), where(x < 0.0, x.like(-1.0), 0.0))


def _minus(x: Any, y: Any) -> Any:
    return x - y


# By the names of the table of operations; parameters come by keyword.
_OWN: dict[str, Formula] = {
    "rsub": lambda x, y: y - x,
    "rsub.number": lambda x, y: y - x,
    "add.scaled": _scaled(1.0),
    "sub.scaled": _scaled(-1.0),
    "log1p": lambda x: x.log1p(),
    "reciprocal": lambda x: 1.0 / x,
    "rsqrt": lambda x: 1.0 / x.sqrt(),
    "where": _chosen,
    "clamp": _clamped,
    "clamp.numbers": _clamped,
    "pow": _power,
    "pow.tensor": _power,
    "pow.of_number": _power,
    "erf": lambda x: x.erf(),
    "erfc": lambda x: x.erfc(),
    "threshold_backward": lambda g, x, threshold: where(x <= threshold, 0.0, g),
    "hardtanh": lambda x, min_val, max_val: x.clamp(min_val, max_val),
    "addcmul": lambda x, a, b, value: x + a * b * value,
    "addcdiv": lambda x, a, b, value: x + a / b * value,
    "_zeros_of": lambda x, device=None: x.like(0.0),
    "logical_not": lambda x: ~_truth(x),
    "elu": _elu,
    "elu_on_result": _elu,
    "celu": _elu,
    "celu_on_result": _elu,
    "elu_backward": _elu_backward,
    "sgn": _sign,
    "sign": _sign,
    "_prelu_kernel": lambda x, weight: where(x > 0.0, x, x * weight),
    "_smooth_loss_derivative": lambda x, y, scale, limit: ((x - y) / scale).clamp(-limit, limit),
    "masked_fill": lambda x, mask, value: where(_truth(mask), value, x),
    "dropout": _dropped,
    "_running_average": lambda x, latest, momentum, factor: (
        x * (1 - momentum) + latest * factor * momentum
    ),
    **{name: _compared(name) for name in ("lt", "le", "gt", "ge", "eq", "ne")},
}  # fmt: skip
# Operations on a tensor and a mask, which are defined in another way than the elementwise ones.
MASKED = frozenset({"dropout", "masked_fill"})
# Operations whose kernel has the same name and takes the parameters as further operands.
_BY_KERNEL: dict[str, tuple[str, tuple[str, ...]]] = {
    **{
        name: (name, ())
        for name in (
            "silu", "silu_backward", "mish", "mish_backward", "sigmoid", "sigmoid_backward",
            "tanh_backward", "relu", "relu_backward", "hardswish", "hardswish_backward",
        )
    },
    "leaky_relu": ("leaky_relu", ("negative_slope",)),
    "leaky_relu_backward": ("leaky_relu_backward", ("negative_slope",)),
    "softplus": ("softplus", ("beta", "threshold")),
    "softplus_backward": ("softplus_backward", ("beta", "threshold")),
}  # fmt: skip


@functools.cache
def _names() -> dict[Op, str]:
    return {op: name for name, op in OPS.items()}


@functools.cache
def expression(op: Op) -> Formula | None:
    """The formula of an operation over expressions, or None if it has none."""
    name = _names().get(op, op.name)
    if not isinstance(op, Elementwise):
        return _OWN[name] if name in MASKED else None
    if name in _OWN:
        return _OWN[name]
    if op.threaded is not None:
        formula: Formula = op.threaded.function
        return _with_numbers(formula)
    known = formulas()
    if name in ("gelu", "gelu_backward"):
        return lambda *xs, approximate: known[
            name if approximate == "none" else name.replace("gelu", "gelu_tanh")
        ](*xs)
    if name in _BY_KERNEL:
        kernel, params = _BY_KERNEL[name]
        if kernel in known:
            return _of_kernel(known[kernel], params)
    return None


def _of_kernel(formula: Formula, params: tuple[str, ...]) -> Formula:
    return lambda *xs, **given: formula(*xs, *[xs[0].like(given[name]) for name in params])


def _with_numbers(formula: Formula) -> Formula:
    """A formula of two operands, one of which may be a number."""

    def apply(*xs: Any) -> Any:
        if isinstance(xs[0], Expr):
            return formula(*xs)
        typed = next(x for x in xs if isinstance(x, Expr))
        return formula(*[typed.like(x) for x in xs])

    return apply
