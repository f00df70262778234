"""Profiles: events, averages, tables, schedules and trace files."""

from __future__ import annotations

import gzip
import json
import re
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

import clew
from clew.autograd.profiler_table import format_memory, format_time
from clew.core.state import local
from clew.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule
from tests.twice import raised, twice


def names(events: Any) -> list[str]:
    return [event.name for event in events]


def training_step(t: Any, model: Any) -> Any:
    loss = (model(t.arange(32.0).reshape(4, 8) / 32) * 2).sum()
    loss.backward()
    return loss


def profiled(**options: Any) -> Any:
    model = clew.nn.Sequential(clew.nn.Linear(8, 8), clew.nn.ReLU())
    with profile(activities=[ProfilerActivity.CPU], **options) as prof:
        training_step(clew, model)
    return prof


# -- compared with torch -------------------------------------------------------------------------

# What both libraries do under the same name; torch also lists the parts that functions are made of.
COMPARED = {
    "aten::addmm", "aten::relu", "my_block", "AddmmBackward0", "ReluBackward0", "MulBackward0",
    "SumBackward0", "autograd::engine::evaluate_function: AddmmBackward0",
    "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
    "torch::autograd::AccumulateGrad", "aten::add_",
}  # fmt: skip


@twice
def test_blocks_that_begin_and_end_by_themselves(t: Any) -> Any:
    calls = t.ops.profiler
    with t.profiler.profile(activities=[t.profiler.ProfilerActivity.CPU]) as prof:
        for begin, end, name in (
            (calls._record_function_enter, calls._record_function_exit, "first"),
            (
                calls._record_function_enter_new,
                calls._record_function_exit._RecordFunction,
                "second",
            ),
            (calls._record_function_enter_new, calls._record_function_exit, "third"),
        ):
            block = begin(name)
            t.ones(2).add(1)
            assert end(block) is None
    seen = [event.name for event in prof.events()]
    return [name for name in seen if name in ("first", "second", "third", "aten::add")]


@twice
def test_names_counts_and_order(t: Any) -> Any:
    model = t.nn.Sequential(t.nn.Linear(8, 8), t.nn.ReLU())
    x = t.ones(2)
    with t.profiler.profile(activities=[t.profiler.ProfilerActivity.CPU]) as prof:
        with t.profiler.record_function("my_block"):
            training_step(t, model)
        x.add_(1)
    averages = {a.key: a.count for a in prof.key_averages() if a.key in COMPARED}
    averages.pop("aten::add_")  # torch accumulates gradients with it
    order = [event.name for event in prof.events() if event.name in COMPARED - {"aten::add_"}]
    return averages, order


@twice
def test_shapes_and_flops(t: Any) -> Any:
    a, b = t.ones(3, 4), t.ones(4, 5)
    image, filters = t.ones(1, 3, 8, 8), t.ones(4, 3, 3, 3)
    with t.profiler.profile(record_shapes=True, with_flops=True) as prof:
        t.mm(a, b)
        t.bmm(a[None], b[None])
        a * a
        t.nn.functional.conv2d(image, filters)
    seen = {e.key: (e.input_shapes, e.flops) for e in prof.events()}
    flops = {e.key: e.flops for e in prof.key_averages()}
    conv = max(flops.get("aten::conv2d", 0), flops.get("aten::convolution", 0))
    return [seen[f"aten::{name}"] for name in ("mm", "bmm", "mul")], conv


@twice
def test_table_layout(t: Any) -> Any:
    def heading(prof: Any, **options: Any) -> list[str]:
        return prof.key_averages(**options).table(row_limit=1).splitlines()[1].split("  ")

    x = t.ones(4, 8)
    seen = []
    for options in ({}, {"profile_memory": True}, {"record_shapes": True, "with_flops": True}):
        with t.profiler.profile(**options) as prof:
            t.mm(x, x.t())
        seen.append([cell.strip() for cell in heading(prof) if cell.strip()])
        shaped = heading(prof, group_by_input_shape=True)
        seen.append([cell.strip() for cell in shaped if cell.strip()])
    with t.profiler.profile() as prof:
        x * x
    lines = prof.key_averages().table(header="HEAD", top_level_events_only=True).splitlines()
    # Times differ from run to run, in their lengths, too: as many blanks stand for each.
    figure = re.compile(r"[\d.]+(us|ms|s|%)|^=+$")
    words = [figure.sub(lambda found: " " * len(found[0]), line).strip() for line in lines]
    return seen, [w for w in words if not w.startswith("-") and w]


@twice
def test_schedules(t: Any) -> Any:
    make = t.profiler.schedule
    plans = (
        make(wait=1, warmup=1, active=2, repeat=2, skip_first=1),
        make(wait=2, warmup=1, active=1),
        make(wait=2, warmup=1, active=1, skip_first=3, skip_first_wait=1),
        make(wait=0, warmup=0, active=1, repeat=3),
    )
    actions = [[plan(step).name for step in range(14)] for plan in plans]
    refused = [
        raised(make, wait=-1, warmup=0, active=1), raised(make, wait=0, warmup=0, active=0),
        raised(plans[0], -1),
    ]  # fmt: skip
    return actions, refused


@twice
def test_scheduled_steps(t: Any) -> Any:
    x, seen = t.ones(2), []

    def ready(prof: Any) -> None:
        found = [e.name for e in prof.events() if e.name in ("ProfilerStep*", "aten::add")]
        seen.append((prof.step_num, sorted(found)))

    plan = t.profiler.schedule(wait=1, warmup=1, active=2, repeat=2)
    with t.profiler.profile(schedule=plan, on_trace_ready=ready, acc_events=True) as prof:
        for _ in range(7):
            x + x
            prof.step()
    return seen, prof.step_num, prof.current_action.name


@twice
def test_without_a_schedule_the_trace_is_ready_at_the_end(t: Any) -> Any:
    seen = []
    with t.profiler.profile(on_trace_ready=lambda prof: seen.append(prof.step_num)) as prof:
        for _ in range(3):
            prof.step()
    started = t.profiler.profile()
    started.start()
    t.ones(2) + t.ones(2)
    started.stop()
    return seen, "aten::add" in [e.name for e in started.events()]


@twice
def test_refused_profiles(t: Any) -> Any:
    prof = t.profiler.profile()
    with t.profiler.profile() as without_stack:
        pass
    return [
        raised(t.profiler.profile, activities=[]),
        raised(prof.key_averages),
        raised(prof.events, words=5),
        raised(without_stack.export_stacks, "x"),
        [a.name for a in t.profiler.supported_activities()],
        t.profiler.kineto_available(),
    ]


@twice
def test_the_older_profiler(t: Any) -> Any:
    x = t.ones(2)
    with t.autograd.profiler.profile() as prof, t.autograd.profiler.record_function("block"):
        x + x
    older = prof.key_averages().total_average().count >= 2
    with t.autograd.profiler.emit_nvtx(enabled=False):
        pass
    return [e.name for e in prof.function_events if e.name in ("block", "aten::add")], older, [
        "block" in str(prof), "Self CPU time total" in prof.table(sort_by="cpu_time_total"),
    ]  # fmt: skip


# -- what events know ----------------------------------------------------------------------------


def test_times_add_up() -> None:
    with profile() as prof, record_function("outer"):
        time.sleep(0.01)
        with record_function("inner"):
            time.sleep(0.02)
    events = {event.name: event for event in prof.events()}
    outer, inner = events["outer"], events["inner"]
    assert inner.cpu_parent is outer
    assert outer.cpu_children == [inner]
    assert 30_000 <= outer.cpu_time_total < 3_000_000
    assert outer.self_cpu_time_total == pytest.approx(
        outer.cpu_time_total - inner.cpu_time_total, rel=1e-9
    )
    assert prof.events().self_cpu_time_total == pytest.approx(outer.cpu_time_total, rel=1e-9)
    assert outer.time_range.start <= inner.time_range.start
    assert outer.time_range.end >= inner.time_range.end


def test_operations_of_backward_lie_inside_their_node() -> None:
    events = profiled().events()
    mm = next(event for event in events if event.name == "aten::mm")
    assert mm.cpu_parent.name == "AddmmBackward0"
    engine = mm.cpu_parent.cpu_parent
    assert engine.name == "autograd::engine::evaluate_function: AddmmBackward0"
    forward = next(event for event in events if event.name == "aten::addmm")
    assert engine.sequence_nr == forward.sequence_nr


def test_memory_is_that_of_the_results() -> None:
    x = clew.ones(100, 10)
    with profile(profile_memory=True) as prof, record_function("block"):
        x + x
        x.t()
        x.add_(1)
    memory = {event.name: event.cpu_memory_usage for event in prof.events()}
    assert memory == {"block": 4000, "aten::add": 4000, "aten::t": 0, "aten::add_": 0}
    block = prof.events()[0]
    assert block.self_cpu_memory_usage == 0


def test_lines_and_modules() -> None:
    prof = profiled(with_stack=True)
    events = prof.events()
    addmm = next(event for event in events if event.name == "aten::addmm")
    assert re.match(r".*test_profiler\.py\(\d+\): training_step$", addmm.stack[0])
    assert addmm.module_path == "0"
    # Backward is put down to the forward line that it comes from.
    backward = [e for e in events if e.name in ("AddmmBackward0", "aten::mm")]
    assert [event.module_path for event in backward] == ["0", "0"]
    assert {event.stack[0] for event in backward} == {addmm.stack[0]}
    by_line = prof.key_averages(group_by_stack_n=1)
    assert "Source Location" in by_line.table()
    by_module = prof.key_averages(group_by_module=True)
    rows = {(a.key, a.module_path): a.count for a in by_module}
    assert rows["aten::relu", "1"] == 1
    assert "Module" in by_module.table()


def test_custom_functions_show_what_they_do() -> None:
    class Double(clew.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.sin()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g.cos()

    x = clew.ones(2, requires_grad=True)
    with profile() as prof:
        Double.apply(x).sum().backward()
    assert {"aten::sin", "DoubleBackward", "aten::cos"} <= set(names(prof.events()))


# -- together with other interceptors ------------------------------------------------------------


def test_profiling_changes_no_result() -> None:
    def gradients() -> list[Any]:
        clew.manual_seed(3)
        model = clew.nn.Sequential(clew.nn.Linear(8, 8), clew.nn.LayerNorm(8), clew.nn.GELU())
        training_step(clew, model)
        return [p.grad.tolist() for p in model.parameters()]

    plain = gradients()
    with profile():
        for watched, unwatched in zip(gradients(), plain, strict=True):
            clew.testing.assert_close(clew.tensor(watched), clew.tensor(unwatched))
    assert local.state.intercept is None


def test_together_with_forward_mode() -> None:
    forward = clew.autograd.forward_ad
    x = clew.full((2,), 3.0)
    for first in (True, False):
        prof = profile()
        if first:
            prof.start()
        with forward.dual_level():
            if not first:
                prof.start()
            y = forward.make_dual(x, clew.ones(2)) ** 2
            y.mul_(2)
            tangent = forward.unpack_dual(y).tangent
            if not first:
                prof.stop()
        if first:
            prof.stop()
        assert tangent.tolist() == [12.0, 12.0]
        assert {"aten::pow", "aten::mul_"} <= set(names(prof.events()))
        assert local.state.intercept is None


def test_together_with_checkpoints() -> None:
    x = clew.ones(3, requires_grad=True)
    for around_forward, around_backward in ((True, True), (True, False), (False, True)):
        x.grad = None
        forward, backward = profile(), profile()
        if around_forward:
            forward.start()
        y = clew.utils.checkpoint.checkpoint(lambda v: v.exp().sin(), x, use_reentrant=False)
        if around_forward:
            forward.stop()
            assert {"aten::exp", "aten::sin"} <= set(names(forward.events()))
        if around_backward:
            backward.start()
        y.sum().backward()
        if around_backward:
            backward.stop()
            assert "aten::exp" in names(backward.events()), "computed again"
        assert x.grad is not None
        assert local.state.intercept is None


def test_together_with_autocast() -> None:
    x = clew.ones(2, 2)
    with clew.autocast("cpu"), profile() as prof:
        x @ x
    assert names(prof.events()) == ["aten::_to_copy", "aten::_to_copy", "aten::mm"]


def test_two_profiles_that_overlap() -> None:
    x = clew.ones(2)
    first, second = profile(), profile()
    first.start()
    x + x
    second.start()
    x * x
    first.stop()
    x - x
    second.stop()
    assert names(first.events()) == ["aten::add", "aten::mul"]
    assert names(second.events()) == ["aten::mul", "aten::sub"]
    assert local.state.intercept is None


def test_an_error_ends_the_events_that_it_leaves() -> None:
    prof = profile()
    with pytest.raises(RuntimeError), prof, record_function("block"):
        clew.ones(2) + clew.ones(3)
    assert local.state.intercept is None
    assert names(prof.events()) == ["block", "aten::add"]
    assert all(event.cpu_time_total > 0 for event in prof.events())


def test_nothing_is_installed_when_nothing_is_profiled() -> None:
    with record_function("block"):
        assert local.state.intercept is None
    with profile():
        assert local.state.intercept is not None
    assert local.state.intercept is None


def test_record_function_as_a_decorator() -> None:
    @record_function("named")
    def work(x: Any) -> Any:
        """Documented."""
        return x + 1

    with profile() as prof:
        work(clew.ones(2))
        work(clew.ones(2))
    assert names(prof.events()) == ["named", "aten::add"] * 2
    assert (work.__name__, work.__doc__) == ("work", "Documented.")


# -- tables and files ----------------------------------------------------------------------------


def test_tables_are_sorted_and_limited() -> None:
    averages = profiled(profile_memory=True).key_averages()
    table = averages.table(sort_by="self_cpu_time_total", row_limit=4, max_name_column_width=20)
    rows = table.splitlines()[3:-2]
    assert len(rows) == 4
    largest = sorted(averages, key=lambda a: -a.self_cpu_time_total)[:4]
    assert [row[:20].strip()[:17] for row in rows] == [a.key[:17] for a in largest]
    assert len({len(line) for line in table.splitlines()[:-2]}) == 1
    with pytest.raises(AttributeError, match="nope"):
        averages.table(sort_by="nope")
    assert "aten::mul" in averages.table(sort_by="cuda_time_total")
    assert re.search(r"0\.\d{3}s\n$", averages.table(time_unit="s"))
    assert str(averages) == averages.table()


def test_sizes_and_times_in_words() -> None:
    assert [format_time(t) for t in (1.5, 1500, 2.5e6)] == ["1.500us", "1.500ms", "2.500s"]
    sizes = [format_memory(n) for n in (12, 2048, 4_000_000, -2048, 3 << 30)]
    assert sizes == ["12 B", "2.00 KB", "3.81 MB", "-2.00 KB", "3.00 GB"]


def test_chrome_traces(tmp_path: Path) -> None:
    prof = profiled(record_shapes=True, with_stack=True)
    prof.add_metadata("note", "hello")
    prof.add_metadata_json("numbers", "[1, 2]")
    path = tmp_path / "trace.json"
    prof.export_chrome_trace(str(path))
    trace = json.loads(path.read_text())
    assert (trace["note"], trace["numbers"]) == ("hello", [1, 2])
    events = trace["traceEvents"]
    operations = [event for event in events if event.get("cat") == "cpu_op"]
    assert len(operations) == len(prof.events())
    assert all({"name", "ph", "pid", "tid", "ts", "dur"} <= set(event) for event in operations)
    addmm = next(event for event in operations if event["name"] == "aten::addmm")
    assert addmm["args"]["Input Dims"] == [[8], [4, 8], [8, 8]]
    assert addmm["args"]["Module Hierarchy"] == "0"
    arrows = [event for event in events if event.get("cat") == "fwdbwd"]
    assert {event["ph"] for event in arrows} == {"s", "f"}
    packed = tmp_path / "trace.json.gz"
    prof.export_chrome_trace(str(packed))
    with gzip.open(packed, "rt") as file:
        assert len(json.load(file)["traceEvents"]) == len(events)


def test_only_the_last_cycle_is_reported_unless_asked() -> None:
    clew.profiler.profiler._warn_of_cleared_events.cache_clear()
    plan = schedule(wait=0, warmup=1, active=1, repeat=2)
    with pytest.warns(UserWarning, match="set acc_events=True"), profile(schedule=plan) as prof:
        for _ in range(4):
            clew.ones(2) + 1
            prof.step()
    assert names(prof.events()) == ["ProfilerStep*", "aten::add"]


def test_trace_files_of_a_schedule(tmp_path: Path) -> None:
    handler = clew.profiler.tensorboard_trace_handler(str(tmp_path / "log"), worker_name="me")
    plan = schedule(wait=0, warmup=1, active=1, repeat=2)
    with profile(schedule=plan, on_trace_ready=handler, acc_events=True) as prof:
        for _ in range(4):
            clew.ones(2) + 1
            prof.step()
    files = sorted((tmp_path / "log").iterdir())
    assert len(files) == 2
    for file in files:
        assert re.fullmatch(r"me\.\d+\.pt\.trace\.json", file.name)
        listed = [event["name"] for event in json.loads(file.read_text())["traceEvents"]]
        assert "ProfilerStep*" in listed


def test_stacks_for_flame_graphs(tmp_path: Path) -> None:
    prof = profiled(with_stack=True)
    path = tmp_path / "stacks.txt"
    prof.export_stacks(str(path))
    lines = path.read_text().splitlines()
    assert lines
    assert all(re.fullmatch(r".+;\S.* \d+", line) for line in lines)
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(str(path), "nope")


def test_a_schedule_that_forgets_to_save_is_reported() -> None:
    actions = [ProfilerAction.RECORD, ProfilerAction.NONE]
    prof = profile(schedule=lambda step: actions[min(step, 1)])
    with pytest.warns(UserWarning, match="Incorrect schedule: RECORD followed by NONE"), prof:
        clew.ones(2) + 1
        prof.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "aten::add" in names(prof.events())


def test_nvtx_needs_a_gpu() -> None:
    with pytest.raises(Exception, match="CUDA"), clew.autograd.profiler.emit_nvtx():
        pass
