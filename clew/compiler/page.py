"""`explain("html")`: what a compiled function is, as one page without scripts or other files."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any

from clew.compiler.graph import COMPUTED, FUSED, Graph, Instruction, Value
from clew.compiler.native.segments import Check, Segment
from clew.compiler.program import last_uses
from clew.memory import size_text
from clew.source import describe

if TYPE_CHECKING:
    from clew.compiler.api import Event
    from clew.compiler.trace import Trace

_STYLE = """
:root { --paper: #fff; --ink: #1c2330; --faint: #5b6576; --line: #d9dee7; --soft: #f3f5f9;
  --bar: #3b6fd4; --warm: #b4540a; }
@media (prefers-color-scheme: dark) { :root { --paper: #12161d; --ink: #e4e9f1; --faint: #98a3b5;
  --line: #2c3442; --soft: #1a202a; --bar: #7aa5ff; --warm: #ffb070; } }
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif;
  margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .4rem; }
p.faint, td.faint, span.faint { color: var(--faint); }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th { text-align: left; color: var(--faint); font-weight: 600; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .6rem .25rem 0;
  vertical-align: top; }
td.step { white-space: nowrap; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: .7rem;
  overflow-x: auto; font-size: .8rem; line-height: 1.4; max-height: 30rem; }
details { margin: .5rem 0; } summary { cursor: pointer; }
.eager { color: var(--warm); } svg { width: 100%; height: auto; } svg .bar { fill: var(--bar); }
svg .axis { stroke: var(--line); } svg text { fill: var(--faint); font-size: 11px; }
"""
_WIDTH, _HEIGHT = 900, 160


def page(name: str, events: Sequence[Event], assembly: bool) -> str:
    """The page of all attempts to compile a function."""
    compiled = sum(event.trace is not None for event in events)
    parts = [
        f"<h1>{escape(name)}</h1>",
        f"<p class=faint>captured {len(events)} times, compiled {compiled} times</p>",
    ]
    for number, event in enumerate(events):
        parts += _event(number, event, assembly)
    body = "\n".join(parts)
    return (
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width, initial-scale=1'>"
        f"<title>{escape(name)}, compiled</title><style>{_STYLE}</style></head>\n"
        f"<body>\n{body}\n</body></html>\n"
    )


def _event(number: int, event: Event, assembly: bool) -> list[str]:
    parts = [f"<h2>{number}. {escape(event.shapes)}</h2>", f"<p>{escape(event.reason)}</p>"]
    if event.trace is None:
        problem = event.problem or "it is not compiled yet"
        return [*parts, f"<p class=eager>runs eagerly: {escape(problem)}</p>"]
    trace = event.trace
    graphs = [("", trace.graph)]
    if trace.joint is not None:
        graphs = [("forward: ", trace.graph), ("backward: ", trace.joint.graph)]
    parts.append(f"<p class=faint>replayed {trace.replays} times</p>")
    parts += ["<h3>What a call runs</h3>", _items_table(trace)]
    for title, graph in graphs:
        parts += [f"<h3>{title}memory of computed values</h3>", _memory_chart(graph)]
    parts += _times(trace)
    for title, graph in graphs:
        parts.append(_details(f"{title}graph", str(graph)))
    parts.append(_details("program", trace.running.source))
    parts += _kernels([graph for _, graph in graphs], assembly)
    return parts


def _items_table(trace: Trace) -> str:
    """One row for each thing that the program does: a native segment, or a step of Python."""
    rows = []
    for item in trace.running.items:
        if isinstance(item, Segment):
            calls = ", ".join(dict.fromkeys(call.name for call in item.calls))
            what = f"native segment of {len(item.calls)} calls"
            rows.append((what, calls, size_text(item.arena_size)))
        elif isinstance(item, Check):
            rows.append(("check", getattr(item.function, "__name__", ""), ""))
        else:
            rows.append((f"{item.kind} {item.name}", _place(item), ""))
    grouped = [(row, len(list(same))) for row, same in groupby(rows)]
    cells = "\n".join(
        f"<tr><td class=step>{escape(what)}{f', {count} times' if count > 1 else ''}</td>"
        f"<td class=faint>{escape(more)}</td><td class=number>{escape(memory)}</td></tr>"
        for (what, more, memory), count in grouped
    )
    return f"<table><tr><th>step</th><th>kernels, or line</th><th>arena</th></tr>{cells}</table>"


def _place(instruction: Instruction) -> str:
    return "" if instruction.where is None else describe(instruction.where)


def _memory_chart(graph: Graph) -> str:
    """A bar for each instruction: the bytes of computed values that live while it runs."""
    live = live_bytes(graph)
    most = max(live, default=0)
    if not most:
        return "<p class=faint>none</p>"
    width = _WIDTH / len(live)
    bars = "".join(
        f"<rect class=bar x={place * width:.2f} y={_HEIGHT - nbytes / most * _HEIGHT:.2f} "
        f"width={max(width - 0.5, 0.3):.2f} height={nbytes / most * _HEIGHT:.2f}>"
        f"<title>{escape(_title(graph.instructions[place], nbytes))}</title></rect>"
        for place, nbytes in enumerate(live)
    )
    label = f"at most {size_text(most)}, over {len(live)} instructions"
    return (
        f"<svg viewBox='0 0 {_WIDTH} {_HEIGHT + 20}' role=img aria-label='{label}'>{bars}"
        f"<line class=axis x1=0 x2={_WIDTH} y1={_HEIGHT} y2={_HEIGHT} />"
        f"<text x=0 y={_HEIGHT + 15}>{label}</text></svg>"
    )


def _title(instruction: Instruction, nbytes: int) -> str:
    return f"{size_text(nbytes)} at {instruction.kind} {instruction.name} {_place(instruction)}"


def live_bytes(graph: Graph) -> list[int]:
    """The bytes of computed values, views not counted, while each instruction runs."""
    until: dict[Value, int] = {}
    for value, place in last_uses(graph.instructions, graph.results).items():
        until[value.alias] = max(until.get(value.alias, -1), place)
    live: dict[Value, int] = {}
    found = []
    for place, instruction in enumerate(graph.instructions):
        for out in instruction.outputs:
            if out is not None and out.alias is out and out.kind == COMPUTED:
                live[out] = out.nbytes
        found.append(sum(live.values()))
        for value in [value for value in live if until.get(value, -1) <= place]:
            del live[value]
    return found


def _times(trace: Trace) -> list[str]:
    """The seconds of instructions, if `profile()` has measured them."""
    if not trace.times:
        return ["<p class=faint>profile(...) measures the time of each instruction.</p>"]
    whole = sum(sum(each) for each in trace.times.values()) or 1.0
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td class=number>{len(each)}</td>"
        f"<td class=number>{sum(each) * 1e3:.3f} ms</td>"
        f"<td class=number>{sum(each) / whole:.1%}</td></tr>"
        for name, each in sorted(trace.times.items(), key=lambda item: -sum(item[1]))
    )
    head = "<tr><th>instruction</th><th>count</th><th>time</th><th>share</th></tr>"
    return ["<h3>Time</h3>", f"<table>{head}{rows}</table>"]


def _kernels(graphs: Sequence[Graph], assembly: bool) -> list[str]:
    """The fused kernels, each once, as kernel IR and LLVM IR, on request also as assembly."""
    kernels: dict[Any, list[Instruction]] = {}
    for graph in graphs:
        for each in graph.instructions:
            if each.kind == FUSED:
                kernels.setdefault(each.detail.kernel, []).append(each)
    parts = ["<h3>Fused kernels</h3>"] if kernels else []
    for kernel, users in kernels.items():
        fused = users[0].detail
        made = [out for each in users for out in each.outputs if out is not None]
        shapes = ", ".join(dict.fromkeys(str(list(out.shape)) for out in made))
        title = f"{fused.name}, {len(users)} times: {shapes}"
        text = f"{users[0]}\n\n{fused.program}"
        inner = [f"<pre>{escape(text)}</pre>", _details("LLVM IR", kernel.module(fused.program))]
        if assembly:
            inner.append(_details("assembly", kernel.assembly(fused.program)))
        parts.append(f"<details><summary>{escape(title)}</summary>{''.join(inner)}</details>")
    return parts


def _details(title: str, text: str) -> str:
    return f"<details><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>"
