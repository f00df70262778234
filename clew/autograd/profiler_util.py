"""What a profile consists of: events, their averages, and tables of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, NamedTuple

from clew.autograd.profiler_table import table_of


class DeviceType(Enum):
    """Where an event took place: here, always on the CPU.

    Example:
        >>> from clew.profiler import DeviceType
        >>> DeviceType.CPU.name
        'CPU'
    """

    CPU = 0
    CUDA = 1


class Interval(NamedTuple):
    """From when to when, in microseconds since the profile began."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        return self.end - self.start


class Timed:
    """What events and averages have in common: GPU times are 0, and times per call."""

    count: int
    cpu_time_total: float

    device_type = DeviceType.CPU
    device_time = device_time_total = self_device_time_total = 0.0
    cuda_time = cuda_time_total = self_cuda_time_total = 0.0
    device_memory_usage = self_device_memory_usage = 0
    is_async = is_remote = is_legacy = False
    node_id = -1

    @property
    def cpu_time(self) -> float:
        """Microseconds per call."""
        return self.cpu_time_total / self.count if self.count else 0.0


class FunctionEvent(Timed):
    """One call of an operation, one step of backward, or one block that the user named."""

    count = 1

    def __init__(self, number: int, name: str, thread: int, is_user_annotation: bool) -> None:
        self.id = number
        self.name = self.key = name
        self.thread = self.fwd_thread = thread
        self.is_user_annotation = is_user_annotation
        self.time_range = Interval(0.0, 0.0)
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []
        self.input_shapes: list[list[int]] = []
        # The user's lines, innermost first; for a step of backward those of the forward call.
        self.stack: list[str] = []
        self.module_path = ""
        self.sequence_nr = -1
        self.is_backward = False
        self.flops = 0
        self.self_cpu_memory_usage = 0

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]  # read only, unlike an average's
        """Microseconds, with everything inside."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds, without the events inside."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def cpu_memory_usage(self) -> int:
        """Bytes of the results that were made, with everything inside."""
        return self.self_cpu_memory_usage + sum(c.cpu_memory_usage for c in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time:.3f}us "
            f"start_us={self.time_range.start:.3f} end_us={self.time_range.end:.3f} "
            f"cpu_children={[child.id for child in self.cpu_children]} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
            f"seq_nr={self.sequence_nr}>"
        )


class FunctionEventAvg(Timed):
    """The sum of all events that belong together."""

    def __init__(self, key: str = "", like: FunctionEvent | None = None) -> None:
        self.key = key
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.flops = 0
        self.input_shapes: Any = "" if like is None else like.input_shapes
        self.stack: list[str] = [] if like is None else like.stack
        self.module_path = "" if like is None else like.module_path
        self.cpu_parent = None if like is None else like.cpu_parent
        self.is_user_annotation = like is not None and like.is_user_annotation

    def add(self, event: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        self.count += event.count
        self.cpu_time_total += event.cpu_time_total
        self.self_cpu_time_total += event.self_cpu_time_total
        self.cpu_memory_usage += event.cpu_memory_usage
        self.self_cpu_memory_usage += event.self_cpu_memory_usage
        self.flops += event.flops
        return self

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total:.3f}us "
            f"cpu_time={self.cpu_time:.3f}us  self_cuda_time=0.000us cuda_time=0.000us "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
            "cuda_memory_usage=0>"
        )


class EventList(list[Any]):
    """Events, or averages of events, that can be printed and averaged."""

    def __init__(
        self,
        events: Iterable[Any] = (),
        *,
        profile_memory: bool = False,
        with_flops: bool = False,
        columns: Sequence[str] = (),
        total: float | None = None,
    ) -> None:
        super().__init__(events)
        self.profile_memory = profile_memory
        self.with_flops = with_flops
        # What averages were told apart by, besides the name.
        self.columns = tuple(columns)
        self._total = total

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds in all events together."""
        if self._total is not None:
            return self._total
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        *,
        group_by_module: bool = False,
    ) -> EventList:
        """Sums by name, and by shapes, by the innermost user lines or by module if asked for."""
        averages: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = str(event.input_shapes) if group_by_input_shapes else ""
            stack = tuple(event.stack[:group_by_stack_n])
            module = event.module_path if group_by_module else ""
            key = event.key, shapes, stack, module
            if key not in averages:
                average = averages[key] = FunctionEventAvg(event.key, event)
                average.input_shapes = shapes
                average.stack = list(stack)
                average.module_path = module
            averages[key].add(event)
        asked = {
            "input_shapes": group_by_input_shapes and any(event.input_shapes for event in self),
            "stack": group_by_stack_n > 0 and any(event.stack for event in self),
            "module_path": group_by_module,
        }
        return EventList(
            averages.values(),
            profile_memory=self.profile_memory,
            with_flops=self.with_flops,
            columns=[name for name, wanted in asked.items() if wanted],
            total=self.self_cpu_time_total,
        )

    def total_average(self) -> FunctionEventAvg:
        """The sum of everything."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as a table, largest first by an attribute if one is named."""
        return table_of(
            self, sort_by, row_limit, max_src_column_width, max_name_column_width,
            max_shapes_column_width, header, top_level_events_only, time_unit,
        )  # fmt: skip

    def __str__(self) -> str:
        return self.table()

    def export_chrome_trace(self, path: str) -> None:
        """Write a file for chrome://tracing or https://ui.perfetto.dev."""
        import json

        with open(path, "w", encoding="utf-8") as file:
            json.dump(chrome_trace(self, path, {}), file)

    def supported_export_stacks_metrics(self) -> list[str]:
        """What `export_stacks` can count."""
        return ["self_cpu_time_total"]

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write a file for flame graphs: stacks, outermost line first, and microseconds."""
        if metric not in self.supported_export_stacks_metrics():
            raise ValueError(
                "metric should be one of: " + str(self.supported_export_stacks_metrics())
            )
        with open(path, "w", encoding="utf-8") as file:
            for event in self:
                amount = int(getattr(event, metric))
                if event.stack and amount > 0:
                    print(";".join([*reversed(event.stack), event.name]), amount, file=file)


def chrome_trace(events: EventList, name: str, metadata: dict[str, Any]) -> dict[str, Any]:
    """The events in Chrome's trace format."""
    process = 1
    listed: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "ts": 0,
         "args": {"name": "python"}},
        {"ph": "M", "name": "process_labels", "pid": process, "tid": 0, "ts": 0,
         "args": {"labels": "CPU"}},
    ]  # fmt: skip
    forward = {e.sequence_nr: e for e in events if e.sequence_nr >= 0 and not e.is_backward}
    for event in events:
        place = {"pid": process, "tid": event.thread, "ts": event.time_range.start}
        listed.append(
            {
                "ph": "X",
                "cat": "user_annotation" if event.is_user_annotation else "cpu_op",
                "name": event.name,
                **place,
                "dur": event.cpu_time_total,
                "args": _trace_arguments(event),
            }
        )
        source = forward.get(event.sequence_nr) if event.is_backward else None
        if source is not None:
            arrow = {"cat": "fwdbwd", "name": "fwdbwd", "id": event.sequence_nr}
            begin = {"pid": process, "tid": source.thread, "ts": source.time_range.start}
            listed += [{"ph": "s", **arrow, **begin}, {"ph": "f", "bp": "e", **arrow, **place}]
    return {
        "schemaVersion": 1, "deviceProperties": [], "displayTimeUnit": "ms", **metadata,
        "traceEvents": listed, "traceName": name,
    }  # fmt: skip


def _trace_arguments(event: FunctionEvent) -> dict[str, Any]:
    arguments: dict[str, Any] = {"External id": event.id}
    if event.sequence_nr >= 0:
        arguments["Sequence number"] = event.sequence_nr
    if event.input_shapes:
        arguments["Input Dims"] = event.input_shapes
    if event.stack:
        arguments["Call stack"] = ";".join(event.stack)
    if event.module_path:
        arguments["Module Hierarchy"] = event.module_path
    return arguments
