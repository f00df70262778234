"""The report as one self-contained page: findings with their source, charts, and the graph.

The charts are drawn by Plotly, whose script is part of the page, so that it works offline.
"""

from __future__ import annotations

import json
import linecache
from typing import Any

from clew.doctor.facts.places import Line
from clew.doctor.report import graph_drawing
from clew.doctor.report.findings import Finding, Report
from clew.doctor.report.graph_drawing import escaped

_CONTEXT = 3


def plotting_script() -> str:
    """Plotly's script; it comes with the `doctor` extra."""
    try:
        from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]  # plotly has no types
    except ImportError:
        raise ModuleNotFoundError(
            "the charts of the report need plotly: pip install 'clew[doctor]'", name="plotly"
        ) from None
    script: str = get_plotlyjs()
    return script


def page(report: Report, *, script: str | None = None, refresh: bool = False) -> str:
    """The whole page. A server hands out `script` separately and lets the page reload itself."""
    tag = f"<script>{plotting_script()}</script>" if script is None else script
    data = json_in_script(report.series)
    graph = report.graph
    return _PAGE.format(
        title=escaped(f"clew doctor: {report.script or 'report'}"),
        style=_STYLE + graph_drawing.STYLE,
        plotly=tag,
        summary=escaped(_summary(report)),
        findings="\n".join(map(_finding, report.findings))
        or "<p class=good>Nothing to report.</p>",
        graph=graph_drawing.svg(graph) + graph_drawing.listing(graph) if graph is not None else "",
        data=data,
        charts=_CHARTS,
        refresh='<meta http-equiv="refresh" content="5">' if refresh else "",
    )


# In a script, what looks like markup would end the script or begin a comment in it.
_MARKUP = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}


def json_in_script(value: Any) -> str:
    """JSON as the text of a `<script>` element, in which nothing is escaped as in other text."""
    return json.dumps(value, default=str).translate(_MARKUP)


def _summary(report: Report) -> str:
    count = len(report.problems)
    how = "" if report.exit.status == "ok" else f"; the program ended with {report.exit.type}"
    steps = f"{report.iterations} steps seen{how}{report.eagerly}"
    return f"{count} finding{'s' if count != 1 else ''}, {steps}"


def _finding(finding: Finding) -> str:
    places = "".join(
        f"<li><code>{escaped(str(place))}</code> {escaped(role)}</li>"
        for place, role in finding.related
    )
    evidence = ", ".join(f"{key} = {_number(value)}" for key, value in finding.evidence.items())
    why = f"<p><b>Why it matters:</b> {escaped(finding.why)}.</p>" if finding.why else ""
    fix = f"<p class=good><b>Instead:</b> {escaped(finding.fix)}.</p>" if finding.fix else ""
    return (
        f'<article class="{finding.severity}"><h3>{escaped(finding.rule)} '
        f"<small>{finding.severity}, {finding.confidence:.0%} sure</small></h3>"
        f"<p>{escaped(finding.message)}</p>{_source(finding.line)}<ul>{places}</ul>{why}{fix}"
        f"<p class=dim>{escaped(evidence)}</p></article>"
    )


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _source(line: Line | None) -> str:
    if line is None:
        return ""
    rows = []
    for number in range(max(1, line.line - _CONTEXT), line.line + _CONTEXT + 1):
        text = linecache.getline(line.file, number).rstrip("\n")
        if text or number <= line.line:
            mark = " class=here" if number == line.line else ""
            rows.append(f"<span{mark}>{number:4} {escaped(text)}</span>")
    return f"<pre><b>{escaped(str(line))}</b>\n" + "".join(rows) + "</pre>"


_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 1100px; padding: 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; } h3 { margin: 0 0 .4rem; }
article { border-left: 5px solid #888; padding: .6rem 1rem; margin: .8rem 0; background: #8881; }
article.error { border-color: #dc2626; } article.warning { border-color: #d97706; }
pre { background: #8882; padding: .5rem; overflow-x: auto; font-size: 13px; }
pre span { display: block; } pre .here { background: #f873; font-weight: 600; }
small, .dim { opacity: .7; font-weight: normal; } .good { color: #15803d; }
.chart { min-height: 320px; } .wide { overflow-x: auto; }
"""
_CHARTS = """
const data = JSON.parse(document.getElementById("data").textContent);
// Plotly takes names for markup.
const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
const base = {
  margin: {l: 70, r: 20, t: 36, b: 40}, height: 320, paper_bgcolor: "transparent",
  plot_bgcolor: "transparent", font: {color: dark ? "#e5e7eb" : "#111827"},
  legend: {font: {size: 10}},
};
function chart(id, title, traces, more) {
  const place = document.getElementById(id);
  if (!traces.length) { place.remove(); return; }
  Plotly.newPlot(place, traces, {...base, title: {text: title, font: {size: 14}}, ...more},
                 {responsive: true, displaylogo: false});
}
const lines = (list) => list.filter((s) => s.x.length).map(
  (s) => ({...s, name: plain(s.name), mode: "lines"}));
const log = {yaxis: {type: "log", exponentformat: "e"}, xaxis: {title: {text: "step"}}};
chart("loss", "Loss", lines(data.loss), {xaxis: {title: {text: "backward"}}});
const steps = [...new Set(data.gradients.flatMap((s) => s.x))].sort((a, b) => a - b);
const column = new Map(steps.map((s, i) => [s, i]));
const rows = data.gradients.map((s) => {
  const row = Array(steps.length).fill(null);
  s.x.forEach((step, i) => { row[column.get(step)] = s.y[i] > 0 ? Math.log10(s.y[i]) : null; });
  return row;
});
chart("flow", "Gradient norm by layer, log10 (first layer at the bottom)", rows.length ? [{
  type: "heatmap", z: rows, x: steps, y: data.gradients.map((s) => plain(s.name)),
  colorscale: "Viridis",
}] : [], {height: 120 + 18 * rows.length, margin: {...base.margin, l: 200}});
chart("norms", "Gradient norm", lines([data.gradient, ...data.gradients]), log);
chart("updates", "Size of a step relative to the weights", lines(data.updates), log);
chart("rates", "Learning rate", lines(data.rates), {
  yaxis: {rangemode: "tozero", exponentformat: "e"}, xaxis: {title: {text: "step"}},
});
chart("activations", "Activations", data.activations.length ? [{
  type: "bar", orientation: "h", x: data.activations.map((a) => a.share),
  y: data.activations.map((a) => plain(a.name) + " (" + a.what + ")"),
}] : [], {margin: {...base.margin, l: 280}, xaxis: {range: [0, 1], tickformat: ".0%"}});
chart("memory", "Memory held by the graph, bytes", lines([data.memory]), {
  yaxis: {rangemode: "tozero", exponentformat: "SI"}, xaxis: {title: {text: "step"}},
});
document.body.dataset.ready = "yes";
"""
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">{refresh}
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>{style}</style>{plotly}</head>
<body><h1>{title}</h1><p>{summary}</p>
<section id="findings">{findings}</section>
<h2>The run</h2>
<div id="loss" class="chart"></div><div id="flow" class="chart"></div>
<div id="norms" class="chart"></div><div id="updates" class="chart"></div>
<div id="rates" class="chart"></div><div id="activations" class="chart"></div>
<div id="memory" class="chart"></div>
<h2>The graph of one step</h2><div class="clew-graph wide">{graph}</div>
<script type="application/json" id="data">{data}</script><script>{charts}</script>
</body></html>
"""
