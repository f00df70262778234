"""Profiling: what every operation and every step of backward cost, by name, line and module.

While no profile runs this costs nothing: a recorder is an interceptor, and operations test for one
anyway.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter_ns
from types import FrameType
from typing import Any

from clew.autograd.profiler_flops import flops_of
from clew.autograd.profiler_util import EventList, FunctionEvent, FunctionEventAvg, Interval
from clew.backend.device import device, no_such_device
from clew.core.inplace import apply_inplace
from clew.core.interception import Interceptor, install, installed, remove, resume
from clew.core.node import Node
from clew.core.op import Op
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.interrupts import uninterrupted
from clew.ops.namespaces import OpOverload, namespace
from clew.source import INTERNAL_PACKAGES, Where, _getframe

# Variants of an operation that PyTorch has under one name.
_SUFFIXES = ("_dim", "_dims", "_bias", "_tensor", "_value", "_running", "_numbers")
_NAMES = {"convolution_transpose": "convolution", "convolution_weight": "convolution_backward"}


@functools.cache
def aten_name(name: str, inplace: bool) -> str:
    """`aten::sum` of the operation `sum_dim`: what PyTorch's profiles call it."""
    base = name.partition(".")[0]
    for suffix in _SUFFIXES:
        base = base.removesuffix(suffix)
    base = _NAMES.get(base, base)
    return f"aten::{base}_" if inplace and not base.endswith("_") else f"aten::{base}"


class Recorder(Interceptor):
    """Notes when every operation and every node begins and ends."""

    def __init__(
        self, record_shapes: bool, profile_memory: bool, with_stack: bool, with_flops: bool
    ) -> None:
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.thread = threading.get_ident()
        self.began = perf_counter_ns()
        self.events: list[FunctionEvent] = []
        self.open: list[FunctionEvent] = []

    @property
    def needs_operations(self) -> bool:
        """A profile shows what would run without it."""
        return self.outer is not None and self.outer.needs_operations

    def now(self) -> float:
        return (perf_counter_ns() - self.began) / 1000

    def begin(self, name: str, is_user_annotation: bool = False) -> FunctionEvent:
        event = FunctionEvent(len(self.events), name, self.thread, is_user_annotation)
        event.module_path = local.state.module_path or ""
        if self.open:
            event.cpu_parent = parent = self.open[-1]
            parent.cpu_children.append(event)
            if parent.is_backward:
                # What a step of backward does belongs to the forward line that it comes from.
                event.module_path, event.stack = parent.module_path, parent.stack
        self.events.append(event)
        self.open.append(event)
        event.time_range = Interval(self.now(), 0.0)
        return event

    def end(self, event: FunctionEvent) -> None:
        finish = self.now()
        if event in self.open:
            # What an error left open ends here, too.
            while self.open:
                inner = self.open.pop()
                inner.time_range = Interval(inner.time_range.start, finish)
                if inner is event:
                    break

    def close(self) -> None:
        while self.open:
            self.end(self.open[-1])

    # -- forward -------------------------------------------------------------------------------

    def __call__(
        self, op: Any, inputs: tuple[Any, ...], params: dict[str, Any], inplace: bool = False
    ) -> Any:
        outer = self.outer
        if not isinstance(op, Op):
            return params["outputs"] if outer is None else outer(op, inputs, params)
        state = local.state
        event = self.begin(aten_name(op.name, inplace))
        if self.record_shapes:
            event.input_shapes = shapes_of(inputs)
        if self.with_stack and not event.stack:
            event.stack = user_stack(_getframe(1))
        state.intercept = outer
        try:
            result = apply_inplace(op, *inputs, **params) if inplace else op(*inputs, **params)
        finally:
            resume(state, self)
            self.end(event)
        self.look_at(event, op, inputs, params, result, inplace)
        return result

    def look_at(
        self, event: FunctionEvent, op: Op, inputs: Any, params: Any, result: Any, inplace: bool
    ) -> None:
        """Note what the result tells: its memory, its node's number, the work it took."""
        outs = list(result) if isinstance(result, tuple) else [result]
        node = outs[0]._node if outs and isinstance(outs[0], Tensor) else None
        if node is not None and not node.is_accumulator:
            event.sequence_nr = node._seq
        if self.profile_memory and not inplace and not op.is_view:
            event.self_cpu_memory_usage = sum(out._array.nbytes for out in outs)
        if self.with_flops:
            event.flops = flops_of(op.name, inputs, params, outs)

    # -- backward ------------------------------------------------------------------------------

    def run_node(self, node: Node, grads: tuple[Any, ...]) -> Sequence[Any]:
        name = node._name()
        engine = self.begin(f"autograd::engine::evaluate_function: {name}")
        event = self.begin(name)
        for each in (engine, event):
            each.is_backward = True
            each.module_path = node.module_path or ""
            if self.with_stack and node._where is not None:
                where = Where(*node._where)
                each.stack = [f"{where.filename}({where.lineno}): {where.code.co_name}"]
        if not node.is_accumulator:
            engine.sequence_nr = node._seq
        if self.record_shapes:
            event.input_shapes = shapes_of(grads)
        try:
            return super().run_node(node, grads)
        finally:
            self.end(engine)

    def result(self) -> EventList:
        self.close()
        return EventList(
            self.events, profile_memory=self.profile_memory, with_flops=self.with_flops
        )


def shapes_of(values: tuple[Any, ...]) -> list[list[int]]:
    return [list(v._array.shape) if isinstance(v, Tensor) else [] for v in values]


def user_stack(frame: FrameType | None) -> list[str]:
    """The user's lines that lead here, innermost first."""
    return [
        f"{frame.f_code.co_filename}({frame.f_lineno}): {frame.f_code.co_name}"
        for frame in _user_frames(frame)
    ]


def _user_frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        if frame.f_globals.get("__package__") not in INTERNAL_PACKAGES:
            yield frame
        frame = frame.f_back


# -- what users call -----------------------------------------------------------------------------


class profile:
    """A region whose operations are recorded: `with profile() as prof`, then `prof.table()`."""

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
    ) -> None:
        self.enabled = enabled
        self.record_shapes = record_shapes or with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.entered = False
        self._recorder: Recorder | None = None
        self.function_events: EventList | None = None

    def __enter__(self) -> profile:
        if self.enabled:
            if self.entered:
                raise RuntimeError("Profiler context manager is not reentrant")
            recorder = Recorder(
                self.record_shapes, self.profile_memory, self.with_stack, self.with_flops
            )
            self.entered, self._recorder = True, recorder
            install(recorder)
        return self

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        if self._recorder is not None:
            remove(self._recorder)
            self.function_events = self._recorder.result()
            self._recorder = None

    def _finished(self) -> EventList:
        if self.function_events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self.function_events

    def table(self, *args: Any, **kwargs: Any) -> str:
        """All events as a table; see `EventList.table`."""
        return self._finished().table(*args, **kwargs)

    def __str__(self) -> str:
        return repr(self) if self.function_events is None else self.table()

    def key_averages(self, *args: Any, **kwargs: Any) -> EventList:
        """Sums by name; see `EventList.key_averages`."""
        return self._finished().key_averages(*args, **kwargs)

    def total_average(self) -> FunctionEventAvg:
        """The sum of everything."""
        return self._finished().total_average()

    def export_chrome_trace(self, path: str) -> None:
        """Write a file for chrome://tracing or https://ui.perfetto.dev."""
        self._finished().export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write a file for flame graphs (the profile needs `with_stack=True`)."""
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self._finished().export_stacks(path, metric)

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds in all events together."""
        return self._finished().self_cpu_time_total


class record_function:
    """A block, or a function, that a running profile lists under a name.

    Args:
        name: the name in the table
        args: a text that PyTorch's traces show with it; unused

    Example:
        >>> from clew.profiler import profile, record_function
        >>> with profile() as prof:
        ...     with record_function("my block"):
        ...         _ = clew.ones(2) + 1
        >>> [event.key for event in prof.key_averages() if event.key == "my block"]
        ['my block']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self._event: tuple[Recorder, FunctionEvent] | None = None

    def __enter__(self) -> record_function:
        recorder = installed(Recorder)
        if recorder is not None:
            self._event = recorder, recorder.begin(self.name, is_user_annotation=True)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._event is not None:
            recorder, event = self._event
            recorder.end(event)
            self._event = None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return recorded


def _begin_block(name: str, args: str | None = None) -> record_function:
    return record_function(name, args).__enter__()


def _end_block(block: record_function) -> None:
    block.__exit__(None, None, None)


# The two ends of a block by themselves, as graphs call them.
for _name, _overload, _function in (
    ("_record_function_enter", "default", _begin_block),
    ("_record_function_enter_new", "default", _begin_block),
    ("_record_function_exit", "default", _end_block),
    ("_record_function_exit", "_RecordFunction", _end_block),
):
    _packet = namespace("profiler").packet(_name)
    _packet._overloads[_overload] = OpOverload(_packet, _overload, _function)


class emit_nvtx:
    """Marks operations for NVIDIA's profiler: there is no GPU, so only `enabled=False` works."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled
        self.record_shapes = record_shapes

    def __enter__(self) -> emit_nvtx:
        if self.enabled:
            raise no_such_device(device("cuda"))
        return self

    def __exit__(self, *exc: object) -> None:
        return None
