"""Scaled dot-product attention.

The usual case is one operation that works in blocks of queries and keeps, beside its result, only
the logarithm of each row's normaliser. Rare cases (dropout, other numbers of dimensions, broadcast
batches, masks with a gradient) are composed of operations while they are small, as in PyTorch; from
a size on they are that same operation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from clew import errors
from clew.backend import dtypes, random
from clew.backend.mt19937 import Generator
from clew.core.arguments import explained
from clew.core.casting import LOWER, casts
from clew.core.interception import note_constant
from clew.core.op import Op
from clew.core.state import local
from clew.core.tensor import Tensor, tangent_of, wrap
from clew.ops.define.dims import require_bool
from clew.ops.nn.activation.softmax import SAFE_SOFTMAX, SOFTMAX_BACKWARD
from clew.ops.nn.attention_bias import CausalBias
from clew.ops.nn.attention_blocks import Dropout, attention, gradients
from clew.ops.nn.dropout import check_probability, drop
from clew.ops.nn.layer_norm import graph_is_wanted

Array = np.ndarray

# Scores of more bytes than this are never held, however rare the case.
LONG = 16 << 20

# PyTorch's kernels that a program may allow. One kernel does all here; but only where the first is
# allowed may a mask be given together with `is_causal`.
ALLOWED = dict.fromkeys(("flash", "mem_efficient", "math", "cudnn"), True)


def _above_diagonal(rows: int, columns: int) -> Array:
    return np.triu(np.ones((rows, columns), bool), 1)


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
    dropout_p: float,
    generator: Generator | None,
    needs: tuple[bool, ...],
) -> tuple[Tensor | None, ...]:
    grad = g[0]
    if grad is None:
        return None, None, None, None
    # A copy each time: backward may come a second time.
    again = None if generator is None else generator.clone_state()
    if graph_is_wanted():
        factors = None if again is None else _all_factors(query, key, dropout_p, again)
        return _composed_gradients(grad, query, key, value, attn_mask, factors, is_causal, scale)
    found = gradients(
        grad._array, query._array, key._array, value._array,
        None if attn_mask is None else attn_mask._array, out0._array, out1._array,
        mask_needs=needs[3], is_causal=is_causal, scale=scale, dropout_p=dropout_p, generator=again,
    )  # fmt: skip
    return tuple(None if each is None else wrap(each) for each in found)


def _all_factors(query: Tensor, key: Tensor, dropout_p: float, generator: Generator) -> Tensor:
    q, k = query._array, key._array
    dropout = Dropout(dropout_p, generator, q.dtype, k.shape[2])
    return wrap(dropout.factors((*q.shape[:3], k.shape[2])))


def _composed_gradients(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    factors: Tensor | None,
    is_causal: bool,
    scale: float,
) -> tuple[Tensor | None, ...]:
    scores = (query * scale).matmul(key.mT)
    last = scores._array.ndim - 1
    weights = SAFE_SOFTMAX(_masked(scores, attn_mask, is_causal), dim=last)
    of_weights = grad.matmul(value.mT)
    kept = weights if factors is None else weights * factors
    of_scores = SOFTMAX_BACKWARD(
        of_weights if factors is None else of_weights * factors, weights, dim=last
    )
    scaled = of_scores * scale
    of_mask = None if attn_mask is None or attn_mask.dtype is dtypes.bool_ else of_scores
    return scaled.matmul(key), scaled.mT.matmul(query), kept.mT.matmul(grad), of_mask


ATTENTION = Op(
    "_scaled_dot_product_flash_attention_for_cpu", attention, joint=_attention_gradients,
    outputs=2, node="ScaledDotProductFlashAttentionForCpuBackward0",
)  # fmt: skip


def _masked(scores: Tensor, attn_mask: Tensor | None, is_causal: bool) -> Tensor:
    if is_causal:
        hidden = note_constant(wrap(_above_diagonal(*scores._array.shape[-2:])))
        scores = scores.masked_fill(hidden, -math.inf)
    if attn_mask is None:
        return scores
    if attn_mask.dtype is dtypes.bool_:
        scores = scores.masked_fill(attn_mask.logical_not(), -math.inf)
        return scores
    return scores + attn_mask


@explained
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
    """`softmax(query @ key.T * scale + mask) @ value`.

    Args:
        query: (..., L, E)
        key: (..., S, E)
        value: (..., S, Ev)
        attn_mask: what is added to the scores, or True where a query may see a key; it broadcasts
        dropout_p: how likely attention weights are dropped
        is_causal: let each query see only the keys up to its own place
        scale: the factor of the scores; None is `1 / sqrt(E)`
        enable_gqa: let groups of query heads share the heads of keys and values

    Example:
        >>> query, value = clew.zeros(1, 2, 4), clew.tensor([[[1.0], [3.0]]])
        >>> F.scaled_dot_product_attention(query, query, value)[0, :, 0]
        tensor([2., 2.])
        >>> F.scaled_dot_product_attention(query, query, value, is_causal=True)[0, :, 0]
        tensor([1., 2.])
    """
    require_bool("is_causal", is_causal)
    require_bool("enable_gqa", enable_gqa)
    _check_arguments(query, key, value, attn_mask)
    if enable_gqa:
        key, value = _with_repeated_heads(query, key, value)
    factor = 1 / math.sqrt(query._array.shape[-1] or 1) if scale is None else scale
    if is_causal and isinstance(attn_mask, CausalBias):
        raise ValueError("CausalBias should not be used with causal=True" + errors.at_user_line())
    is_usual = _is_usual(query, key, value, attn_mask, dropout_p)
    if is_usual and (ALLOWED["flash"] or not is_causal or attn_mask is None):
        return _fused(query, key, value, attn_mask, is_causal, factor, 0.0)
    if is_causal and attn_mask is not None:
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
            "is_causal=True" + errors.at_user_line()
        )
    check_probability(dropout_p)
    _check_kind(query)
    if _is_long(query, key, value, attn_mask, dropout_p):
        return _in_four_dimensions(query, key, value, attn_mask, is_causal, factor, dropout_p)
    kind = query.dtype
    if kind.np in dtypes.LOW_PRECISION:
        query, key, value = (each.to(dtypes.float32) for each in (query, key, value))
    # Half of the factor on each side, so that neither product overflows early.
    root = math.sqrt(abs(factor))
    scores = (query * math.copysign(root, factor)) @ (key * root).transpose(-2, -1)
    scores = _masked(scores, attn_mask, is_causal)
    weights = SAFE_SOFTMAX(scores, dim=scores._array.ndim - 1)
    if dropout_p:
        weights = drop(weights, dropout_p)
    return (weights @ value).to(kind)


def _fused(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    is_causal: bool,
    scale: float,
    dropout_p: float,
) -> Tensor:
    params = {"is_causal": is_causal, "scale": scale, "dropout_p": dropout_p}
    result: tuple[Tensor, Tensor]
    if not dropout_p:
        result = ATTENTION(query, key, value, attn_mask, **params, generator=None)
        return result[0]
    # Nobody else may draw between the copy of the random stream, for backward, and forward.
    with random.default_generator.lock:
        start = random.default_generator.clone_state()
        result = ATTENTION(query, key, value, attn_mask, **params, generator=start)
    return result[0]


def _in_four_dimensions(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    is_causal: bool,
    scale: float,
    dropout_p: float,
) -> Tensor:
    """The operation for any leading dimensions: broadcast, and made into batch and heads."""
    leading = np.broadcast_shapes(*(each._array.shape[:-2] for each in (query, key, value)))
    mask = attn_mask
    if mask is not None and mask._array.ndim > 2:
        leading = np.broadcast_shapes(leading, mask._array.shape[:-2])
        mask = _as_four(mask, leading if len(leading) > 2 else mask._array.shape[:-2])
    q, k, v = (_as_four(each, leading) for each in (query, key, value))
    out = _fused(q, k, v, mask, is_causal, scale, dropout_p)
    return out.reshape((*leading, *out._array.shape[2:]))


def _as_four(tensor: Tensor, leading: Sequence[int]) -> Tensor:
    shape = tensor._array.shape[-2:]
    spread = tensor.expand((*leading, *shape))
    if len(leading) > 2:
        return spread.reshape((-1, leading[-1], *shape))
    return spread.reshape((*(1,) * (2 - len(leading)), *leading, *shape))


_NAME = "scaled_dot_product_attention"


def _is_usual(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float
) -> bool:
    q, k, v = query._array.shape, key._array.shape, value._array.shape
    if len(q) != 4 or dropout_p != 0 or query.dtype.category != dtypes.FLOAT:
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


def _is_long(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float
) -> bool:
    """Whether the scores are too many to be held, in a case that the operation can do."""
    q, k, v = query._array.shape, key._array.shape, value._array.shape
    if local.state.intercept is not None or dropout_p == 1 or q[-1] != k[-1] or k[-2] != v[-2]:
        return False
    try:
        leading = np.broadcast_shapes(q[:-2], k[:-2], v[:-2])
        scores = (*leading, q[-2], k[-2])
        if attn_mask is not None:
            scores = np.broadcast_shapes(scores, attn_mask._array.shape)
        if scores[-2:] != (q[-2], k[-2]):
            return False
    except ValueError:
        return False
    return 0 not in q + v and math.prod(scores) * query._array.itemsize > LONG


def _check_arguments(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None) -> None:
    named = (("query", query), ("key", key), ("value", value))
    for position, (name, each) in enumerate(named):
        if not isinstance(each, Tensor):
            raise errors.wrong_argument(_NAME, name, position + 1, "Tensor", each)
    if not query.dtype is key.dtype is value.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{query.dtype.c_name} key.dtype: {key.dtype.c_name} and value.dtype: "
            f"{value.dtype.c_name} instead." + errors.at_user_line()
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
            f"attn_mask.dtype: {attn_mask.dtype.c_name} and  query.dtype: {query.dtype.c_name} "
            "instead." + errors.at_user_line()
        )


def _check_kind(query: Tensor) -> None:
    """Only floating-point numbers have a softmax."""
    if query.dtype.is_complex:
        raise errors.no_kernel("softmax_lastdim_kernel_impl", query.dtype)
    if query.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            f"expected scalar type Float but found {query.dtype.scalar_name}"
            + errors.at_user_line()
        )


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
