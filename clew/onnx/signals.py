"""How complex numbers and Fourier transforms are written in ONNX.

ONNX's operators have no complex numbers: a complex tensor is written as a real one with a further
dimension of two at the end, the real and the imaginary parts, as its DFT has them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.export.sizes import Unexplained
from clew.onnx.graph import GraphWriter
from clew.onnx.operators import WRITERS, Writer, writes
from clew.onnx.tape import Call, Value

# How operations are written that take or give complex numbers.
COMPLEX: dict[str, Writer] = {}


def writes_complex(*names: str) -> Any:
    def enter(function: Writer) -> Writer:
        for name in names:
            COMPLEX[name] = function
        return function

    return enter


# What works along dimensions counted from the front leaves the last one alone.
for _name in (
    "alias", "clone", "detach_copy", "select", "slice", "unsqueeze", "squeeze", "squeeze_dim",
    "squeeze_dims", "cat", "stack", "split", "split_with_sizes", "unbind",
):  # fmt: skip
    COMPLEX[_name] = WRITERS[_name]
COMPLEX["view_as_real"] = COMPLEX["view_as_complex"] = WRITERS["alias"]


# -- parts -----------------------------------------------------------------------------------------


def _is_complex(g: GraphWriter, value: Any) -> bool:
    return isinstance(value, Value) and g.array(value).dtype.kind == "c"


def _split(g: GraphWriter, value: Any, like: Value) -> tuple[str, str | None]:
    """The real and the imaginary part of an operand; a real one has none."""
    if _is_complex(g, value):
        pair = g.name(value)
        return _part(g, pair, 0), _part(g, pair, 1)
    kind = g.array(like).real.dtype
    if not isinstance(value, Value):
        imag = g.constant(value.imag, kind) if isinstance(value, complex) else None
        return g.constant(value.real, kind), imag
    name = g.name(value)
    return (name if g.array(value).dtype == kind else g.cast(name, kind)), None


def _part(g: GraphWriter, pair: str, which: int) -> str:
    return str(g.node("Gather", pair, g.constant(which, np.int64), axis=-1))


def _paired(g: GraphWriter, real: str, imag: str) -> str:
    last = g.ints(-1)
    return str(g.node("Concat", *[g.node("Unsqueeze", e, last) for e in (real, imag)], axis=-1))


@writes_complex("real", "imag")
def _real(g: GraphWriter, call: Call) -> Any:
    return _part(g, g.name(call.inputs[0]), int(call.name == "imag"))


@writes_complex("complex", "polar")
def _complex(g: GraphWriter, call: Call) -> Any:
    one, two = (g.name(each) for each in call.inputs)
    if call.name == "complex":
        return _paired(g, one, two)
    return _paired(g, *[g.node("Mul", one, g.node(kind, two)) for kind in ("Cos", "Sin")])


@writes_complex("conj")
def _conj(g: GraphWriter, call: Call) -> Any:
    return _conjugated(g, g.name(call.inputs[0]), g.array(call.outputs[0]).real.dtype)


def _conjugated(g: GraphWriter, pair: str, kind: Any) -> str:
    return str(g.node("Mul", pair, g.constant([1, -1], kind)))


@writes_complex("abs")
def _size(g: GraphWriter, call: Call) -> Any:
    return g.node("ReduceL2", g.name(call.inputs[0]), g.ints(-1), keepdims=0)


@writes_complex("_to_copy")
def _to_complex(g: GraphWriter, call: Call) -> Any:
    value, made = call.inputs[0], call.outputs[0]
    if not _is_complex(g, made):
        raise Unexplained("complex numbers without their imaginary parts")
    kind = g.array(made).real.dtype
    if _is_complex(g, value):
        return g.cast(g.name(value), kind)
    real, _ = _split(g, value, made)
    return _paired(g, real, g.node("Mul", real, g.constant(0, kind)))


# -- arithmetic ------------------------------------------------------------------------------------


@writes_complex("neg", "sum", "sum_dim", "mean", "mean_dim")
def _linear(g: GraphWriter, call: Call) -> Any:
    """Of each part alone."""
    value, p = call.inputs[0], call.params
    if call.name == "neg":
        return g.node("Neg", g.name(value))
    dims = p.get("dims", p.get("dim"))
    axes = list(range(g.rank(value))) if dims is None else [dims] if isinstance(dims, int) else dims
    kind = "ReduceSum" if call.name.startswith("sum") else "ReduceMean"
    return g.node(kind, g.name(value), g.ints(*axes), keepdims=int(bool(p.get("keepdim"))))


@writes_complex("add", "sub")
def _sum(g: GraphWriter, call: Call) -> Any:
    kind = "Add" if call.name == "add" else "Sub"
    made = call.outputs[0]
    (a, b), (c, d) = (_split(g, each, made) for each in call.inputs[:2])
    real = g.node(kind, a, c)
    nothing = g.constant(0, g.array(made).real.dtype)
    # A real operand has the shape of the result only with the other one.
    spread = g.node("Mul", real, nothing)
    imag = g.node(kind, b or nothing, d or nothing)
    return _paired(g, real, g.node("Add", imag, spread))


@writes_complex("mul", "div")
def _product(g: GraphWriter, call: Call) -> Any:
    made = call.outputs[0]
    (a, b), (c, d) = (_split(g, each, made) for each in call.inputs[:2])
    if call.name == "div":
        if d is not None:
            size = g.node("Add", g.node("Mul", c, c), g.node("Mul", d, d))
            c, d = g.node("Div", c, size), g.node("Neg", g.node("Div", d, size))
        else:
            c = g.node("Reciprocal", c)
    # Of a complex and a real operand, each part alone is multiplied.
    if b is None and d is not None:
        return _paired(g, g.node("Mul", a, c), g.node("Mul", a, d))
    if b is not None and d is None:
        return _paired(g, g.node("Mul", a, c), g.node("Mul", b, c))
    assert b is not None and d is not None, "one operand of a complex product is complex"
    real = g.node("Sub", g.node("Mul", a, c), g.node("Mul", b, d))
    return _paired(g, real, g.node("Add", g.node("Mul", a, d), g.node("Mul", b, c)))


# -- shape -----------------------------------------------------------------------------------------


@writes_complex("transpose", "t", "permute")
def _turned(g: GraphWriter, call: Call) -> Any:
    value, p = call.inputs[0], call.params
    rank = g.rank(value)
    order = list(p.get("dims", range(rank)))
    if call.name != "permute":
        one, two = p.get("dim0", 0), p.get("dim1", min(1, rank - 1))
        order[one], order[two] = order[two], order[one]
    return g.node("Transpose", g.name(value), perm=[*order, rank])


@writes_complex("view", "_unsafe_view", "expand")
def _reshaped(g: GraphWriter, call: Call) -> Any:
    wanted: Any = call.params.get("shape", call.params.get("size"))
    shape = g.size([*wanted, 2])
    if call.name == "expand":
        return g.node("Expand", g.name(call.inputs[0]), shape)
    return g.node("Reshape", g.name(call.inputs[0]), shape, allowzero=1)


# -- Fourier transforms ----------------------------------------------------------------------------


def _scaled(g: GraphWriter, name: str, scale: float, kind: Any) -> str:
    return name if scale == 1 else str(g.node("Mul", name, g.constant(scale, kind)))


@writes_complex("_fft_r2c")
def _of_real(g: GraphWriter, call: Call) -> Any:
    p, value = call.params, call.inputs[0]
    *others, last = p["dims"]
    name = g.node("Unsqueeze", g.name(value), g.ints(-1))
    name = g.node("DFT", name, axis=last, onesided=int(p["onesided"]))
    for dim in others:
        name = g.node("DFT", name, axis=dim)
    return _scaled(g, name, p["scale"], g.array(value).dtype)


@writes_complex("_fft_c2c")
def _of_complex(g: GraphWriter, call: Call) -> Any:
    p, value = call.params, call.inputs[0]
    kind = g.array(value).real.dtype
    name = _transformed(g, g.name(value), p["dims"], p["forward"], kind)
    return _scaled(g, name, p["scale"], kind)


def _transformed(g: GraphWriter, name: str, dims: Any, forward: bool, kind: Any) -> str:
    """Along several dimensions; the inverse as it is, not divided by the number of elements."""
    if not forward:
        name = _conjugated(g, name, kind)
    for dim in dims:
        name = g.node("DFT", name, axis=dim)
    return name if forward else _conjugated(g, name, kind)


@writes_complex("_fft_c2r")
def _to_real(g: GraphWriter, call: Call) -> Any:
    """The other half of the spectrum is this one's, conjugated and from behind."""
    p, value = call.params, call.inputs[0]
    *others, last = p["dims"]
    size, half, kind = p["last_size"], g.shape(value)[last], g.array(value).real.dtype
    if not isinstance(size, int) or half != size // 2 + 1:
        raise Unexplained("a transform to real numbers of a length that changes")
    name = _transformed(g, g.name(value), others, False, kind)
    if size - half > 0:
        places = g.constant(np.arange(size - half, 0, -1), np.int64)
        rest = _conjugated(g, g.node("Gather", name, places, axis=last), kind)
        name = g.node("Concat", name, rest, axis=last)
    made = _part(g, _transformed(g, name, [last], False, kind), 0)
    return _scaled(g, made, p["scale"], kind)


@writes("unfold_backward")
def _overlapped(g: GraphWriter, call: Call) -> Any:
    """Windows added up where they overlap."""
    p, value = call.params, call.inputs[0]
    *shape, size = g.fixed_shape(value)
    sizes, dim = p["input_sizes"], p["dimension"]
    count, rank = shape[dim], len(shape)
    order = [*range(dim + 1), rank, *range(dim + 1, rank)]
    flat = [*shape[:dim], count * size, *shape[dim + 1 :]]
    lines = g.node("Reshape", g.node("Transpose", g.name(value), perm=order), g.ints(*flat))
    places = (np.arange(count)[:, None] * p["step"] + np.arange(size)).reshape(-1)
    aside = places.reshape([-1 if d == dim else 1 for d in range(rank)])
    zeros = g.constant(np.zeros(sizes), g.array(value).dtype)
    indices = g.constant(np.broadcast_to(aside, flat), np.int64)
    return g.node("ScatterElements", zeros, indices, lines, axis=dim, reduction="add")
