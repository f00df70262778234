"""Modules whose forward is computed again in backward, as `utils.checkpoint` does."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from clew.nn.modules.module import Module
from clew.utils.checkpoint import checkpoint

__all__ = [
    "CheckpointImpl", "CheckpointWrapper", "apply_activation_checkpointing", "checkpoint_wrapper",
]  # fmt: skip


class CheckpointImpl(enum.Enum):
    """Which of the two ways of checkpointing."""

    REENTRANT, NO_REENTRANT = range(1, 3)


class CheckpointWrapper(Module):
    """A module whose forward is computed again in backward.

    Args:
        mod: the module
        checkpoint_impl: which way
        checkpoint_fn: another function than `utils.checkpoint.checkpoint`
        checkpoint_fn_kwargs: its options
    """

    def __init__(
        self,
        mod: Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None,
        **checkpoint_fn_kwargs: Any,
    ) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self.checkpoint_impl = checkpoint_impl
        self._options = checkpoint_fn_kwargs
        self._function = checkpoint_fn or checkpoint
        if checkpoint_fn is None:
            self._options["use_reentrant"] = checkpoint_impl is CheckpointImpl.REENTRANT

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(self._checkpoint_wrapped_module, *args, **self._options, **kwargs)


def checkpoint_wrapper(
    module: Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., Any] | None = None,
    **checkpoint_fn_kwargs: Any,
) -> CheckpointWrapper:
    """A module whose forward is computed again in backward."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(
    model: Module,
    checkpoint_wrapper_fn: Callable[[Module], Module] = checkpoint_wrapper,
    check_fn: Callable[[Module], bool] = lambda module: True,
    auto_wrap_policy: Any = None,
) -> None:
    """Wrap the parts of a model that a function chooses, in their places."""
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if check_fn(child) and not isinstance(parent, CheckpointWrapper):
                setattr(parent, name, checkpoint_wrapper_fn(child))
