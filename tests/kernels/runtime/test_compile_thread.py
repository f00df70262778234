"""The compiler thread: signals, exits, forks and finalizers while something is compiled.

Programs run in processes of their own, with an empty code cache and a time limit: a hang is a
failure.
"""

from pathlib import Path

from tests.processes import ended

LIMIT = 120

BEGINNING = """
import _thread, atexit, gc, os, random, signal, sys, threading, time
import numpy as np
import clew
import clew.nn.functional as F
from clew.kernels.runtime import jit
from clew.kernels.codegen import ufunc
from clew.kernels.runtime.compile_thread import compiler

def fresh(number, inputs=1):
    name = f"fresh_{os.getpid()}_{number}"
    return ufunc.elementwise(name, inputs)(lambda x: (x * float(number)).exp() + float(number))

def attend():
    x = clew.arange(576.0).reshape(2, 4, 9, 8) % 7
    with clew.no_grad():
        return F.scaled_dot_product_attention(x, x + 1, x - 1)

def multiply(m, k, n):
    a, b = clew.arange(m * k).reshape(m, k) % 7, clew.arange(k * n).reshape(k, n) % 5
    made = a.float() @ b.float()
    assert (made.double() == a.double().numpy() @ b.double().numpy()).all()
"""


def run(folder: Path, program: str) -> tuple[int, str]:
    return ended(BEGINNING + program, LIMIT, CLEW_CACHE_DIR=str(folder))


def test_a_caught_interrupt_while_something_is_compiled(tmp_path: Path) -> None:
    # Signals come at all times while kernels, and functions inside of them, are compiled.
    program = """
class Late(Exception):
    pass

def late(*_):
    raise Late

signal.signal(signal.SIGALRM, late)
x = np.linspace(-1, 1, 3001, dtype=np.float32)
random.seed(0)
interrupted = size = 0
while interrupted < 60:
    signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0005, 0.03))
    try:
        while True:
            size += 1
            kernel, factor = fresh(size % 9), size % 9
            kernel.ufunc(x[: 2900 + size % 100])
            multiply(90 + size % 13, 80 + size % 9, 70 + size % 17)
    except Late:
        interrupted += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    # The next one works, and what was interrupted is there.
    wanted = np.exp(x.astype(np.float64) * factor) + factor
    assert np.allclose(kernel.ufunc(x), wanted, rtol=1e-3)
    assert clew.is_grad_enabled()
"""
    assert run(tmp_path, program) == (0, "")


def test_control_c_is_raised_after_the_kernel(tmp_path: Path) -> None:
    program = """
slow = jit.Machine.object_code

def object_code(self, text, level=3):
    # Inside of a product: compiled code of the main thread waits for this.
    if "@beside" in text or "@tile" in text:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
    return slow(self, text, level)

jit.Machine.object_code = object_code
caught = 0
for size in (64, 96, 101):
    try:
        multiply(size, size, size)
        time.sleep(1)
    except KeyboardInterrupt:
        caught += 1
assert caught, "no interrupt came"
multiply(64, 64, 64)
"""
    assert run(tmp_path, program) == (0, "")


def test_a_signal_handler_that_needs_kernels(tmp_path: Path) -> None:
    program = """
ran = []

def handler(*_):
    multiply(65 + len(ran), 77, 83)
    ran.append(attend())
    signal.setitimer(signal.ITIMER_REAL, 0.02)

signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.01)
x = np.ones(3001, np.float32)
while len(ran) < 10:
    fresh(len(ran)).ufunc(x)
signal.setitimer(signal.ITIMER_REAL, 0)
assert all(clew.equal(each, ran[0]) for each in ran)
"""
    assert run(tmp_path, program) == (0, "")


def test_finalizers_that_run_in_the_compiler_thread(tmp_path: Path) -> None:
    # Python's collector runs in whichever thread makes objects.
    program = """
jit.set_threads(4)
where = []

class Cycle:
    def __init__(self):
        self.me = self

    def __del__(self):
        if not where:
            multiply(97, 101, 75)
            attend()
            where.append(_thread.get_ident())

def collect(*_):
    Cycle()
    gc.collect()
    return module(*_)

module = ufunc.Elementwise.module
ufunc.Elementwise.module = collect
gc.disable()
fresh(1).ufunc(np.ones(3001, np.float32))
assert where == [compiler.thread], where
"""
    assert run(tmp_path, program) == (0, "")


def test_kernels_when_python_ends(tmp_path: Path) -> None:
    program = """
jit.set_threads(4)
fresh(1).ufunc(np.ones(3001, np.float32))

class Last:
    def __del__(self, multiply=multiply, write=os.write):
        multiply(97, 101, 75)
        write(1, b"deleted\\n")

def leave():
    multiply(50, 60, 70)
    os.write(1, b"left\\n")

atexit.register(leave)
endless = threading.Thread(target=lambda: [attend() for _ in range(10**6)], daemon=True)
endless.start()
sys.modules["kept until the end"] = Last()
"""
    status, output = run(tmp_path, program)
    assert (status, output.splitlines()[:2]) == (0, ["left", "deleted"]), output


def test_forks_while_something_is_compiled(tmp_path: Path) -> None:
    program = """
jit.set_threads(2)
stop = threading.Event()

def work():
    number = 0
    while not stop.is_set():
        number += 1
        fresh(number).ufunc(np.ones(3001, np.float32))
        multiply(60 + number % 40, 50 + number % 30, 40 + number % 20)

threads = [threading.Thread(target=work) for _ in range(2)]
for each in threads: each.start()
for turn in range(25):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        multiply(97, 101, 75)
        fresh(turn).ufunc(np.ones(3001, np.float32))
        if turn % 2:
            jit.set_threads(3)
            multiply(113, 57, 91)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
stop.set()
for each in threads: each.join()
"""
    assert run(tmp_path, program) == (0, "")


def test_without_another_thread(tmp_path: Path) -> None:
    program = """
def refused(*_):
    raise RuntimeError("can't start new thread")

_thread.start_new_thread = refused
jit.set_threads(1)
multiply(97, 101, 75)
attend()
assert not compiler.thread
"""
    assert run(tmp_path, program) == (0, "")


def test_errors_reach_who_asked(tmp_path: Path) -> None:
    program = """
def broken(x):
    raise ValueError("no such formula")

kernel = ufunc.elementwise("broken", 1)(broken)
for _ in range(2):
    try:
        kernel.specialize(np.ones(3, np.float32))
    except ValueError as error:
        assert str(error) == "no such formula"
    else:
        raise AssertionError("nothing was raised")
multiply(64, 64, 64)
"""
    assert run(tmp_path, program) == (0, "")


def test_llvms_linker(tmp_path: Path) -> None:
    """What links on other systems gives the same bits."""
    program = """
from clew.kernels.runtime import object_loader
if LLVM: object_loader.link = lambda *_: None
clew.manual_seed(0)
x = clew.randn(97, 101, requires_grad=True)
loss = F.gelu(x @ clew.randn(101, 75)).softmax(1).square().sum() + attend().sum()
loss.backward()
jit.set_threads(3)
print(loss.item(), x.grad.double().sum().item())
"""
    results = [run(tmp_path / str(k), f"LLVM = {k}\n{program}") for k in (False, True)]
    assert results[0] == results[1]
    assert results[0][0] == 0
