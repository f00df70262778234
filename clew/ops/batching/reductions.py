"""Batching rules of reductions, scans, sorting, and statistics."""

from __future__ import annotations

from typing import Any

from clew.core.op import OPS
from clew.core.tensor import Tensor
from clew.ops.batching import refusals
from clew.ops.batching.rules import (
    Call,
    declare,
    decomposed,
    mechanical,
    pad_rank,
    refused,
    rules,
)
from clew.ops.clamping import where

declare(
    mechanical(dims=("dims",)), "sum_dim", "mean_dim", "nansum", "logsumexp", "amax", "amin",
    "aminmax", "var", "std", "var_mean", "std_mean", "any", "all", "count_nonzero",
    "linalg_vector_norm",
)  # fmt: skip
declare(
    mechanical(dims=("dim",)), "prod_dim", "_chosen", "max_dim", "min_dim", "sort", "topk",
    "kthvalue", "median_dim", "nanmedian_dim", "mode", "cumsum", "_linear_recurrence", "cumprod",
    "logcumsumexp", "_argcummax", "_argcummin", "cummax", "cummin", "argsort", "_argtopk",
    "_argkthvalue", "_argmedian", "_argmode", "softmax", "log_softmax", "_safe_softmax",
    "_softmax_backward_data", "_log_softmax_backward_data", "glu",
)  # fmt: skip
declare(mechanical(dims=("dim",), shapes=("sizes",)), "value_selecting_reduction_backward")
declare(refused(refusals.dynamic_shape), "nonzero", "_unique2", "unique_dim", "unique_consecutive")
declare(refused(refusals.dynamic_shape), "bincount", "masked_select", "masked_select_backward")
declare(
    refused(refusals.no_rule, "histogram", "the edges of the bins depend on the values"),
    "histogram", "histc",
)  # fmt: skip


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


@decomposed("renorm")
def _renorm(self: Tensor, *, p: float, dim: int, maxnorm: float) -> Tensor:
    others = [each for each in range(self._array.ndim) if each != dim]
    norm = OPS["linalg_vector_norm"](
        self, ord=p, dims=tuple(others), keepdim=True, dtype=self._array.dtype
    )
    scaled: Tensor = self * where(norm > maxnorm, maxnorm / (norm + 1e-7), 1.0)
    return scaled
