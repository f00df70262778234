"""Custom functions that several tests use, in either library."""

from __future__ import annotations

from typing import Any


def cube(torch: Any) -> Any:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 3 * x**2

    return Cube


def function(torch: Any, forward: Any, backward: Any) -> Any:
    """What calls a custom function of these two."""
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Custom", (torch.autograd.Function,), members).apply
