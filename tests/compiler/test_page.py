"""`explain("html")`: one page, without scripts, in which everything is said and escaped."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import clew
from clew import nn
from clew.nn import functional as F

VOID = ("meta", "rect", "line")


class Page(HTMLParser):
    """The texts of a page; checks that tags are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.bars = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        assert tag != "script"
        self.bars += tag == "rect"
        if tag not in VOID or tag == "rect":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        assert tag in VOID

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def read(text: str) -> tuple[Page, str]:
    page = Page()
    page.feed(text)
    assert not page.open
    return page, " ".join(page.texts)


def compiled_step() -> Any:
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 3))
    optimizer = clew.optim.Adam(model.parameters())

    @clew.compile
    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), clew.tensor([0, 2]))
        loss.backward()
        optimizer.step()
        return loss

    return step


def test_a_page_of_a_train_step() -> None:
    step, x = compiled_step(), clew.ones(2, 4)
    for _ in range(3):
        step(x)
    page, text = read(step.explain("html"))
    assert "compiled_step.<locals>.step" in text and "float32[2, 4]" in text
    assert "the first call" in text and "replayed 2 times" in text
    assert "native segment of" in text and "adam" in text and "LLVM IR" in text
    assert "define void @fused" in text and "assembly" not in text
    assert page.bars == len(step.events[0].trace.graph.instructions)
    assert "profile(...) measures" in text
    step.profile(x)
    _, text = read(step.explain("html", assembly=True))
    assert "assembly" in text and "ret" in text and "share" in text


def test_a_page_says_what_runs_eagerly() -> None:
    @clew.compile
    def noisy(x: Any) -> Any:
        print("<b>")
        return x

    noisy(clew.ones(1))
    _, text = read(noisy.explain("html"))
    assert "runs eagerly: print is called" in text


def test_forward_and_backward_of_a_module() -> None:
    model = clew.compile(nn.Sequential(nn.Linear(3, 3), nn.Tanh()))
    model(clew.ones(2, 3)).sum().backward()
    _, text = read(model.explain("html"))
    assert "forward: graph" in text and "backward: graph" in text


def test_assembly_as_text() -> None:
    scaled = clew.compile(lambda x: (x * 2).sin() + 1)
    scaled(clew.ones(3))
    assert "fused" in scaled.explain("assembly") and "ret" in scaled.explain("assembly")


def test_library_code_that_runs_for_the_first_time_is_no_reading_of_optimizers() -> None:
    import re

    step, x = compiled_step(), clew.ones(2, 4)
    re.purge()
    step(x)
    assert [event.problem for event in step.events] == [None]
