"""Forks while other threads are in the middle of something: no child hangs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.processes import ended

PACKAGE = Path(__file__).resolve().parent.parent / "clew"

# Threads work all the time; the main thread forks, and every child does the same work once.
STRESS = """
import io, os, signal, sys, threading, time
import clew
from clew.utils.data import DataLoader

generator = clew.Generator()
watched = clew.ones(3, requires_grad=True)
clew.autograd.graph.register_multi_grad_hook([watched], lambda grads: None)

def draw():
    clew.randn(2000)
    clew.rand(2000, generator=generator)
    clew.Generator().manual_seed(3)
    clew.randperm(100)

def train():
    leaf = clew.ones(50, 50, requires_grad=True)
    clew.nn.functional.gelu(leaf @ leaf).softmax(-1).sum().backward()
    (watched * 2).sum().backward()

def save():
    file = io.BytesIO()
    clew.save({"state": clew.get_rng_state(), "leaf": clew.ones(100)}, file)
    file.seek(0)
    clew.load(file)

def iterate():
    for _ in DataLoader(list(range(8)), batch_size=4, shuffle=True):
        pass

works = [globals()[name] for name in WORKS]
for work in works:
    work()
over = False

def repeat(work):
    while not over:
        work()

sys.setswitchinterval(1e-5)
threads = [threading.Thread(target=repeat, args=(work,)) for work in works for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(FORKS):
    child = os.fork()
    if not child:
        signal.alarm(30)
        for work in works:
            work()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, "a child hung or failed"
over = True
for thread in threads:
    thread.join()
"""


@pytest.mark.parametrize(
    ("works", "forks"), [(["draw"], 200), (["train"], 60), (["save", "iterate"], 60)]
)
def test_children_do_what_other_threads_were_doing(works: list[str], forks: int) -> None:
    program = STRESS.replace("WORKS", repr(works)).replace("FORKS", str(forks))
    assert ended(program, 240) == (0, "")


COMPUTED = """
import os, signal, threading
from clew.forking import cached_property

begun, go_on = threading.Event(), threading.Event()

class Slow:
    @cached_property
    def value(self):
        begun.set()
        go_on.wait()
        return object()

slow = Slow()
thread = threading.Thread(target=lambda: slow.value)
thread.start()
begun.wait()
if not (child := os.fork()):
    signal.alarm(30)
    go_on = threading.Event()
    go_on.set()
    slow.value
    Slow().value
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
go_on.set()
mine = slow.value
thread.join()
assert slow.value is mine
"""


def test_a_value_that_another_thread_is_computing() -> None:
    assert ended(COMPUTED, 60) == (0, "")


# Locks that are no part of `add_lock`, each with its own way through a fork.
ELSEWHERE = {
    "kernels/runtime/compile_thread.py": "forks wait for it",
    "kernels/runtime/jit.py": "only what the compiler thread computes, for which forks wait",
    "forking.py": "what `add_lock` makes",
    "distributed/runtime/watchdog.py": "MPI ends with a fork: the child is no rank",
    "distributed/runtime/work.py": "the same",
}


def test_every_lock_is_made_where_forks_are_thought_of() -> None:
    made = r"threading\.(R?Lock|Condition|(Bounded)?Semaphore|Event|Barrier)\("
    for path in PACKAGE.rglob("*.py"):
        if str(path.relative_to(PACKAGE)) not in ELSEWHERE:
            text = path.read_text()
            assert not re.search(made, text), f"{path}: use add_lock"
            assert not re.search(r"functools.*cached_property", text), f"{path}: use clew's own"
