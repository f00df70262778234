"""`Stateful`: whatever has a state dict."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = ["Stateful"]


@runtime_checkable
class Stateful(Protocol):
    """Whatever has `state_dict` and `load_state_dict`."""

    def state_dict(self) -> dict[str, Any]:
        """The state, by name."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take a state."""
