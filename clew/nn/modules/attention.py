"""Multi-head attention as a layer."""

# ruff: noqa: RUF012  (`__constants__` is a list, as in PyTorch)

from __future__ import annotations

from typing import Any

from clew import errors
from clew.backend.layout import strided
from clew.core.state import local
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
        if query._is_unstrided or key._is_unstrided or value._is_unstrided:
            has_mask = key_padding_mask is not None or attn_mask is not None
            return self._of_components(query, key, value, has_mask, need_weights)
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

    def _of_components(
        self, query: Tensor, key: Tensor, value: Tensor, has_mask: bool, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Self-attention within each component of a nested tensor, without gradients."""
        reason = self._why_not_nested(query, query is key is value, has_mask)
        if reason:
            raise AssertionError(
                "MultiheadAttention does not support NestedTensor outside of its fast path. The "
                f"fast path was not hit because {reason}\n  Linear layers and "
                "scaled_dot_product_attention take nested tensors of layout=torch.jagged, with "
                "gradients." + errors.at_user_line()
            )
        found = [
            self.forward(*(each.unsqueeze(0),) * 3, need_weights=need_weights)
            for each in query.unbind()
        ]
        outs = _nested([out[0] for out, _ in found])
        if not need_weights:
            return outs, None
        weights = [each[0] for _, each in found if each is not None]
        return outs, _nested(weights).to_padded_tensor(0.0)

    def _why_not_nested(self, query: Tensor, is_self: bool, has_mask: bool) -> str:
        """Why PyTorch would not take a nested tensor here; empty if it does."""
        weights = (self.in_proj_weight, self.in_proj_bias, self.out_proj.weight, self.out_proj.bias)
        followed = [each for each in (query, *weights) if each is not None]
        reasons = {
            "non-self attention was used (query, key, and value are not the same Tensor)": is_self,
            "training is enabled": not self.training,
            "self.num_heads is not even": self.num_heads % 2 == 0,
            "batch_first was not True": self.batch_first,
            "self.bias_k was not None": self.bias_k is None,
            "add_zero_attn was enabled": not self.add_zero_attn,
            "_qkv_same_embed_dim was not True": self._qkv_same_embed_dim,
            "supplying both src_key_padding_mask and src_mask at the same time is not supported "
            "with NestedTensor input": not has_mask,
            "some Tensor argument has_torch_function": query.layout is strided,
            "grad is enabled and at least one of query or the input/output projection weights or "
            "biases requires_grad": not local.state.grad_enabled
            or not any(each.requires_grad for each in followed),
        }
        return next((reason for reason, holds in reasons.items() if not holds), "")


def _nested(tensors: list[Tensor]) -> Tensor:
    from clew.ops.nested.construction import as_nested_tensor

    return as_nested_tensor(tensors)


def _time_first(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(L, N, E) of each; what was one tensor stays one, and then needs one projection only."""
    transposed: dict[int, Tensor] = {}
    for each in (query, key, value):
        if id(each) not in transposed:
            transposed[id(each)] = each.transpose(1, 0) if each.dim() > 1 else each
    return transposed[id(query)], transposed[id(key)], transposed[id(value)]
