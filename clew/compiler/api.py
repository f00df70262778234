"""`clew.compile`: a function, or a module, that is captured once and then replayed natively."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from clew.backend import dtypes
from clew.compiler.capture import Capture
from clew.compiler.captured_call import capture_call, first_line
from clew.compiler.checking import checked_replay
from clew.compiler.memory_report import MemoryCurve
from clew.compiler.module import Compiled
from clew.compiler.program import Mismatch
from clew.compiler.reachable import is_without_strides
from clew.compiler.report import explained, profiled
from clew.compiler.side_effects import has_hooks, likeness, root_of
from clew.compiler.trace import Trace
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
# How many shapes have a trace at one time.
MOST_SHAPES = 64
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
        dynamic: bool | None = None,
        background: bool = False,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.fullgraph = fullgraph
        self.limit = RECOMPILE_LIMIT if limit is None else limit
        # How many replays are still compared with an eager run.
        self.checks = CHECKED_REPLAYS if check else 0
        # The bytes that replays may use.
        self.memory = memory
        # Whether traces of other shapes count, each of them.
        self.dynamic = dynamic
        # Whether calls run eagerly until another thread has compiled them; these threads.
        self.background = background
        self._working: weakref.WeakKeyDictionary[Trace, threading.Thread] = (
            weakref.WeakKeyDictionary()
        )
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
        tensors, key, roots, numbers = _signature(args, kwargs)
        reason = "the first call"
        for trace in self._traces.get(key, ()):
            mismatch = trace.matches(tensors, numbers)
            if mismatch is None:
                if not trace.is_compiled and not self._is_done(trace, tensors):
                    return self.function(*args, **kwargs)
                try:
                    if self.checks:
                        self.checks -= 1
                        return checked_replay(trace, tensors, args, kwargs, numbers)
                    return trace.replay(tensors, args, kwargs, numbers)
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
        return self._compile(key, tensors, roots, reason, args, kwargs, numbers)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def _compile(
        self, key: Key, tensors: list[Tensor], roots: Sequence[Any], reason: str, args: Any,
        kwargs: Any, numbers: tuple[float, ...],
    ) -> Any:  # fmt: skip
        with self._lock:
            count = self._count(key)
            if count >= self.limit:
                self._give_up(key, f"the limit of {self.limit} traces is reached: {reason}")
                return self.function(*args, **kwargs)
        if self._traces and reason == "the first call":
            reason = "other shapes, dtypes or arguments"
        event = Event(reason, ", ".join(_shape_text(each) for each in tensors) or "no tensors")
        self.events.append(event)
        try:
            result, trace, problem = capture_call(
                self.function, roots, tensors, args, kwargs, numbers, self.memory, self.background
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
                if self.background:
                    self._start(event, key, trace, tensors)
                while len(self._traces) > MOST_SHAPES:
                    # The shapes that came first, in a program that has ever new ones.
                    del self._traces[next(iter(self._traces))]
        return result

    def _start(self, event: Event, key: Key, trace: Trace, tensors: list[Tensor]) -> None:
        """Compile a trace in another thread."""

        def work() -> None:
            try:
                event.problem = trace.compile(tensors)
            except Exception as error:
                event.problem = f"compiling it raises {type(error).__name__}: {first_line(error)}"
            if event.problem is not None:
                event.trace = None
                with self._lock:
                    self._eager[key] = event.problem
                    if trace in self._traces.get(key, []):
                        self._traces[key].remove(trace)

        self._working[trace] = thread = threading.Thread(target=work, daemon=True)
        thread.start()

    def _is_done(self, trace: Trace, tensors: list[Tensor]) -> bool:
        """Whether the trace, which another thread compiles, is ready."""
        thread = self._working.get(trace)
        if thread is None or thread.is_alive():
            return trace.is_compiled
        # A forked process has this thread alone.
        if not trace.is_compiled:
            trace.compile(tensors)
        return trace.is_compiled

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until what compiles in the background is done, or some seconds; whether it is."""
        for thread in list(self._working.values()):
            thread.join(seconds)
        return not any(thread.is_alive() for thread in self._working.values())

    def _count(self, key: Key) -> int:
        """How many traces count: those that differ in shapes alone are one, unless told."""
        if self.dynamic is False:
            return sum(len(each) for each in self._traces.values())
        most: dict[Key, int] = {_without_shapes(key): 0}
        for other, traces in self._traces.items():
            kind = _without_shapes(other)
            # Of a new shape there is no trace yet.
            found = len(traces) if other == key or kind != _without_shapes(key) else 0
            most[kind] = max(most.get(kind, 0), found)
        return sum(most.values())

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

    def explain(self, detail: str = "graph", *, assembly: bool = False) -> str:
        """What was compiled, why, and what runs eagerly.

        `detail` is "summary", "graph" (the instructions), "program" (the text that a replay runs),
        "kernels" (the expressions of fused kernels), "llvm" or "assembly" (their code), or "html":
        a page of all that, to be written to a file; with `assembly=True` it has that, too.
        """
        return explained(self.name, self.events, detail, assembly)

    def profile(self, *args: Any, **kwargs: Any) -> str:
        """A call with a clock around every instruction: a table, the most expensive first."""
        self(*args, **kwargs)
        tensors, key, _, numbers = _signature(args, kwargs)
        for trace in self._traces.get(key, ()):
            if trace.matches(tensors, numbers) is None:
                return profiled(trace, tensors, numbers)
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
) -> tuple[list[Tensor], Key, list[Any], tuple[float, ...]]:
    """The tensors among the arguments, what traces are looked up by, other objects, and floats."""
    leaves, spec = tree_flatten((args, kwargs)) if kwargs or not _flat(args) else (list(args), None)
    tensors: list[Tensor] = []
    others: list[Any] = []
    roots: list[Any] = []
    numbers: list[float] = []
    roots_of: dict[int, int] = {}
    for leaf in leaves:
        if isinstance(leaf, Tensor) and is_without_strides(leaf):
            # Nothing of it is compiled: the capture says so.
            others.append(type(leaf))
            tensors.append(leaf)
        elif isinstance(leaf, Tensor):
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
        elif type(leaf) is float:
            # A trace knows which values it holds for.
            others.append(float)
            numbers.append(leaf)
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
    return tensors, (spec, tuple(others), modes), roots, tuple(numbers)


def _without_shapes(key: Key) -> Key:
    """What traces of other shapes have in common."""
    spec, others, modes = key
    return spec, tuple([_shapeless(each) for each in others]), modes


def _shapeless(entry: Any) -> Any:
    if type(entry) is tuple and len(entry) == _TENSOR_WORDS:
        shape, dtype, _, *rest, grad, is_inference = entry
        return len(shape), dtype, *rest, grad is None, is_inference
    return entry


# The length of the entry of a tensor.
_TENSOR_WORDS = 9


def _flat(args: tuple[Any, ...]) -> bool:
    return all(isinstance(each, Tensor) for each in args)


def _shape_text(tensor: Tensor) -> str:
    return f"{tensor.dtype}{list(tensor.shape)}".removeprefix("torch.")


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
