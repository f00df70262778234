"""`torch.ops.clew`: clew's own operations by their own names and arguments, one `Op` each.

Exported graphs name them where an operation has no form among PyTorch's (`clew/export/forms.py`).
Variants of an operation, whose names have a dot, are its overloads.
"""

from __future__ import annotations

from typing import Any

from clew import errors
from clew.core.inplace import apply_inplace
from clew.core.op import OPS, Op
from clew.ops.namespaces import OpOverload, OpOverloadPacket


class RawOverload(OpOverload):
    """One `Op`, or its form that writes to its first input."""

    def __init__(self, packet: OpOverloadPacket, overload: str, op: Op, inplace: bool) -> None:
        super().__init__(packet, overload, op)
        self.raw = op
        self.inplace = inplace

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return (
            apply_inplace(self.raw, *args, **kwargs) if self.inplace else self.raw(*args, **kwargs)
        )


class RawPacket(OpOverloadPacket):
    """The variants of an operation of clew."""

    def __getattr__(self, overload: str) -> OpOverload:
        if overload.startswith("_"):
            raise AttributeError(f"'OpOverloadPacket' object has no attribute '{overload}'")
        if overload not in self._overloads:
            suffix = "" if overload == "default" else f".{overload}"
            for stem in (self._opname, self._opname.removesuffix("_")):
                op = OPS.get(stem + suffix)
                if op is not None:
                    inplace = stem != self._opname
                    self._overloads[overload] = RawOverload(self, overload, op, inplace)
                    break
            else:
                raise AttributeError(
                    f"clew has no operation '{self._opname}{suffix}'" + errors.at_user_line()
                )
        return self._overloads[overload]

    def __reduce__(self) -> Any:
        return packet, (self._opname,)


_packets: dict[str, RawPacket] = {}


def packet(name: str) -> RawPacket:
    """The variants of a name, the same object each time."""
    found = _packets.get(name)
    return _packets.setdefault(name, RawPacket("clew", name)) if found is None else found


def __getattr__(name: str) -> RawPacket:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return packet(name)


def overload_of(op: Op, inplace: bool = False) -> OpOverload:
    """The name of an operation."""
    name, _, variant = op.name.partition(".")
    found: OpOverload = getattr(packet(name + "_" * inplace), variant or "default")
    return found
