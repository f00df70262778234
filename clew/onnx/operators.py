"""How each of clew's operations is written in ONNX (opset 18)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from clew.export.sizes import Unexplained
from clew.onnx.graph import GraphWriter
from clew.onnx.tape import Call, Value

Writer = Callable[[GraphWriter, Call], Any]
WRITERS: dict[str, Writer] = {}


def writes(*names: str) -> Callable[[Writer], Writer]:
    def enter(function: Writer) -> Writer:
        for name in names:
            WRITERS[name] = function
        return function

    return enter


def in_one(kind: str) -> Writer:
    return lambda g, call: g.node(kind, *[g.name(each) for each in call.inputs])


for _name, _kind in {
    "relu": "Relu", "tanh": "Tanh", "sigmoid": "Sigmoid", "exp": "Exp", "log": "Log",
    "sqrt": "Sqrt", "neg": "Neg", "abs": "Abs", "sin": "Sin", "cos": "Cos", "tan": "Tan",
    "floor": "Floor", "ceil": "Ceil", "round": "Round", "sign": "Sign", "erf": "Erf",
    "reciprocal": "Reciprocal", "logical_not": "Not", "asin": "Asin", "acos": "Acos",
    "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "softplus_plain": "Softplus", "mish": "Mish",
    "hardswish": "HardSwish", "isnan": "IsNaN", "isinf": "IsInf", "bmm": "MatMul", "mm": "MatMul",
    "mv": "MatMul", "dot": "MatMul", "alias": "Identity", "clone": "Identity",
    "detach_copy": "Identity",
}.items():  # fmt: skip
    WRITERS[_name] = in_one(_kind)


def operands(g: GraphWriter, call: Call) -> tuple[str, str]:
    """Two operands in one dtype: what PyTorch promotes to, ONNX has casts for."""
    one, two = call.inputs[:2]
    wanted = np.dtype(g.array(call.outputs[0]).dtype)
    if call.name in _COMPARISONS:
        kinds = [g.array(each).dtype for each in (one, two) if isinstance(each, Value)]
        wanted = np.result_type(*kinds)
        if any(isinstance(each, float) for each in (one, two)) and wanted.kind in "iub":
            wanted = np.dtype(np.float32)
    found = []
    for each in (one, two):
        if not isinstance(each, Value):
            found.append(g.constant(each, wanted))
        elif g.array(each).dtype != wanted:
            found.append(g.cast(g.name(each), wanted))
        else:
            found.append(g.name(each))
    return found[0], found[1]


def _of_two(kind: str) -> Writer:
    return lambda g, call: g.node(kind, *operands(g, call))


_COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge"}
for _name, _kind in {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "pow": "Pow", "maximum": "Max",
    "minimum": "Min", "eq": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater",
    "ge": "GreaterOrEqual", "logical_and": "And", "logical_or": "Or", "logical_xor": "Xor",
}.items():  # fmt: skip
    WRITERS[_name] = _of_two(_kind)
WRITERS["ne"] = lambda g, call: g.node("Not", g.node("Equal", *operands(g, call)))
WRITERS["rsub"] = lambda g, call: g.node("Sub", *operands(g, call)[::-1])


@writes("rsqrt")
def _rsqrt(g: GraphWriter, call: Call) -> Any:
    return g.node("Reciprocal", g.node("Sqrt", g.name(call.inputs[0])))


@writes("silu")
def _silu(g: GraphWriter, call: Call) -> Any:
    x = g.name(call.inputs[0])
    return g.node("Mul", x, g.node("Sigmoid", x))


@writes("gelu")
def _gelu(g: GraphWriter, call: Call) -> Any:
    """By the error function, or its approximation by tanh: opset 18 has no Gelu."""
    value = call.inputs[0]
    x = g.name(value)
    half, one = g.name(0.5, value), g.name(1.0, value)
    if call.params.get("approximate") == "tanh":
        cube = g.node("Mul", g.node("Mul", x, x), x)
        inner = g.node("Add", x, g.node("Mul", cube, g.name(0.044715, value)))
        inner = g.node("Tanh", g.node("Mul", inner, g.name(math.sqrt(2 / math.pi), value)))
    else:
        inner = g.node("Erf", g.node("Mul", x, g.name(math.sqrt(0.5), value)))
    return g.node("Mul", g.node("Mul", x, g.node("Add", inner, one)), half)


@writes("leaky_relu")
def _leaky_relu(g: GraphWriter, call: Call) -> Any:
    return g.node("LeakyRelu", g.name(call.inputs[0]), alpha=_number(call, "negative_slope"))


def _number(call: Call, name: str) -> float:
    found = call.params.get(name)
    if found is None:
        numbers = [each for each in call.inputs if isinstance(each, (int, float))]
        found = numbers[0]
    return float(found)


@writes("clamp", "hardtanh")
def _clamp(g: GraphWriter, call: Call) -> Any:
    value = call.inputs[0]
    bounds = list(call.inputs[1:]) or [
        call.params.get(name) for name in ("min", "max") if name in call.params
    ]
    if call.name == "hardtanh":
        bounds = [call.params.get("min_val"), call.params.get("max_val")]
    names = ["" if each is None else g.name(each, value) for each in bounds]
    return g.node("Clip", g.name(value), *names)


WRITERS["clamp_min"] = lambda g, call: g.node("Max", *operands(g, call))
WRITERS["clamp_max"] = lambda g, call: g.node("Min", *operands(g, call))


@writes("_to_copy")
def _cast(g: GraphWriter, call: Call) -> Any:
    return g.cast(g.name(call.inputs[0]), g.array(call.outputs[0]).dtype)


@writes("where")
def _where(g: GraphWriter, call: Call) -> Any:
    names = [g.name(call.inputs[0])]
    for each in call.inputs[1:]:
        name, kind = g.name(each, call.outputs[0]), g.array(call.outputs[0]).dtype
        same = not isinstance(each, Value) or g.array(each).dtype == kind
        names.append(name if same else g.cast(name, kind))
    return g.node("Where", *names)


@writes("masked_fill", "masked_fill_tensor")
def _masked_fill(g: GraphWriter, call: Call) -> Any:
    value, mask = call.inputs[:2]
    fill = call.inputs[2] if len(call.inputs) > 2 else call.params["value"]
    return g.node("Where", g.name(mask), g.name(fill, value), g.name(value))


# -- shape -----------------------------------------------------------------------------------------


@writes("view", "_unsafe_view")
def _view(g: GraphWriter, call: Call) -> Any:
    return g.node("Reshape", g.name(call.inputs[0]), g.size(call.params["shape"]), allowzero=1)


@writes("expand")
def _expand(g: GraphWriter, call: Call) -> Any:
    shape = call.params.get("shape", call.params.get("size"))
    return g.node("Expand", g.name(call.inputs[0]), g.size(shape))


def _moved(g: GraphWriter, call: Call, order: list[int]) -> Any:
    return g.node("Transpose", g.name(call.inputs[0]), perm=order)


@writes("t", "transpose")
def _transpose(g: GraphWriter, call: Call) -> Any:
    rank = g.rank(call.inputs[0])
    order = list(range(rank))
    one, two = call.params.get("dim0", 0), call.params.get("dim1", min(1, rank - 1))
    order[one], order[two] = order[two], order[one]
    return _moved(g, call, order)


WRITERS["permute"] = lambda g, call: _moved(g, call, list(call.params["dims"]))
WRITERS["unsqueeze"] = lambda g, call: g.node(
    "Unsqueeze", g.name(call.inputs[0]), g.ints(call.params["dim"])
)


@writes("squeeze", "squeeze_dim", "squeeze_dims")
def _squeeze(g: GraphWriter, call: Call) -> Any:
    before, after = g.array(call.inputs[0]).shape, g.array(call.outputs[0]).shape
    dims = call.params.get("dims", call.params.get("dim"))
    if dims is None:
        dims = [d for d, n in enumerate(before) if n == 1]
    given = [dims] if isinstance(dims, int) else list(dims)
    gone = [d for d in given if before[d] == 1]
    if len(gone) != len(before) - len(after):
        raise Unexplained("squeeze of dimensions that change")
    return g.node("Squeeze", g.name(call.inputs[0]), g.ints(*gone))


@writes("select")
def _select(g: GraphWriter, call: Call) -> Any:
    index = g.node("Squeeze", g.number(call.params["index"]))
    return g.node("Gather", g.name(call.inputs[0]), index, axis=call.params["dim"])


@writes("slice")
def _slice(g: GraphWriter, call: Call) -> Any:
    p = call.params
    bounds = [g.number(p[name]) for name in ("start", "end")]
    return g.node("Slice", g.name(call.inputs[0]), *bounds, g.ints(p["dim"]), g.number(p["step"]))


@writes("cat")
def _cat(g: GraphWriter, call: Call) -> Any:
    wanted = g.array(call.outputs[0]).dtype
    parts = [each for each in _flat(call.inputs) if g.array(each).size or g.rank(each) > 1]
    names = [
        g.name(each) if g.array(each).dtype == wanted else g.cast(g.name(each), wanted)
        for each in parts
    ]
    return g.node("Concat", *names, axis=call.params["dim"])


@writes("stack")
def _stack(g: GraphWriter, call: Call) -> Any:
    dim = g.ints(call.params["dim"])
    names = [g.node("Unsqueeze", g.name(each), dim) for each in _flat(call.inputs)]
    return g.node("Concat", *names, axis=call.params["dim"])


def _flat(inputs: Any) -> list[Value]:
    found: list[Value] = []
    for each in inputs:
        found += [each] if isinstance(each, Value) else _flat(each) if each else []
    return found


@writes("split", "split_with_sizes", "unbind", "unsafe_split", "unsafe_split_with_sizes")
def _split(g: GraphWriter, call: Call) -> Any:
    dim, count = call.params["dim"], len(call.outputs)
    sizes = [g.shape(each)[dim] if call.name != "unbind" else 1 for each in call.outputs]
    source = g.name(call.inputs[0])
    if count == 1:
        names = [g.node("Identity", source)]
    else:
        names = g.node("Split", source, g.size(sizes), outputs=count, axis=dim)
    if call.name == "unbind":
        names = [g.node("Squeeze", each, g.ints(dim)) for each in names]
    return list(names)


@writes("repeat")
def _repeat(g: GraphWriter, call: Call) -> Any:
    value = call.inputs[0]
    repeats: Any = call.params.get("repeats", call.params.get("sizes"))
    name, extra = g.name(value), len(repeats) - g.rank(value)
    if extra:
        name = g.node("Unsqueeze", name, g.ints(*range(extra)))
    return g.node("Tile", name, g.size(repeats))


@writes("tril", "triu")
def _triangle(g: GraphWriter, call: Call) -> Any:
    value = call.inputs[0]
    k = g.constant(call.params.get("diagonal", 0), np.int64)
    kind = g.array(value).dtype
    name = g.cast(g.name(value), np.float32) if kind.kind == "b" else g.name(value)
    found = g.node("Trilu", name, k, upper=int(call.name == "triu"))
    return g.cast(found, kind) if kind.kind == "b" else found


@writes("constant_pad_nd")
def _pad(g: GraphWriter, call: Call) -> Any:
    value, pads = call.inputs[0], list(call.params["pad"])
    rank = g.rank(value)
    before, after = [0] * rank, [0] * rank
    for place, (low, high) in enumerate(zip(pads[::2], pads[1::2], strict=True)):
        before[rank - 1 - place], after[rank - 1 - place] = low, high
    fill = g.name(call.params.get("value", 0), value)
    return g.node("Pad", g.name(value), g.ints(*before, *after), fill)
