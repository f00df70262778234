"""What activation functions as layers have in common."""

# ruff: noqa: RUF012  (`__constants__` is a list, as in PyTorch)

from __future__ import annotations

from clew.nn.modules.module import Module


class _Activation(Module):
    """A layer whose settings are its `__constants__`; its repr names them."""

    __constants__: list[str] = []

    def extra_repr(self) -> str:
        settings = [
            f"{name}={getattr(self, name)!r}" for name in self.__constants__ if name != "inplace"
        ]
        if getattr(self, "inplace", False):
            settings.append("inplace=True")
        return ", ".join(settings)


class _InplaceActivation(_Activation):
    """An activation with no setting but `inplace`: overwrite the input with the result."""

    __constants__ = ["inplace"]
    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
