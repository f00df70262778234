"""Multi-head attention as a layer."""

# ruff: noqa: RUF012  (`__constants__` is a list, as in PyTorch)

from __future__ import annotations

from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.nn import functional as F
from clew.nn import init
from clew.nn.modules.linear import NonDynamicallyQuantizableLinear
from clew.nn.modules.module import Module
from clew.nn.parameter import Parameter
from clew.ops.create.constants import empty
from clew.ops.nn.multihead_attention import additive_mask

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Attention of several heads over (L, N, E), or (N, L, E) with `batch_first`, or (L, E).

    Args:
        embed_dim: the number of features of queries and outputs
        num_heads: the number of heads, which divides `embed_dim`
        dropout: how likely attention weights are dropped while training
        bias: whether the projections have biases
        add_bias_kv: add a trained key and value to every sequence
        add_zero_attn: add a key and value of zeros to every sequence
        kdim: the number of features of keys; None is `embed_dim`
        vdim: that of values; None is `embed_dim`
        batch_first: whether the batch is the first dimension
        device, dtype: of the parameters

    Shape: queries (L, N, E), keys (S, N, kdim) and values (S, N, vdim) to the outputs (L, N, E) and
        the attention weights (N, L, S)

    Example:
        >>> attention = nn.MultiheadAttention(8, num_heads=2, batch_first=True)
        >>> x = clew.zeros(3, 5, 8)
        >>> output, weights = attention(x, x, x)
        >>> output.shape, weights.shape
        (torch.Size([3, 5, 8]), torch.Size([3, 5, 5]))
    """

    __constants__ = ["batch_first"]

    embed_dim: int
    num_heads: int
    out_proj: NonDynamicallyQuantizableLinear
    bias_k: Tensor | None
    bias_v: Tensor | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                f"num_heads={num_heads} instead" + errors.at_user_line()
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError(
                "embed_dim must be divisible by num_heads\n"
                f"  It is {embed_dim}, for {num_heads} heads." + errors.at_user_line()
            )
        self._add_projections(bias, device, dtype)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        if add_bias_kv:
            self.bias_k = Parameter(empty((1, 1, embed_dim), device=device, dtype=dtype))
            self.bias_v = Parameter(empty((1, 1, embed_dim), device=device, dtype=dtype))
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _add_projections(self, bias: bool, device: Any, dtype: Any) -> None:
        """One matrix for queries, keys and values, or three where their sizes differ."""
        width = self.embed_dim
        shapes: dict[str, tuple[int, ...] | None] = {
            "in_proj_weight": None,
            "q_proj_weight": None,
            "k_proj_weight": None,
            "v_proj_weight": None,
            "in_proj_bias": (3 * width,) if bias else None,
        }
        if self._qkv_same_embed_dim:
            shapes["in_proj_weight"] = (3 * width, width)
        else:
            for name, size in (("q", width), ("k", self.kdim), ("v", self.vdim)):
                shapes[f"{name}_proj_weight"] = (width, size)
        for name, shape in shapes.items():
            if shape is None:
                self.register_parameter(name, None)
            else:
                setattr(self, name, Parameter(empty(shape, device=device, dtype=dtype)))

    def _reset_parameters(self) -> None:
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            weight = getattr(self, name)
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        key_padding_mask = additive_mask(
            key_padding_mask, "key_padding_mask", query.dtype, attn_mask, "attn_mask"
        )
        attn_mask = additive_mask(attn_mask, "attn_mask", query.dtype)
        batch_first = self.batch_first and query.dim() == 3
        if batch_first:
            query, key, value = _time_first(query, key, value)
        out, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight,
            self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn, self.dropout,
            self.out_proj.weight, self.out_proj.bias, training=self.training,
            key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight, k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight, average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )  # fmt: skip
        return out.transpose(1, 0) if batch_first else out, weights


def _time_first(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(L, N, E) of each; what was one tensor stays one, and then needs one projection only."""
    transposed: dict[int, Tensor] = {}
    for each in (query, key, value):
        if id(each) not in transposed:
            transposed[id(each)] = each.transpose(1, 0) if each.dim() > 1 else each
    return transposed[id(query)], transposed[id(key)], transposed[id(value)]
