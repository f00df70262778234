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
        f"{_links(finding)}<p class=dim>{escaped(evidence)}</p></article>"
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


# Which charts show what a rule speaks of.
_CHARTS_OF = {
    "missing-zero-grad": ("norms", "loss"),
    "zero-grad-before-step": ("updates",),
    "missing-step": ("updates", "loss"),
    "accumulation-not-averaged": ("norms",),
    "clip-misplaced": ("norms",),
    "detached-graph": ("flow",),
    "missing-requires-grad": ("flow",),
    "param-not-in-optimizer": ("flow", "updates"),
    "param-unused": ("flow",),
    "graph-leak": ("memory",),
    "retain-graph-misuse": ("memory",),
    "nan-origin": ("loss", "norms"),
    "vanishing-gradient": ("flow",),
    "exploding-gradient": ("flow", "norms"),
    "dead-relu": ("activations", "flow"),
    "fp16-underflow": ("flow",),
    "bad-learning-rate": ("updates", "rates", "loss"),
    "bad-init": ("flow",),
    "scheduler-misuse": ("rates",),
    "wrong-reduction": ("loss", "norms"),
    "collapsed-representation": ("loss",),
}
_CHART_NAMES = {
    "loss": "the loss", "flow": "gradients by layer", "norms": "gradient norms",
    "updates": "updates", "rates": "the learning rate", "activations": "activations",
    "memory": "memory",
}  # fmt: skip


def _links(finding: Finding) -> str:
    """Links to the charts that show what was found, with the rows and the step to mark there."""
    marks = {"rows": finding.parameters, "step": finding.evidence.get("step")}
    given = escaped(json.dumps(marks, default=str))
    links = ", ".join(
        f'<a href="#{name}" data-mark="{given}">{_CHART_NAMES[name]}</a>'
        for name in _CHARTS_OF.get(finding.family, ("loss",))
    )
    return f"<p class=links>In the charts: {links}</p>"


_STYLE = """
:root { color-scheme: light dark; --ink: #111827; --paper: #ffffff; --box: #8881; --code: #8882;
  --good: #15803d; --link: #1d4ed8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e5e7eb; --paper: #14171c; --box: #ffffff0d;
  --code: #ffffff14; --good: #4ade80; --link: #93c5fd; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 1100px; padding: 1rem;
  color: var(--ink); background: var(--paper); }
a { color: var(--link); }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; } h3 { margin: 0 0 .4rem; }
article { border-left: 5px solid #888; padding: .6rem 1rem; margin: .8rem 0;
  background: var(--box); }
article.error { border-color: #dc2626; } article.warning { border-color: #d97706; }
pre { background: var(--code); padding: .5rem; overflow-x: auto; font-size: 13px; }
pre span { display: block; } pre .here { background: #f873; font-weight: 600; }
small, .dim { opacity: .7; font-weight: normal; } .good { color: var(--good); }
.chart { min-height: 320px; scroll-margin-top: 1rem; } .wide { overflow-x: auto; }
.tall { max-height: 80vh; overflow-y: auto; }
"""
_CHARTS = """
const data = JSON.parse(document.getElementById("data").textContent);
// Plotly takes names for markup.
const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
const scheme = matchMedia("(prefers-color-scheme: dark)");
const colors = () => {
  const [ink, grid] = scheme.matches ? ["#e5e7eb", "#374151"] : ["#111827", "#e5e7eb"];
  return {ink, grid};
};
const base = {
  margin: {l: 70, r: 20, t: 36, b: 48}, height: 330, paper_bgcolor: "transparent",
  plot_bgcolor: "transparent", legend: {font: {size: 10}},
};
const drawn = [];
function chart(id, title, traces, more) {
  const place = document.getElementById(id);
  if (!traces.length) { place.remove(); return; }
  const {ink, grid} = colors();
  const axis = (given) => ({gridcolor: grid, zerolinecolor: grid, ...given});
  const layout = {...base, font: {color: ink}, modebar: {bgcolor: "transparent", color: ink},
                  title: {text: title, font: {size: 14}}, ...more};
  layout.xaxis = axis(layout.xaxis); layout.yaxis = axis(layout.yaxis);
  Plotly.newPlot(place, traces, layout, {responsive: true, displaylogo: false});
  drawn.push(id);
}
scheme.addEventListener("change", () => {
  const {ink, grid} = colors();
  for (const id of drawn) Plotly.relayout(id, {
    "font.color": ink, "modebar.color": ink, "xaxis.gridcolor": grid, "yaxis.gridcolor": grid,
    "xaxis.zerolinecolor": grid, "yaxis.zerolinecolor": grid,
  });
});
const lines = (list) => list.filter((s) => s.x.length).map(
  (s) => ({...s, name: plain(s.name), mode: "lines"}));
const log = {yaxis: {type: "log", exponentformat: "e"}, xaxis: {title: {text: "step"}}};
chart("loss", "Loss", lines(data.loss), {xaxis: {title: {text: "backward"}}});
// Gradients by layer. Rows are numbers, so that names may occur twice; a row without gradients is
// drawn in a colour of its own.
const found = [...new Set(data.gradients.flatMap((s) => s.x))].sort((a, b) => a - b);
const steps = found.length ? found : [0];
const column = new Map(steps.map((s, i) => [s, i]));
const empty = () => Array(steps.length).fill(null);
const rows = data.gradients.map((s) => {
  const row = empty();
  s.x.forEach((step, i) => { row[column.get(step)] = s.y[i] > 0 ? Math.log10(s.y[i]) : null; });
  return row;
});
const layers = data.gradients.map((s) => plain(s.name));
const cover = (state, color) => {
  const chosen = data.gradients.map((s) => s.state === state);
  return chosen.some(Boolean) ? [{
    type: "heatmap", z: chosen.map((c) => c ? empty().fill(1) : empty()), x: steps,
    y: layers.map((_, i) => i), colorscale: [[0, color], [1, color]], showscale: false,
    text: layers.map((name) => empty().fill(name)), hovertemplate: "%{text}: " + state +
    "<extra></extra>", xgap: steps.length < 60 ? 1 : 0,
  }] : [];
};
const heights = Math.max(3, Math.min(18, 12000 / Math.max(rows.length, 1)));
const labelled = Math.ceil(13 / heights);
const marked = layers.map((name, i) => {
  const state = data.gradients[i].state;
  return state ? name + " (" + state + ")" : name;
});
chart("flow", "Gradient norm by layer, log10 (first layer at the bottom)", rows.length ? [{
  type: "heatmap", z: rows, x: steps, y: layers.map((_, i) => i), colorscale: "Viridis",
  text: layers.map((name) => empty().fill(name)),
  hovertemplate: "%{text}<br>step %{x}: 1e%{z:.2f}<extra></extra>",
  colorbar: {lenmode: "pixels", len: 220, yanchor: "top", y: 1, thickness: 14},
}, ...cover("no gradient", "#dc2626"), ...cover("frozen", "#9ca3af")] : [], {
  height: 120 + heights * rows.length, margin: {...base.margin, l: 240},
  xaxis: {title: {text: "step"}},
  yaxis: {tickmode: "array", tickvals: layers.map((_, i) => i).filter((i) => i % labelled === 0),
          ticktext: marked.filter((_, i) => i % labelled === 0), tickfont: {size: 10},
          range: [-0.5, rows.length - 0.5]},
});
if (rows.length > 60) document.getElementById("flow").parentElement.classList.add("tall");
chart("norms", "Gradient norm", lines([data.gradient, ...data.norms]), log);
chart("updates", "Size of a step relative to the weights", lines(data.updates), log);
chart("rates", "Learning rate", lines(data.rates), {
  yaxis: {rangemode: "tozero", exponentformat: "e"}, xaxis: {title: {text: "step"}},
});
chart("activations", "Activations", data.activations.length ? [{
  type: "bar", orientation: "h", x: data.activations.map((a) => a.share),
  y: data.activations.map((a) => plain(a.name) + " (" + a.what + ")"),
}] : [], {margin: {...base.margin, l: 280}, xaxis: {range: [0, 1], tickformat: ".0%"},
          height: Math.max(160, 100 + 22 * data.activations.length)});
chart("memory", "Memory held by the graph, bytes", lines([data.memory]), {
  yaxis: {rangemode: "tozero", exponentformat: "SI"}, xaxis: {title: {text: "step"}},
});
// A finding's link marks its rows, or its step, in the chart that it leads to.
const frame = {type: "rect", line: {color: "#f59e0b", width: 2}, fillcolor: "#f59e0b22"};
function mark(id, {rows: names, step}) {
  const shapes = [];
  if (id === "flow") {
    const wanted = new Set(names.map(plain));
    layers.forEach((name, i) => { if (wanted.has(name)) shapes.push({
      ...frame, xref: "paper", x0: 0, x1: 1, y0: i - 0.5, y1: i + 0.5}); });
  } else if (step !== null && step !== undefined) {
    shapes.push({...frame, yref: "paper", y0: 0, y1: 1, x0: step - 0.5, x1: step + 0.5});
  }
  Plotly.relayout(id, {shapes});
  return shapes;
}
for (const link of document.querySelectorAll("a[data-mark]")) {
  const id = link.getAttribute("href").slice(1);
  if (!drawn.includes(id)) { link.replaceWith(link.textContent + " (none)"); continue; }
  link.addEventListener("click", () => {
    const shapes = mark(id, JSON.parse(link.dataset.mark));
    const outer = document.getElementById(id).parentElement;
    if (id === "flow" && shapes.length && outer.classList.contains("tall")) {
      const first = Math.max(...shapes.map((s) => s.y1));
      outer.scrollTop = (rows.length - first) * heights - 60;
    }
  });
}
document.body.dataset.ready = "yes";
"""
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">{refresh}
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>{style}</style>{plotly}</head>
<body><h1>{title}</h1><p>{summary}</p>
<section id="findings">{findings}</section>
<h2>The run</h2>
<div id="loss" class="chart"></div><div><div id="flow" class="chart"></div></div>
<div id="norms" class="chart"></div><div id="updates" class="chart"></div>
<div id="rates" class="chart"></div><div id="activations" class="chart"></div>
<div id="memory" class="chart"></div>
<h2>The graph of one step</h2><div class="clew-graph wide">{graph}</div>
<script type="application/json" id="data">{data}</script><script>{charts}</script>
</body></html>
"""
