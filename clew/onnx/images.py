"""How pooling, resizing, padding and patches are written in ONNX."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clew.export.sizes import Unexplained
from clew.onnx.graph import GraphWriter
from clew.onnx.operators import writes
from clew.onnx.tape import Call, Value


def _batched(g: GraphWriter, value: Value, ndim: int, kind: str, **options: Any) -> list[str]:
    """An operator for images, which in ONNX come in batches: its results."""
    single = g.rank(value) == ndim + 1
    name = g.name(value)
    if single:
        name = g.node("Unsqueeze", name, g.ints(0))
    made = g.node(kind, name, **options)
    names = made if isinstance(made, list) else [made]
    return [g.node("Squeeze", each, g.ints(0)) if single else each for each in names]


@writes("max_pool2d_with_indices", "max_pool3d_with_indices")
def _max_pool(g: GraphWriter, call: Call) -> Any:
    p, value = call.params, call.inputs[0]
    ndim = len(p["kernel_size"])
    values, places = _batched(
        g, value, ndim, "MaxPool", outputs=2, kernel_shape=list(p["kernel_size"]),
        strides=list(p["stride"]), pads=[*p["padding"], *p["padding"]],
        dilations=list(p["dilation"]), ceil_mode=int(p["ceil_mode"]),
    )  # fmt: skip
    # ONNX counts through the whole batch, PyTorch through one image.
    sizes = g.node("Shape", g.name(value), start=-ndim)
    inside = g.node("Mod", places, g.node("ReduceProd", sizes, keepdims=0))
    return [values, inside]


@writes("max_unpool2d", "max_unpool3d")
def _max_unpool(g: GraphWriter, call: Call) -> Any:
    """Values back to their places in the flat image."""
    sizes = call.params["output_size"]
    value, places = call.inputs
    lead = g.shape(call.outputs[0])[: -len(sizes)]
    total = math.prod(sizes) if all(isinstance(n, int) for n in sizes) else None
    if total is None:
        raise Unexplained("unpooling to a size that changes")
    flat = g.size([*lead, math.prod(g.shape(value)[-len(sizes) :])])
    updates, indices = (g.node("Reshape", g.name(each), flat) for each in (value, places))
    empty = g.node("Expand", g.name(0, value), g.size([*lead, total]))
    made = g.node("ScatterElements", empty, indices, updates, axis=len(lead))
    return g.node("Reshape", made, g.size([*lead, *sizes]))


@writes("avg_pool2d", "avg_pool3d")
def _avg_pool(g: GraphWriter, call: Call) -> Any:
    p = call.params
    if p.get("divisor_override") is not None:
        raise Unexplained("average pooling with divisor_override")
    return _batched(
        g, call.inputs[0], len(p["kernel_size"]), "AveragePool",
        kernel_shape=list(p["kernel_size"]), strides=list(p["stride"]),
        pads=[*p["padding"], *p["padding"]], ceil_mode=int(p["ceil_mode"]),
        count_include_pad=int(p["count_include_pad"]),
    )[0]  # fmt: skip


def _windows(size: int, count: int) -> list[tuple[int, int]]:
    """From where to where each window of adaptive pooling goes."""
    return [(n * size // count, -(-(n + 1) * size // count)) for n in range(count)]


def _spatial(g: GraphWriter, call: Call) -> list[tuple[int, int, int]]:
    """For each dimension that adaptive pooling changes: which, its size, the wanted one."""
    wanted = call.params["output_size"]
    shape = g.shape(call.inputs[0])
    first = len(shape) - len(wanted)
    found = []
    for dim, count in enumerate(wanted, first):
        if not isinstance(shape[dim], int):
            raise Unexplained("adaptive pooling of a dimension that changes")
        found.append((dim, shape[dim], shape[dim] if count is None else count))
    return found


@writes("_adaptive_avg_pool2d", "_adaptive_avg_pool3d")
def _adaptive_avg(g: GraphWriter, call: Call) -> Any:
    """A product with a matrix of shares, a dimension after the other."""
    value = call.inputs[0]
    name, rank = g.name(value), g.rank(value)
    for dim, size, count in _spatial(g, call):
        shares = np.zeros((size, count), g.array(value).dtype)
        for n, (low, high) in enumerate(_windows(size, count)):
            shares[low:high, n] = 1 / (high - low)
        order = list(range(rank))
        order[dim], order[-1] = order[-1], order[dim]
        turned = g.node("Transpose", name, perm=order)
        name = g.node("Transpose", g.node("MatMul", turned, g.constant(shares)), perm=order)
    return name


@writes("adaptive_max_pool2d", "adaptive_max_pool3d")
def _adaptive_max(g: GraphWriter, call: Call) -> Any:
    name = g.name(call.inputs[0])
    for dim, size, count in _spatial(g, call):
        parts = [
            g.node("ReduceMax", g.node("Slice", name, g.ints(low), g.ints(high), g.ints(dim)),
                   g.ints(dim), keepdims=1)
            for low, high in _windows(size, count)
        ]  # fmt: skip
        name = g.node("Concat", *parts, axis=dim)
    return [name, None]


_RESIZE = {"linear": "linear", "bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}


@writes(
    "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "upsample_nearest_exact1d",
    "upsample_nearest_exact2d", "upsample_nearest_exact3d", "upsample_linear1d",
    "upsample_bilinear2d", "upsample_bicubic2d", "upsample_trilinear3d", "upsample_bilinear2d_aa",
    "upsample_bicubic2d_aa",
)  # fmt: skip
def _resize(g: GraphWriter, call: Call) -> Any:
    p, value = call.params, call.inputs[0]
    mode: str = p["mode"]
    options: dict[str, Any]
    if mode.startswith("nearest"):
        exact = mode == "nearest-exact"
        options = {"mode": "nearest", "nearest_mode": "round_prefer_ceil" if exact else "floor"}
        place = "half_pixel" if exact else "asymmetric"
    else:
        options = {"mode": _RESIZE[mode], "cubic_coeff_a": -0.5 if p["antialias"] else -0.75}
        place = "align_corners" if p["align_corners"] else "half_pixel"
        options |= {"antialias": int(p["antialias"]), "exclude_outside": int(p["antialias"])}
    scales = p["scales"]
    if scales is not None and None not in scales and not p["align_corners"]:
        factors = g.constant([1.0, 1.0, *scales], np.float32)
        sizes = [factors]
    else:
        lead = g.node("Shape", g.name(value), start=0, end=2)
        sizes = ["", g.node("Concat", lead, g.size(p["size"]), axis=0)]
    return g.node(
        "Resize", g.name(value), "", *sizes, coordinate_transformation_mode=place, **options
    )


@writes(
    "reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d",
    "replication_pad2d", "replication_pad3d", "circular_pad1d", "circular_pad2d", "circular_pad3d",
)  # fmt: skip
def _pad(g: GraphWriter, call: Call) -> Any:
    value, pads, mode = call.inputs[0], call.params["pads"], call.params["mode"]
    first = g.rank(value) - len(pads)
    if mode == "circular":
        name = g.name(value)
        for dim, (low, high) in enumerate(pads, first):
            name = _wrapped(g, name, dim, low, high)
        return name
    before = [0] * first + [low for low, _ in pads]
    after = [0] * first + [high for _, high in pads]
    kind = "edge" if mode == "replicate" else "reflect"
    return g.node("Pad", g.name(value), g.size([*before, *after]), mode=kind)


def _wrapped(g: GraphWriter, name: str, dim: int, low: Any, high: Any) -> str:
    if not isinstance(low, int) or not isinstance(high, int) or min(low, high) < 0:
        raise Unexplained("circular padding that changes or is negative")
    parts = [name]
    if low:
        last = np.iinfo(np.int64).max
        parts.insert(0, g.node("Slice", name, g.ints(-low), g.ints(last), g.ints(dim)))
    if high:
        parts.append(g.node("Slice", name, g.ints(0), g.ints(high), g.ints(dim)))
    return name if len(parts) == 1 else str(g.node("Concat", *parts, axis=dim))


@writes("grid_sampler_2d")
def _grid_sample(g: GraphWriter, call: Call) -> Any:
    p = call.params
    return g.node(
        "GridSample", *[g.name(each) for each in call.inputs], mode=p["mode"],
        padding_mode=p["padding_mode"], align_corners=int(p["align_corners"]),
    )  # fmt: skip


@writes("affine_grid_generator")
def _affine_grid(g: GraphWriter, call: Call) -> Any:
    """The places of a fixed grid, moved by each matrix."""
    p, theta = call.params, call.inputs[0]
    sizes = p["size"][2:]
    if not all(isinstance(size, int) for size in sizes):
        raise Unexplained("affine_grid of a size that changes")
    kind = g.array(theta).dtype
    lines = []
    for size in sizes:
        shrink = 1.0 if p["align_corners"] else (size - 1) / size
        lines.append(np.linspace(-1, 1, size) * shrink if size > 1 else np.zeros(1))
    grids = np.meshgrid(*lines, indexing="ij")[::-1]
    places = np.stack([*grids, np.ones_like(grids[0])], -1).reshape(-1, len(sizes) + 1)
    turned = g.node("Transpose", g.name(theta), perm=[0, 2, 1])
    made = g.node("MatMul", g.constant(places, kind), turned)
    return g.node("Reshape", made, g.size(g.shape(call.outputs[0])))


@writes("im2col")
def _im2col(g: GraphWriter, call: Call) -> Any:
    """Patches as columns: the places of each in the flat image."""
    p, value = call.params, call.inputs[0]
    shape = g.shape(value)
    if not all(isinstance(size, int) for size in shape[-2:]):
        raise Unexplained("unfold of an image whose size changes")
    lines = []
    for d, size in enumerate(shape[-2:]):
        padded = size + 2 * p["padding"][d]
        reach = p["dilation"][d] * (p["kernel_size"][d] - 1)
        starts = np.arange(0, padded - reach, p["stride"][d])
        inside = np.arange(p["kernel_size"][d]) * p["dilation"][d]
        lines.append(inside[:, None] + starts[None, :])
    rows, columns = lines
    width = shape[-1] + 2 * p["padding"][1]
    places = rows[:, None, :, None] * width + columns[None, :, None, :]
    places = places.reshape(rows.shape[0] * columns.shape[0], -1)
    none, pads = [0] * (len(shape) - 2), list(p["padding"])
    padded = g.node("Pad", g.name(value), g.ints(*none, *pads, *none, *pads))
    flat = g.node("Reshape", padded, g.ints(*[0] * (len(shape) - 2), -1))
    found = g.node("Gather", flat, g.constant(places, np.int64), axis=len(shape) - 2)
    return g.node("Reshape", found, g.size(g.shape(call.outputs[0])))


@writes("col2im")
def _col2im(g: GraphWriter, call: Call) -> Any:
    p = call.params
    return g.node(
        "Col2Im", g.name(call.inputs[0]), g.size(p["output_size"]), g.ints(*p["kernel_size"]),
        dilations=list(p["dilation"]), pads=[*p["padding"], *p["padding"]],
        strides=list(p["stride"]),
    )  # fmt: skip


@writes("pixel_shuffle", "pixel_unshuffle", "channel_shuffle")
def _shuffle(g: GraphWriter, call: Call) -> Any:
    """Channels to pixels, back, or among each other: dimensions cut, turned and joined."""
    p, value = call.params, call.inputs[0]
    if call.name == "channel_shuffle":
        shape = g.shape(value)
        cut = [0, p["groups"], shape[1] // p["groups"], -1]
        order = [0, 2, 1, 3]
    elif g.rank(value) != 4:
        raise Unexplained(f"{call.name} of other than four dimensions")
    elif call.name == "pixel_shuffle":
        return g.node("DepthToSpace", g.name(value), blocksize=p["upscale_factor"], mode="CRD")
    else:
        r, (height, width) = p["downscale_factor"], g.shape(call.outputs[0])[2:]
        made = g.node("Reshape", g.name(value), g.size([0, g.shape(value)[1], height, r, width, r]))
        made = g.node("Transpose", made, perm=[0, 1, 3, 5, 2, 4])
        return g.node("Reshape", made, g.size(g.shape(call.outputs[0])))
    made = g.node("Transpose", g.node("Reshape", g.name(value), g.size(cut)), perm=order)
    return g.node("Reshape", made, g.size(g.shape(value)))
