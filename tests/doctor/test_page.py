"""Names of the program's own in the doctor's page, whatever they look like."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import clew
from clew import nn
from clew.doctor import watch
from clew.doctor.engines.native_graph import graph
from clew.doctor.report.page import json_in_script, page

NAMES = [
    "<!--<script>",
    "</script><script>stolen()</script>",
    "]]>",
    "-->",
    "<b>&amp;</b>",
    "\"><img src=x onerror='stolen()'>",
    "\u2028\u2029",
    "{braces} %s \\u003c",
    "\x00\x1b[31m",
    "\ud800",
]
# Elements of a page whose names are ordinary ones, and elements that only a name could bring.
OURS = frozenset(
    {"html", "head", "meta", "title", "style", "script", "body", "h1", "h2", "h3", "p", "section",
     "div", "svg", "g", "rect", "text", "path", "details", "summary", "table", "tr", "td", "b",
     "article", "small", "ul", "li", "code", "pre", "span", "i", "br", "a"}
)  # fmt: skip


class Reader(HTMLParser):
    """The elements of a page, and the text in its scripts and outside of them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[str] = []
        self.attributes: set[str] = set()
        self.scripts: list[str] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self.elements.append("/" + tag)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data[:80]!r}")

    def handle_data(self, data: str) -> None:
        inside = self.elements and self.elements[-1] == "script"
        if inside:
            self.scripts[-1] += data
        else:
            self.words += data


def trained(name: str) -> Any:
    """The watch of a model with a layer, and a parameter, of this name; one gets no gradient."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.add_module(name, nn.Linear(3, 4))
            self.register_parameter(name + "'", nn.Parameter(clew.ones(4)))
            self.register_parameter(name + "unused", nn.Parameter(clew.ones(4)))

        def forward(self, x: clew.Tensor) -> clew.Tensor:
            return (getattr(self, name)(x) * getattr(self, name + "'")).sum()

    clew.manual_seed(0)
    model = Net()
    optimizer = clew.optim.SGD(model.parameters(), lr=0.01)
    with watch() as doctor:
        for _ in range(8):
            optimizer.zero_grad()
            model(clew.randn(5, 3)).backward()
            optimizer.step()
    return doctor, model


def shown(name: str) -> str:
    """What has no place in a page: pictures of control characters stand in."""
    return "".join(chr(0x2400 + ord(c)) if ord(c) < 32 else c for c in name).replace(
        "\ud800", "\ufffd"
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_text(name: str, tmp_path: Path) -> None:
    doctor, _ = trained(name)
    report = doctor.report()
    doctor.save(tmp_path / "report.html")  # also where a name cannot be written as it is
    reader = Reader()
    reader.feed(page(report, script="<script></script>"))
    reader.close()
    assert {tag.lstrip("/") for tag in reader.elements} <= OURS
    assert not [each for each in reader.attributes if each.startswith("on") or each == "src"]
    assert reader.elements.count("script") == reader.elements.count("/script") == 3
    data = json.loads(reader.scripts[1])
    assert any(name in series["name"] for series in data["gradients"])
    assert "<" not in reader.scripts[1] and "\u2028" not in reader.scripts[1]
    assert shown(name) in reader.words
    # What a notebook shows of the same.
    for fragment in (report._repr_html_(), report.graph._repr_html_(), report.graph.html()):
        inner = Reader()
        inner.feed(fragment)
        assert {tag.lstrip("/") for tag in inner.elements} <= OURS


@pytest.mark.parametrize("name", NAMES)
def test_a_drawing_is_well_formed(name: str, tmp_path: Path) -> None:
    _, model = trained(name)
    view = graph(model(clew.randn(5, 3)), model)
    for by_module in (False, True):
        text = view.svg(by_module=by_module)
        drawing = ElementTree.fromstring(text)
        words = "".join(drawing.itertext())
        assert shown(name) in words
    view.save(tmp_path / "graph.svg")


def test_json_survives_a_script() -> None:
    value = {"<!--<script>": ["</script>", "]]>", "\u2028", "a & b > c"]}
    text = json_in_script(value)
    assert json.loads(text) == value
    assert not set("<>&\u2028\u2029") & set(text)


def test_layers_without_gradients_are_rows_of_their_own() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(3, 3)
            self.unused = nn.Linear(3, 3)
            self.frozen = nn.Linear(3, 3).requires_grad_(False)
            self.last = nn.Linear(3, 1)

        def forward(self, x: Any) -> Any:
            return self.last(self.frozen(self.first(x)))

    model = Net()
    optimizer = clew.optim.SGD(model.parameters(), lr=1e-3)
    with watch(model, optimizer) as d:
        for _ in range(4):
            optimizer.zero_grad()
            model(clew.ones(2, 3)).sum().backward()
            optimizer.step()
    rows = [(row["name"], row["state"]) for row in d.report().series["gradients"]]
    assert rows == [
        ("first.weight", ""), ("first.bias", ""), ("unused.weight", "no gradient"),
        ("unused.bias", "no gradient"), ("frozen.weight", "frozen"), ("frozen.bias", "frozen"),
        ("last.weight", ""), ("last.bias", ""),
    ]  # fmt: skip
    text = page(d.report(), script="")
    assert 'href="#flow"' in text and "unused.weight" in text
