"""Multi-head attention over tensors: projections, heads, masks and the attention itself."""

from __future__ import annotations

import math
import warnings

from clew import errors
from clew.backend import dtypes
from clew.core.tensor import Tensor
from clew.ops.nn.activation.softmax import softmax
from clew.ops.nn.attention import scaled_dot_product_attention
from clew.ops.nn.dropout import dropout
from clew.ops.nn.linear import linear
from clew.ops.shape.joining import cat
from clew.source import user_stacklevel

Tensors = tuple[Tensor, Tensor, Tensor]


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of several heads over (L, N, E), or (L, E) without a batch.

    Returns the outputs and the attention weights. `nn.MultiheadAttention` keeps the weights.

    Args:
        query, key, value: (L, N, E), (S, N, kdim) and (S, N, vdim), or all without N
        embed_dim_to_check: E
        num_heads: the number of heads, which divides E
        in_proj_weight, in_proj_bias: the projections of queries, keys and values in one, (3 E, E)
        bias_k, bias_v: a key and value to add to every sequence, or None
        add_zero_attn: add a key and value of zeros to every sequence
        dropout_p: how likely attention weights are dropped while training
        out_proj_weight, out_proj_bias: the projection of the outputs
        training: whether anything is dropped
        key_padding_mask: (N, S), True for keys to leave out, or what is added to their scores
        need_weights: whether the attention weights are returned; None in their place otherwise
        attn_mask: (L, S) or (N * heads, L, S), True for what a query must not see, or what is added
        use_separate_proj_weight: take the next three, where sizes differ, for `in_proj_weight`
        q_proj_weight, k_proj_weight, v_proj_weight: (E, E), (E, kdim) and (E, vdim)
        static_k, static_v: projected keys and values, (N * heads, S, E / heads), instead of `key`'s
        average_attn_weights: whether the weights are the mean over the heads
        is_causal: says that `attn_mask` is the causal mask

    Example:
        >>> x, zero = clew.zeros(5, 3, 8), clew.zeros(8)
        >>> output, weights = F.multi_head_attention_forward(
        ...     x, x, x, 8, 2, clew.zeros(24, 8), clew.zeros(24), None, None, False, 0.0,
        ...     clew.zeros(8, 8), zero,
        ... )
        >>> output.shape, weights.shape
        (torch.Size([5, 3, 8]), torch.Size([3, 5, 5]))
    """
    batched = _check_dims(query, key, value, key_padding_mask, attn_mask, num_heads)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. Make one with "
            "`nn.Transformer.generate_square_subsequent_mask(length)`." + errors.at_user_line()
        )
    key_padding_mask = additive_mask(
        key_padding_mask, "key_padding_mask", query.dtype, attn_mask, "attn_mask"
    )
    attn_mask, is_causal = _usable_mask(
        attn_mask, query, is_causal and key_padding_mask is None and not need_weights
    )
    if not batched:
        same = key is value
        own = query is key
        query = query.unsqueeze(1)
        key = query if own else key.unsqueeze(1)
        value = key if same else value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length, batch, width = query._array.shape
    _check_widths(width, embed_dim_to_check, num_heads, key, value, use_separate_proj_weight)
    if use_separate_proj_weight:
        separate = (q_proj_weight, k_proj_weight, v_proj_weight)
        q, k, v = _separately_projected(query, key, value, separate, in_proj_bias)
    else:
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _projected(query, key, value, in_proj_weight, in_proj_bias)
    attn_mask = _with_batch(attn_mask, length, key._array.shape[0], batch * num_heads)
    if bias_k is not None and bias_v is not None:
        for name, static in (("key", static_k), ("value", static_v)):
            if static is not None:
                raise AssertionError(
                    f"bias cannot be added to static {name}." + errors.at_user_line()
                )
        k, v = cat([k, bias_k.repeat(1, batch, 1)]), cat([v, bias_v.repeat(1, batch, 1)])
        attn_mask, key_padding_mask = _one_wider(attn_mask), _one_wider(key_padding_mask)
    count, head_width = batch * num_heads, width // num_heads
    q = _split_heads(q, count, head_width)
    k = _split_heads(k, count, head_width) if static_k is None else static_k
    v = _split_heads(v, count, head_width) if static_v is None else static_v
    if add_zero_attn:
        shape = (count, 1, head_width)
        k, v = cat([k, k.new_zeros(shape)], 1), cat([v, v.new_zeros(shape)], 1)
        attn_mask, key_padding_mask = _one_wider(attn_mask), _one_wider(key_padding_mask)
    attn_mask = _merged(attn_mask, key_padding_mask, batch, num_heads, k._array.shape[1])
    probability = dropout_p if training else 0.0
    weights = None
    if need_weights:
        out, weights = _weighted(q, k, v, attn_mask, probability, batch, num_heads)
        weights = weights.view(batch, num_heads, length, k._array.shape[1])
        weights = weights.mean(1) if average_attn_weights else weights
    else:
        out = _attended(q, k, v, attn_mask, probability, is_causal, batch, num_heads)
    out = linear(out, out_proj_weight, out_proj_bias)
    out = out.view(length, batch, out._array.shape[-1])
    if not batched:
        return out.squeeze(1), None if weights is None else weights.squeeze(0)
    return out, weights


# -- arguments -----------------------------------------------------------------------------


def _check_dims(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    padding: Tensor | None,
    mask: Tensor | None,
    num_heads: int,
) -> bool:
    """Whether there is a batch dimension, if all arguments agree on that."""
    ndim = query._array.ndim
    if ndim not in (2, 3):
        raise AssertionError(
            "query should be unbatched 2D or batched 3D tensor but received "
            f"{ndim}-D query tensor" + errors.at_user_line()
        )
    batched = ndim == 3
    kind = "batched" if batched else "unbatched"
    if not key._array.ndim == value._array.ndim == ndim:
        raise AssertionError(
            f"For {kind} ({ndim}-D) `query`, expected `key` and `value` to be {ndim}-D but found "
            f"{key._array.ndim}-D and {value._array.ndim}-D tensors respectively"
            + errors.at_user_line()
        )
    if padding is not None and padding._array.ndim != ndim - 1:
        raise AssertionError(
            f"For {kind} ({ndim}-D) `query`, expected `key_padding_mask` to be `None` or "
            f"{ndim - 1}-D but found {padding._array.ndim}-D tensor instead" + errors.at_user_line()
        )
    if mask is not None and mask._array.ndim not in (2, 3):
        raise AssertionError(
            f"For {kind} ({ndim}-D) `query`, expected `attn_mask` to be `None`, 2-D or "
            f"3-D but found {mask._array.ndim}-D tensor instead" + errors.at_user_line()
        )
    if not batched and mask is not None and mask._array.ndim == 3:
        expected = (num_heads, query._array.shape[0], key._array.shape[0])
        if mask._array.shape != expected:
            raise AssertionError(
                f"Expected `attn_mask` shape to be {expected} but got {mask.shape}"
                + errors.at_user_line()
            )
    return batched


def _check_widths(
    width: int, expected: int, num_heads: int, key: Tensor, value: Tensor, separate: bool
) -> None:
    if width != expected:
        raise AssertionError(
            f"was expecting embedding dimension of {expected}, but got {width}"
            + errors.at_user_line()
        )
    if width // num_heads * num_heads != width:
        raise AssertionError(
            f"embed_dim {width} not divisible by num_heads {num_heads}" + errors.at_user_line()
        )
    first, second = key._array.shape, value._array.shape
    if separate and first[:2] != second[:2]:
        raise AssertionError(
            f"key's sequence and batch dims {first[:2]} do not match value's {second[:2]}"
            + errors.at_user_line()
        )
    if not separate and first != second:
        raise AssertionError(
            f"key shape {key.shape} does not match value shape {value.shape}"
            + errors.at_user_line()
        )


def additive_mask(
    mask: Tensor | None,
    name: str,
    dtype: dtypes.dtype,
    other: Tensor | None = None,
    other_name: str = "",
) -> Tensor | None:
    """A mask of numbers to add to the scores; True in a bool mask means minus infinity.

    `other` is a mask that is given beside this one, and should have the same dtype.
    """
    if mask is None:
        return None
    is_number = mask.dtype.category == dtypes.FLOAT
    if not is_number and mask.dtype is not dtypes.bool_:
        raise AssertionError(
            f"only bool and floating types of {name} are supported" + errors.at_user_line()
        )
    if other is not None and other.dtype is not mask.dtype:
        warnings.warn(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both "
            "instead.",
            stacklevel=user_stacklevel(),
        )
    if is_number:
        return mask
    result: Tensor = mask.new_zeros(mask._array.shape, dtype=dtype)
    return result.masked_fill_(mask, -math.inf)


def _usable_mask(
    mask: Tensor | None, query: Tensor, causal_is_enough: bool
) -> tuple[Tensor | None, bool]:
    """The mask to add, or None where the causal hint says it all."""
    if causal_is_enough:
        return None, True
    return additive_mask(mask, "attn_mask", query.dtype), False


def _with_batch(mask: Tensor | None, rows: int, columns: int, count: int) -> Tensor | None:
    """A mask of three dimensions, if it has a shape that fits."""
    if mask is None:
        return None
    have = mask._array.shape
    if len(have) == 2:
        if have != (rows, columns):
            raise RuntimeError(
                f"The shape of the 2D attn_mask is {mask.shape}, but should be {(rows, columns)}."
                + errors.at_user_line()
            )
        widened: Tensor = mask.unsqueeze(0)
        return widened
    if have != (count, rows, columns):
        raise RuntimeError(
            f"The shape of the 3D attn_mask is {mask.shape}, but should be "
            f"{(count, rows, columns)}." + errors.at_user_line()
        )
    return mask


def _one_wider(mask: Tensor | None) -> Tensor | None:
    """One more key, which is not masked."""
    if mask is None:
        return None
    return cat([mask, mask.new_zeros((*mask._array.shape[:-1], 1))], -1)


def _merged(
    mask: Tensor | None, padding: Tensor | None, batch: int, heads: int, columns: int
) -> Tensor | None:
    """The attention mask and the padding mask as one."""
    if padding is None:
        return mask
    for dim, size in enumerate((batch, columns)):
        have = padding._array.shape[dim]
        if have != size:
            raise AssertionError(
                f"Expected key_padded_mask.shape[{dim}] to be {size}, but got {have}"
                + errors.at_user_line()
            )
    spread = padding.view(batch, 1, 1, columns).expand(-1, heads, -1, -1)
    spread = spread.reshape(batch * heads, 1, columns)
    return spread if mask is None else mask + spread


# -- steps ---------------------------------------------------------------------------------


def _projected(
    query: Tensor, key: Tensor, value: Tensor, weight: Tensor, bias: Tensor | None
) -> Tensors:
    """Queries, keys and values by one matrix, in as few products as the arguments allow."""
    width = query._array.shape[-1]
    if key is value and query is key:
        q, k, v = linear(query, weight, bias).chunk(3, -1)
        return q.contiguous(), k.contiguous(), v.contiguous()
    if key is value:
        of_query, of_rest = weight.split([width, width * 2])
        biases = (None, None) if bias is None else bias.split([width, width * 2])
        k, v = linear(key, of_rest, biases[1]).chunk(2, -1)
        return linear(query, of_query, biases[0]), k.contiguous(), v.contiguous()
    weights = weight.chunk(3)
    three = (None, None, None) if bias is None else bias.chunk(3)
    q, k, v = (
        linear(each, w, b) for each, w, b in zip((query, key, value), weights, three, strict=True)
    )
    return q, k, v


def _separately_projected(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    weights: tuple[Tensor | None, ...],
    bias: Tensor | None,
) -> Tensors:
    for name, weight in zip("qkv", weights, strict=True):
        if weight is None:
            raise AssertionError(
                f"use_separate_proj_weight is True but {name}_proj_weight is None"
                + errors.at_user_line()
            )
    biases = (None, None, None) if bias is None else bias.chunk(3)
    q, k, v = (
        linear(each, weight, b)  # type: ignore[arg-type]  # checked above
        for each, weight, b in zip((query, key, value), weights, biases, strict=True)
    )
    return q, k, v


def _split_heads(tensor: Tensor, count: int, width: int) -> Tensor:
    """(L, N, heads * width) as (N * heads, L, width)."""
    length = tensor._array.shape[0]
    result: Tensor = tensor.reshape(length, count, width).transpose(0, 1)
    return result


def _joined_heads(out: Tensor, length: int, batch: int, heads: int) -> Tensor:
    """(N * heads, L, width) as (L * N, heads * width)."""
    width = heads * out._array.shape[-1]
    result: Tensor = out.transpose(0, 1).contiguous().view(length * batch, width)
    return result


def _weighted(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    probability: float,
    batch: int,
    heads: int,
) -> tuple[Tensor, Tensor]:
    """The result and the attention weights, which the caller wants to see."""
    scaled = q * math.sqrt(1.0 / q._array.shape[-1])
    keys = k.transpose(-2, -1)
    scores = scaled.bmm(keys) if mask is None else mask.baddbmm(scaled, keys)
    weights = softmax(scores, -1)
    if probability > 0.0:
        weights = dropout(weights, probability)
    return _joined_heads(weights.bmm(v), q._array.shape[1], batch, heads), weights


def _attended(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    probability: float,
    is_causal: bool,
    batch: int,
    heads: int,
) -> Tensor:
    length = q._array.shape[1]
    if mask is not None:
        shape = mask._array.shape
        mask = mask.unsqueeze(0) if shape[0] == 1 else mask.view(batch, heads, *shape[-2:])
    q, k, v = (each.reshape(batch, heads, *each._array.shape[1:]) for each in (q, k, v))
    out = scaled_dot_product_attention(q, k, v, mask, probability, is_causal)
    width = heads * v._array.shape[-1]
    result: Tensor = out.permute(2, 0, 1, 3).contiguous().view(batch * length, width)
    return result
