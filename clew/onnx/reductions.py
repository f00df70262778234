"""How sums, extremes, norms and what goes along a dimension are written in ONNX."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clew.export.sizes import Expression, Unexplained
from clew.onnx.graph import GraphWriter
from clew.onnx.operators import writes
from clew.onnx.tape import Call, Value

_REDUCE = {
    "sum": "ReduceSum", "sum_dim": "ReduceSum", "mean": "ReduceMean", "mean_dim": "ReduceMean",
    "amax": "ReduceMax", "amin": "ReduceMin", "max": "ReduceMax", "min": "ReduceMin",
    "prod": "ReduceProd", "prod_dim": "ReduceProd", "logsumexp": "ReduceLogSumExp",
}  # fmt: skip


@writes(*_REDUCE)
def _reduce(g: GraphWriter, call: Call) -> Any:
    value, kind = call.inputs[0], _REDUCE[call.name]
    dims = call.params.get("dims", call.params.get("dim"))
    axes = list(range(g.rank(value))) if dims is None else [dims] if isinstance(dims, int) else dims
    wanted = g.array(call.outputs[0]).dtype
    name = g.name(value) if g.array(value).dtype == wanted else g.cast(g.name(value), wanted)
    return g.node(kind, name, g.ints(*axes), keepdims=int(bool(call.params.get("keepdim"))))


@writes("argmax", "argmin")
def _argmax(g: GraphWriter, call: Call) -> Any:
    kind = {"argmax": "ArgMax", "argmin": "ArgMin"}[call.name]
    name, dim = g.name(call.inputs[0]), call.params.get("dim")
    if dim is None:
        name, dim = g.node("Reshape", name, g.ints(-1)), 0
    return g.node(kind, name, axis=dim, keepdims=int(bool(call.params.get("keepdim"))))


@writes("softmax", "log_softmax", "_safe_softmax")
def _softmax(g: GraphWriter, call: Call) -> Any:
    kind = "LogSoftmax" if call.name == "log_softmax" else "Softmax"
    return g.node(kind, g.name(call.inputs[0]), axis=call.params["dim"])


@writes("cumsum")
def _cumsum(g: GraphWriter, call: Call) -> Any:
    return g.node("CumSum", g.name(call.inputs[0]), g.constant(call.params["dim"], np.int64))


def _axes(g: GraphWriter, call: Call) -> list[int]:
    dims = call.params.get("dims", call.params.get("dim"))
    if dims is None:
        return list(range(g.rank(call.inputs[0])))
    return [dims] if isinstance(dims, int) else list(dims)


@writes("any", "all", "count_nonzero")
def _truths(g: GraphWriter, call: Call) -> Any:
    """How many elements are not zero, or whether some or all are not."""
    truths = g.cast(g.name(call.inputs[0]), bool)
    keep = int(bool(call.params.get("keepdim")))
    kind = {"any": "ReduceMax", "all": "ReduceMin", "count_nonzero": "ReduceSum"}[call.name]
    whole = g.cast(truths, np.int64 if kind == "ReduceSum" else np.int32)
    found = g.node(kind, whole, g.ints(*_axes(g, call)), keepdims=keep)
    return found if kind == "ReduceSum" else g.cast(found, bool)


@writes("var", "std", "var_mean", "std_mean")
def _variance(g: GraphWriter, call: Call) -> Any:
    value, p = call.inputs[0], call.params
    x, dims, keep = g.name(value), _axes(g, call), int(bool(p["keepdim"]))
    axes = g.ints(*dims)
    centred = g.node("Sub", x, g.node("ReduceMean", x, axes, keepdims=1))
    total = g.node("ReduceSum", g.node("Mul", centred, centred), axes, keepdims=keep)
    sizes = [g.shape(value)[dim] for dim in dims]
    kind = g.array(value).dtype
    if any(isinstance(size, Expression) for size in sizes):
        count = g.cast(g.node("ReduceProd", g.size(sizes), keepdims=0), kind)
        count = g.node("Sub", count, g.name(float(p["correction"]), value))
    else:
        count = g.name(float(math.prod(sizes) - p["correction"]), value)
    found = g.node("Div", total, count)
    if call.name.startswith("std"):
        found = g.node("Sqrt", found)
    if call.name.endswith("mean"):
        return [found, g.node("ReduceMean", x, axes, keepdims=keep)]
    return found


@writes("linalg_vector_norm")
def _norm(g: GraphWriter, call: Call) -> Any:
    value, order = call.inputs[0], call.params["ord"]
    keep = int(bool(call.params["keepdim"]))
    return _norm_of(g, g.name(value), value, order, g.ints(*_axes(g, call)), keep)


def _norm_of(g: GraphWriter, x: str, like: Value, order: float, axes: str, keep: int) -> Any:
    if order in (1, 2):
        return g.node(f"ReduceL{int(order)}", x, axes, keepdims=keep)
    size = g.node("Abs", x)
    if math.isinf(order):
        return g.node("ReduceMax" if order > 0 else "ReduceMin", size, axes, keepdims=keep)
    if order == 0:
        raise Unexplained("a norm that counts elements")
    powers = g.node("ReduceSum", g.node("Pow", size, g.name(order, like)), axes, keepdims=keep)
    return g.node("Pow", powers, g.name(1 / order, like))


@writes("cdist")
def _cdist(g: GraphWriter, call: Call) -> Any:
    one, two = call.inputs
    apart = g.node(
        "Sub", g.node("Unsqueeze", g.name(one), g.ints(-2)),
        g.node("Unsqueeze", g.name(two), g.ints(-3)),
    )  # fmt: skip
    return _norm_of(g, apart, one, call.params["p"], g.ints(-1), 0)


@writes("mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy_with_logits")
def _loss(g: GraphWriter, call: Call) -> Any:
    """A loss of every element, and what it is reduced to."""
    one, two, *more = call.inputs
    p = call.params
    if any(each is not None for each in more):
        raise Unexplained(f"{call.name} with weights")
    x, y = g.name(one), g.name(two)
    if call.name == "binary_cross_entropy_with_logits":
        each = g.node("Sub", g.node("Softplus", x), g.node("Mul", x, y))
    else:
        apart = g.node("Sub", x, y)
        each = g.node("Mul", apart, apart)
        if call.name != "mse_loss":
            size, border = g.node("Abs", apart), float(p.get("beta", p.get("delta", 1.0)))
            factor = 1 / border if call.name == "smooth_l1_loss" else 1.0
            edge = g.name(border, one)
            near = g.node("Mul", each, g.name(0.5 * factor, one))
            far = g.node("Sub", size, g.name(0.5 * border, one))
            far = g.node("Mul", far, g.name(border * factor, one))
            each = g.node("Where", g.node("Less", size, edge), near, far)
    if p["reduction"] == "none":
        return each
    return g.node("ReduceMean" if p["reduction"] == "mean" else "ReduceSum", each, keepdims=0)


@writes("flip")
def _flip(g: GraphWriter, call: Call) -> Any:
    dims = _axes(g, call)
    count, first = len(dims), np.iinfo(np.int64).min
    return g.node(
        "Slice", g.name(call.inputs[0]), g.ints(*[-1] * count), g.ints(*[first] * count),
        g.ints(*dims), g.ints(*[-1] * count),
    )  # fmt: skip


@writes("roll")
def _roll(g: GraphWriter, call: Call) -> Any:
    value, p = call.inputs[0], call.params
    name, dims, shifts = g.name(value), p["dims"], p["shifts"]
    if not dims:
        name, dims = g.node("Reshape", name, g.ints(-1)), (0,)
        sizes: Any = [math.prod(g.fixed_shape(value))]
    else:
        sizes = [g.shape(value)[dim] for dim in dims]
    last = np.iinfo(np.int64).max
    for dim, shift, size in zip(dims, shifts, sizes, strict=True):
        if isinstance(size, int):
            shift %= max(size, 1)
        if shift:
            end = g.node("Slice", name, g.number(-shift), g.ints(last), g.ints(dim))
            start = g.node("Slice", name, g.ints(0), g.number(-shift), g.ints(dim))
            name = g.node("Concat", end, start, axis=dim)
    return name if p["dims"] else g.node("Reshape", name, g.size(g.shape(value)))


def _places(g: GraphWriter, call: Call) -> list[str]:
    """The parts of a tensor along a dimension that does not change, one for each place."""
    value, dim = call.inputs[0], call.params["dim"]
    size = g.shape(value)[dim]
    if isinstance(size, Expression) or size > 64:
        name = call.name.removeprefix("_arg")
        raise Unexplained(f"{name} along more than 64 places, or a number that changes")
    parts = g.node("Split", g.name(value), outputs=size, axis=dim, num_outputs=size)
    return [parts] if size == 1 else list(parts)


@writes("cumprod", "logcumsumexp")
def _cumulated(g: GraphWriter, call: Call) -> Any:
    """A product, or the logarithm of a sum of exponentials, for each place."""
    found, dim = _places(g, call), call.params["dim"]
    for n in range(1, len(found)):
        if call.name == "cumprod":
            found[n] = g.node("Mul", found[n - 1], found[n])
        else:
            both = g.node("Concat", found[n - 1], found[n], axis=dim)
            found[n] = g.node("ReduceLogSumExp", both, g.ints(dim), keepdims=1)
    return g.node("Concat", *found, axis=dim)


@writes("_argcummax", "_argcummin")
def _best_places(g: GraphWriter, call: Call) -> Any:
    """Where the extreme so far is, the last of several: NaN is more than every number."""
    parts, dim = _places(g, call), call.params["dim"]
    kind = "GreaterOrEqual" if call.name == "_argcummax" else "LessOrEqual"
    best = parts[0]
    found = [g.node("Expand", g.constant(0, np.int64), g.node("Shape", best))]
    for n, part in enumerate(parts[1:], 1):
        better = g.node(kind, part, best)
        if g.array(call.inputs[0]).dtype.kind == "f":
            better = g.node("Or", better, g.node("IsNaN", part))
        best = g.node("Where", better, part, best)
        found.append(g.node("Where", better, g.constant(n, np.int64), found[-1]))
    return g.node("Concat", *found, axis=dim)


@writes("cummax", "cummin")
def _extremes_so_far(g: GraphWriter, call: Call) -> Any:
    value, places = (g.name(each) for each in call.inputs)
    return g.node("GatherElements", value, places, axis=call.params["dim"])


@writes("nll_loss", "nll_loss2d")
def _nll_loss(g: GraphWriter, call: Call) -> Any:
    value = call.inputs[0]
    p, names = call.params, [g.name(each) for each in call.inputs if each is not None]
    single = g.rank(value) == 1
    if single:
        names[:2] = [g.node("Unsqueeze", each, g.ints(0)) for each in names[:2]]
    made = g.node(
        "NegativeLogLikelihoodLoss", *names, reduction=p["reduction"],
        ignore_index=p["ignore_index"],
    )  # fmt: skip
    return g.node("Squeeze", made) if single else made


@writes("diag_embed")
def _diag_embed(g: GraphWriter, call: Call) -> Any:
    value, p = call.inputs[0], call.params
    rank = g.rank(value)
    if (p["offset"], p["dim1"], p["dim2"]) != (0, rank - 1, rank):
        raise Unexplained("diag_embed of another diagonal than the last two dimensions'")
    ones = np.eye(g.fixed_shape(value)[-1], dtype=g.array(value).dtype)
    return g.node("Mul", g.node("Unsqueeze", g.name(value), g.ints(-1)), g.constant(ones))
