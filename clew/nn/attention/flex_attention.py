"""`flex_attention`: attention whose scores a function changes, and whose mask a function gives.

The functions are of one score and its place; they run over all of them at once, by `vmap`.
Gradients go through them, also to tensors that they use.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypedDict

from clew import errors
from clew.core.tensor import Tensor
from clew.nn.attention.block_mask import (
    BLOCK_SIZE,
    BlockMask,
    create_block_mask,
    create_mask,
    over_scores,
    places_of,
)
from clew.nn.attention.mask_functions import and_masks, noop_mask, or_masks

__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "FlexKernelOptions", "and_masks", "create_block_mask",
    "create_mask", "flex_attention", "noop_mask", "or_masks",
]  # fmt: skip

_DEFAULT_SPARSE_BLOCK_SIZE = BLOCK_SIZE
_LARGE_SPARSE_BLOCK_SIZE = 1 << 30
_score_mod_signature = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
_mask_mod_signature = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


class FlexKernelOptions(TypedDict, total=False):
    """Options of a GPU's kernels: accepted."""


class AuxRequest(NamedTuple):
    """What to return besides the result."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What is returned besides the result."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable[..., Any] | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Attention whose scores a function changes: `softmax(score_mod(q @ k * scale)) @ v`.

    Args:
        query: of shape (batch, heads, queries, features)
        key, value: of shape (batch, heads, keys, features)
        score_mod: `score_mod(score, b, h, q, k)`, the changed score at a place
        block_mask: which scores take part
        scale: the factor of the scores; `1 / sqrt(features)` if it is not given
        enable_gqa: whether a head of keys may serve several heads of queries
        return_lse: whether to return the logarithms of the sums of exponentials, too
        kernel_options: accepted
        return_aux: what else to return

    Example:
        >>> from clew.nn.attention.flex_attention import flex_attention
        >>> q = k = v = clew.eye(2).reshape(1, 1, 2, 2)
        >>> flex_attention(q, k, v, lambda score, b, h, i, j: clew.where(i >= j, score, -clew.inf))
        tensor([[[[1.0000, 0.0000],
                  [0.3302, 0.6698]]]])
    """
    _check_inputs(query, key, value, enable_gqa)
    if return_lse and return_aux is not None:
        raise ValueError("Cannot specify both return_lse and return_aux." + errors.at_user_line())
    if return_aux is not None and return_aux.max_scores:
        raise NotImplementedError("Returning max scores is not supported on CPU/MPS.")
    if query.shape[1] != key.shape[1]:
        repeats = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(repeats, 1), value.repeat_interleave(repeats, 1)
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query @ key.transpose(-2, -1)) * factor
    places = places_of(*scores.shape)
    if score_mod is not None:
        scores = over_scores(score_mod, True)(scores, *places)
    if block_mask is not None:
        _check_mask(block_mask, query, key)
        scores = scores.masked_fill(~_allowed(block_mask, scores), float("-inf"))
    lse = scores.logsumexp(-1)
    # A query that attends to nothing has a result of zero.
    weights = scores.softmax(-1).masked_fill((lse == float("-inf")).unsqueeze(-1), 0.0)
    out = (weights.to(value.dtype) @ value).to(query.dtype)
    if return_aux is not None:
        return out, AuxOutput(lse if return_aux.lse else None)
    return (out, lse) if return_lse else out


def _allowed(block_mask: BlockMask, scores: Tensor) -> Tensor:
    """Which scores take part: those that the mask's function says, in blocks that it lists."""
    batch, heads, queries, keys = scores.shape
    places = places_of(batch, heads, queries, keys)
    rows, columns = block_mask.BLOCK_SIZE
    listed = block_mask.to_dense().bool()
    listed = listed.repeat_interleave(rows, -2).repeat_interleave(columns, -1)
    allowed = over_scores(block_mask.mask_mod, False)(*places)
    return allowed & listed[..., :queries, :keys]


def _check_mask(block_mask: BlockMask, query: Tensor, key: Tensor) -> None:
    queries, keys = query.shape[-2], key.shape[-2]
    if block_mask.seq_lengths == (queries, keys):
        return
    said = (
        f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={queries} "
        f"and kv_len={keys}. "
    )
    if queries > block_mask.seq_lengths[0] or keys > block_mask.seq_lengths[1]:
        raise ValueError(
            said + "As the block mask was created for a smaller length than you're using it for, "
            "you likely need to create a new block mask." + errors.at_user_line()
        )
    raise ValueError(
        said + "As the block mask was created for a larger length than you're using it for, you "
        "can either 1. create a new block mask with the correct length, or 2. 'adjust' the "
        "existing block mask to the correct length by calling block_mask._adjust(q_len, kv_len)."
        + errors.at_user_line()
    )


def _check_inputs(query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool) -> None:
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            f"Expect query and key/value to have the same embedding dimension but got "
            f"E={query.shape[-1]} and E={key.shape[-1]}." + errors.at_user_line()
        )
    heads, key_heads = query.shape[1], key.shape[1]
    if heads == key_heads:
        return
    if not enable_gqa:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={heads} and "
            f"Hkv={key_heads}. Try setting enable_gqa=True for GQA." + errors.at_user_line()
        )
    if heads % key_heads:
        raise ValueError(
            "Expect number of query heads to be a multiple of kv heads for GQA but got "
            f"Hq={heads} and Hkv={key_heads}." + errors.at_user_line()
        )
