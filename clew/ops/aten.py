"""`torch.ops.aten`: names for operations, to compare with what a policy is asked about.

clew has one `Op` where PyTorch has overloads, so that all overloads of an operation are one name:
`aten.mul.Tensor` is `aten.mul.Scalar`. Operations that clew does not have get names, too: programs
list those of other devices.
"""

from __future__ import annotations

from clew.core.op import Op


class OpOverload:
    """The name of an operation."""

    def __init__(self, name: str) -> None:
        self._op = name
        self.__name__ = f"{name}.default"

    def name(self) -> str:
        return f"aten::{self._op}"

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='aten.{self._op}', overload='default')>"


class OpOverloadPacket:
    """`aten.mul`, whose attributes are its overloads."""

    def __init__(self, name: str) -> None:
        self._op = name
        self.default = OpOverload(name)

    def __getattr__(self, overload: str) -> OpOverload:
        if overload.startswith("_"):
            raise AttributeError(f"'OpOverloadPacket' object has no attribute '{overload}'")
        return self.default

    def __str__(self) -> str:
        return f"aten.{self._op}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='aten.{self._op}')>"


_packets: dict[str, OpOverloadPacket] = {}


def packet(name: str) -> OpOverloadPacket:
    found = _packets.get(name)
    if found is None:
        found = _packets.setdefault(name, OpOverloadPacket(name))
    return found


def __getattr__(name: str) -> OpOverloadPacket:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return packet(name)


def name_of(op: Op) -> OpOverload:
    """The name of an op: its variants, whose names have a dot, are the same operation."""
    return packet(op.name.split(".")[0]).default
