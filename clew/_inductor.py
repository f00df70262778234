"""PyTorch's name for the back of its compiler, whose settings some programs change."""

from __future__ import annotations

from types import SimpleNamespace

__all__ = ["config"]

# What programs set here is kept, and nothing reads it.
config = SimpleNamespace(
    triton=SimpleNamespace(unique_kernel_names=False, cudagraphs=False),
    coordinate_descent_tuning=False,
    fx_graph_cache=True,
)
