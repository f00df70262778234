"""What packages take from PyTorch's module of functions of nested tensors."""

from __future__ import annotations

from typing import Any

__all__ = ["extract_kwargs"]


def extract_kwargs(arg: Any) -> dict[str, Any]:
    """All but the values of a nested tensor, as keyword arguments of its class.

    Args:
        arg: a nested tensor of the jagged layout

    Example:
        >>> from clew.nested._internal.ops import extract_kwargs
        >>> x = clew.nested.nested_tensor([clew.ones(1), clew.ones(2)], layout=clew.jagged)
        >>> extract_kwargs(x)["offsets"]
        tensor([0, 1, 3])
    """
    return {
        "offsets": arg._offsets,
        "lengths": arg._lengths,
        "_metadata_cache": arg._metadata_cache,
        "_ragged_idx": arg._ragged_idx,
    }
