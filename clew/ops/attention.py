"""Scaled dot-product attention.

The usual case is one operation that keeps, beside its result, only the logarithm of each row's
normaliser; the probabilities are computed again in backward. Dropout, broadcast batches and other
rare cases are composed of operations.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.casting import LOWER, casts
from clew.core.op import Op
from clew.core.tensor import Tensor, tangent_of, wrap
from clew.kernels.arrays import widened
from clew.kernels.native.ir import F32, F64, I64, where
from clew.kernels.native.ir import position as key_position
from clew.kernels.native.ufunc import over_rows
from clew.ops.dims import require_bool
from clew.ops.dropout import check_probability, drop
from clew.ops.normalization import graph_is_wanted
from clew.ops.softmax import SAFE_SOFTMAX, SOFTMAX_BACKWARD

Array = np.ndarray


def _above_diagonal(rows: int, columns: int) -> Array:
    return np.triu(np.ones((rows, columns), bool), 1)


def _scores(
    query: Array, key: Array, attn_mask: Array | None, is_causal: bool, scale: float
) -> Array:
    scores = np.matmul(query * query.dtype.type(scale), key.swapaxes(-1, -2))
    if is_causal:
        np.copyto(scores, -np.inf, where=_above_diagonal(*scores.shape[-2:]))
    if attn_mask is None:
        return scores
    if attn_mask.dtype.kind == "b":
        np.copyto(scores, -np.inf, where=~attn_mask)
    else:
        scores += attn_mask
    return scores


# Below every score. (Not infinity, which compilers fold into a form that has no vectors.)
_LOWEST = -3.0e38
_BOTH = [([t, I64, t], [t, t]) for t in (F32, F64)]


@over_rows("attention_weights", "(n),(),()->(n),()", cost=6, types=_BOTH)
def _WEIGHTS_KERNEL(scores: Any, visible: Any, scale: Any) -> Any:
    """The weights of the first `visible` keys, and the logarithm of their normaliser."""
    scaled, is_visible = scores * scale, key_position() < visible
    peak = where(is_visible, scaled, _LOWEST).row_max()
    # A row without a single key gets no weight anywhere, and its normaliser is infinite.
    peak = where(peak <= _LOWEST, 0.0, peak)
    weights = where(is_visible, (scaled - peak).exp(), 0.0).keep()
    total = weights.row_sum()
    empty = total.equals(0.0)
    normaliser = where(empty, math.inf, total.log() + peak)
    return weights * where(empty, 0.0, 1.0 / total), normaliser


_GRADIENT_TYPES = [([t, t, t, t, I64, t], [t, t]) for t in (F32, F64)]


@over_rows("attention_backward", "(n),(n),(),(),(),()->(n),(n)", cost=5, types=_GRADIENT_TYPES)
def _GRADIENT_KERNEL(
    scores: Any, of_weights: Any, normaliser: Any, along: Any, visible: Any, scale: Any
) -> Any:
    """The weights again, and the gradient of the scores."""
    weights = where(key_position() < visible, (scores * scale - normaliser).exp(), 0.0)
    return weights, weights * (of_weights - along) * scale


def _visible(shape: tuple[int, ...], is_causal: bool) -> Array:
    """How many keys each query sees."""
    rows, columns = shape[-2:]
    if is_causal:
        return np.minimum(np.arange(1, rows + 1), columns)
    return np.full(rows, columns)


def _masked_scores(query: Array, key: Array, attn_mask: Array | None, scale: float) -> Array:
    """The products, with the mask put in such that scaling comes after it."""
    scores = np.matmul(query, key.swapaxes(-1, -2))
    if attn_mask is None:
        return scores
    if attn_mask.dtype.kind == "b":
        np.copyto(scores, -math.copysign(math.inf, scale), where=~attn_mask)
    else:
        scores += attn_mask / scores.dtype.type(scale)
    return scores


def _attention_by_rows(
    kernel: Any,
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array | None,
    is_causal: bool,
    scale: float,
) -> tuple[Array, Array]:
    scores = _masked_scores(query, key, attn_mask, scale)
    visible = _visible(scores.shape, is_causal)
    weights, normaliser = kernel(scores, visible, scores.dtype.type(scale), out=(scores, None))
    return np.matmul(weights, value), normaliser[..., None]


def _attention(
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array | None,
    *,
    is_causal: bool,
    scale: float,
) -> tuple[Array, Array]:
    kernel = _WEIGHTS_KERNEL.when(query) if scale else None
    if kernel is not None:
        return _attention_by_rows(kernel, query, key, value, attn_mask, is_causal, scale)
    scores = _scores(widened(query), widened(key), attn_mask, is_causal, scale)
    peak = np.maximum.reduce(scores, axis=-1, keepdims=True, initial=-np.inf)
    # A row without a single key gets no weight anywhere, and its normaliser is infinite.
    np.copyto(peak, 0, where=np.isneginf(peak))
    scores -= peak
    np.exp(scores, out=scores)
    total = np.add.reduce(scores, axis=-1, keepdims=True)
    # In low precision the weights are rounded before the product, as PyTorch's kernel does it.
    out = np.matmul(widened(scores.astype(query.dtype, copy=False)), widened(value))
    empty = total == 0
    np.copyto(total, 1, where=empty)
    out /= total
    normaliser = np.log(total, out=total)
    normaliser += peak
    np.copyto(normaliser, np.inf, where=empty)
    return out.astype(query.dtype, copy=False), normaliser


def _attention_gradients(
    g: tuple[Tensor | None, ...],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    out0: Tensor,
    out1: Tensor,
    is_causal: bool,
    scale: float,
) -> tuple[Tensor | None, ...]:
    grad = g[0]
    if grad is None:
        return None, None, None, None
    if graph_is_wanted():
        return _composed_gradients(grad, query, key, value, attn_mask, is_causal, scale)
    q, k, v, gradient = (widened(each._array) for each in (query, key, value, grad))
    mask = None if attn_mask is None else attn_mask._array
    kernel = _GRADIENT_KERNEL.when(query._array) if scale else None
    if kernel is not None and gradient.dtype is q.dtype:
        scores = _masked_scores(q, k, mask, scale)
        of_weights = np.matmul(gradient, v.swapaxes(-1, -2))
        weights, of_scores = kernel(
            scores, of_weights, out1._array[..., 0], np.vecdot(gradient, out0._array),
            _visible(scores.shape, is_causal), scores.dtype.type(scale),
            out=(scores, of_weights),
        )  # fmt: skip
        of_key = np.matmul(of_scores.swapaxes(-1, -2), q)
        of_value = np.matmul(weights.swapaxes(-1, -2), gradient)
        return wrap(np.matmul(of_scores, k)), wrap(of_key), wrap(of_value), None
    weights = _scores(q, k, mask, is_causal, scale)
    weights -= out1._array
    np.exp(weights, out=weights)
    of_value = np.matmul(weights.swapaxes(-1, -2), gradient)
    of_scores = np.matmul(gradient, v.swapaxes(-1, -2))
    of_scores -= np.vecdot(gradient, widened(out0._array))[..., None]
    of_scores *= weights
    of_scores *= of_scores.dtype.type(scale)
    of_key = np.matmul(of_scores.swapaxes(-1, -2), q)
    return wrap(np.matmul(of_scores, k)), wrap(of_key), wrap(of_value), None


def _composed_gradients(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    is_causal: bool,
    scale: float,
) -> tuple[Tensor | None, ...]:
    scores = (query * scale).matmul(key.mT)
    weights = SAFE_SOFTMAX(_masked(scores, attn_mask, is_causal), dim=scores._array.ndim - 1)
    of_weights = grad.matmul(value.mT)
    of_scores = SOFTMAX_BACKWARD(of_weights, weights, dim=scores._array.ndim - 1) * scale
    return of_scores.matmul(key), of_scores.mT.matmul(query), weights.mT.matmul(grad), None


ATTENTION = Op(
    "_scaled_dot_product_flash_attention_for_cpu", _attention, joint=_attention_gradients,
    outputs=2, node="ScaledDotProductFlashAttentionForCpuBackward0",
)  # fmt: skip


def _masked(scores: Tensor, attn_mask: Tensor | None, is_causal: bool) -> Tensor:
    if is_causal:
        hidden = wrap(_above_diagonal(*scores._array.shape[-2:]))
        scores = scores.masked_fill(hidden, -math.inf)
    if attn_mask is None:
        return scores
    if attn_mask.dtype is dtypes.bool_:
        scores = scores.masked_fill(attn_mask.logical_not(), -math.inf)
        return scores
    return scores + attn_mask


@casts(LOWER)
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """`softmax(query @ key.T * scale + mask) @ value`."""
    require_bool("is_causal", is_causal)
    require_bool("enable_gqa", enable_gqa)
    _check_arguments(query, key, value, attn_mask)
    if enable_gqa:
        key, value = _with_repeated_heads(query, key, value)
    factor = 1 / math.sqrt(query._array.shape[-1]) if scale is None else scale
    if _is_usual(query, key, value, attn_mask, dropout_p):
        result: Tensor = ATTENTION(query, key, value, attn_mask, is_causal=is_causal, scale=factor)[
            0
        ]
        return result
    if is_causal and attn_mask is not None:
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
            "is_causal=True" + errors.at_user_line()
        )
    check_probability(dropout_p)
    _check_kind(query)
    kind = query.dtype
    if kind.np in dtypes.LOW_PRECISION:
        query, key, value = (each.to(dtypes.float32) for each in (query, key, value))
    # Half of the factor on each side, so that neither product overflows early.
    root = math.sqrt(abs(factor))
    scores = (query * math.copysign(root, factor)).matmul((key * root).transpose(-2, -1))
    scores = _masked(scores, attn_mask, is_causal)
    weights = SAFE_SOFTMAX(scores, dim=scores._array.ndim - 1)
    if dropout_p:
        weights = drop(weights, dropout_p)
    return weights.matmul(value).to(kind)


_NAME = "scaled_dot_product_attention"


def _is_usual(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float
) -> bool:
    q, k, v = query._array.shape, key._array.shape, value._array.shape
    if len(q) != 4 or dropout_p or query.dtype.category != dtypes.FLOAT:
        return False
    if not q[:2] == k[:2] == v[:2] or k[2] != v[2] or not q[3] == k[3] == v[3]:
        return False
    if 0 in q or 0 in k:
        return False
    if attn_mask is None:
        return True
    scores = (k[2], q[2], q[1], q[0])
    fits = all(n in (1, m) for n, m in zip(attn_mask._array.shape[::-1], scores, strict=False))
    followed = attn_mask.requires_grad or tangent_of(attn_mask) is not None
    return fits and attn_mask._array.ndim in (2, 4) and not followed


def _check_arguments(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None) -> None:
    named = (("query", query), ("key", key), ("value", value))
    for position, (name, each) in enumerate(named):
        if not isinstance(each, Tensor):
            raise errors.wrong_argument(_NAME, name, position + 1, "Tensor", each)
    if not query.dtype is key.dtype is value.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{_c_name(query)} key.dtype: {_c_name(key)} and value.dtype: {_c_name(value)} instead."
            + errors.at_user_line()
        )
    dims = [each._array.ndim for _, each in named]
    if min(dims) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{dims[0]} key.dim: {dims[1]} and value.dim: {dims[2]} instead."
            + errors.at_user_line()
        )
    if attn_mask is None:
        return
    if not isinstance(attn_mask, Tensor):
        raise errors.wrong_argument(_NAME, "attn_mask", 4, "Tensor", attn_mask)
    if attn_mask.dtype not in (dtypes.bool_, dtypes.float32, query.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            f"attn_mask.dtype: {_c_name(attn_mask)} and  query.dtype: {_c_name(query)} instead."
            + errors.at_user_line()
        )


def _check_kind(query: Tensor) -> None:
    """Only floating-point numbers have a softmax."""
    if query.dtype.is_complex:
        raise NotImplementedError(
            f"\"softmax_lastdim_kernel_impl\" not implemented for '{query.dtype.scalar_name}'"
            + errors.at_user_line()
        )
    if query.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            f"expected scalar type Float but found {query.dtype.scalar_name}"
            + errors.at_user_line()
        )


def _c_name(tensor: Tensor) -> str:
    """The name that PyTorch's messages have for a dtype."""
    names = {
        "float32": "float", "float64": "double", "int64": "long int", "int32": "int",
        "float16": "c10::Half", "bfloat16": "c10::BFloat16", "bool": "bool",
    }  # fmt: skip
    return names.get(tensor.dtype.name, tensor.dtype.name)


def _with_repeated_heads(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Each head of keys and values serves a group of heads of the query."""
    heads, of_key, of_value = (each._array.shape[-3] for each in (query, key, value))
    if heads % of_key or heads % of_value:
        raise RuntimeError(
            "Number of heads in key and value must divide the number of heads in query"
            + errors.at_user_line()
        )
    if of_key != heads:
        key = key.repeat_interleave(heads // of_key, -3)
    if of_value != heads:
        value = value.repeat_interleave(heads // of_value, -3)
    return key, value
