"""Batching rules of views, copies, and other orders of elements."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clew.backend.layout import contiguous_format, preserve_format
from clew.core.op import OPS
from clew.core.tensor import Tensor
from clew.ops.batching.rules import (
    Call,
    aligned,
    declare,
    mechanical,
    refused,
    rules,
    together,
)
from clew.ops.define import vmap_errors
from clew.ops.shape.strided import Geometry, geometry_of
from clew.ops.shape.transposing import TRANSPOSE
from clew.ops.shape.views import ALIAS

declare(
    together, "alias", "zero", "fill", "view_as_real", "view_as_complex", "real", "imag", "conj",
    "neg_view", "conj_physical", "tril", "triu", "constant_pad_nd", "_zero", "detach_copy",
)  # fmt: skip
declare(aligned, "complex", "polar", "sgn.complex", "frexp")
declare(
    mechanical(dims=("dim",)), "select", "select_scatter", "slice", "slice_scatter", "unbind",
    "split", "split_with_sizes", "unsafe_split", "unsafe_split_with_sizes",
)  # fmt: skip
declare(
    mechanical(dims=("dim",), shapes=("input_sizes",)), "select_backward", "slice_backward",
)  # fmt: skip
declare(mechanical(dims=("dim1", "dim2")), "diagonal", "diagonal_scatter", "diagonal_copy")
declare(mechanical(dims=("dim1", "dim2"), shapes=("input_sizes",)), "diagonal_backward")
declare(mechanical(dims=("dim0", "dim1")), "transpose", "transpose_")
declare(mechanical(dims=("dims",)), "flip", "rot90")
declare(mechanical(dims=("dimension",)), "unfold")
declare(mechanical(dims=("dimension",), shapes=("input_sizes",)), "unfold_backward")
declare(
    mechanical(shapes=("shape",)), "view", "_unsafe_view", "_reshape_alias", "zeros_for_gradient"
)
declare(refused(vmap_errors.no_rule), "as_strided_", "set_", "_grouped_mm", "_zero_share")


# -- free strides --------------------------------------------------------------------------------


def _for_each(geometry: Geometry, count: int, step: int) -> Geometry:
    """A geometry once for each example, in memory `step` elements apart."""
    shape, strides, offset = geometry
    return Geometry((count, *shape), (step, *strides), offset)


@rules("as_strided")
def _as_strided(call: Call) -> Any:
    part, whole = call.params["part"], call.params["whole"]
    if 0 not in part.shape and (part.offset < whole.offset or part.last() > whole.last()):
        raise vmap_errors.outside_of_example(part, whole)
    physical = call.inputs[0]
    now = geometry_of(physical._array)
    return call.op(physical, part=_for_each(part, call.size, now.strides[0]), whole=now)


@rules("as_strided_backward")
def _as_strided_backward(call: Call) -> Any:
    room = _room(call.params.values())
    params = {name: _for_each(each, call.size, room) for name, each in call.params.items()}
    return call.op(call.inputs[0], **params)


@rules("as_strided_scatter")
def _as_strided_scatter(call: Call) -> Any:
    room = _room(call.params.values())
    params = {name: _for_each(each, call.size, room) for name, each in call.params.items()}
    return call.op(*call.all_batched(), **params)


def _room(geometries: Iterable[Geometry]) -> int:
    """How many elements of memory hold all that these reach."""
    return max(0, *[each.last() + 1 for each in geometries])


# -- views and copies ----------------------------------------------------------------------------


@rules("view_dtype")
def _view_dtype(call: Call) -> Any:
    return call.op(call.inputs[0].contiguous(), **call.params)


@rules("clone", "_to_copy")
def _copy_in_format(call: Call) -> Any:
    """Formats such as channels_last are about four dimensions; examples are a fifth."""
    params = dict(call.params)
    wanted = params.get("memory_format")
    if wanted is not contiguous_format:
        if call.op.name == "clone" and wanted not in (None, preserve_format):
            raise vmap_errors.clone_format(wanted)
        params["memory_format"] = None
    return call.op(*call.inputs, **params)


@rules("copy", "fill_tensor")
def _copied(call: Call) -> Any:
    target, source = call.inputs
    rank = call.ndim(0)
    if call.batched[1]:
        shape = source._array.shape
        padding = (1,) * (rank - call.ndim(1))
        source = source.reshape((shape[0], *padding, *shape[1:]))
    if not call.batched[0]:
        target = target.expand((call.size, *target._array.shape))
    return OPS["copy"](target, source.expand(target._array.shape))


@rules("t", "t_")
def _t(call: Call) -> Tensor:
    tensor: Tensor = call.inputs[0]
    return TRANSPOSE(tensor, dim0=1, dim1=2) if call.ndim() == 2 else ALIAS(tensor)


@rules("permute")
def _permute(call: Call) -> Tensor:
    rank = call.ndim()
    dims = [dim % rank + 1 for dim in call.params["dims"]]
    return call.op(call.inputs[0], dims=(0, *dims))


@rules("unsqueeze", "unsqueeze_")
def _unsqueeze(call: Call) -> Tensor:
    dim = call.params["dim"]
    return call.op(call.inputs[0], dim=dim + 1 if dim >= 0 else dim)


@rules(
    "squeeze", "squeeze_dim", "squeeze_dims", "squeeze_", "squeeze_dim_", "squeeze_dims_",
)  # fmt: skip
def _squeeze(call: Call) -> Any:
    rank = call.ndim()
    dims = tuple(dim % rank + 1 for dim in call.params["dims"]) if rank else ()
    return call.op(call.inputs[0], dims=dims)


@rules("expand")
def _expand(call: Call) -> Tensor:
    shape = call.params["shape"]
    own = call.shape()
    padded = call.inputs[0].reshape((call.size, *(1,) * (len(shape) - len(own)), *own))
    expanded: Tensor = padded.expand((call.size, *shape))
    return expanded


@rules("repeat")
def _repeat(call: Call) -> Tensor:
    repeats = tuple(call.params["repeats"])
    own = call.shape()
    padded = call.inputs[0].reshape((call.size, *(1,) * (len(repeats) - len(own)), *own))
    repeated: Tensor = padded.repeat((1, *repeats))
    return repeated


@rules("roll")
def _roll(call: Call) -> Tensor:
    shifts, dims = call.params["shifts"], call.params["dims"]
    tensor: Tensor = call.inputs[0]
    if dims:
        rolled: Tensor = tensor.roll(shifts, tuple(dim % call.ndim() + 1 for dim in dims))
        return rolled
    flat: Tensor = tensor.reshape((call.size, -1)).roll(shifts, 1).reshape(tensor._array.shape)
    return flat


@rules("cat")
def _cat(call: Call) -> Any:
    dim = call.params["dim"]
    rank = max(each._array.ndim for each in call.logical)
    inputs = call.all_batched()
    # Empty vectors are skipped whatever the rank of the others.
    fitting = [each for each in inputs if each._array.ndim == rank + 1]
    return call.op(*fitting, dim=dim + 1 if dim >= 0 else dim, dtype=call.params["dtype"])


@rules("stack")
def _stack(call: Call) -> Any:
    dim = call.params["dim"]
    return call.op(
        *call.all_batched(), dim=dim + 1 if dim >= 0 else dim, dtype=call.params["dtype"]
    )


@rules("diag_embed")
def _diag_embed(call: Call) -> Any:
    params = call.params
    rank = call.ndim() + 1
    dims = {name: params[name] % rank + 1 for name in ("dim1", "dim2")}
    return call.op(call.inputs[0], offset=params["offset"], **dims)


@rules("block_diag")
def _block_diag(call: Call) -> Tensor:
    blocks = call.all_batched()
    matrices = [
        each.reshape((call.size, *(1,) * (3 - each._array.ndim), *each._array.shape[1:]))
        for each in blocks
    ]
    columns = sum(each._array.shape[2] for each in matrices)
    rows, before = [], 0
    for matrix in matrices:
        width = matrix._array.shape[2]
        rows.append(OPS["constant_pad_nd"](matrix, pad=(before, columns - before - width), value=0))
        before += width
    joined: Tensor = OPS["cat"](*rows, dim=1, dtype=call.params["dtype"])
    return joined
