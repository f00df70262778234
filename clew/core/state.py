"""Per-thread state: grad mode, interceptors of operations, the module path.

One object per thread, fetched once per operation: reading a thread-local costs more than
everything else that an operation asks about itself.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from clew.core.storage import Storage
from clew.kernels.gemm.products import PendingProducts
from clew.kernels.runtime import aligned_allocator


class State:
    """The per-thread switches that an operation reads."""

    __slots__ = (
        "__weakref__",
        "anomaly",
        "anomaly_check_nan",
        "autocast",
        "backward_runs",
        "dual",
        "function_modes",
        "grad_enabled",
        "inference",
        "intercept",
        "last_backward",
        "module_path",
        "multithreading",
        "mutation_guard",
        "new_storage",
        "no_grad_reason",
        "overrides",
        "pending_products",
        "saved_hooks",
        "saved_hooks_disabled",
        "transforms",
    )

    def __init__(self) -> None:
        self.grad_enabled = True
        self.inference = False
        # Converts the arguments of functions that run in another dtype, or None.
        self.autocast: Any = None
        # Forward mode, tracing and the like see every operation before it runs, or None.
        self.intercept: Any = None
        self.saved_hooks: tuple[tuple[Callable[[Any], Any], Callable[[Any], Any]], ...] = ()
        # Why results made now have no history: set by whoever switched grad mode off.
        self.no_grad_reason: Any = None
        # Set while a dual level runs an operation: what it saves must keep its tangent.
        self.dual = False
        self.module_path: str | None = None
        self.anomaly = False
        self.anomaly_check_nan = True
        # The backward passes that this thread is in, outermost first.
        self.backward_runs: tuple[Any, ...] = ()
        # The last backward that accumulated gradients: its number in the order of nodes, and line.
        self.last_backward: Any = None
        # The asynchronous products of backward that may not be finished.
        self.pending_products: PendingProducts = []
        # Whether backward may leave work to other threads.
        self.multithreading = True
        self.saved_hooks_disabled: str | None = None
        # Sees every write before it happens (allow_mutation_on_saved_tensors), or None.
        self.mutation_guard: Any = None
        # How many function transforms (grad, vmap, ...) the running function is inside of.
        self.transforms = 0
        # The modes that take over functions, newest last; and what of it is in effect: see
        # `core/overrides.py`.
        self.function_modes: tuple[Any, ...] = ()
        self.overrides = 0
        # Makes the storage of a new tensor; inside of a transform it says where it was made.
        self.new_storage: Callable[[], Storage] = Storage


class _Local(threading.local):
    def __init__(self) -> None:
        # NumPy keeps its floating-point error mode per context, so each thread sets it once.
        # Infinities and NaNs are ordinary values here, as in PyTorch.
        np.seterr(all="ignore")
        aligned_allocator.use_in_this_thread()
        self.state = state = State()
        state.intercept = last_interceptor
        _states.add(state)


# The states of all threads, and the interceptor that stands behind all others in each of them.
_states: weakref.WeakSet[State] = weakref.WeakSet()
last_interceptor: Any = None


def every_state() -> list[State]:
    """The states of all threads that run."""
    return list(_states)


local = _Local()


def current() -> State:
    """The running thread's state."""
    return local.state


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
