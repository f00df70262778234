"""The switch for checks of sparse tensors' indices."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from clew.ops.sparse.construction import Invariants


class check_sparse_tensor_invariants:
    """Whether making a sparse tensor looks at all of its indices: a context, a decorator, a switch.

    Args:
        enable: whether to look

    Example:
        >>> with clew.sparse.check_sparse_tensor_invariants():
        ...     clew.sparse_coo_tensor([[0, 5]], [1.0, 2.0], (3,))
        Traceback (most recent call last):
        ...
        RuntimeError: size is inconsistent with indices: for dim 0, size is 3 but found index 5
    """

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Whether indices are looked at."""
        return Invariants.enabled

    @staticmethod
    def enable() -> None:
        """Look at indices from now on."""
        Invariants.enabled = True

    @staticmethod
    def disable() -> None:
        """Look at them no longer."""
        Invariants.enabled = False

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context "
                "manager instance for context nesting."
            )
        self.saved_state = Invariants.enabled
        Invariants.enabled = self.state

    def __exit__(self, *exc: object) -> None:
        Invariants.enabled = bool(self.saved_state)
        self.saved_state = None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return wrapped
