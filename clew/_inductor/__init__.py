"""PyTorch's name for the back of its compiler, whose settings some programs change."""

from __future__ import annotations

from typing import Any

from clew._inductor import config

__all__ = ["config", "cudagraph_mark_step_begin", "list_mode_options", "list_options"]


def cudagraph_mark_step_begin() -> None:
    """Mark a step for CUDA graphs, of which there are none."""


def list_mode_options(mode: str | None = None, dynamic: bool | None = None) -> dict[str, Any]:
    """The settings that a mode of `compile` stands for: none."""
    return {}


def list_options() -> list[str]:
    """The settings of the compiler: none is read."""
    return []
