"""Helpers of rules for an ONNX export. Rules are never called, because `export` raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["parse_args", "quantized_args"]


def parse_args(*arg_descriptors: str) -> Callable[[Any], Any]:
    """A decorator that returns the rule itself."""
    return lambda function: function


def quantized_args(*arg_q_descriptors: bool, **kwargs: Any) -> Callable[[Any], Any]:
    """A decorator that returns the rule itself."""
    return lambda function: function
