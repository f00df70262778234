"""How tensors are printed, at the place where PyTorch defines it."""

from __future__ import annotations

from typing import Any

from clew.core.printing import get_printoptions, printoptions, set_printoptions
from clew.core.tensor import Tensor

__all__ = [
    "PRINT_OPTS", "_str", "_tensor_str", "get_printoptions", "printoptions", "set_printoptions",
]  # fmt: skip


class _PrintOptions:
    """The options in force, as attributes; assigning one sets it."""

    def __getattr__(self, name: str) -> Any:
        options = get_printoptions()
        if name not in options:
            raise AttributeError(name)
        return options[name]

    def __setattr__(self, name: str, value: Any) -> None:
        set_printoptions(**{name: value})


PRINT_OPTS = _PrintOptions()


def _str(self: Tensor, *, tensor_contents: Any = None) -> str:
    """A tensor as text."""
    return repr(self)


def _tensor_str(self: Tensor, indent: int) -> str:
    """The elements of a tensor as text."""
    text = repr(self.detach()).removeprefix("tensor(")
    return text[: text.rindex("]") + 1] if self.dim() else text.partition(",")[0].rstrip(")")
