"""Anomaly mode: backward checks each gradient for NaN and names the forward line it came from."""

from __future__ import annotations

from copy import copy
from sys import _getframe
from typing import Any

from clew.autograd.grad_mode import _Mode
from clew.core.state import local
from clew.interrupts import enters_block, uninterrupted


class set_detect_anomaly(_Mode):
    """Switch anomaly mode on or off at once; as a context manager, switch back at its end.

    Args:
        mode: whether anomaly mode is on
        check_nan: whether backward checks gradients for NaN

    Example:
        >>> with clew.autograd.set_detect_anomaly(True):
        ...     clew.is_anomaly_enabled()
        True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.mode, self.check_nan = bool(mode), bool(check_nan)
        self._before: Any = None
        if not enters_block(_getframe(1)):
            self._switch()

    def clone(self) -> set_detect_anomaly:
        # One that has not switched yet: `with` does it.
        made = copy(self)
        made._before = None
        return made

    def _switch(self) -> None:
        state = local.state
        if self._before is None:
            self._before = state.anomaly, state.anomaly_check_nan
        state.anomaly, state.anomaly_check_nan = self.mode, self.check_nan

    def __enter__(self) -> None:
        self._switch()

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        state = local.state
        state.anomaly, state.anomaly_check_nan = self._before


class detect_anomaly(_Mode):
    """Check gradients for NaN inside; the error names the forward line of the node.

    Args:
        check_nan: whether backward checks gradients for NaN

    Example:
        >>> x = clew.tensor(0., requires_grad=True)
        >>> with clew.autograd.detect_anomaly():
        ...     (x.sqrt() * 0).backward()
        Traceback (most recent call last):
        ...
        RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output...
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        self._before: Any = None

    def clone(self) -> detect_anomaly:
        return type(self)(self.check_nan)

    def __enter__(self) -> None:
        state = local.state
        self._before = state.anomaly, state.anomaly_check_nan, self._before
        state.anomaly, state.anomaly_check_nan = True, self.check_nan

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        state = local.state
        state.anomaly, state.anomaly_check_nan, self._before = self._before


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on in this thread."""
    return local.state.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Whether backward checks gradients for NaN, if anomaly mode is on."""
    return local.state.anomaly_check_nan
