"""`torch.ops.NAMESPACE.NAME`: operations by their qualified names, with overloads.

An `OpOverload` is what is called, compared and hashed; an `OpOverloadPacket` has the overloads of
one name; an `OpNamespace` has the packets of one library. `clew.library` defines new ones, and
`clew.ops.aten` has those of clew's own operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew import errors


class OpOverload:
    """One overload of an operation; calling it runs the operation."""

    def __init__(
        self, packet: OpOverloadPacket, overload: str, call: Callable[..., Any], schema: Any = None
    ) -> None:
        self._overloadpacket = packet
        self._overload = overload
        self._call = call
        if schema is not None:
            self._schema = schema
        self.__name__ = f"{packet._opname}.{overload}"
        self.__qualname__ = self._name = packet._qualified + (
            "" if overload == "default" else f".{overload}"
        )
        self.__module__ = f"torch._ops.{packet._namespace}"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    @property
    def op(self) -> Callable[..., Any]:
        """What runs, by PyTorch's name for it."""
        return self._call

    @property
    def namespace(self) -> str:
        """The library: `aten` for clew's own operations."""
        return self._overloadpacket._namespace

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        """All overloads of this name."""
        return self._overloadpacket

    @property
    def _opname(self) -> str:
        return self._overloadpacket._opname

    @property
    def _overloadname(self) -> str:
        return self._overload

    def name(self) -> str:
        """`library::name`, and the overload unless it is the default one."""
        return self._name

    def __str__(self) -> str:
        return f"{self._overloadpacket._namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self._overloadpacket}', overload='{self._overload}')>"

    def __reduce__(self) -> Any:
        return getattr, (self._overloadpacket, self._overload)

    def __deepcopy__(self, memo: Any) -> OpOverload:
        return self


class OpOverloadPacket:
    """`torch.ops.aten.mul`: the overloads of one name are its attributes."""

    def __init__(self, namespace: str, name: str) -> None:
        self._namespace = namespace
        self._opname = self.__name__ = self.__qualname__ = name
        self.__module__ = f"torch.ops.{namespace}"
        self._qualified = self._qualified_op_name = f"{namespace}::{name}"
        self._overloads: dict[str, OpOverload] = {}

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        overloads = list(self._overloads.values())
        for overload in overloads[:-1]:
            # The first one whose schema, if it has one, takes the arguments runs.
            schema = getattr(overload, "_schema", None)
            if schema is None or schema.accepts(args, kwargs):
                return overload(*args, **kwargs)
        return overloads[-1](*args, **kwargs)

    @property
    def op(self) -> Callable[..., Any]:
        """What runs, by PyTorch's name for it."""
        return self.__call__

    def overloads(self) -> list[str]:
        """The names of the overloads."""
        return list(self._overloads)

    def __getattr__(self, overload: str) -> OpOverload:
        found = self.__dict__.get("_overloads", {}).get(overload)
        if found is None and overload.startswith("_"):
            raise AttributeError(f"'OpOverloadPacket' object has no attribute '{overload}'")
        if found is None:
            raise AttributeError(
                f"The underlying op of '{self}' has no overload name '{overload}'"
                + errors.at_user_line()
            )
        return found

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._overloads]

    def __str__(self) -> str:
        return f"{self._namespace}.{self._opname}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __reduce__(self) -> Any:
        return find_packet, (self._namespace, self._opname)

    def __deepcopy__(self, memo: Any) -> OpOverloadPacket:
        return self


class OpNamespace:
    """`torch.ops.mylib`: the operations of one library are its attributes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.__name__ = f"torch.ops.{name}"
        self._packets: dict[str, OpOverloadPacket] = {}

    def __getattr__(self, name: str) -> OpOverloadPacket:
        packets = self.__dict__.get("_packets", {})
        if name not in packets:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
        return packets[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._packets]

    def __repr__(self) -> str:
        return f"<module 'torch.ops.{self.name}' from 'torch.ops'>"

    def packet(self, name: str) -> OpOverloadPacket:
        """The overloads of a name, which may be new."""
        return self._packets.setdefault(name, OpOverloadPacket(self.name, name))

    def remove(self, packet: OpOverloadPacket, overload: str) -> None:
        """Forget an overload, and its name if it was the last one."""
        packet._overloads.pop(overload, None)
        if not packet._overloads:
            self._packets.pop(packet._opname, None)


NAMESPACES: dict[str, Any] = {}


def namespace(name: str) -> Any:
    """The library of a name, which may be new."""
    found = NAMESPACES.get(name)
    return NAMESPACES.setdefault(name, OpNamespace(name)) if found is None else found


def find_packet(library: str, name: str) -> OpOverloadPacket:
    """The overloads of a qualified name; an AttributeError if there is none."""
    found: OpOverloadPacket = getattr(namespace(library), name)
    return found


def answer_torchaudio() -> None:
    """What torchaudio asks its compiled part when it is imported: the GPU's version, alignment."""
    for name, value in (("cuda_version", None), ("is_align_available", False)):
        packet = namespace("_torchaudio").packet(name)
        packet._overloads["default"] = OpOverload(packet, "default", lambda value=value: value)
