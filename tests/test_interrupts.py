"""An interrupt that a program catches leaves everything as it was before.

`python -m tests.interrupts` does the same with signals at random moments, for as long as one likes.
"""

import json
import signal
import sys
from typing import Any

import pytest

from clew.interrupts import enters_block, uninterrupted
from tests.processes import ended

EVERY_POINT = """
import json
from tests.interrupts import Points, run_points
from tests.interrupt_scenes import SCENES

points = Points(with_callers=False)
# First those whose own points others pass as well, without the state that is at stake there.
first = ["large_products", "random_numbers"]
quick = dict.fromkeys([*first, *SCENES])
del quick["loading_with_workers"]
# It takes a minute; tests/compiler/test_signals.py stops captures at fewer points.
del quick["compiling"]
print(json.dumps({name: run_points(name, points)["failures"] for name in quick}))
print(len(points.seen))
"""


def test_an_interrupt_at_any_point_of_any_scene_changes_nothing() -> None:
    code, output = ended(EVERY_POINT, 120)
    assert code == 0, output
    *_, failures, count = output.splitlines()
    assert not [each for found in json.loads(failures).values() for each in found], failures
    assert int(count) > 1000


class Stopped(Exception):
    pass


class Mode:
    on = False

    def __enter__(self) -> None:
        Mode.on = True

    def __exit__(self, *exc: object) -> None:
        Mode.on = False


class SafeMode(Mode):
    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        Mode.on = False


@pytest.mark.parametrize("tool", ["nothing", "a profiler"])
def test_signals_wait_until_an_uninterrupted_function_has_begun(tool: str) -> None:
    def left_on(kind: type[Mode]) -> int:
        count = 0
        for number in range(300):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-5 + number * 1e-7)
                while True:
                    with kind():
                        pass
            except Stopped:
                count += Mode.on
                Mode.on = False
        return count

    def stop(*args: object) -> None:
        raise Stopped

    before = signal.signal(signal.SIGALRM, stop)
    profiled = sys.getprofile()
    if tool == "a profiler":
        profiler = __import__("cProfile").Profile()
        profiler.enable()
    try:
        found = left_on(SafeMode), left_on(Mode)
    finally:
        if tool == "a profiler":
            profiler.disable()
        sys.setprofile(profiled)
        signal.signal(signal.SIGALRM, before)
    assert found[0] == 0
    # Without it there are many: the test would notice.
    assert found[1] > 10


def test_uninterrupted_functions_are_as_before_otherwise() -> None:
    def outer(a: int) -> Any:
        @uninterrupted
        def inner(b: int = 2, *, c: int = 3) -> object:
            """Text."""
            return lambda d: (a, b, c, d)

        return inner

    inner = outer(1)
    assert inner.__doc__ == "Text." and inner.__name__ == "inner"
    assert inner(5, c=6)(7) == (1, 5, 6, 7)


class Asks:
    def __init__(self, *args: object) -> None:
        self.is_entered = enters_block(sys._getframe(1))

    def __enter__(self) -> bool:
        return self.is_entered

    def __exit__(self, *exc: object) -> None:
        return None


def test_a_call_knows_whether_a_block_is_entered_with_its_value() -> None:
    with Asks() as first, Asks(1) as second:
        assert first and second
    with Asks(Asks().is_entered) as third:
        assert third
    kept = Asks()
    with kept as fourth:
        assert not fourth
    assert not Asks(2).is_entered


CTRL_C = """
import multiprocessing, os, signal, threading, time
import clew as torch
from clew.utils.data import DataLoader, TensorDataset

class Slow(TensorDataset):
    def __getitem__(self, index):
        time.sleep(0.001)
        return super().__getitem__(index)

loader = DataLoader(
    Slow(torch.arange(200.0).reshape(50, 4)), batch_size=5, num_workers=1, persistent_workers=True
)
for delay in (0.02, 0.1, 0.15):
    try:
        threading.Timer(delay, lambda: os.killpg(0, signal.SIGINT)).start()
        while True:
            for batch in loader:
                pass
    except KeyboardInterrupt:
        # The worker has got it as well, and ends.
        for worker in multiprocessing.active_children():
            worker.join(2)
    print(sum(float(batch.sum()) for (batch,) in loader))
"""


def test_a_loader_goes_on_after_a_terminal_has_interrupted_its_workers_too() -> None:
    code, output = ended(CTRL_C, 60)
    assert code == 0, output
    assert [line for line in output.splitlines() if line[:1].isdigit()] == ["19900.0"] * 3, output
