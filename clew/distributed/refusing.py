"""Functions and classes of `torch.distributed` that need several processes: using one raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from clew import errors


def refuse(name: str) -> NoReturn:
    """Raise the error about what needs several processes."""
    raise RuntimeError(
        f"{name}: clew trains in one process and has no torch.distributed: ask "
        "torch.distributed.is_available() first." + errors.at_user_line()
    )


def refused(name: str) -> Callable[..., NoReturn]:
    """A function of a name that raises when it is called."""

    def function(*args: Any, **kwargs: Any) -> NoReturn:
        """Raises: it needs several processes."""
        refuse(name)

    function.__name__ = function.__qualname__ = name
    return function


class Refused:
    """Base of classes for imports, annotations and `isinstance`: making an object raises."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        refuse(type(self).__name__)


def refused_class(name: str, module: str, base: type = Refused) -> Any:
    """A class of a name whose objects cannot be made."""
    doc = "Exists for imports and `isinstance`; making one raises."
    return type(name, (base,), {"__module__": module, "__doc__": doc})
