"""A program that the doctor watches does what it does without: `tests.watched` compares the two.

All programs of the suite take minutes (`python -m tests.watched`); here are those that were written
for it, all scenarios, and a sample of the others.
"""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

import clew
from clew import nn
from clew.doctor import Session, watch
from clew.doctor.facts.places import locals_of, tree_of
from clew.doctor.observe.ranks import RankObserver
from clew.observer import EVENTS, Observer, active, install, observing, remove
from tests import watched

Program = tuple[str, Callable[[], Any]]
# What a program does on purpose, and the doctor is right about.
FOUND = {"warnings_as_they_are": ["inplace-saved-tensor.unseen"]}


def names(programs: list[Program]) -> list[str]:
    return [name for name, _ in programs]


OWN = list(watched.of_this_suite())
USERS = list(watched.of_users())[::4]
CORRECT = list(watched.of_doctor("correct"))[7::40]
FAULTY = list(watched.of_doctor("faulty"))[3::60]


@pytest.mark.parametrize(
    ("name", "program"), OWN + USERS + CORRECT, ids=names(OWN + USERS + CORRECT)
)
def test_a_correct_program_ends_alike_and_nothing_is_found(
    name: str, program: Callable[[], Any]
) -> None:
    found, session = watched.differences(name, program)
    assert not found
    expected = FOUND.get(name.rpartition(".")[2], [])
    assert [finding.rule for finding in session.report().problems] == expected


@pytest.mark.parametrize(("name", "program"), FAULTY, ids=names(FAULTY))
def test_a_faulty_program_ends_alike(name: str, program: Callable[[], Any]) -> None:
    assert not watched.differences(name, program)[0]


# In parts, so that several processes share them.
PARTS = 12


@pytest.mark.parametrize("part", range(PARTS))
def test_scenarios_end_alike(part: int) -> None:
    scenarios = list(watched.of_scenarios())
    assert len(scenarios) > 450
    chosen = scenarios[part::PARTS]
    found = {name: watched.differences(name, program)[0] for name, program in chosen}
    assert {name: each for name, each in found.items() if each} == {}


def test_random_programs_end_alike() -> None:
    for name, program in watched.of_random_steps(20):
        assert not watched.differences(name, program)[0], name


def test_the_comparison_sees_a_difference() -> None:
    runs: list[int] = []

    def program() -> Any:
        runs.append(0)
        print(len(runs))
        if len(runs) > 1:
            clew.rand(1)
            raise ValueError("the second time")
        return clew.ones(2)

    found, _ = watched.differences("here", program)
    assert [each.partition(":")[0] for each in found] == ["result", "printed", "error", "random"]


# -- nothing is replaced -------------------------------------------------------------------------


def attributes() -> dict[tuple[str, str], Any]:
    """Every attribute of every module of clew and of its classes, by identity."""
    seen: dict[tuple[str, str], Any] = {}
    for path, module in list(sys.modules.items()):
        if not path.startswith("clew") or path.startswith("clew.doctor"):
            continue
        if not isinstance(module, ModuleType):
            continue
        for name, value in list(vars(module).items()):
            seen[path, name] = value
            if isinstance(value, type) and value.__module__.startswith("clew"):
                for member, held in list(vars(value).items()):
                    seen[f"{path}.{name}", member] = held
    return seen


def test_nothing_is_replaced_while_the_doctor_watches() -> None:
    before = attributes()
    assert len(before) > 10000
    session = Session()
    session.start()
    try:
        during = attributes()
    finally:
        session.stop()
    assert before.keys() == during.keys()
    assert [key for key in before if before[key] is not during[key]] == []
    assert active.observer is None


# -- the interface -------------------------------------------------------------------------------


def test_the_session_takes_what_events_bring() -> None:
    """An event whose arguments have changed must be noticed here, not by a program."""
    for name in EVENTS:
        told = list(inspect.signature(getattr(Observer, name)).parameters)
        taken = list(inspect.signature(inspect.unwrap(getattr(Session, name))).parameters)
        assert taken == told, name
        needs = RankObserver if name == "worker_made" else Session
        assert getattr(needs, name) is not getattr(Observer, name), f"nobody needs {name}"


class Everything(Observer):
    """Notes which events have come."""

    def __init__(self) -> None:
        self.seen: set[str] = set()


def _noting(name: str) -> Callable[..., None]:
    def note(self: Everything, *args: Any) -> None:
        inspect.signature(getattr(Observer, name)).bind(self, *args)
        self.seen.add(name)

    return note


for _name in EVENTS:
    setattr(Everything, _name, _noting(_name))


def test_every_event_comes_with_its_arguments() -> None:
    observer = Everything()
    with observing(observer):
        for _, program in [*OWN, *watched.of_users()]:
            watched.run(program)
            if observer.seen == set(EVENTS) - {
                "similarity_computed", "module_requires_grad_set", "compiled_function_called",
                "divergence_computed", "step_passed", "watch_resumes",
            }:  # fmt: skip
                break
        a, b = clew.randn(2, 3), clew.randn(2, 3)
        nn.functional.cosine_similarity(a, b)
        nn.functional.kl_div(a, b.softmax(1))
        clew.compile(clew.relu)(a)
        nn.Linear(2, 2).requires_grad = True
    # PyTorch's engine is not looked at in every step, and says so.
    assert set(EVENTS) - observer.seen == {"step_passed", "watch_resumes"}


def test_observers_beside_each_other() -> None:
    first, second = Everything(), Everything()
    with observing(first):
        with observing(second):
            clew.ones(2) * 2
        second.seen.clear()
        first.seen.clear()
        clew.ones(2) * 2
    assert first.seen == {"tensor_made", "op_ran"} and not second.seen
    remove(first)  # once more does nothing
    assert active.observer is None


def test_threads_that_run_already_and_new_ones_are_seen() -> None:
    observer = Everything()
    begin = threading.Event()

    def work() -> None:
        begin.wait()
        clew.ones(2) * 2

    early = threading.Thread(target=work)
    early.start()
    with observing(observer):
        begin.set()
        early.join()
        assert "op_ran" in observer.seen
        observer.seen.clear()
        late = threading.Thread(target=work)
        late.start()
        late.join()
    assert "op_ran" in observer.seen


# -- mistakes, interrupts, ends ------------------------------------------------------------------


def training() -> list[Any]:
    clew.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.BatchNorm1d(8), nn.Linear(8, 1))
    optimizer = clew.optim.SGD(model.parameters(), lr=0.01)
    loader = clew.utils.data.DataLoader(clew.utils.data.TensorDataset(clew.randn(16, 4)), 8)
    for _ in range(3):
        for (x,) in loader:
            optimizer.zero_grad()
            model(x).pow(2).mean().backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
    model.load_state_dict(model.state_dict())
    return [p.detach().numpy().tobytes() for p in model.parameters()]


class Broken:
    """A collector whose every method fails."""

    def __getattr__(self, name: str) -> Any:
        raise ZeroDivisionError("in the doctor")


@pytest.mark.parametrize(
    "collector",
    ["recorder", "numbers", "losses", "modes", "data", "keeping", "copies", "precision",
     "schedules", "repeats", "flow", "partial"],
)  # fmt: skip
def test_a_mistake_in_a_collector_never_reaches_the_program(collector: str) -> None:
    expected = training()
    session = Session()
    setattr(session, collector, Broken())
    session.start()
    try:
        assert training() == expected
    finally:
        session.stop()
    assert active.observer is None


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_during_an_event_passes(kind: type[BaseException]) -> None:
    session = Session()

    def interrupt(*args: Any) -> None:
        raise kind

    session.recorder.step_ends = interrupt  # type: ignore[method-assign]  # as by a signal
    with pytest.raises(kind), observing(session):
        training()
    assert active.observer is None and clew.is_grad_enabled()
    assert not session.failures


def test_an_error_of_a_signal_handler_passes() -> None:
    session = Session()

    def ring(number: int, frame: Any) -> None:
        raise TimeoutError("the program's own")

    def slow(*args: Any) -> None:
        os.kill(os.getpid(), signal.SIGUSR1)
        for _ in range(1000):
            pass

    before = signal.signal(signal.SIGUSR1, ring)
    session.recorder.step_ends = slow  # type: ignore[method-assign]  # the signal comes here
    try:
        with pytest.raises(TimeoutError), observing(session):
            training()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert not session.failures


def test_the_watch_does_not_keep_local_variables() -> None:
    def program() -> tuple[Any, dict[str, Any]]:
        value = object()
        shown = locals_of(sys._getframe())
        assert shown["value"] is value
        references = sys.getrefcount(value)
        del shown
        return sys.getrefcount(value) - references, locals()

    assert program()[0] == -1


def test_reading_the_source_warns_of_nothing(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(
        "a = '\\d' + '\\\\' + \"\\'\" + r'\\'' + f'\\{1}' + f'\\N{EM DASH}{a}' + '\\\n'\n"
        "b = 1 + \\\n  2\n# \\q\nc = b'\\xff\\''\n"
    )
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        tree = tree_of(str(path))
    assert not heard
    assert tree is not None and [node.lineno for node in tree.body] == [1, 3, 6]


def test_a_forked_process_is_not_watched() -> None:
    with watch() as doctor:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, b"yes" if active.observer is None else b"no")
            os._exit(0)
        os.waitpid(child, 0)
        assert os.read(read, 3) == b"yes"
        assert active.observer is doctor.session


# -- whole processes -----------------------------------------------------------------------------

SCRIPTS = {
    "error": """
import torch
w = torch.ones(3, requires_grad=True)
h = w.exp()
h += 1
h.sum().backward()
""",
    "exit": """
import atexit, sys, warnings
import torch
atexit.register(print, "the end")
warnings.warn("careful")
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
x = torch.ones(2, 3, requires_grad=True)
(g,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
g.pow(2).sum().backward()
print(model.weight.grad)
sys.exit(3)
""",
    "fork": """
import os, sys
import torch
w = torch.ones(2, requires_grad=True)
child = os.fork()
(w * 2).sum().backward()
if child:
    os.waitpid(child, 0)
print("parent" if child else "child", w.grad)
""",
    "interrupt": """
import os, signal
import torch
w = torch.ones(2, requires_grad=True)
for step in range(10):
    (w * 2).sum().backward()
    if step == 5:
        print("now", flush=True)
        os.kill(os.getpid(), signal.SIGINT)
""",
}


def end_of(command: list[str], path: Path) -> tuple[int, str, str]:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.getcwd()}
    done = subprocess.run(
        [sys.executable, "-m", "clew.cli.main", *command, str(path)],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_process_ends_alike(name: str, tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(SCRIPTS[name])
    assert end_of(["doctor", "--quiet"], path) == end_of(["run"], path)


@pytest.fixture(autouse=True)
def nobody_watches_afterwards() -> Iterator[None]:
    yield
    assert active.observer is None


def test_installing_is_seen_at_once() -> None:
    observer = Everything()
    install(observer)
    try:
        assert active.observer is observer
    finally:
        remove(observer)


def test_events_are_plain_functions() -> None:
    assert all(isinstance(vars(Observer)[name], FunctionType) for name in EVENTS)
