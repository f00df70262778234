"""How the operations of layers are written in ONNX: products, convolutions, norms, recurrence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clew.export.sizes import Unexplained
from clew.onnx.graph import GraphWriter
from clew.onnx.operators import writes
from clew.onnx.tape import Call, Value


@writes("addmm", "addmm.scaled")
def _addmm(g: GraphWriter, call: Call) -> Any:
    bias, one, two = (g.name(each) for each in call.inputs)
    return g.node("Gemm", one, two, bias, **_factors(call))


def _factors(call: Call) -> dict[str, Any]:
    return {key: float(call.params[key]) for key in ("alpha", "beta") if key in call.params}


@writes("baddbmm")
def _baddbmm(g: GraphWriter, call: Call) -> Any:
    bias, one, two = call.inputs
    p = _factors(call)
    product = g.node("MatMul", g.name(one), g.name(two))
    if p.get("alpha", 1) != 1:
        product = g.node("Mul", product, g.name(p["alpha"], bias))
    added = g.name(bias)
    if p.get("beta", 1) != 1:
        added = g.node("Mul", added, g.name(p["beta"], bias))
    return g.node("Add", added, product)


@writes("convolution", "convolution_bias")
def _convolution(g: GraphWriter, call: Call) -> Any:
    return _conv(g, call, "Conv")


@writes("convolution_transpose", "convolution_transpose_bias")
def _convolution_transpose(g: GraphWriter, call: Call) -> Any:
    p, weight = call.params, g.array(call.inputs[1]).shape
    found = set()
    for tape in g.tapes:
        source = tape.arrays[call.inputs[0].number].shape
        shape = tape.arrays[call.outputs[0].number].shape
        # The size without it: what is missing to the result is the padding of the output.
        found.add(tuple(
            shape[d + 2]
            - ((source[d + 2] - 1) * p["stride"][d] - 2 * p["padding"][d])
            - (p["dilation"][d] * (weight[d + 2] - 1) + 1)
            for d in range(len(shape) - 2)
        ))  # fmt: skip
    if len(found) > 1:
        raise Unexplained("the padding of a transposed convolution's output")
    rest = list(found.pop())
    return _conv(g, call, "ConvTranspose", output_padding=rest)


def _conv(g: GraphWriter, call: Call, kind: str, **more: Any) -> Any:
    p = call.params
    return g.node(
        kind, *[g.name(each) for each in call.inputs if each is not None],
        strides=list(p["stride"]), pads=_pads(p["padding"]), dilations=list(p["dilation"]),
        group=p["groups"], **more,
    )  # fmt: skip


def _pads(padding: Any) -> list[int]:
    """What is before each dimension, then what is after it, which may differ."""
    sides = [each if isinstance(each, tuple) else (each, each) for each in padding]
    return [side[0] for side in sides] + [side[1] for side in sides]


@writes("native_batch_norm_running")
def _batch_norm(g: GraphWriter, call: Call) -> Any:
    value, weight, bias, mean, variance = call.inputs
    size = g.array(mean).shape[0]
    kind = g.array(mean).dtype
    scale = g.name(weight) if weight is not None else g.constant(np.ones(size), kind)
    shift = g.name(bias) if bias is not None else g.constant(np.zeros(size), kind)
    return g.node(
        "BatchNormalization", g.name(value), scale, shift, g.name(mean), g.name(variance),
        epsilon=call.params["eps"],
    )  # fmt: skip


@writes("native_batch_norm")
def _batch_norm_of_batch(g: GraphWriter, call: Call) -> Any:
    """By the mean and variance of what is given, as instance norm has it too."""
    value, weight, bias = call.inputs
    dims = [d for d in range(g.rank(value)) if d != 1]
    made = _normalized(g, value, dims, call.params["eps"])
    return [_affine(g, made, value, weight, bias), None, None, None]


def _normalized(g: GraphWriter, value: Value, dims: list[int], eps: float) -> str:
    x, axes = g.name(value), g.ints(*dims)
    centred = g.node("Sub", x, g.node("ReduceMean", x, axes, keepdims=1))
    variance = g.node("ReduceMean", g.node("Mul", centred, centred), axes, keepdims=1)
    scale = g.node("Sqrt", g.node("Add", variance, g.name(eps, value)))
    return str(g.node("Div", centred, scale))


def _affine(g: GraphWriter, name: str, value: Value, weight: Any, bias: Any) -> str:
    """A factor and a summand for each channel."""
    ones = [1] * (g.rank(value) - 2)
    for kind, each in (("Mul", weight), ("Add", bias)):
        if each is not None:
            channels = g.node("Reshape", g.name(each), g.ints(-1, *ones))
            name = g.node(kind, name, channels)
    return name


@writes("native_group_norm")
def _group_norm(g: GraphWriter, call: Call) -> Any:
    value, weight, bias = call.inputs
    groups, kind = call.params["num_groups"], g.array(value).dtype
    together = g.node("Reshape", g.name(value), g.ints(0, groups, -1))
    made = g.node(
        "InstanceNormalization", together, g.constant(np.ones(groups), kind),
        g.constant(np.zeros(groups), kind), epsilon=call.params["eps"],
    )  # fmt: skip
    made = g.node("Reshape", made, g.node("Shape", g.name(value)))
    return [_affine(g, made, value, weight, bias), None, None]


@writes("_rms_norm")
def _rms_norm(g: GraphWriter, call: Call) -> Any:
    value, weight = call.inputs
    ndim, x = call.params["normalized_ndim"], g.name(value)
    axes = g.ints(*range(g.rank(value) - ndim, g.rank(value)))
    mean = g.node("ReduceMean", g.node("Mul", x, x), axes, keepdims=1)
    scale = g.node("Sqrt", g.node("Add", mean, g.name(call.params["eps"], value)))
    made = g.node("Div", x, scale)
    return [made if weight is None else g.node("Mul", made, g.name(weight)), None]


@writes("native_layer_norm")
def _layer_norm(g: GraphWriter, call: Call) -> Any:
    value, weight, bias = call.inputs
    ndim = call.params["normalized_ndim"]
    shape = g.array(value).shape[-ndim:]
    kind = g.array(value).dtype
    scale = g.name(weight) if weight is not None else g.constant(np.ones(shape), kind)
    shift = [] if bias is None else [g.name(bias)]
    made = g.node(
        "LayerNormalization", g.name(value), scale, *shift, axis=-ndim,
        epsilon=call.params["eps"],
    )  # fmt: skip
    return [made, None, None]


@writes("embedding")
def _embedding(g: GraphWriter, call: Call) -> Any:
    return g.node("Gather", g.name(call.inputs[0]), g.name(call.inputs[1]), axis=0)


@writes("index_select")
def _index_select(g: GraphWriter, call: Call) -> Any:
    return g.node("Gather", g.name(call.inputs[0]), g.name(call.inputs[1]), axis=call.params["dim"])


@writes("gather")
def _gather(g: GraphWriter, call: Call) -> Any:
    return g.node(
        "GatherElements", g.name(call.inputs[0]), g.name(call.inputs[1]), axis=call.params["dim"]
    )


@writes("_scaled_dot_product_flash_attention_for_cpu")
def _attention(g: GraphWriter, call: Call) -> Any:
    query, key, value, mask = call.inputs[:4]
    if call.params.get("dropout_p"):
        raise Unexplained("attention with dropout")
    order = [*range(g.rank(key) - 2), g.rank(key) - 1, g.rank(key) - 2]
    turned = g.node("Transpose", g.name(key), perm=order)
    scores = g.node("MatMul", g.name(query), turned)
    scores = g.node("Mul", scores, g.name(call.params["scale"], query))
    if call.params.get("is_causal"):
        scores = _causal(g, scores, query)
    if mask is not None:
        low = g.name(-math.inf, query)
        if g.array(mask).dtype == bool:
            scores = g.node("Where", g.name(mask), scores, low)
        else:
            scores = g.node("Add", scores, g.name(mask))
    made = g.node("MatMul", g.node("Softmax", scores, axis=-1), g.name(value))
    return [made, None]


def _causal(g: GraphWriter, scores: str, query: Value) -> str:
    """Scores with -inf above the diagonal, whatever their size."""
    ones = g.node("Expand", g.name(1.0, query), g.node("Shape", scores))
    seen = g.node("Cast", g.node("Trilu", ones, upper=0), to=9)
    return str(g.node("Where", seen, scores, g.name(-math.inf, query)))


# PyTorch's order of gates, in ONNX's.
_GATES = {"_lstm_layer": (0, 3, 1, 2), "_gru_layer": (1, 0, 2)}


@writes("_lstm_layer", "_gru_layer", "_rnn_layer")
def _recurrent(g: GraphWriter, call: Call) -> Any:
    """One layer over a sequence whose steps all have the same batch."""
    sizes = call.params["batch_sizes"]
    if len(set(sizes)) != 1:
        raise Unexplained("packed sequences")
    x, w_in, w_hidden = call.inputs[:3]
    hidden = g.array(w_hidden).shape[1]
    biases = [each for each in call.inputs[3:5] if each is not None]
    states = [each for each in call.inputs[5:7] if isinstance(each, Value)]
    gates = _GATES.get(call.name, (0,))

    def gathered(value: Value) -> str:
        parts = g.node("Split", g.name(value), outputs=len(gates), num_outputs=len(gates), axis=0)
        found = [parts[n] for n in gates] if len(gates) > 1 else [g.name(value)]
        joined = g.node("Concat", *found, axis=0) if len(gates) > 1 else found[0]
        return str(joined)

    lead = g.ints(0)
    batch = g.node("Shape", g.name(states[0]), start=0, end=1)
    features = g.ints(g.array(x).shape[1])
    sequence = g.node("Reshape", g.name(x), g.node("Concat", g.ints(-1), batch, features, axis=0))
    weights = [g.node("Unsqueeze", gathered(each), lead) for each in (w_in, w_hidden)]
    if biases:
        bias = g.node("Concat", *[gathered(each) for each in biases], axis=0)
        weights.append(g.node("Unsqueeze", bias, lead))
    else:
        weights.append("")
    first = [g.node("Unsqueeze", g.name(each), lead) for each in states]
    kind = {"_lstm_layer": "LSTM", "_gru_layer": "GRU", "_rnn_layer": "RNN"}[call.name]
    more: dict[str, Any] = {"linear_before_reset": 1} if kind == "GRU" else {}
    if kind == "RNN":
        name = call.params.get("nonlinearity", call.params.get("activation", "tanh"))
        more["activations"] = ["Relu" if name == "relu" else "Tanh"]
    direction = "reverse" if call.params.get("reverse") else "forward"
    count = 3 if kind == "LSTM" else 2
    outputs = g.node(
        kind, sequence, *weights, "", *first, outputs=count, hidden_size=hidden,
        direction=direction, **more,
    )  # fmt: skip
    flat = g.node("Reshape", outputs[0], g.ints(-1, hidden))
    last = [g.node("Squeeze", each, lead) for each in outputs[1:]]
    return [flat, *last, *[None] * (len(call.outputs) - 1 - len(last))]


@writes("one_hot")
def _one_hot(g: GraphWriter, call: Call) -> Any:
    depth = g.constant(call.params["num_classes"], np.int64)
    return g.node("OneHot", g.name(call.inputs[0]), depth, g.constant([0, 1], np.int64), axis=-1)


@writes("linalg_det", "linalg_slogdet")
def _determinant(g: GraphWriter, call: Call) -> Any:
    found = g.node("Det", g.name(call.inputs[0]))
    if call.name == "linalg_det":
        return found
    return [g.node("Sign", found), g.node("Log", g.node("Abs", found))]


# -- bags of embeddings ----------------------------------------------------------------------------


@writes("embedding_bag")
def _embedding_bag(g: GraphWriter, call: Call) -> Any:
    """Rows of the table, scattered into the row of their bag."""
    table, indices, offsets, factors = call.inputs
    mode, kind = call.params["mode"], g.array(table).dtype
    places, begins = (g.cast(g.name(each), np.int64) for each in (indices, offsets))
    # The bag of each index: how many bags begin at its place or before it, less one.
    count = g.node("Shape", places)
    zero, one = (g.constant(n, np.int64) for n in (0, 1))
    numbers = g.node("Range", zero, g.node("Squeeze", count), one)
    begun = g.node("LessOrEqual", begins, g.node("Unsqueeze", numbers, g.ints(-1)))
    bags = g.node("ReduceSum", g.cast(begun, np.int64), g.ints(1), keepdims=1)
    bags = g.node("Sub", bags, one)
    rows = g.node("Gather", g.name(table), places, axis=0)
    counted = g.node(
        "Not", g.node("Equal", places, g.constant(call.params["padding_idx"], np.int64))
    )
    aside = g.node("Unsqueeze", counted, g.ints(-1))
    start = -math.inf if mode == "max" else 0.0
    rows = g.node("Where", aside, rows, g.constant(start, kind))
    if factors is not None:
        rows = g.node("Mul", rows, g.node("Unsqueeze", g.name(factors), g.ints(-1)))
    sizes = g.node("Shape", begins)
    shape = g.node("Concat", sizes, g.ints(g.array(table).shape[1]), axis=0)
    empty = g.node("Expand", g.constant(start, kind), shape)
    made = g.node("ScatterND", empty, bags, rows, reduction="max" if mode == "max" else "add")
    if mode == "sum":
        return [made, None]
    none = g.node("Expand", g.constant(0, kind), sizes)
    full = g.node("ScatterND", none, bags, g.cast(counted, kind), reduction="add")
    full = g.node("Unsqueeze", full, g.ints(-1))
    if mode == "mean":
        return [g.node("Div", made, g.node("Max", full, g.constant(1, kind))), None]
    return [g.node("Where", g.node("Equal", full, g.constant(0, kind)),
                   g.constant(0, kind), made), None]  # fmt: skip


# -- dropout in training ---------------------------------------------------------------------------


@writes("_dropout_noise")
def _kept(g: GraphWriter, call: Call) -> Any:
    """Which elements are kept, drawn anew in every run."""
    shape = g.node("ConstantOfShape", g.size(g.shape(call.outputs[0])))
    drawn = g.node("RandomUniformLike", shape, dtype=1)
    return g.node("Less", drawn, g.constant(1 - call.params["p"], np.float32))


@writes("dropout")
def _dropout(g: GraphWriter, call: Call) -> Any:
    value, kept = call.inputs
    scale = g.name(1 / (1 - call.params["p"]), value)
    return g.node("Mul", g.name(value), g.node("Where", g.name(kept), scale, g.name(0, value)))
