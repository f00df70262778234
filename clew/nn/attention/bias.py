"""Causal masks for `scaled_dot_product_attention`."""

from clew.ops.nn.attention_bias import (
    CausalBias,
    CausalVariant,
    causal_lower_right,
    causal_upper_left,
)

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]
