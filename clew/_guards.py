"""What packages ask about a compiler that traces with fake tensors."""

from __future__ import annotations

from typing import Any

from clew._subclasses.fake_tensor import FakeTensor, FakeTensorMode, active_mode
from clew.utils._pytree import tree_leaves

__all__ = ["TracingContext", "active_fake_mode", "detect_fake_mode"]


def active_fake_mode() -> FakeTensorMode | None:
    """The fake mode that the program is in, or None."""
    return active_mode()


def detect_fake_mode(inputs: Any = None) -> FakeTensorMode | None:
    """The fake mode that the program is in, or that of a fake tensor among the inputs."""
    mode = active_mode()
    if mode is None:
        for leaf in tree_leaves(inputs):
            if isinstance(leaf, FakeTensor):
                return leaf.fake_mode
    return mode


class TracingContext:
    """What is known of a trace by PyTorch's compiler: there is none."""

    @staticmethod
    def try_get() -> None:
        """The context of the running trace: none."""
        return None
