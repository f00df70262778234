"""How further elementwise operations are written in ONNX: functions, rounding, activations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clew.export.sizes import Unexplained
from clew.onnx.graph import GraphWriter
from clew.onnx.operators import WRITERS, Writer, in_one, operands, writes
from clew.onnx.tape import Call, Value

for _name, _kind in {
    "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh", "_prelu_kernel": "PRelu",
    "bernoulli": "Bernoulli", "bernoulli_like": "Bernoulli",
}.items():  # fmt: skip
    WRITERS[_name] = in_one(_kind)


# -- functions as others ---------------------------------------------------------------------------


def _scaled_log(base: float) -> Writer:
    return lambda g, call: g.node(
        "Mul", g.node("Log", g.name(call.inputs[0])), g.name(1 / math.log(base), call.inputs[0])
    )


WRITERS["log2"] = _scaled_log(2)
WRITERS["log10"] = _scaled_log(10)


@writes("log1p", "expm1", "exp2", "erfc", "deg2rad", "rad2deg", "frac", "trunc", "isfinite")
def _of_one(g: GraphWriter, call: Call) -> Any:
    value = call.inputs[0]
    x = g.name(value)
    match call.name:
        case "log1p":
            return g.node("Log", g.node("Add", x, g.name(1, value)))
        case "expm1":
            return g.node("Sub", g.node("Exp", x), g.name(1, value))
        case "exp2":
            return g.node("Pow", g.name(2, value), x)
        case "erfc":
            return g.node("Sub", g.name(1, value), g.node("Erf", x))
        case "deg2rad" | "rad2deg":
            factor = math.pi / 180 if call.name == "deg2rad" else 180 / math.pi
            return g.node("Mul", x, g.name(factor, value))
        case "frac":
            return g.node("Sub", x, truncated(g, x))
        case "trunc":
            return truncated(g, x)
    return g.node("Not", g.node("Or", g.node("IsNaN", x), g.node("IsInf", x)))


def truncated(g: GraphWriter, name: str) -> str:
    """Rounded towards zero, for which ONNX has no operator."""
    return str(g.node("Mul", g.node("Sign", name), g.node("Floor", g.node("Abs", name))))


@writes("atan2")
def _atan2(g: GraphWriter, call: Call) -> Any:
    value = call.outputs[0]
    y, x = operands(g, call)
    zero, pi = g.name(0, value), g.name(math.pi, value)
    behind = g.node("Where", g.node("Less", y, zero), g.name(-math.pi, value), pi)
    turned = g.node("Add", g.node("Atan", g.node("Div", y, x)), behind)
    found = g.node(
        "Where", g.node("Less", x, zero), turned, g.node("Atan", g.node("Div", y, x))
    )  # fmt: skip
    upright = g.node("Mul", g.node("Sign", y), g.name(math.pi / 2, value))
    return g.node("Where", g.node("Equal", x, zero), upright, found)


@writes("hypot")
def _hypot(g: GraphWriter, call: Call) -> Any:
    squares = [g.node("Mul", each, each) for each in operands(g, call)]
    return g.node("Sqrt", g.node("Add", *squares))


@writes("xlogy")
def _xlogy(g: GraphWriter, call: Call) -> Any:
    x, y = operands(g, call)
    zero = g.name(0, call.outputs[0])
    product = g.node("Mul", x, g.node("Log", y))
    return g.node("Where", g.node("Equal", x, zero), zero, product)


@writes("logit")
def _logit(g: GraphWriter, call: Call) -> Any:
    value = call.inputs[0]
    x, eps = g.name(value), call.params.get("eps")
    if eps is not None:
        x = g.node("Clip", x, g.name(eps, value), g.name(1 - eps, value))
    return g.node("Log", g.node("Div", x, g.node("Sub", g.name(1, value), x)))


@writes("sinc")
def _sinc(g: GraphWriter, call: Call) -> Any:
    value = call.inputs[0]
    x, zero = g.name(value), g.name(0, value)
    turned = g.node("Mul", x, g.name(math.pi, value))
    ratio = g.node("Div", g.node("Sin", turned), turned)
    return g.node("Where", g.node("Equal", x, zero), g.name(1, value), ratio)


@writes("nan_to_num")
def _nan_to_num(g: GraphWriter, call: Call) -> Any:
    value, p = call.inputs[0], call.params
    limits = np.finfo(g.array(value).dtype)
    found = g.name(value)
    for test, more, key, fill in (
        ("IsNaN", {}, "nan", 0.0),
        ("IsInf", {"detect_negative": 0}, "posinf", float(limits.max)),
        ("IsInf", {"detect_positive": 0}, "neginf", float(limits.min)),
    ):
        number = fill if p.get(key) is None else p[key]
        found = g.node("Where", g.node(test, found, **more), g.name(number, value), found)
    return found


WRITERS["fmax"] = lambda g, call: _without_nan(g, call, "Max")
WRITERS["fmin"] = lambda g, call: _without_nan(g, call, "Min")


def _without_nan(g: GraphWriter, call: Call, kind: str) -> Any:
    x, y = operands(g, call)
    found = g.node("Where", g.node("IsNaN", y), x, g.node(kind, x, y))
    return g.node("Where", g.node("IsNaN", x), y, found)


# -- several operands ------------------------------------------------------------------------------


@writes("add.scaled", "sub.scaled", "rsub.scaled")
def _scaled(g: GraphWriter, call: Call) -> Any:
    one, two = operands(g, call)
    if call.name == "rsub.scaled":
        one, two = two, one
    two = g.node("Mul", two, g.name(call.params["alpha"], call.outputs[0]))
    return g.node("Add" if call.name == "add.scaled" else "Sub", one, two)


@writes("addcmul", "addcdiv")
def _added(g: GraphWriter, call: Call) -> Any:
    value, one, two = call.inputs
    part = g.node("Mul" if call.name == "addcmul" else "Div", g.name(one), g.name(two))
    return g.node("Add", g.name(value), g.node("Mul", part, g.name(call.params["value"], value)))


@writes("lerp")
def _lerp(g: GraphWriter, call: Call) -> Any:
    start, end, weight = call.inputs
    way = g.node("Sub", g.name(end), g.name(start))
    return g.node("Add", g.name(start), g.node("Mul", g.name(weight, start), way))


# -- division and whole numbers --------------------------------------------------------------------


def _is_whole(g: GraphWriter, call: Call) -> bool:
    return g.array(call.outputs[0]).dtype.kind in "iu"


def _remainder(g: GraphWriter, call: Call, x: str, y: str) -> str:
    """With the sign of the divisor; ONNX has that for integers only."""
    if _is_whole(g, call):
        return str(g.node("Mod", x, y))
    zero = g.name(0, call.outputs[0])
    rest = g.node("Mod", x, y, fmod=1)
    apart = g.node("Xor", g.node("Less", rest, zero), g.node("Less", y, zero))
    nothing = g.node("Equal", rest, zero)
    wrong = g.node("And", g.node("Not", nothing), apart)
    return str(g.node("Where", wrong, g.node("Add", rest, y), rest))


@writes("remainder", "fmod")
def _mod(g: GraphWriter, call: Call) -> Any:
    x, y = operands(g, call)
    return g.node("Mod", x, y, fmod=1) if call.name == "fmod" else _remainder(g, call, x, y)


@writes("floor_divide", "div.floor", "div.trunc")
def _rounded_quotient(g: GraphWriter, call: Call) -> Any:
    x, y = operands(g, call)
    if call.name == "div.trunc":
        quotient = g.node("Div", x, y)
        return quotient if _is_whole(g, call) else truncated(g, quotient)
    exact = g.node("Div", g.node("Sub", x, _remainder(g, call, x, y)), y)
    return exact if _is_whole(g, call) else g.node("Round", exact)


@writes("bitwise_and", "bitwise_or", "bitwise_xor")
def _bitwise(g: GraphWriter, call: Call) -> Any:
    kind = {"bitwise_and": "And", "bitwise_or": "Or", "bitwise_xor": "Xor"}[call.name]
    whole = _is_whole(g, call)
    return g.node(f"Bitwise{kind}" if whole else kind, *operands(g, call))


@writes("bitwise_not")
def _inverted(g: GraphWriter, call: Call) -> Any:
    return g.node("BitwiseNot" if _is_whole(g, call) else "Not", g.name(call.inputs[0]))


@writes("bitwise_left_shift")
def _shifted(g: GraphWriter, call: Call) -> Any:
    x, count = operands(g, call)
    return g.node("Mul", x, g.node("Pow", g.name(2, call.outputs[0]), count))


# -- activations -----------------------------------------------------------------------------------


@writes("elu", "celu")
def _elu(g: GraphWriter, call: Call) -> Any:
    """ELU, and SELU and CELU, which are one with factors."""
    p, value = call.params, call.inputs[0]
    x, zero = g.name(value), g.name(0, value)
    below = g.node("Mul", x, g.name(p.get("input_scale", 1.0), value))
    below = g.node("Elu", g.node("Min", below, zero), alpha=float(p["alpha"]))
    found = g.node("Where", g.node("Greater", x, zero), x, below)
    scale = p.get("scale", 1.0)
    return found if scale == 1 else g.node("Mul", found, g.name(scale, value))


@writes("softplus")
def _softplus(g: GraphWriter, call: Call) -> Any:
    beta, value = call.params.get("beta", 1), call.inputs[0]
    if beta == 1:
        return g.node("Softplus", g.name(value))
    factor = g.name(beta, value)
    return g.node("Div", g.node("Softplus", g.node("Mul", g.name(value), factor)), factor)


@writes("log_sigmoid")
def _log_sigmoid(g: GraphWriter, call: Call) -> Any:
    return g.node("Neg", g.node("Softplus", g.node("Neg", g.name(call.inputs[0]))))


@writes("hardsigmoid")
def _hardsigmoid(g: GraphWriter, call: Call) -> Any:
    return g.node("HardSigmoid", g.name(call.inputs[0]), alpha=1 / 6, beta=0.5)


@writes("hardshrink", "softshrink")
def _shrink(g: GraphWriter, call: Call) -> Any:
    size = float(call.params["lambd"])
    bias = size if call.name == "softshrink" else 0.0
    return g.node("Shrink", g.name(call.inputs[0]), lambd=size, bias=bias)


@writes("threshold")
def _threshold(g: GraphWriter, call: Call) -> Any:
    p, value = call.params, call.inputs[0]
    above = g.node("Greater", g.name(value), g.name(p["threshold"], value))
    return g.node("Where", above, g.name(value), g.name(p["value"], value))


@writes("glu")
def _glu(g: GraphWriter, call: Call) -> Any:
    dim = call.params["dim"]
    one, two = g.node("Split", g.name(call.inputs[0]), outputs=2, axis=dim, num_outputs=2)
    return g.node("Mul", one, g.node("Sigmoid", two))


# -- filling ---------------------------------------------------------------------------------------


@writes("copy", "fill_tensor", "fill", "zero")
def _stored(g: GraphWriter, call: Call) -> Any:
    """What is written over a tensor, in its shape and dtype."""
    target = call.inputs[0]
    number = call.params.get("value", 0)
    source: Any = call.inputs[1] if len(call.inputs) > 1 else number
    name = g.name(source, target)
    if isinstance(source, Value) and g.array(source).dtype != g.array(target).dtype:
        name = g.cast(name, g.array(target).dtype)
    return g.node("Expand", name, g.size(g.shape(target)))


@writes("_random_like", "_drawn", "normal", "uniform")
def _random(g: GraphWriter, call: Call) -> Any:
    """Numbers that are drawn anew in every run."""
    p, made = call.params, call.outputs[0]
    function = p.get("function", call.name)
    shape = g.node("ConstantOfShape", g.size(g.shape(made)))
    kind = g.element(made)
    match function:
        case "normal" | "randn_like":
            return g.node("RandomNormalLike", shape, dtype=kind, mean=float(p.get("mean", 0.0)),
                          scale=float(p.get("std", 1.0)))  # fmt: skip
        case "uniform" | "rand_like":
            return g.node("RandomUniformLike", shape, dtype=kind, low=float(p.get("low", 0.0)),
                          high=float(p.get("high", 1.0)))  # fmt: skip
    raise Unexplained(f"numbers drawn by {function}")
