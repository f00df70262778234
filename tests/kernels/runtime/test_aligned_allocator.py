"""Arrays are cache-line aligned, whoever makes, changes, and frees them, and when."""

import json
import resource
import subprocess
import sys
import threading
import tracemalloc

import numpy as np
import pytest

import clew
from clew.kernels.runtime import block_allocator
from clew.kernels.runtime.aligned_allocator import CACHE_LINE, IS_SUPPORTED, empty_cache

pytestmark = pytest.mark.skipif(not IS_SUPPORTED, reason="NumPy's own memory is used elsewhere")


@pytest.fixture(autouse=True)
def compiled_code() -> None:
    clew.exp(clew.randn(10_000))


def _is_aligned(array: np.ndarray) -> bool:
    return array.ctypes.data % CACHE_LINE == 0


@pytest.mark.parametrize("size", [0, 1, 3, 100, 1025, 70_001, 3_000_000])
def test_new_arrays(size: int) -> None:
    for array in (np.empty(size, np.float32), np.zeros(size, np.float32)):
        assert _is_aligned(array)
    assert not np.zeros(size, np.float32).any()
    assert _is_aligned((clew.ones(size) * 2).numpy())


def test_changed_sizes() -> None:
    array = np.arange(1000)
    for size in (3, 50_000, 10, 2_000_000):
        kept = array[: min(size, len(array))].copy()
        array.resize(size, refcheck=False)
        assert _is_aligned(array)
        assert (array[: len(kept)] == kept).all()
    assert not array[len(kept) :].any()
    assert np.fromiter(iter(range(5000)), np.int64).sum() == 4999 * 2500


def test_no_memory() -> None:
    with pytest.raises(MemoryError):
        np.empty(2**62, np.uint8)
    with pytest.raises(MemoryError):
        np.zeros(2**62, np.uint8)


def test_arrays_cross_threads() -> None:
    made: list[np.ndarray] = []

    def make() -> None:
        made.extend((clew.ones(5000) * 2).numpy() for _ in range(20))

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    assert all(_is_aligned(each) for each in made)
    made.clear()


def test_python_knows_their_size() -> None:
    tracemalloc.start()
    try:
        array = np.ones(1_000_000, np.uint8)
        assert tracemalloc.get_traced_memory()[0] >= array.nbytes
    finally:
        tracemalloc.stop()


EXITS = {
    "a global": "x = clew.exp(clew.randn(100_000)).numpy()",
    "an object that ends late": "sys.x = clew.exp(clew.randn(100_000)).numpy()",
    "a thread": """
import threading, time
def run():
    while True:
        clew.exp(clew.randn(10_000))
threading.Thread(target=run, daemon=True).start()
time.sleep(0.3)
""",
    "a cycle": "x = [clew.exp(clew.randn(100_000)).numpy()]; x.append(x)",
}


@pytest.mark.parametrize("left", EXITS.values(), ids=EXITS)
def test_what_is_left_at_exit(left: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys, clew\n" + left], capture_output=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_end_of_a_program_is_python_s() -> None:
    """What is in the program's own modules gets its `__del__`, whenever it was made."""
    program = """
import sys, types
class Last:
    def __init__(self, name):
        self.name = name
    def __del__(self):
        print(self.name, flush=True)
def holds_this_module(): ...
early = Last("early")
other = types.ModuleType("other_of_the_program")
exec("def holds_it(): ...", other.__dict__)
other.last, sys.modules[other.__name__] = Last("other"), other
del other
import clew
late = Last("late")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert (done.returncode, sorted(done.stdout.split())) == (0, [b"early", b"late", b"other"])


# -- large blocks ------------------------------------------------------------------------------

MIB = 1 << 20


def _faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def test_large_arrays_get_memory_that_was_used_before() -> None:
    x = clew.randn(10 * MIB)
    clew.neg(x)
    before = _faults()
    for _ in range(10):
        clew.neg(x)
    assert _faults() - before < 1000, "a new block has 10240 pages"
    assert clew.neg(x).sum().item() == -x.sum().item()


def test_a_block_serves_arrays_of_about_its_size() -> None:
    empty_cache()
    first = np.empty(60 * MIB, np.uint8)
    place = first.ctypes.data
    del first
    small, large = np.empty(40 * MIB, np.uint8), np.empty(61 * MIB, np.uint8)
    assert place not in (small.ctypes.data, large.ctypes.data)
    fitting, another = np.empty(50 * MIB, np.uint8), np.empty(50 * MIB, np.uint8)
    assert fitting.ctypes.data == place != another.ctypes.data


def test_zeros_are_zeros_and_changed_sizes_keep_what_was_there() -> None:
    np.full(50 * MIB, 7, np.uint8)
    assert not np.zeros(50 * MIB, np.uint8).any()
    array = np.full(40 * MIB, 3, np.uint8)
    array.resize(50 * MIB, refcheck=False)
    assert (array[: 40 * MIB] == 3).all() and not array[40 * MIB :].any()


# In a new process: what was freed before may lie anywhere.
CACHED_BLOCKS = """
import json
import numpy as np
import clew
from clew.bench.peak import MIB, resident
from clew.kernels.runtime import aligned_allocator, block_allocator

clew.exp(clew.randn(10_000))
start, seen = resident(), {}

def note(name):
    seen[name] = (resident() - start) / MIB

arrays = [np.full(40 * MIB, 1, np.uint8) for _ in range(12)]
note("twelve")
del arrays
note("kept")
np.full(block_allocator.MAX_CACHED_BYTES + MIB, 1, np.uint8)
note("kept after one that is too large")
aligned_allocator.empty_cache()
note("nothing")
np.full(200 * MIB, 1, np.uint8)
note("one")
for _ in range(block_allocator.SLOTS + 1):
    np.full(40 * MIB, 1, np.uint8)
note("another")
print(json.dumps(seen))
"""


def test_what_is_kept_has_a_bound_and_does_not_stay_for_ever() -> None:
    done = subprocess.run([sys.executable, "-c", CACHED_BLOCKS], stdout=subprocess.PIPE, timeout=60)
    seen = json.loads(done.stdout)
    most = block_allocator.MAX_CACHED_BYTES / MIB
    assert seen["twelve"] > 470
    assert most / 2 < seen["kept"] <= most
    assert seen["kept after one that is too large"] <= most
    assert seen["nothing"] < 40
    assert 190 < seen["one"] < 240
    assert 30 < seen["another"] < 80


def test_threads_do_not_get_the_same_block() -> None:
    failures: list[str] = []

    def work(number: int) -> None:
        for _ in range(30):
            array = np.full(33 * MIB, number, np.uint8)
            if not (array[:: 1 << 12] == number).all():
                failures.append(f"thread {number} lost its block")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
