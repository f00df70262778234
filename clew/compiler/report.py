"""What a compiled function tells of itself: traces and their causes, kernels, memory, time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clew.compiler.graph import FUSED, Instruction
from clew.compiler.memory_report import plan_lines
from clew.compiler.native.segments import Segment
from clew.compiler.page import live_bytes, page
from clew.compiler.program import Program
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.kernels.gemm.products import finish

if TYPE_CHECKING:
    from clew.compiler.api import Event
    from clew.compiler.trace import Trace

DETAILS = ("summary", "graph", "program", "kernels", "llvm", "assembly", "html")


def explained(name: str, events: Sequence[Event], detail: str, assembly: bool = False) -> str:
    """All attempts to compile a function: why each was made, and what came of it."""
    if detail not in DETAILS:
        raise ValueError(f"explain() tells {', '.join(DETAILS)}, not {detail!r}")
    if detail == "html":
        return page(name, events, assembly)
    compiled = sum(event.trace is not None for event in events)
    lines = [f"{name}: captured {len(events)} times, compiled {compiled} times"]
    for number, event in enumerate(events):
        lines.append(f"{number}. {event}")
        if event.trace is not None:
            lines.extend("   " + line for line in _trace_lines(event.trace, detail))
    return "\n".join(lines)


def _trace_lines(trace: Trace, detail: str) -> list[str]:
    graphs = [trace.graph] + ([] if trace.joint is None else [trace.joint.graph])
    lines = []
    for title, graph in zip(("forward", "backward"), graphs, strict=False):
        peak = max(live_bytes(graph), default=0) / 2**20
        fused = sum(each.kind == FUSED for each in graph.instructions)
        what = f"{title}: " if len(graphs) > 1 else ""
        lines.append(
            f"{what}{len(graph.instructions)} instructions, {fused} of them fused kernels; "
            f"intermediate values take {peak:.1f} MiB at most"
        )
    segments = [item for item in trace.running.items if isinstance(item, Segment)]
    if segments:
        calls = sum(len(each.calls) for each in segments)
        arena = max(each.arena_size for each in segments) / 2**20
        lines.append(
            f"{len(segments)} native segments of {calls} kernel calls; "
            f"the largest arena has {arena:.1f} MiB"
        )
    if trace.plan is not None:
        lines += plan_lines(trace.plan)
    lines.append(f"replayed {trace.replays} times")
    if detail == "graph":
        for graph in graphs:
            lines += str(graph).splitlines()
    elif detail == "program":
        lines += trace.running.source.splitlines()
        for segment in segments:
            lines += _segment_lines(segment)
    elif detail in ("kernels", "llvm", "assembly"):
        for graph in graphs:
            for each in graph.instructions:
                if each.kind == FUSED:
                    lines += _kernel_lines(each, detail)
    return lines


def _segment_lines(segment: Segment) -> list[str]:
    """The calls of a native segment, with the shapes that each works on."""
    lines = [f"segment {segment.number}:"]
    for call in segment.calls:
        shapes = ", ".join(str(list(operand.shape)) for operand in call.operands)
        lines.append(f"    {call.name} {shapes}" + (" asynchronously" if call.is_async else ""))
    return lines


def _kernel_lines(instruction: Instruction, detail: str) -> list[str]:
    kernel, text = instruction.detail, str(instruction.detail.program)
    if detail != "kernels":
        show = kernel.kernel.module if detail == "llvm" else kernel.kernel.assembly
        text = show(kernel.program)
    return [str(instruction), *["  " + line for line in text.splitlines()]]


def profiled(
    trace: Trace, tensors: Sequence[Tensor], numbers: tuple[float, ...], rows: int = 20
) -> str:
    """One replay with a clock around every instruction: a table, the most expensive first.

    State changes as by any call. Products that overlap are counted where they are waited for.
    """
    program = Program(trace.graph, timed=True)
    state = local.state
    grad_enabled, state.grad_enabled = state.grad_enabled, False
    try:
        program.run(trace.inputs(tensors, numbers), tensors)
    finally:
        state.grad_enabled = grad_enabled
        finish(state.pending_products)
    totals: dict[str, list[float]] = {}
    for instruction, seconds in zip(trace.graph.instructions, program.seconds, strict=True):
        totals.setdefault(f"{instruction.kind} {instruction.name}", []).append(seconds)
    trace.times = totals
    whole = sum(program.seconds) or 1.0
    lines = [f"{'ms':>9} {'share':>6} {'count':>6}  instruction"]
    for name, each in sorted(totals.items(), key=lambda item: -sum(item[1]))[:rows]:
        time = sum(each)
        lines.append(f"{time * 1e3:9.3f} {time / whole:6.1%} {len(each):6d}  {_short(name)}")
    lines.append(f"{whole * 1e3:9.3f} {1:6.1%} {len(program.seconds):6d}  all")
    return "\n".join(lines)


def _short(text: Any) -> str:
    words = str(text)
    return words if len(words) <= 80 else words[:77] + "..."
