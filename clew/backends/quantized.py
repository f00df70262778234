"""Which engine computes with quantized tensors: none."""

from __future__ import annotations

__all__: list[str] = []

engine = "none"
supported_engines = ["none"]
