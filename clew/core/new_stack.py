"""Calls on the stack of a new thread, where nested calls come near Python's limit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from clew.core.state import State, local


def in_another_thread(state: State, function: Callable[..., Any], arguments: Any) -> Any:
    """Call a function with the stack of a new thread, in the state of this one, which waits."""
    outcome: list[Any] = []

    def run() -> None:
        own, local.state = local.state, state
        try:
            outcome.append((function(*arguments), None))
        except BaseException as error:  # raised again by the thread that waits
            outcome.append((None, error))
        finally:
            local.state = own

    thread = threading.Thread(target=run, name="clew-nested-backward")
    thread.start()
    interrupt: BaseException | None = None
    while thread.is_alive():
        try:
            thread.join()
        except BaseException as error:  # an interrupt comes when the pass is done
            interrupt = error
    result, failure = outcome[0]
    if interrupt is not None or failure is not None:
        raise interrupt or failure
    return result
