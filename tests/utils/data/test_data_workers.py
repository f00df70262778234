"""Worker processes of DataLoader that fail, hang or are killed: errors come at once, all ends."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import clew
from clew.utils.data import DataLoader, IterableDataset

ROOT = Path(__file__).resolve().parents[3]
# Generous, because the machine may be busy; a hang would take forever.
PROMPT = 20.0

pytestmark = pytest.mark.skipif(
    not os.path.isdir("/proc/self/task"), reason="looks for processes and descriptors in /proc"
)


@pytest.fixture(autouse=True)
def _nothing_stays() -> Any:
    """No test leaves a process, a descriptor or shared memory behind."""
    # What earlier tests dropped in cycles is gone first, and is not counted.
    gc.collect()
    before = _children(), _descriptors(), _shared_memory()
    yield
    # The traceback of a caught exception holds the frames that hold the iterator.
    gc.collect()
    assert (_children(), _descriptors(), _shared_memory()) == before


def _children() -> set[str]:
    """Child processes of this one, zombies included."""
    tasks = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    return {pid for task in tasks for pid in task.read_text().split()}


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _shared_memory() -> list[str]:
    """Files in memory that this process has mapped, by name or without."""
    maps = Path("/proc/self/maps").read_text().splitlines()
    return [line for line in maps if "/memfd:" in line or "/dev/shm/" in line]


def _gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def _wait(condition: Callable[[], bool], seconds: float = PROMPT) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


class Acting:
    """A dataset whose samples from index 2 on do something first."""

    def __init__(self, action: Callable[[], Any]) -> None:
        self.action = action

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> int:
        if index >= 2:
            self.action()
        return index


class NeedsTwo(Exception):
    def __init__(self, one: Any, two: Any) -> None:
        super().__init__(one)


def _raise(error: BaseException) -> Callable[[], Any]:
    def action() -> None:
        raise error

    return action


# -- exceptions --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("boom"), ValueError),
        (KeyError("missing\nkey"), KeyError),
        (NeedsTwo(1, 2), RuntimeError),
        (OSError(2, "no file"), OSError),
    ],
)
def test_an_exception_arrives_with_its_traceback(error: Exception, kind: type) -> None:
    batches = iter(DataLoader(Acting(_raise(error)), 2, num_workers=1))
    assert next(batches).tolist() == [0, 1]
    with pytest.raises(kind) as caught:
        next(batches)
    text = str(caught.value)
    assert text.startswith(
        f"Caught {type(error).__name__} in DataLoader worker process 0.\n"
        "Original Traceback (most recent call last):\n"
    )
    assert "raise error" in text and "test_data_workers.py" in text
    assert (
        text.rstrip()
        .splitlines()[-1]
        .startswith((f"{type(error).__name__}:", "FileNotFoundError:", f"{__name__}.NeedsTwo:"))
    )


def test_the_pass_goes_on_after_an_exception() -> None:
    class Odd:
        def __len__(self) -> int:
            return 6

        def __getitem__(self, index: int) -> int:
            if index % 2:
                raise ValueError("odd")
            return index

    batches = iter(DataLoader(Odd(), None, num_workers=2))
    seen: list[Any] = []
    for _ in range(6):
        try:
            seen.append(next(batches))
        except ValueError:
            seen.append("error")
    assert seen == [0, "error", 2, "error", 4, "error"]
    with pytest.raises(StopIteration):
        next(batches)


@pytest.mark.parametrize("what", ["exception", "sample"])
def test_what_cannot_be_pickled_is_an_error_and_no_hang(what: str) -> None:
    class Local(Exception):
        pass

    action = _raise(Local("not picklable")) if what == "exception" else None
    data = Acting(action) if action else [lambda: None]
    batches = iter(DataLoader(data, None, num_workers=1, collate_fn=_same))
    with pytest.raises((RuntimeError, AttributeError), match="in DataLoader worker process 0"):
        for _ in range(3):
            next(batches)


def _same(value: Any) -> Any:
    return value


class NotHere:
    """Pickles, but does not unpickle."""

    def __reduce__(self) -> Any:
        return _fail, ()


def _fail() -> None:
    raise ValueError("cannot be rebuilt")


def test_what_cannot_be_unpickled_is_an_error() -> None:
    loader = DataLoader([NotHere()], None, num_workers=1, collate_fn=_same)
    with pytest.raises(ValueError, match="Caught ValueError while reading a batch"):
        list(loader)


def test_an_index_that_cannot_be_unpickled_is_an_error() -> None:
    loader = DataLoader(range(3), None, sampler=[NotHere()], num_workers=1)
    with pytest.raises(ValueError, match="Caught ValueError in DataLoader worker process 0"):
        list(loader)


def test_dropping_a_loader_whose_channel_a_later_worker_has_inherited() -> None:
    older = iter(DataLoader(range(9), num_workers=1))
    newer = iter(DataLoader(range(9), num_workers=1))
    next(older), next(newer)
    pids = _pids(older)
    start = time.monotonic()
    del older
    assert all(map(_gone, pids))
    assert time.monotonic() - start < clew.utils.data._utils.worker.MP_STATUS_CHECK_INTERVAL
    assert len(list(newer)) == 8


def test_error_in_worker_init_fn() -> None:
    loader = DataLoader([1], num_workers=1, worker_init_fn=_broken_init)
    with pytest.raises(ValueError, match=r"Caught ValueError in DataLoader worker process 0\."):
        list(loader)


def _broken_init(worker: int) -> None:
    raise ValueError("no")


def test_error_in_the_iterator_of_an_iterable_dataset() -> None:
    class Broken(IterableDataset[int]):
        def __iter__(self) -> Any:
            yield 1
            raise ValueError("after one")

    batches = iter(DataLoader(Broken(), None, num_workers=1))
    assert next(batches) == 1
    with pytest.raises(ValueError, match="after one"):
        next(batches)
    with pytest.raises(StopIteration):
        next(batches)


# -- deaths ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (lambda: os._exit(3), "exit code 3"),
        (lambda: sys.exit(4), "exit code 4"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "SIGKILL"),
        (lambda: os.kill(os.getpid(), signal.SIGTERM), "SIGTERM"),
    ],
)
def test_a_dead_worker_is_reported_at_once(action: Callable[[], Any], reason: str) -> None:
    batches = iter(DataLoader(Acting(action), 2, num_workers=1))
    pid = batches._workers[0].pid
    start = time.monotonic()
    message = rf"DataLoader worker \(pid\(s\) {pid}\) exited unexpectedly"
    with pytest.raises(RuntimeError, match=message) as caught:
        for _ in range(4):
            next(batches)
    assert reason in str(caught.value)
    with pytest.raises(RuntimeError, match=message):
        next(batches)
    assert time.monotonic() - start < PROMPT


def test_one_of_several_workers_killed_from_outside() -> None:
    loader = DataLoader(Acting(lambda: time.sleep(0.01)), 1, num_workers=2)
    batches = iter(loader)
    next(batches)
    os.kill(batches._workers[1].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(batches)


def test_a_new_pass_after_a_death() -> None:
    # More batches than are fetched ahead: the worker cannot have sent them all before it dies.
    loader = DataLoader(range(60), 4, num_workers=1)
    batches = iter(loader)
    os.kill(batches._workers[0].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(batches)
    assert [n for batch in loader for n in batch.tolist()] == list(range(60))


def test_a_new_pass_of_persistent_workers_after_a_death() -> None:
    loader = DataLoader(range(60), 3, num_workers=2, persistent_workers=True)
    for kill in (False, True, False):
        batches = iter(loader)
        if kill:
            os.kill(batches._workers[0].pid, signal.SIGKILL)
            with pytest.raises(RuntimeError, match="exited unexpectedly"):
                list(batches)
        else:
            assert [n for batch in batches for n in batch.tolist()] == list(range(60))


def test_timeout() -> None:
    data = Acting(lambda: time.sleep(60))
    batches = iter(DataLoader(data, 2, num_workers=1, timeout=0.5))
    worker = batches._workers[0]
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=r"^DataLoader timed out after 0\.5 seconds"):
        list(batches)
    assert 0.4 < time.monotonic() - start < PROMPT
    os.kill(worker.pid, signal.SIGKILL)


# -- ends --------------------------------------------------------------------------------------


def _pids(batches: Any) -> list[int]:
    return [process.pid for process in batches._workers]


@pytest.mark.parametrize("persistent", [False, True])
def test_workers_end_with_the_iterator(persistent: bool) -> None:
    loader = DataLoader(range(50), num_workers=2, persistent_workers=persistent)
    batches = iter(loader)
    next(batches)
    pids = _pids(batches)
    assert not any(map(_gone, pids))
    start = time.monotonic()
    del batches, loader
    assert all(map(_gone, pids))
    assert time.monotonic() - start < PROMPT


def test_workers_end_with_the_pass_unless_persistent() -> None:
    for persistent in (False, True):
        loader = DataLoader(range(4), num_workers=1, persistent_workers=persistent)
        batches = iter(loader)
        pids = _pids(batches)
        list(batches)
        assert all(map(_gone, pids)) is not persistent
        del loader, batches


def test_a_worker_that_does_not_listen_is_ended_by_force(monkeypatch: Any) -> None:
    processes = clew.utils.data._utils.processes
    monkeypatch.setattr(processes, "MP_STATUS_CHECK_INTERVAL", 0.3)
    loader = DataLoader(Acting(_sleep_through_sigterm), 1, num_workers=1)
    batches = iter(loader)
    pids = _pids(batches)
    next(batches), next(batches)
    del batches
    assert all(map(_gone, pids))


def _sleep_through_sigterm() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(60)


def test_a_loader_inside_another_loaders_pass() -> None:
    outer = iter(DataLoader(range(6), 2, num_workers=1))
    for batch in outer:
        inner = DataLoader(range(3), 3, num_workers=1)
        assert [each.tolist() for each in inner] == [[0, 1, 2]]
        assert len(batch) == 2


def _program(body: str, **options: Any) -> subprocess.Popen[str]:
    head = """
    import os, signal, sys, time
    from clew.utils.data import DataLoader
    class Data:
        def __len__(self): return 100
        def __getitem__(self, index):
            if index == 10: time.sleep(100)
            return index
    """
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(head) + textwrap.dedent(body)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, **options,
    )  # fmt: skip


STARTED = """
batches = iter(DataLoader(Data(), num_workers=2, prefetch_factor=20))
print(*[process.pid for process in batches._workers], flush=True)
for _ in range(4): next(batches)
print("running", flush=True)
"""


def _started(process: subprocess.Popen[str]) -> list[int]:
    assert process.stdout is not None and process.stderr is not None
    pids = [int(pid) for pid in process.stdout.readline().split()]
    assert process.stdout.readline() == "running\n", process.stderr.read()
    return pids


def test_no_orphans_when_the_loaders_process_is_killed() -> None:
    """One worker is in the middle of a sample that takes very long."""
    process = _program(STARTED + "time.sleep(100)")
    with process:
        pids = _started(process)
        process.kill()
        assert _wait(lambda: all(map(_gone, pids)))


def test_interpreter_exit_with_a_pass_under_way() -> None:
    process = _program(
        "import clew.utils.data._utils.processes as p; p.MP_STATUS_CHECK_INTERVAL = 0.3\n" + STARTED
    )
    with process:
        pids = _started(process)
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")
        assert all(map(_gone, pids))


def test_ctrl_c_ends_everything_with_one_traceback() -> None:
    process = _program(
        "import clew.utils.data._utils.processes as p; p.MP_STATUS_CHECK_INTERVAL = 0.3\n"
        + STARTED
        + "for _ in batches: pass",
        start_new_session=True,
    )
    with process:
        pids = _started(process)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert errors.count("Traceback") == 1
        assert errors.rstrip().endswith("KeyboardInterrupt")
        assert all(map(_gone, pids))
