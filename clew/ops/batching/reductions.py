"""Batching rules of reductions, scans, sorting, and statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.core.op import OPS
from clew.core.tensor import Tensor, wrap
from clew.ops.batching.rules import (
    Call,
    declare,
    decomposed,
    mechanical,
    pad_rank,
    refused,
    rules,
)
from clew.ops.define import vmap_errors
from clew.ops.pointwise.clamping import where
from clew.ops.shape.joining import stack

declare(
    mechanical(dims=("dims",)), "sum_dim", "mean_dim", "nansum", "logsumexp", "amax", "amin",
    "aminmax", "var", "std", "var_mean", "std_mean", "any", "all", "count_nonzero",
    "linalg_vector_norm", "hash_tensor",
)  # fmt: skip
declare(
    mechanical(dims=("dim",)), "prod_dim", "_chosen", "max_dim", "min_dim", "sort", "sort.stable",
    "topk", "kthvalue", "median_dim", "nanmedian_dim", "mode", "cumsum", "_linear_recurrence",
    "cumprod", "logcumsumexp", "_argcummax", "_argcummin", "cummax", "cummin", "argsort",
    "_argtopk", "_argkthvalue", "_argmedian", "_argmode", "softmax", "log_softmax", "_safe_softmax",
    "_softmax_backward_data", "_log_softmax_backward_data", "glu",
)  # fmt: skip
declare(mechanical(dims=("dim",), shapes=("sizes",)), "value_selecting_reduction_backward")
declare(
    refused(vmap_errors.dynamic_shape), "nonzero", "_unique2", "unique_dim", "unique_consecutive"
)
declare(refused(vmap_errors.no_rule, "histogramdd"), "histogramdd")
declare(refused(vmap_errors.dynamic_shape), "bincount", "masked_select_backward")


@decomposed("masked_select")
def _masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """A mask that all examples share selects as many elements of each."""
    if mask._is_lifted:
        raise vmap_errors.dynamic_shape("masked_select")
    shape = np.broadcast_shapes(input._array.shape, mask._array.shape)
    kept = wrap(np.flatnonzero(np.broadcast_to(mask._array, shape)))
    result: Tensor = input.expand(shape).reshape(-1).index_select(0, kept)
    return result


@rules("nonzero_static")
def _nonzero_static(call: Call) -> Any:
    return stack([call.op(each, **call.params) for each in call.inputs[0].unbind(0)])


def _flat(call: Call) -> Tensor:
    """The elements of each example as a row."""
    rows: Tensor = call.inputs[0].reshape((call.size, -1))
    return rows


@rules("sum", "mean", "prod")
def _over_all(call: Call) -> Any:
    dtype = call.params.get("dtype") or call.logical[0]._array.dtype
    name = call.op.name + "_dim"
    if call.op.name == "prod":
        return OPS[name](_flat(call), dim=1, keepdim=False, dtype=dtype)
    dims = tuple(range(1, call.ndim() + 1))
    return OPS[name](call.inputs[0], dims=dims, keepdim=False, dtype=dtype)


@rules("max", "min")
def _extreme(call: Call) -> Any:
    if not call.ndim():
        return call.inputs[0].clone()
    dims = tuple(range(1, call.ndim() + 1))
    return OPS["a" + call.op.name](call.inputs[0], dims=dims, keepdim=False)


@rules("median", "nanmedian")
def _median(call: Call) -> Any:
    return getattr(_flat(call), call.op.name)(1).values


@rules("argmax", "argmin")
def _place(call: Call) -> Any:
    dim, keepdim = call.params["dim"], call.params["keepdim"]
    if dim is not None and call.ndim():
        return call.op(call.inputs[0], dim=dim + (dim >= 0), keepdim=keepdim)
    found = call.op(_flat(call), dim=1, keepdim=False)
    return found.reshape((call.size, *(1,) * call.ndim())) if keepdim else found


@rules("dist")
def _dist(call: Call) -> Any:
    rank = max(call.ndim(0), call.ndim(1))
    a, b = (pad_rank(each, rank) for each in call.all_batched())
    return OPS["linalg_vector_norm"](
        (a - b).reshape((call.size, -1)), ord=call.params["p"], dims=(1,), keepdim=False,
        dtype=(a - b)._array.dtype,
    )  # fmt: skip


# -- histograms ----------------------------------------------------------------------------------


def _counted(places: Tensor, amounts: Tensor, bins: int) -> Tensor:
    """For each example, what falls into each bin; places are clamped to those there are."""
    none = wrap(np.zeros((places._array.shape[0], bins), amounts._array.dtype))
    counts: Tensor = none.scatter_add(1, places.clamp(0, bins - 1), amounts)
    return counts


@rules("histc")
def _histc(call: Call) -> Any:
    values, bins = _flat(call).detach(), call.params["bins"]
    kind = values._array.dtype.type
    low, high = kind(call.params["low"]), kind(call.params["high"])
    inside = (values >= float(low)) & (values <= float(high))
    places = (values - float(low)) * bins / float(high - low)
    return _counted(places.masked_fill(~inside, 0).long(), inside.to(values.dtype), bins)


@rules("histogram")
def _histogram(call: Call) -> Any:
    values, weight = call.all_batched()[0].reshape((call.size, -1)).detach(), call.inputs[1]
    edges = wrap(call.params["edges"])
    inside = (values >= edges[0]) & (values <= edges[-1])
    amounts = inside.to(values.dtype)
    if weight is not None:
        amounts = amounts * call.all_batched()[1].reshape((call.size, -1))
    found = OPS["searchsorted"](edges, values, None, right=True, out_int32=False)
    counts = _counted(found - 1, amounts, edges._array.size - 1)
    if call.params["density"]:
        counts = counts / (counts.sum(1, keepdim=True) * edges.diff())
    return counts


# -- norms ---------------------------------------------------------------------------------------


@decomposed("renorm")
def _renorm(self: Tensor, *, p: float, dim: int, maxnorm: float) -> Tensor:
    others = [each for each in range(self._array.ndim) if each != dim]
    norm = OPS["linalg_vector_norm"](
        self, ord=p, dims=tuple(others), keepdim=True, dtype=self._array.dtype
    )
    scaled: Tensor = self * where(norm > maxnorm, maxnorm / (norm + 1e-7), 1.0)
    return scaled
