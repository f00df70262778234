"""The Transformer: encoder and decoder layers, stacks of them, and the two together."""

# ruff: noqa: RUF012  (`__constants__` is a list, as in PyTorch)

from __future__ import annotations

import copy
import warnings
from typing import Any

from clew import errors
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.nn import functional as F
from clew.nn import init
from clew.nn.modules.container import ModuleList
from clew.nn.modules.module import Module
from clew.nn.modules.normalization import LayerNorm
from clew.nn.modules.transformer_layers import (
    Activation,
    TransformerDecoderLayer,
    TransformerEncoderLayer,
    _causal_mask,
    _get_activation_fn,  # noqa: F401  (packages take it from here)
    _is_causal,
    _length_of,
)
from clew.ops.nn.multihead_attention import additive_mask
from clew.source import user_stacklevel

__all__ = [
    "Transformer",
    "TransformerEncoder",
    "TransformerDecoder",
    "TransformerEncoderLayer",
    "TransformerDecoderLayer",
]


def _clones(layer: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


# -- stacks --------------------------------------------------------------------------------


class TransformerEncoder(Module):
    """Encoder layers one after another, and a norm at the end if one is given.

    In evaluation without gradients PyTorch runs a padded batch without its padding, and the padded
    positions of the result are zero; `enable_nested_tensor=False` turns that off.

    Args:
        encoder_layer: the layer that is copied
        num_layers: how many copies
        norm: the norm at the end
        enable_nested_tensor: whether padded positions may come out as zeros
        mask_check: check that the padding is at the end before that

    Shape: that of the layer's input

    Example:
        >>> layer = nn.TransformerEncoderLayer(d_model=8, nhead=2, batch_first=True)
        >>> nn.TransformerEncoder(layer, num_layers=2)(clew.zeros(3, 5, 8)).shape
        torch.Size([3, 5, 8])
    """

    __constants__ = ["norm"]

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        reason = _why_keep_padding(encoder_layer)
        self.use_nested_tensor = enable_nested_tensor and not reason
        if enable_nested_tensor and reason:
            warnings.warn(
                "enable_nested_tensor is True, but self.use_nested_tensor is False because "
                f"{reason}",
                stacklevel=user_stacklevel(),
            )

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        padding = additive_mask(
            src_key_padding_mask, "src_key_padding_mask", src.dtype, mask, "mask"
        )
        mask = additive_mask(mask, "mask", src.dtype)
        without_padding = padding is not None and mask is None and self._drops(src, padding)
        batch_first = getattr(getattr(self.layers[0], "self_attn", None), "batch_first", False)
        causal = _is_causal(mask, is_causal, _length_of(src, batch_first))
        out = src
        for layer in self.layers:
            out = layer(out, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        if without_padding and padding is not None:
            out = out.masked_fill((padding != 0).unsqueeze(-1), 0.0)
        return out if self.norm is None else self.norm(out)

    def _drops(self, src: Tensor, padding: Tensor) -> bool:
        """Whether this is a case in which the padding takes no part, and comes back as zeros."""
        layer = self.layers[0]
        if not self.use_nested_tensor or layer.training or src.dim() != 3:
            return False
        followed = (src, *layer.parameters())
        if local.state.grad_enabled and any(each.requires_grad for each in followed):
            return False
        # Only padding after the sequences can be left out.
        return not self.mask_check or not bool(
            ((padding[:, 1:] == 0) & (padding[:, :-1] != 0)).any()
        )


def _why_keep_padding(layer: Module) -> str:
    """Which setting of a layer makes PyTorch run it with the padding, in PyTorch's words."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention = layer.self_attn
    reasons = {
        "encoder_layer.norm_first was True": layer.norm_first,
        "encoder_layer.self_attn.batch_first was not True"
        "(use batch_first for better inference performance)": not attention.batch_first,
        "encoder_layer.self_attn was passed bias=False": attention.in_proj_bias is None,
        "encoder_layer.activation_relu_or_gelu was not True": not layer.activation_relu_or_gelu,
        "encoder_layer.norm1.eps was not equal to encoder_layer.norm2.eps": (
            layer.norm1.eps != layer.norm2.eps
        ),
        "encoder_layer.self_attn.num_heads is odd": attention.num_heads % 2 == 1,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


class TransformerDecoder(Module):
    """Decoder layers one after another, and a norm at the end if one is given.

    Args:
        decoder_layer: the layer that is copied
        num_layers: how many copies
        norm: the norm at the end

    Shape: as the layer's

    Example:
        >>> layer = nn.TransformerDecoderLayer(d_model=8, nhead=2, batch_first=True)
        >>> decoder = nn.TransformerDecoder(layer, num_layers=2)
        >>> decoder(clew.zeros(3, 4, 8), clew.zeros(3, 5, 8)).shape
        torch.Size([3, 4, 8])
    """

    __constants__ = ["norm"]

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        length = _length_of(tgt, self.layers[0].self_attn.batch_first)
        causal = _is_causal(tgt_mask, tgt_is_causal, length)
        out = tgt
        for layer in self.layers:
            out = layer(
                out, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )  # fmt: skip
        return out if self.norm is None else self.norm(out)


class Transformer(Module):
    """Encoder and decoder of "Attention Is All You Need" (Vaswani et al., 2017).

    Args:
        d_model: the number of features
        nhead: the number of heads, which divides `d_model`
        num_encoder_layers, num_decoder_layers: how many layers of each
        dim_feedforward: the number of features inside the feed-forward networks
        dropout: how likely elements are dropped while training
        activation: inside the feed-forward networks: "relu", "gelu" or a function
        custom_encoder, custom_decoder: modules to use instead
        layer_norm_eps: what the norms add to the variance
        batch_first: whether the batch is the first dimension
        norm_first: whether the norms come before attention and network, not after
        bias: whether linear layers and norms have a bias
        device, dtype: of the parameters

    Shape: sources (S, N, d_model) and targets (T, N, d_model), batch first with `batch_first`, to
        the shape of the targets

    Example:
        >>> model = nn.Transformer(8, 2, 1, 1, batch_first=True)
        >>> model(clew.zeros(3, 5, 8), clew.zeros(3, 4, 8)).shape
        torch.Size([3, 4, 8])
        >>> model.generate_square_subsequent_mask(3)
        tensor([[0., -inf, -inf],
                [0., 0., -inf],
                [0., 0., 0.]])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        layer: tuple[Any, ...] = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias, device, dtype,
        )  # fmt: skip

        def last_norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = custom_encoder
        if custom_encoder is None:
            self.encoder = TransformerEncoder(
                TransformerEncoderLayer(*layer), num_encoder_layers, last_norm()
            )
        self.decoder = custom_decoder
        if custom_decoder is None:
            self.decoder = TransformerDecoder(
                TransformerDecoderLayer(*layer), num_decoder_layers, last_norm()
            )
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        self._check_sizes(src, tgt)
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        result: Tensor = self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )  # fmt: skip
        return result

    def _check_sizes(self, src: Tensor, tgt: Tensor) -> None:
        batch_dim = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch_dim) != tgt.size(batch_dim):
            raise RuntimeError(
                "the batch number of src and tgt must be equal\n"
                f"  They are {errors.shape_list(src.shape)} and {errors.shape_list(tgt.shape)}, "
                f"with batch_first={self.batch_first}." + errors.at_user_line()
            )
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError(
                "the feature number of src and tgt must be equal to d_model\n"
                f"  They have {src.size(-1)} and {tgt.size(-1)} features, and d_model is "
                f"{self.d_model}." + errors.at_user_line()
            )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """A mask that hides later steps: minus infinity above the diagonal, 0 elsewhere."""
        return _causal_mask(sz, device, dtype)
