"""The thread pool: many Python threads, forks, exits, changing sizes, and never a deadlock.

Programs run in processes of their own with a time limit.
"""

import os
from pathlib import Path

import numpy as np
import pytest
import threadpoolctl

import clew
from clew.kernels.runtime import jit
from tests.processes import ended

LIMIT = 60

BEGINNING = """
import os, signal, sys, threading, time
import numpy as np
from clew.kernels.runtime import jit
from clew.kernels.codegen.ufunc import elementwise, over_columns, over_rows

wave = elementwise("wave", 1)(lambda x: x.exp() * 2.0)
soft = over_rows("soft", "(n)->(n)")(lambda x: (x - x.row_max()).exp().materialize())
sums = over_columns("sums", "(m,n)->(n)")(lambda x: x * 1.0)
x = np.random.default_rng(0).normal(size=(300, 500)).astype(np.float32)

def results():
    return [kernel.ufunc(x).tobytes() for kernel in (wave, soft, sums)]

jit.set_threads(1)
wanted = results()
before_workers = len(os.listdir("/proc/self/task"))

def check(times=1):
    for _ in range(times):
        assert results() == wanted
"""


def run(program: str, before: str = "") -> None:
    """A program that has nothing to say."""
    assert ended(before + BEGINNING + program, LIMIT) == (0, "")


def test_python_threads_at_once() -> None:
    """One has the pool, the others run serially; all get the same numbers."""
    run("""
jit.set_threads(3)
failed = []

def work():
    try:
        check(60)
    except BaseException as error:  # the main thread looks at it
        failed.append(error)

threads = [threading.Thread(target=work) for _ in range(5)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not failed, failed
""")


def test_machines_without_a_thread_pool_give_the_same(tmp_path: Path) -> None:
    without = """
from clew.kernels.runtime import cpu
cpu.HOST = cpu.HOST._replace(system="another")
"""
    for name, before, workers in (("threaded", "", 3), ("serial", without, 0)):
        path = str(tmp_path / name)
        run(
            f"""
jit.set_threads(4)
check(2)
assert len(os.listdir("/proc/self/task")) == before_workers + {workers}
with open({path!r}, "wb") as file:
    file.write(b"".join(wanted))
""",
            before,
        )
    assert (tmp_path / "threaded").read_bytes() == (tmp_path / "serial").read_bytes() != b""


def test_first_use_by_many_threads() -> None:
    """LLVM, the thread pool, and one kernel's code are all made once."""
    run("""
made = []
object_code = jit.Machine.load
jit.Machine.load = lambda self, code, *names: made.append(names) or object_code(self, code, *names)
fresh = elementwise("fresh", 1)(lambda x: x * 3.0)
start = threading.Barrier(6)

def work():
    start.wait()
    assert fresh.ufunc(x)[0, 0] == x[0, 0] * 3

threads = [threading.Thread(target=work) for _ in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert made == [("fresh",)], made
""")


def test_kernels_inside_loops_of_numpys() -> None:
    run("""
jit.set_threads(2)
inner = np.frompyfunc(lambda row: check() or row, 1, 1)
assert inner(np.arange(20)).tolist() == list(range(20))
""")


def test_the_number_of_threads_changes_during_work() -> None:
    run("""
stop = threading.Event()

def change():
    while not stop.is_set():
        for count in (1, 2, 4, 3, 1, 200):
            jit.set_threads(count)
            time.sleep(0.002)

changer = threading.Thread(target=change)
changer.start()
check(150)
stop.set()
changer.join()
""")


def test_workers_beyond_the_number_that_is_set_sleep() -> None:
    run("""
def ticks():
    found = {}
    for task in os.listdir("/proc/self/task"):
        fields = open(f"/proc/self/task/{task}/stat").read().rpartition(")")[2].split()
        found[task] = int(fields[11]) + int(fields[12])
    return found

jit.set_threads(1)
others = set(os.listdir("/proc/self/task"))
jit.set_threads(8)
check()
jit.set_threads(2)
check(10)
time.sleep(0.3)
before = ticks()
end = time.monotonic() + 1
while time.monotonic() < end:
    check()
spent = sorted(after - before[task] for task, after in ticks().items() if task not in others)
assert len(spent) == 7 and spent[5] <= 1, spent
""")


def test_many_small_jobs_on_more_threads_than_cores() -> None:
    """Each job has few chunks: workers come late, sleep, and are woken all the time."""
    run("""
jit.set_threads(8)
small = x[:80].copy()
jit_one = wave.ufunc(small).tobytes()
failed = []

def work(pause):
    try:
        for turn in range(3000):
            assert wave.ufunc(small).tobytes() == jit_one
            if pause and turn % 50 == 0:
                time.sleep(0.002)
    except BaseException as error:  # the main thread looks at it
        failed.append(error)

threads = [threading.Thread(target=work, args=(pause,)) for pause in (False, True)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not failed, failed
""")


def test_children_of_a_fork() -> None:
    """They have one thread at first, a pool of their own if they ask, and exit cleanly."""
    run("""
jit.set_threads(2)
check(3)
for turn in range(12):
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        check(2)
        if turn % 2:
            jit.set_threads(2 + turn % 3)
            check(3)
        sys.exit(7)
    check()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7, status
""")


def test_forks_while_other_threads_work_and_compile() -> None:
    run("""
jit.set_threads(2)
stop = threading.Event()
failed = []

def work():
    number = 0
    try:
        while not stop.is_set():
            check()
            number += 1
            if number < 20:
                fresh = elementwise(f"fresh{number}_{os.getpid()}", 1)(lambda x: x * float(number))
                fresh.ufunc(x)
    except BaseException as error:  # the main thread looks at it
        failed.append(error)

worker = threading.Thread(target=work)
worker.start()
for turn in range(12):
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        check(2)
        late = elementwise("late", 1)(lambda x: x * 5.0)
        assert late.ufunc(x)[0, 0] == x[0, 0] * 5
        os._exit(7)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7, status
stop.set()
worker.join()
assert not failed, failed
""")


def test_exit_while_a_daemon_thread_works() -> None:
    run("""
jit.set_threads(2)
threading.Thread(target=check, args=(10**9,), daemon=True).start()
check(5)
""")


def test_signals_go_to_python() -> None:
    """A timer's signal interrupts a sleeping main thread though workers are there."""
    run("""
jit.set_threads(4)
check(2)
arrived = []
signal.signal(signal.SIGALRM, lambda *_: arrived.append(time.monotonic()))
for _ in range(20):
    signal.setitimer(signal.ITIMER_REAL, 0.002)
    check(1)
    time.sleep(0.01)
assert len(arrived) == 20, len(arrived)
""")


def test_workers_of_a_data_loader() -> None:
    """Kernels in forked workers, while the parent uses its pool."""
    run("""
jit.set_threads(2)
check(2)
from clew.utils.data import DataLoader, Dataset

class Waves(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        check()
        assert jit.threads() == 1
        return float(index)

loader = DataLoader(Waves(), batch_size=3, num_workers=2)
batches = []
for batch in loader:
    check()
    batches += batch.tolist()
assert batches == [float(index) for index in range(12)]
assert jit.threads() == 2
""")


# -- settings --------------------------------------------------------------------------------


def blas_threads() -> set[int]:
    found = threadpoolctl.threadpool_info()
    return {each["num_threads"] for each in found if each["user_api"] == "blas"}


def test_set_num_threads_reaches_kernels_and_blas() -> None:
    before = clew.get_num_threads()
    product = np.ones((200, 200), np.float32)
    try:
        for count in (2, 1):
            clew.set_num_threads(count)
            assert clew.get_num_threads() == jit.threads() == count
            assert blas_threads() == {count}
            assert (product @ product == 200).all()
    finally:
        clew.set_num_threads(before)
    for wrong in (0, -1):
        with pytest.raises(RuntimeError, match="set_num_threads expects a positive integer"):
            clew.set_num_threads(wrong)
    assert clew.get_num_threads() == before


@pytest.mark.parametrize(
    ("asked", "count"), [("3", 3), ("5,2", 5), (" 1 ", 1), ("0", None), ("many", None), ("", None)]
)
def test_the_usual_number_of_threads(
    monkeypatch: pytest.MonkeyPatch, asked: str, count: int | None
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    assert jit._default_threads() == (count or len(os.sched_getaffinity(0)))
