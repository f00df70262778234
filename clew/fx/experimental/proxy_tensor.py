"""Tracing by tensors that stand for others: nothing is traced so."""

from __future__ import annotations

__all__ = ["get_proxy_mode"]


def get_proxy_mode() -> None:
    """The tracer that is at work: none."""
    return None
