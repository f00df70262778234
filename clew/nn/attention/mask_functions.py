"""Functions that say which queries attend to which keys, and combinations of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew.backend import dtypes
from clew.core.tensor import Tensor

__all__ = ["and_masks", "noop_mask", "or_masks"]

MaskMod = Callable[..., Any]


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Every query attends to every key."""
    return batch.new_ones((), dtype=dtypes.bool_)


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """A query attends to a key if one of the functions says so.

    Args:
        mask_mods: the functions
    """
    _check(mask_mods)

    def either(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_zeros((), dtype=dtypes.bool_)
        for each in mask_mods:
            result = result | each(b, h, q_idx, kv_idx)
        return result

    return either


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """A query attends to a key if all of the functions say so.

    Args:
        mask_mods: the functions
    """
    _check(mask_mods)

    def both(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_ones((), dtype=dtypes.bool_)
        for each in mask_mods:
            result = result & each(b, h, q_idx, kv_idx)
        return result

    return both


def _check(mask_mods: tuple[Any, ...]) -> None:
    if not all(callable(each) for each in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")
