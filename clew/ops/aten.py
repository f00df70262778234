"""`torch.ops.aten`: clew's operations by PyTorch's internal names, to call and to compare.

clew has one `Op` where PyTorch has overloads, so that all overloads of an operation are equal:
`aten.mul.Tensor == aten.mul.Scalar`. They differ in their text only. Operations that clew does not
have get names, too: programs list those of other devices. Calling such a name raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew import errors
from clew.core.op import Op
from clew.core.public import FUNCTIONS
from clew.core.tensor import Tensor
from clew.ops.aten_signatures import SIGNATURES
from clew.ops.namespaces import OpOverload, OpOverloadPacket


class AtenOverload(OpOverload):
    """One overload of an operation, equal to all others of it."""

    def __eq__(self, other: object) -> bool:
        if isinstance(other, AtenOverload):
            return self._overloadpacket is other._overloadpacket
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self._overloadpacket)


class AtenPacket(OpOverloadPacket):
    """`aten.mul`, all of whose overloads are equal."""

    def __init__(self, name: str) -> None:
        super().__init__("aten", name)
        self.default = self._overloads["default"] = AtenOverload(self, "default", self._run)

    def _run(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    __call__ = _run

    @property
    def _function(self) -> Callable[..., Any]:
        """What the name stands for: the function of PyTorch's signature, or the public one."""
        name = self._opname
        found = SIGNATURES.get(name) or FUNCTIONS.get(name) or getattr(Tensor, name, None)
        if not callable(found):
            raise NotImplementedError(
                f"Could not run 'aten::{name}': clew does not have this operation by PyTorch's "
                "internal name. Call the public function instead." + errors.at_user_line()
            )
        return found

    def __getattr__(self, overload: str) -> OpOverload:
        if overload.startswith("_"):
            raise AttributeError(f"'OpOverloadPacket' object has no attribute '{overload}'")
        known = self._overloads.get(overload)
        made = AtenOverload(self, overload, self._run) if known is None else known
        return self._overloads.setdefault(overload, made)

    def __reduce__(self) -> Any:
        return packet, (self._opname,)


_packets: dict[str, OpOverloadPacket] = {}


def packet(name: str) -> OpOverloadPacket:
    """The name of an operation, the same object each time."""
    found = _packets.get(name)
    if found is None:
        found = _packets.setdefault(name, AtenPacket(name))
    return found


def __getattr__(name: str) -> OpOverloadPacket:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return packet(name)


def name_of(op: Op) -> OpOverload:
    """The name of an op: its variants, whose names have a dot, are the same operation."""
    return packet(op.name.split(".")[0]).default
