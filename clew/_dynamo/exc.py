"""Errors of a compiler: for `except`. Only `UserError` is raised, by `torch.export`."""

from __future__ import annotations

__all__ = [
    "BackendCompilerFailed", "FailOnRecompileLimitHit", "InternalTorchDynamoError",
    "RecompileError", "TorchDynamoException", "TorchRuntimeError", "Unsupported", "UserError",
]  # fmt: skip


class TorchDynamoException(RuntimeError):
    """Any error of the compiler."""


class InternalTorchDynamoError(TorchDynamoException):
    """A fault of the compiler itself."""


class BackendCompilerFailed(TorchDynamoException):
    """A backend has failed."""


class Unsupported(TorchDynamoException):
    """The program does what cannot be compiled."""


class UserError(Unsupported):
    """The program asked for something wrong."""


class TorchRuntimeError(TorchDynamoException):
    """An operation has failed while it was traced."""


class RecompileError(TorchDynamoException):
    """A function was compiled again."""


class FailOnRecompileLimitHit(Exception):
    """A function was compiled too often."""
