"""Causal masks for attention whose numbers of queries and keys differ."""

from __future__ import annotations

import enum
import warnings
from typing import Any

import numpy as np

from clew import errors
from clew.core.overrides import disabled
from clew.core.tensor import Tensor, retyped, wrap
from clew.source import user_stacklevel


class CausalVariant(enum.IntEnum):
    """Which corner of the mask the diagonal starts in, or ends in.

    Example:
        >>> nn.attention.bias.causal_lower_right(2, 4).variant.name
        'LOWER_RIGHT'
    """

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A causal mask, True where a query may look at a key; `causal_upper_left` makes one.

    Args:
        variant: which corner the diagonal belongs to
        seq_len_q: the number of queries
        seq_len_kv: the number of keys

    Example:
        >>> bias = nn.attention.bias
        >>> bias.CausalBias(bias.CausalVariant.LOWER_RIGHT, 2, 3)
        tensor([[ True,  True, False],
                [ True,  True,  True]])
    """

    __torch_function__ = disabled
    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> Any:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(
                f"variant must be a CausalVariant, got {type(variant).__name__}"
                + errors.at_user_line()
            )
        shift = 0
        if variant is CausalVariant.LOWER_RIGHT:
            shift = seq_len_kv - seq_len_q
            if shift < 0:
                warnings.warn(
                    "Lower right causal bias will produce NaNs in the output when seq_len_q > "
                    "seq_len_kv! (In clew such queries get zeros.)",
                    stacklevel=user_stacklevel(),
                )
        result: Any = retyped(wrap(np.tri(seq_len_q, seq_len_kv, shift, dtype=np.bool_)), cls)
        result.variant, result.seq_len_q, result.seq_len_kv = variant, seq_len_q, seq_len_kv
        return result

    def _materialize(self, device: Any = None) -> Tensor:
        return wrap(self._array.copy())

    def __repr__(self) -> str:
        return repr(self._materialize())


def causal_upper_left(*size: int) -> CausalBias:
    """A mask whose diagonal starts in the upper left corner, as with `is_causal=True`.

    Args:
        size: the numbers of queries and of keys

    Example:
        >>> nn.attention.bias.causal_upper_left(2, 3)
        tensor([[ True, False, False],
                [ True,  True, False]])
    """
    return _made(CausalVariant.UPPER_LEFT, "causal_upper_left", size)


def causal_lower_right(*size: int) -> CausalBias:
    """A mask whose diagonal ends in the lower right corner: the last query sees all keys.

    Args:
        size: the numbers of queries and of keys

    Example:
        >>> nn.attention.bias.causal_lower_right(2, 3)
        tensor([[ True,  True, False],
                [ True,  True,  True]])
    """
    return _made(CausalVariant.LOWER_RIGHT, "causal_lower_right", size)


def _made(variant: CausalVariant, name: str, size: tuple[int, ...]) -> CausalBias:
    if len(size) != 2:
        raise AssertionError(f"{name} only supports 2D tensors" + errors.at_user_line())
    made: CausalBias = CausalBias(variant, *size)
    return made
