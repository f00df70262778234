"""`background=True`: calls run eagerly until another thread has compiled them."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest

import clew
from clew import nn
from clew.compiler import trace
from clew.nn import functional as F


class Slow:
    """Compilation that waits until it is told to go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go = threading.Event()
        self.thread = threading.get_ident()
        make = trace.optimize

        def optimize(graph: Any, **options: Any) -> Any:
            assert threading.get_ident() != self.thread
            assert self.go.wait(60)
            return make(graph, **options)

        monkeypatch.setattr(trace, "optimize", optimize)


def training(background: bool) -> tuple[Any, nn.Module]:
    clew.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    optimizer = clew.optim.Adam(model.parameters(), 0.05)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), clew.tensor([0, 2]))
        loss.backward()
        optimizer.step()
        return loss

    return clew.compile(step, background=True) if background else step, model


def test_steps_are_eager_until_they_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow(monkeypatch)
    eager, model = training(False)
    compiled, twin = training(True)
    x = clew.linspace(-1, 1, 8).reshape(2, 4)
    for number in range(9):
        clew.testing.assert_close(compiled(x), eager(x), rtol=1e-4, atol=1e-6)
        (event,) = compiled.events
        if number == 3:
            assert event.trace.replays == 0 and not compiled.wait(0)
            slow.go.set()
            assert compiled.wait(60)
    assert event.problem is None and event.trace.replays == 5
    for mine, right in zip(twin.parameters(), model.parameters(), strict=True):
        clew.testing.assert_close(mine, right, rtol=1e-4, atol=1e-6)


def test_what_changes_meanwhile_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    slow, weight = Slow(monkeypatch), nn.Parameter(clew.ones(3))
    options = {"k": 2.0}

    @clew.compile(background=True)
    def scaled(x: Any) -> Any:
        return (x * weight * options["k"]).detach()

    x = clew.ones(3)
    scaled(x)
    options["k"] = 3.0
    weight.data = clew.ones(1)
    slow.go.set()
    assert scaled.wait(60)
    for _ in range(3):
        assert scaled(x).tolist() == [3.0, 3.0, 3.0]
        assert scaled.wait(60)


def test_a_call_that_cannot_be_compiled_stays_eager(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(graph: Any, **options: Any) -> Any:
        raise ValueError("no")

    monkeypatch.setattr(trace, "optimize", broken)
    doubled = clew.compile(lambda x: x * 2, background=True)
    for _ in range(4):
        assert doubled(clew.ones(1)).item() == 2
        assert doubled.wait(60)
    assert doubled.events[0].problem == "compiling it raises ValueError: no"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_compiles_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow(monkeypatch)
    doubled = clew.compile(lambda x: (x * 2).sin(), background=True)
    x = clew.ones(1)
    right = doubled(x).item()
    child = os.fork()
    if child == 0:
        # The thread that compiles is not there.
        monkeypatch.undo()
        same = all(abs(doubled(x).item() - right) < 1e-6 for _ in range(3))
        os._exit(0 if same and doubled.events[0].trace.replays == 3 else 1)
    _, status = os.waitpid(child, 0)
    slow.go.set()
    assert doubled.wait(60)
    assert status == 0
