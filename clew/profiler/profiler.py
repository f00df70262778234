"""`profile`: records a region, or the steps of a training loop that a schedule chooses."""

from __future__ import annotations

import functools
import gzip
import json
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from clew.autograd.profiler import Recorder, record_function
from clew.autograd.profiler_util import EventList, chrome_trace
from clew.core.interception import install, remove
from clew.interrupts import uninterrupted
from clew.source import user_stacklevel


class ProfilerActivity(Enum):
    """What can be profiled: here, the CPU.

    Example:
        >>> from clew.profiler import ProfilerActivity, profile
        >>> with profile(activities=[ProfilerActivity.CPU]) as prof:
        ...     _ = clew.ones(2) + 1
        >>> "aten::add" in [event.key for event in prof.key_averages()]
        True
    """

    CPU = 0
    XPU = 1
    CUDA = 2
    HPU = 3
    MTIA = 4
    PrivateUse1 = 5


class ProfilerAction(Enum):
    """What a schedule has the profiler do in a step.

    Example:
        >>> [action.name for action in clew.profiler.ProfilerAction]
        ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE']
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities() -> set[ProfilerActivity]:
    """What can be profiled on this machine.

    Example:
        >>> [activity.name for activity in clew.profiler.supported_activities()]
        ['CPU']
    """
    return {ProfilerActivity.CPU}


def kineto_available() -> bool:
    """Whether `profile` works: always.

    Example:
        >>> clew.profiler.kineto_available()
        True
    """
    return True


def _default_schedule_fn(_: int) -> ProfilerAction:
    """Without a schedule, every step is recorded."""
    return ProfilerAction.RECORD


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """Cycles of steps: some are waited for, some warm up, and some are recorded.

    Args:
        wait: the steps of a cycle that nothing is recorded in
        warmup: the steps after these, which are recorded and dropped
        active: the steps that are recorded
        repeat: the number of cycles; 0 goes on for ever
        skip_first: steps before the first cycle
        skip_first_wait: if not 0, the first cycle does not wait

    Example:
        >>> action = clew.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
        >>> [action(step).name for step in range(5)]
        ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} "
            f"(need >= 0), active={active} (need > 0), repeat={repeat} (need >= 0), "
            f"skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warnings.warn(
            "Profiler won't be using warmup, this can skew profiler results",
            stacklevel=user_stacklevel(),
        )
    length = wait + warmup + active

    def action_of(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        if repeat and step >= repeat * length:
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action_of


def tensorboard_trace_handler(
    dir_name: str,
    worker_name: str | None = None,
    use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[profile], None]:
    """For `on_trace_ready`: write each trace to a file of its own in a folder.

    Args:
        dir_name: the folder
        worker_name: the beginning of the names; by default, from the host and the process
        use_gzip: compress the files
        use_python_export: accepted

    Example:
        >>> import os
        >>> from clew.profiler import profile, tensorboard_trace_handler
        >>> with profile(on_trace_ready=tensorboard_trace_handler("traces", "one")):
        ...     _ = clew.ones(2) + 1
        >>> [name.split(".")[0] for name in os.listdir("traces")]
        ['one']
    """

    def handler(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        ending = "pt.trace.json.gz" if use_gzip else "pt.trace.json"
        prof.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}.{ending}"))

    return handler


@functools.cache
def _warn_of_cleared_events() -> None:
    """Once per process: the reports after a further cycle are about that cycle."""
    warnings.warn(
        "Warning: Profiler clears events at the end of each cycle. Only events from the current "
        "cycle will be reported. To keep events across cycles, set acc_events=True.",
        stacklevel=user_stacklevel(),
    )


class profile:
    """A profile of a region, or of the steps that `schedule` chooses.

    `with profile(...) as prof:` around the loop, `prof.step()` at the end of each step; afterwards
    (or in `on_trace_ready`) `prof.key_averages().table(sort_by="self_cpu_time_total")`.

    Args:
        activities: accepted; the CPU is profiled
        schedule: which steps are recorded; by default, all
        on_trace_ready: called with the profile when a cycle has ended
        record_shapes: note the shapes of inputs
        profile_memory: note what operations allocate
        with_stack: note the lines that call operations
        with_flops: estimate the arithmetic of operations
        with_modules: note the modules that operations run in
        experimental_config, execution_trace_observer, custom_trace_id_callback: accepted
        acc_events: keep the events of all cycles, not only of the last
        use_cuda: deprecated and ignored

    Example:
        >>> from clew.profiler import profile
        >>> with profile(record_shapes=True) as prof:
        ...     _ = clew.ones(2, 3) @ clew.ones(3, 4)
        >>> {event.key: event.count for event in prof.key_averages()}["aten::mm"]
        1
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
    ) -> None:
        self.activities = set(supported_activities() if activities is None else activities)
        if not self.activities:
            raise AssertionError("No valid profiler activities found")
        self.schedule = schedule
        self.on_trace_ready = on_trace_ready
        self.record_shapes = record_shapes or with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.acc_events = acc_events
        self.step_num = 0
        self.current_action = self._action()
        self._metadata: dict[str, Any] = {}
        self._recorder: Recorder | None = None
        self._events: EventList | None = None
        self._step_block: record_function | None = None

    def _action(self) -> ProfilerAction:
        return (self.schedule or _default_schedule_fn)(self.step_num)

    # -- running -------------------------------------------------------------------------------

    def __enter__(self) -> profile:
        try:
            self.start()
        except BaseException:  # an interrupt too leaves nothing switched on
            self._stop_recording()
            raise
        return self

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        self._stop_recording()
        self.stop()

    @uninterrupted
    def _stop_recording(self) -> None:
        if self._recorder is not None:
            remove(self._recorder)

    def start(self) -> None:
        """Begin: record if the first step is one to record."""
        if self.current_action in _RECORDING:
            self._begin_trace()
        self._open_step()

    def stop(self) -> None:
        """End: what is being recorded becomes the last trace."""
        self._close_step()
        if self._recorder is not None:
            self._end_trace()
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)

    def step(self) -> None:
        """Say that the next step of the training loop begins."""
        self._close_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self._action()
        if self._recorder is not None and before is ProfilerAction.RECORD_AND_SAVE:
            self._end_trace()
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)
        elif self._recorder is not None and self.current_action not in _RECORDING:
            warnings.warn(
                f"Incorrect schedule: RECORD followed by {self.current_action.name}",
                stacklevel=user_stacklevel(),
            )
            self._end_trace()
        if self._recorder is None and self.current_action in _RECORDING:
            self._begin_trace()
        self._open_step()

    def _begin_trace(self) -> None:
        if self._events is not None and not self.acc_events:
            _warn_of_cleared_events()
        self._recorder = Recorder(
            self.record_shapes, self.profile_memory, self.with_stack, self.with_flops
        )
        install(self._recorder)

    def _end_trace(self) -> None:
        if self._recorder is not None:
            remove(self._recorder)
            events = self._recorder.result()
            if self.acc_events and self._events is not None:
                events[:0] = self._events
            self._events = events
            self._recorder = None

    def _open_step(self) -> None:
        if self.schedule is not None:
            self._step_block = record_function("ProfilerStep*")
            self._step_block.__enter__()

    def _close_step(self) -> None:
        if self._step_block is not None:
            self._step_block.__exit__()
            self._step_block = None

    # -- reports -------------------------------------------------------------------------------

    def events(self) -> EventList:
        """The events of the last trace."""
        if self._events is None:
            raise AssertionError("Profiler must be initialized before accessing events")
        return self._events

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        *,
        group_by_module: bool = False,
    ) -> EventList:
        """Sums by name, and by shapes, user lines or module if asked for."""
        if self._events is None:
            raise AssertionError("Profiler must be initialized before getting key averages")
        return self._events.key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name,
            group_by_module=group_by_module,
        )  # fmt: skip

    def export_chrome_trace(self, path: str) -> None:
        """Write the last trace for chrome://tracing or https://ui.perfetto.dev."""
        trace = chrome_trace(self.events(), path, self._metadata)
        opener = gzip.open if path.endswith(".gz") else open
        with opener(path, "wt", encoding="utf-8") as file:
            json.dump(trace, file)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the last trace for flame graphs (the profile needs `with_stack=True`)."""
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self.events().export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Write a pair of strings into the trace file."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Write a key and a value that is JSON into the trace file."""
        self._metadata[key] = json.loads(value)
