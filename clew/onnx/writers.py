"""The table of what is written how, with all its parts."""

from clew.onnx import images, layers, pointwise, reductions, selecting, signals
from clew.onnx.operators import WRITERS
from clew.onnx.signals import COMPLEX

__all__ = [
    "COMPLEX", "WRITERS", "images", "layers", "pointwise", "reductions", "selecting", "signals",
]  # fmt: skip
