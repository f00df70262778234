"""Functions and classes of `torch.distributed` that clew does not have: using one raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from clew import errors


def refuse(name: str) -> NoReturn:
    """Raise the error about what is not there."""
    raise RuntimeError(
        f"{name}: clew does not have this part of torch.distributed" + errors.at_user_line()
    )


def refused(name: str) -> Callable[..., NoReturn]:
    """A function of a name that raises when it is called."""

    def function(*args: Any, **kwargs: Any) -> NoReturn:
        """Raises: clew does not have it."""
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
