"""`clew.compile`: a function, or a module, that is captured once and then replayed natively."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from clew.backend import dtypes
from clew.compiler.capture import Capture
from clew.compiler.checking import checked_replay
from clew.compiler.memory_report import MemoryCurve
from clew.compiler.module import Compiled
from clew.compiler.program import Mismatch
from clew.compiler.report import explained, profiled
from clew.compiler.side_effects import has_hooks, likeness, root_of
from clew.compiler.trace import Trace, capture_call
from clew.core.interception import installed
from clew.core.state import local
from clew.core.storage import INFERENCE
from clew.core.tensor import Tensor
from clew.errors import at_user_line
from clew.forking import add_lock
from clew.memory import MemoryBudgetError, size_text
from clew.observer import active
from clew.utils._pytree import tree_flatten

# How many traces a function may have before it runs eagerly for good.
RECOMPILE_LIMIT = 8
# How often calls of one kind are captured in vain before they run eagerly.
ATTEMPTS = 2
# With `check=True`, how many replays are compared with an eager run.
CHECKED_REPLAYS = 3

Key = tuple[Any, ...]
F = TypeVar("F", bound=Callable[..., Any])

# All compiled functions that are alive, for `reset`.
_ALL: weakref.WeakSet[CompiledFunction] = weakref.WeakSet()


class CannotCompile(RuntimeError):
    """A function that must be compiled whole (`fullgraph=True`) cannot be."""


class Event:
    """One attempt to compile: why it was made, and what came of it."""

    __slots__ = ("problem", "reason", "seconds", "shapes", "trace")

    def __init__(self, reason: str, shapes: str) -> None:
        self.reason = reason
        self.shapes = shapes
        self.problem: str | None = None
        self.trace: Trace | None = None
        self.seconds = 0.0

    def __str__(self) -> str:
        what = "compiled" if self.problem is None else f"runs eagerly: {self.problem}"
        return f"{self.shapes}: {self.reason}; {what}"


class CompiledFunction(Compiled):
    """What `clew.compile` returns for a function: it is called as the function is."""

    def __init__(
        self,
        function: Callable[..., Any],
        fullgraph: bool,
        limit: int | None,
        check: bool,
        memory: int | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.fullgraph = fullgraph
        self.limit = RECOMPILE_LIMIT if limit is None else limit
        # How many replays are still compared with an eager run.
        self.checks = CHECKED_REPLAYS if check else 0
        # The bytes that replays may use.
        self.memory = memory
        self.events: list[Event] = []
        self._traces: dict[Key, list[Trace]] = {}
        # Calls of this kind run eagerly: they cannot be captured, or there were too many traces.
        self._eager: dict[Key, str] = {}
        self._refused: dict[Key, int] = {}
        self._lock = add_lock(self, "_lock", threading.Lock)
        _ALL.add(self)

    @property
    def name(self) -> str:
        """The name of the function."""
        return str(getattr(self.function, "__qualname__", type(self.function).__name__))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        state = local.state
        if _must_be_eager(state) or Stance.now == "force_eager":
            if active.observer is not None:
                active.observer.compiled_function_called(self.name)
            return self.function(*args, **kwargs)
        tensors, key, roots = _signature(args, kwargs)
        reason = "the first call"
        for trace in self._traces.get(key, ()):
            mismatch = trace.matches(tensors)
            if mismatch is None:
                try:
                    if self.checks:
                        self.checks -= 1
                        return checked_replay(trace, tensors, args, kwargs)
                    return trace.replay(tensors, args, kwargs)
                except Mismatch:
                    mismatch = "a value that Python reads has changed"
            reason = mismatch
        if self.memory is not None and key in self._eager:
            raise MemoryBudgetError(self._eager[key] + at_user_line())
        if key in self._eager or (Stance.now == "eager_on_recompile" and self.events):
            return self.function(*args, **kwargs)
        if Stance.now == "fail_on_recompile" and self.events:
            raise RuntimeError(
                f"Detected recompile when torch.compile stance is 'fail_on_recompile': {reason}"
                + at_user_line()
            )
        return self._compile(key, tensors, roots, reason, args, kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def _compile(
        self, key: Key, tensors: list[Tensor], roots: Sequence[Any], reason: str, args: Any,
        kwargs: Any,
    ) -> Any:  # fmt: skip
        with self._lock:
            count = sum(len(each) for each in self._traces.values())
            if count >= self.limit:
                self._give_up(key, f"the limit of {self.limit} traces is reached: {reason}")
                return self.function(*args, **kwargs)
        if count and reason == "the first call":
            reason = "other shapes, dtypes or arguments"
        event = Event(reason, ", ".join(_shape_text(each) for each in tensors) or "no tensors")
        self.events.append(event)
        try:
            result, trace, problem = capture_call(
                self.function, roots, tensors, args, kwargs, self.memory
            )
        except MemoryBudgetError as error:
            event.problem = self._eager[key] = str(error)
            raise MemoryBudgetError(str(error) + at_user_line()) from None
        except BaseException as error:
            event.problem = f"the call raises {type(error).__name__}"
            raise
        event.trace, event.problem = trace, problem
        with self._lock:
            if trace is None:
                # State that the first call makes is there in the second one.
                self._refused[key] = self._refused.get(key, 0) + 1
                if self._refused[key] >= ATTEMPTS or self.fullgraph:
                    self._give_up(key, problem or "it cannot be captured")
            else:
                self._traces.setdefault(key, []).insert(0, trace)
        return result

    def _give_up(self, key: Key, problem: str) -> None:
        if self.memory is not None:
            problem = (
                f"the call cannot be kept within {size_text(self.memory)} of memory, because it "
                f"cannot be compiled: {problem}"
            )
            self._eager[key] = problem
            raise MemoryBudgetError(problem + at_user_line())
        self._eager[key] = problem
        if self.fullgraph:
            raise CannotCompile(
                f"the function cannot be compiled whole: {problem}" + at_user_line()
            )

    def explain(self, detail: str = "graph") -> str:
        """What was compiled, why, and what runs eagerly.

        `detail` is "summary", "graph" (the instructions), "program" (the text that a replay runs),
        "kernels" (the expressions of fused kernels) or "llvm".
        """
        name = self.name
        return explained(name, self.events, detail)

    def profile(self, *args: Any, **kwargs: Any) -> str:
        """A call with a clock around every instruction: a table, the most expensive first."""
        self(*args, **kwargs)
        tensors, key, _ = _signature(args, kwargs)
        for trace in self._traces.get(key, ()):
            if trace.matches(tensors) is None:
                return profiled(trace, tensors)
        raise RuntimeError(
            "this call is not compiled, so there is nothing to time: explain() says why"
            + at_user_line()
        )

    def memory_curve(self, points: int = 8) -> MemoryCurve:
        """The time of a call against the memory that it may use: plans from most to least memory.

        The function must be compiled with `memory=` (`math.inf` if there is no limit), and called.
        """
        for event in reversed(self.events):
            if event.trace is not None and event.trace.planner is not None:
                return MemoryCurve(event.trace.planner.curve(points))
        raise RuntimeError(
            "memory_curve() is there once a function compiled with memory= was captured"
            + at_user_line()
        )

    def reset(self) -> None:
        """Forget all traces."""
        with self._lock:
            self._traces.clear()
            self._eager.clear()
            self._refused.clear()
            self.events.clear()


def _must_be_eager(state: Any) -> bool:
    """Whether somebody watches or changes what runs: then the function runs as it is written."""
    return bool(
        state.intercept is not None
        or active.observer is not None
        or state.saved_hooks
        or state.anomaly
        or state.function_modes
        or state.transforms
        or state.dual
        or state.mutation_guard is not None
    )


def _signature(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Tensor], Key, list[Any]]:
    """The tensors among the arguments, what traces are looked up by, and other objects given."""
    leaves, spec = tree_flatten((args, kwargs)) if kwargs or not _flat(args) else (list(args), None)
    tensors: list[Tensor] = []
    others: list[Any] = []
    roots: list[Any] = []
    roots_of: dict[int, int] = {}
    for leaf in leaves:
        if isinstance(leaf, Tensor):
            array, node = leaf._array, leaf._node
            root = id(array) if array.base is None else root_of(array)
            if root in roots_of:
                # In one memory: where each lies in there.
                others.append((roots_of[root], array.ctypes.data - tensors[-1]._array.ctypes.data))
            else:
                roots_of[root] = len(roots_of)
            others.append((
                array.shape, array.dtype, array.strides, leaf._requires_grad,
                node is None or node.is_accumulator, node is not None and has_hooks(leaf),
                type(leaf), None if leaf._grad is None else likeness(leaf._grad),
                leaf._storage is INFERENCE,
            ))  # fmt: skip
            tensors.append(leaf)
        elif isinstance(leaf, float | complex):
            # Zero has a sign.
            others.append((type(leaf), leaf if leaf else str(leaf)))
        elif isinstance(leaf, (bool, int, str, bytes, type(None), dtypes.dtype)):
            others.append((type(leaf), leaf))
        else:
            others.append(id(leaf))
            roots.append(leaf)
    state = local.state
    casting = state.autocast
    modes = (
        state.grad_enabled, state.inference, dtypes.get_default_dtype(),
        None if casting is None else (casting.dtype["cpu"], casting.cache_enabled),
    )  # fmt: skip
    return tensors, (spec, tuple(others), modes), roots


def _flat(args: tuple[Any, ...]) -> bool:
    return all(isinstance(each, Tensor) for each in args)


def _shape_text(tensor: Tensor) -> str:
    return f"{tensor.dtype}{list(tensor._array.shape)}".removeprefix("torch.")


class Stance:
    """How compiled functions behave: for good, or inside of a `with` block."""

    now = "default"
    KNOWN = ("default", "force_eager", "eager_on_recompile", "fail_on_recompile",
             "eager_then_compile", "aot_eager_then_compile")  # fmt: skip

    def __init__(self, stance: str) -> None:
        if stance not in self.KNOWN:
            raise RuntimeError(f"invalid torch.compile stance '{stance}'" + at_user_line())
        self.before = Stance.now
        Stance.now = stance

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        Stance.now = self.before

    def __call__(self, function: F) -> F:
        stance, Stance.now = Stance.now, self.before

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with Stance(stance):
                return function(*args, **kwargs)

        return inside  # type: ignore[return-value]  # it is called as the function is


def not_captured(function: F, reason: str | None) -> F:
    """A function that ends the capture of whatever calls it."""

    @functools.wraps(function)
    def outside(*args: Any, **kwargs: Any) -> Any:
        capture = installed(Capture)
        if capture is not None:
            name = getattr(function, "__name__", type(function).__name__)
            capture.refuse(f"{name} is not to be compiled" + (f" ({reason})" if reason else ""))
        return function(*args, **kwargs)

    return outside  # type: ignore[return-value]  # it is called as the function is


def reset_all() -> None:
    """Forget the traces of all functions."""
    for each in list(_ALL):
        each.reset()
