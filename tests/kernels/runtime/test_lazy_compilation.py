"""Functions that compiled code has compiled: by whichever thread comes first, and once.

Programs run in processes of their own, with nothing in the cache and a time limit: a hang is a
failure.
"""

import signal
from pathlib import Path

from tests.processes import ended

LIMIT = 120

BEGINNING = """
import os, signal, sys, threading, time
import numpy as np
import clew
from clew.kernels.gemm import products
from clew.kernels.runtime import jit, lazy_compilation
from clew.kernels.gemm import gemm

made = []
usual = jit.Machine.cached_code

def compiled(self, key, module):
    made.append((key, threading.get_ident()))
    return usual(self, key, module)

jit.Machine.cached_code = compiled
rng = np.random.default_rng(0)

def check(m, k, n):
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    a, b = a.astype(np.float32), b.astype(np.float32)
    assert np.allclose(products.product(a, b), a.astype(np.float64) @ b, atol=1e-3)

def keys():
    return [key for key, _ in made]
"""


def run(folder: Path, program: str) -> tuple[int, str]:
    """How a program ends, and what it says."""
    return ended(BEGINNING + program, LIMIT, CLEW_CACHE_DIR=str(folder))


def test_only_what_is_needed_and_once(tmp_path: Path) -> None:
    program = """
jit.set_threads(1)
check(96, 128, 128)
first = keys()
assert any(key.startswith("tile6x2by0and") or key.startswith("tile6x4by0and") for key in first)
others = ("pack_b_transposed", "pack_a", "pack_b_strided", "copy_tile", "copy_strided")
assert not any(key.startswith(others) for key in first), first
check(96, 128, 128)
assert keys() == first
check(97, 101, 75)
after = keys()[len(first):]
assert any(key.startswith("pack_b_strided") for key in after), after
assert any(key.startswith("copy_tile") for key in after), after
assert len(set(keys())) == len(made)
"""
    assert run(tmp_path, program) == (0, "")


def test_threads_that_come_at_once(tmp_path: Path) -> None:
    # Large enough for the whole thread pool: any of its threads may be the first to need a tile.
    program = """
jit.set_threads(4)
others = [threading.Thread(target=check, args=(300, 400, 500)) for _ in range(3)]
for each in others: each.start()
check(400, 500, 600)
for each in others: each.join()
assert len(set(keys())) == len(made)
"""
    assert run(tmp_path, program) == (0, "")


def test_async_products_are_compiled_by_the_worker_that_makes_them(tmp_path: Path) -> None:
    program = """
jit.set_threads(2)
a, b = (rng.standard_normal((200, 300)).astype(np.float32) for _ in range(2))
pending = []
result = products.async_product(a.T, b, pending)
deadline = time.monotonic() + 60
while jit.machine().thread_pool.pending_jobs.value and time.monotonic() < deadline:
    sum(range(1000))  # this thread never waits for the worker, so it must get Python's lock
assert not jit.machine().thread_pool.pending_jobs.value
assert np.allclose(result, a.T.astype(np.float64) @ b, atol=1e-3)
assert any(thread != threading.get_ident() for _, thread in made)
result = products.async_product(b.T[:75], a[:, :101], pending)
products.finish(pending)
assert np.allclose(result, b.T[:75].astype(np.float64) @ a[:, :101], atol=1e-3)
"""
    assert run(tmp_path, program) == (0, "")


def test_forked_processes_compile_for_themselves(tmp_path: Path) -> None:
    program = """
jit.set_threads(2)
check(96, 128, 128)
child = os.fork()
check(97, 101, 75)
if not child: os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    assert run(tmp_path, program) == (0, "")


def test_an_error_ends_the_program(tmp_path: Path) -> None:
    # Compiled code waits for the function and cannot go on without it.
    program = """
def broken(self, text, level=3):
    if "define void @pack_b_contiguous" in text: raise MemoryError("no room for it")
    return object_code(self, text, level)

object_code, jit.Machine.object_code = jit.Machine.object_code, broken
check(96, 128, 128)
print("went on")
"""
    status, output = run(tmp_path, program)
    assert status == -signal.SIGABRT
    assert "no room for it" in output
    assert "went on" not in output
