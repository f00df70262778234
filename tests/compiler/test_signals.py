"""Signals while a compiled function is captured or replayed: what their handlers raise comes out.

`tests/interrupt_scenes.py` has compiled functions among its scenes: there a handler raises at every
point that they pass. Here it is which exceptions come out, and that a call is done whole or not.
"""

from __future__ import annotations

import gc
import itertools
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

import clew
from clew import observer
from clew.core.state import local
from clew.interrupts import is_from_handler, run_to_end
from tests.interrupts import begins_uninterrupted


class Stop(BaseException):
    """As a test runner or a scheduler of tasks raises in threads."""


class Late(TimeoutError):
    """As programs with a time limit raise in the handler of SIGALRM."""


@contextmanager
def handled(kind: type[BaseException]) -> Iterator[None]:
    """Inside, SIGUSR1 raises an exception of this kind."""

    def handler(number: int, frame: Any) -> None:
        raise kind

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)


class Bell:
    """A profile function that sends the signal with the n-th function that is entered.

    But not with one that begins without a look for signals.
    """

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, frame: Any, event: str, argument: Any) -> None:
        if event == "call" and not begins_uninterrupted(frame.f_code):
            self.left -= 1
            if self.left == 0:
                signal.raise_signal(signal.SIGUSR1)


def interrupted(run: Callable[[], Any], number: int, kind: type[BaseException]) -> bool:
    """Whether a signal came at the n-th function; False when there are fewer."""
    bell = Bell(number)
    before = local.state.grad_enabled, local.state.intercept, observer.active.observer
    try:
        sys.setprofile(bell)
        run()
    except kind as error:
        assert type(error) is kind
    finally:
        found = sys.getprofile()
        sys.setprofile(None)
    # Python drops a profile function that raises; if not, it is still the program's own.
    assert found in (None, bell)
    assert (local.state.grad_enabled, local.state.intercept, observer.active.observer) == before
    assert gc.isenabled()
    return bell.left <= 0


def counting() -> tuple[Any, Any]:
    """A function that reads a value after it has written to memory, and that memory."""
    total = clew.zeros(3)

    def add(x: Any) -> Any:
        total.add_(x)
        return x * 2 if total.sum() > 0 else x

    return add, total


KINDS = [KeyboardInterrupt, Stop, Late]


@pytest.mark.parametrize("kind", KINDS)
def test_a_replay_is_done_whole_or_not_at_all(kind: type[BaseException]) -> None:
    add, total = counting()
    compiled = clew.compile(add)
    x = clew.ones(3)
    compiled(x)
    compiled(x)
    assert len(compiled.events) == 1
    number, outcomes = 1, set()
    with handled(kind):
        while number < 500:
            before, version = total.tolist(), total._version
            if not interrupted(lambda: compiled(x), number, kind):
                break
            after, written = total.tolist(), total._version - version
            outcomes.add((after[0] - before[0], written))
            number += 1
    assert 5 < number < 500, "the loop ends because no function is left to stop in"
    assert outcomes <= {(0.0, 0), (1.0, 1)} and (0.0, 0) in outcomes
    assert len(compiled.events) == 1, "no signal is taken for a value that has changed"


@pytest.mark.parametrize("kind", KINDS)
def test_a_capture_that_is_stopped_leaves_no_trace(kind: type[BaseException]) -> None:
    x = clew.ones(3)
    number = 1
    with handled(kind):
        while number < 20000:
            add, _ = counting()
            compiled = clew.compile(add)
            if not interrupted(partial(compiled, x), number, kind):
                break
            # Closer together where the call itself begins.
            number += 1 if number < 40 else 17
            assert compiled(x).tolist() == [2.0, 2.0, 2.0]
            assert compiled(x).tolist() == [2.0, 2.0, 2.0]
    assert 100 < number < 20000


def test_a_capture_that_raises_says_so() -> None:
    def fails(x: Any) -> Any:
        raise KeyError("no")

    compiled = clew.compile(fails)
    with pytest.raises(KeyError):
        compiled(clew.ones(2))
    assert "runs eagerly: the call raises KeyError" in compiled.explain("summary")


def test_a_step_that_is_stopped_can_be_made_again() -> None:
    clew.manual_seed(0)
    model = clew.nn.Linear(3, 1)
    optimizer = clew.optim.SGD(model.parameters(), lr=0.1)

    @clew.compile
    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    x = clew.ones(4, 3)
    step(x)
    step(x)
    losses = [float(step(x).detach())]
    number = 1
    with handled(Late):
        while number < 2000 and interrupted(lambda: step(x), number, Late):
            number += 7
            losses.append(float(step(x).detach()))
    assert 20 < number < 2000
    assert all(after <= before for before, after in itertools.pairwise(losses))


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_checked_replays_of_steps_with_state(name: str, check: bool) -> None:
    """With `check=True` a step is run twice, and counts once: of schedulers, too."""
    clew.manual_seed(0)
    model = clew.nn.Linear(3, 1)
    options = {"momentum": 0.9} if name == "SGD" else {}
    optimizer = getattr(clew.optim, name)(model.parameters(), lr=0.1, **options)
    scheduler = clew.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        scheduler.step()
        return loss.detach()

    run = clew.compile(step, check=True) if check else step
    losses = [float(run(clew.ones(4, 3))) for _ in range(4)]
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.1 / 16)
    expected = LOSSES.setdefault(name, losses)
    assert losses == pytest.approx(expected, rel=1e-5)


# What the first of two runs gives, the eager one.
LOSSES: dict[str, list[float]] = {}


# -- whose error it is ------------------------------------------------------------------------


def test_errors_of_handlers_are_told_from_others() -> None:
    def raised(run: Callable[[], Any]) -> BaseException:
        try:
            run()
        except BaseException as error:
            return error
        raise AssertionError("nothing was raised")

    def send() -> None:
        signal.raise_signal(signal.SIGUSR1)

    def of_all(*arguments: Any) -> None:
        raise Late

    class Handler:
        def method(self, number: int, frame: Any) -> None:
            self.deeper()

        def deeper(self) -> None:
            raise Late

    for handler in (of_all, Handler().method, lambda number, frame: 1 // 0):
        before = signal.signal(signal.SIGUSR1, handler)
        try:
            assert is_from_handler(raised(send))
        finally:
            signal.signal(signal.SIGUSR1, before)
    assert not is_from_handler(raised(lambda: 1 // 0))
    assert not is_from_handler(raised(lambda: clew.ones(2) + clew.ones(3)))
    assert not is_from_handler(Late())


def test_what_is_run_to_its_end_is_done_when_the_error_comes_out() -> None:
    done: list[str] = []

    def restore() -> None:
        done.append("begun")
        if len(done) == 1:
            raise Stop
        done.append("ended")

    with pytest.raises(Stop):
        run_to_end(restore)
    assert done == ["begun", "begun", "ended"]
