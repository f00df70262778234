"""The old place of functions of `torch.onnx`."""

from __future__ import annotations

__all__ = ["is_in_onnx_export"]


def is_in_onnx_export() -> bool:
    """Whether a model is being exported: no."""
    return False
