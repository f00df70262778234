"""The layers of a transformer: attention and a feed-forward network, with residual connections."""

# ruff: noqa: RUF012  (`__constants__` is a list, as in PyTorch)

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.nn import functional as F
from clew.nn.modules.activation import GELU, ReLU
from clew.nn.modules.attention import MultiheadAttention
from clew.nn.modules.dropout import Dropout
from clew.nn.modules.linear import Linear
from clew.nn.modules.module import Module
from clew.nn.modules.normalization import LayerNorm
from clew.ops.create.constants import full
from clew.ops.nn.multihead_attention import additive_mask

Activation = str | Callable[[Tensor], Tensor]


def _causal_mask(size: int, device: Any = None, dtype: Any = None) -> Tensor:
    """Minus infinity above the diagonal: no step sees a later one."""
    result: Tensor = full((size, size), -math.inf, dtype=dtype, device=device).triu(1)
    return result


def _is_causal(mask: Tensor | None, hint: bool | None, length: int) -> bool:
    """Whether a mask hides just the later steps: by the caller's word, or by comparison."""
    if hint is not None or mask is None:
        return bool(hint)
    if mask.shape[-2:] != (length, length) or mask.dim() != 2:
        return False
    return bool((mask == _causal_mask(length, dtype=mask.dtype)).all())


def _length_of(tensor: Tensor, batch_first: bool) -> int:
    if tensor._is_unstrided:
        # Components of a nested tensor differ in length: no mask is causal for all.
        return -1
    size: int = tensor.size(1 if batch_first and tensor.dim() == 3 else 0)
    return size


def _get_activation_fn(activation: Activation) -> Callable[[Tensor], Tensor]:
    if not isinstance(activation, str):
        return activation
    known: dict[str, Any] = {"relu": F.relu, "gelu": F.gelu}
    if activation not in known:
        raise RuntimeError(
            f"activation should be relu/gelu, not {activation}\n  Any other function can be passed "
            "itself, for example activation=torch.tanh." + errors.at_user_line()
        )
    function: Callable[[Tensor], Tensor] = known[activation]
    return function


class _Layer(Module):
    """What encoder and decoder layers have in common: feed-forward part, norms and dropouts."""

    __constants__ = ["norm_first"]

    _attentions: tuple[str, ...]
    self_attn: MultiheadAttention
    norm_first: bool
    activation: Any

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = {"bias": bias, "device": device, "dtype": dtype}
        for name in self._attentions:
            attention = MultiheadAttention(
                d_model, nhead, dropout, batch_first=batch_first, **options
            )
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **options)
        self.norm_first = norm_first
        # One norm and one dropout for each attention, and for the feed-forward part.
        parts = range(1, len(self._attentions) + 2)
        for number in parts:
            setattr(self, f"norm{number}", LayerNorm(d_model, eps=layer_norm_eps, **options))
        for number in parts:
            setattr(self, f"dropout{number}", Dropout(dropout))
        self.activation = _get_activation_fn(activation)

    def _part(self, x: Tensor, norm: Module, block: Callable[[Tensor], Tensor]) -> Tensor:
        """One residual part, normalised before the block or after the sum."""
        if self.norm_first:
            return x + block(norm(x))
        result: Tensor = norm(x + block(x))
        return result

    def _sa_block(
        self,
        x: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        out = self.self_attn(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False,
            is_causal=is_causal,
        )[0]  # fmt: skip
        result: Tensor = self.dropout1(out)
        return result

    def _feed_forward(self, x: Tensor, last_dropout: Module) -> Tensor:
        hidden = self.dropout(self.activation(self.linear1(x)))
        result: Tensor = last_dropout(self.linear2(hidden))
        return result


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network, each with a residual connection.

    Args:
        d_model: the number of features
        nhead: the number of heads, which divides `d_model`
        dim_feedforward: the number of features inside the feed-forward network
        dropout: how likely elements are dropped while training
        activation: between its two layers: "relu", "gelu" or a function
        layer_norm_eps: what the norms add to the variance
        batch_first: whether the batch is the first dimension
        norm_first: whether the norms come before attention and network, not after
        bias: whether linear layers and norms have a bias
        device, dtype: of the parameters

    Shape: (L, N, d_model), or (N, L, d_model) with `batch_first`, the same out

    Example:
        >>> layer = nn.TransformerEncoderLayer(d_model=8, nhead=2, batch_first=True)
        >>> layer(clew.zeros(3, 5, 8)).shape
        torch.Size([3, 5, 8])
    """

    _attentions = ("self_attn",)

    @property
    def activation_relu_or_gelu(self) -> int:
        """1 for relu, 2 for gelu, 0 for any other activation."""
        if self.activation is F.relu or isinstance(self.activation, ReLU):
            return 1
        return 2 if self.activation is F.gelu or isinstance(self.activation, GELU) else 0

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        padding = additive_mask(
            src_key_padding_mask, "src_key_padding_mask", src.dtype, src_mask, "src_mask"
        )
        mask = additive_mask(src_mask, "src_mask", src.dtype)
        x = self._part(
            src, self.norm1, lambda x: self._sa_block(x, mask, padding, is_causal=is_causal)
        )
        return self._part(x, self.norm2, self._ff_block)

    def _ff_block(self, x: Tensor) -> Tensor:
        return self._feed_forward(x, self.dropout2)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output, and a feed-forward network.

    Args:
        d_model: the number of features
        nhead: the number of heads, which divides `d_model`
        dim_feedforward: the number of features inside the feed-forward network
        dropout: how likely elements are dropped while training
        activation: between its two layers: "relu", "gelu" or a function
        layer_norm_eps: what the norms add to the variance
        batch_first: whether the batch is the first dimension
        norm_first: whether the norms come before attention and network, not after
        bias: whether linear layers and norms have a bias
        device, dtype: of the parameters

    Shape: targets (T, N, d_model) and memory (S, N, d_model), batch first with `batch_first`, to
        the shape of the targets

    Example:
        >>> layer = nn.TransformerDecoderLayer(d_model=8, nhead=2, batch_first=True)
        >>> target, memory = clew.zeros(3, 4, 8), clew.zeros(3, 5, 8)
        >>> layer(target, memory).shape
        torch.Size([3, 4, 8])
    """

    _attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        x = self._part(
            tgt,
            self.norm1,
            lambda x: self._sa_block(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal),
        )
        x = self._part(
            x,
            self.norm2,
            lambda x: self._mha_block(
                x, memory, memory_mask, memory_key_padding_mask, memory_is_causal
            ),
        )
        return self._part(x, self.norm3, self._ff_block)

    def _mha_block(
        self,
        x: Tensor,
        mem: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        out = self.multihead_attn(
            x, mem, mem, attn_mask=attn_mask, key_padding_mask=key_padding_mask,
            is_causal=is_causal, need_weights=False,
        )[0]  # fmt: skip
        result: Tensor = self.dropout2(out)
        return result

    def _ff_block(self, x: Tensor) -> Tensor:
        return self._feed_forward(x, self.dropout3)
