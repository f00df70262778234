"""Where a model's quantized part begins and ends."""

from __future__ import annotations

from typing import Any

from clew.nn.modules.module import Module

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]


class QuantStub(Module):
    """Where the quantized part begins: gives back what it gets, until `convert`.

    Args:
        qconfig: the configuration; that of the model if it is not given
    """

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        return x


class DeQuantStub(QuantStub):
    """Where the quantized part ends: gives back what it gets."""


class QuantWrapper(Module):
    """A module between the two.

    Args:
        module: the module
    """

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.quant, self.dequant = QuantStub(), DeQuantStub()
        self.module = module
        qconfig = getattr(module, "qconfig", None)
        if qconfig is not None:
            self.quant.qconfig = qconfig
        self.train(module.training)

    def forward(self, X: Any) -> Any:
        return self.dequant(self.module(self.quant(X)))
