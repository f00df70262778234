"""Operations as handlers of `__torch_dispatch__` get them."""

from __future__ import annotations

from typing import Any

from clew.core.inplace import apply_inplace
from clew.core.meta import classes
from clew.core.op import Op
from clew.ops.aten import name_of, packet
from clew.ops.namespaces import OpOverloadPacket


class OpCall:
    """An operation as a handler gets it: equal to its name in `torch.ops.aten`, and callable."""

    __slots__ = ("_named", "inplace", "op")

    def __init__(self, op: Op, inplace: bool) -> None:
        self.op = op
        self.inplace = inplace
        self._named = name_of(op)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return apply_inplace(self.op, *args, **kwargs) if self.inplace else self.op(*args, **kwargs)

    @property
    def __name__(self) -> str:
        stem, _, overload = self._named.__name__.partition(".")
        return f"{stem}_.{overload}" if self.inplace else self._named.__name__

    @property
    def namespace(self) -> str:
        """The library: `aten`."""
        return "aten"

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        """All overloads of this name, as `torch.ops.aten` has them."""
        stem = self.__name__.partition(".")[0]
        return packet(stem) if self.inplace else self._named.overloadpacket

    _overloadpacket = overloadpacket

    def name(self) -> str:
        """`aten::name`."""
        return f"aten::{self.__name__.partition('.')[0]}"

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, OpCall):
            return self.op is other.op and self.inplace == other.inplace
        return not self.inplace and other == self._named

    def __hash__(self) -> int:
        return hash(self._named)


classes.calls[:] = [OpCall, lambda name: packet(name).default]
