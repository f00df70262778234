"""How long a program takes to start: imports, a first train step, and kernels that are new.

Each call of these workloads is a new process. By hand, `python -m clew.bench.start` compiles every
kernel anew and prints what each first call costs.
"""

import importlib
import os
import pkgutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import clew
from clew import nn
from clew.kernels.codegen import ufunc
from clew.kernels.compiled import foreach
from clew.kernels.gemm import gemm
from clew.kernels.runtime import jit
from clew.kernels.runtime.compile_thread import compiler

_IMPORT = "import sys, importlib; importlib.import_module(sys.argv[1])"
# The models are read from their file: importing clew's package for them would count for torch.
_STEP = """
import importlib, importlib.util, sys
t = importlib.import_module(sys.argv[1])
spec = importlib.util.spec_from_file_location("models", sys.argv[2])
models = sys.modules["models"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(models)
t.manual_seed(0)
training = models.MODELS["gpt_d128"](t)
training.optimizer.zero_grad()
loss = training.loss(training.forward())
loss.backward()
training.optimizer.step()
print(loss.item())
"""


class NewProcess:
    """A program that each call runs in a new process; what it prints are its answers."""

    def __init__(self, program: str, is_compiling: bool, t: Any) -> None:
        self.program, self.is_compiling, self.t = program, is_compiling, t
        self.folder = tempfile.TemporaryDirectory()
        self.environment = dict(os.environ)
        # With compiled bytecode, which every program has that ran before.
        if self.environment.pop("PYTHONDONTWRITEBYTECODE", ""):
            self.environment["PYTHONPYCACHEPREFIX"] = self.folder.name

    def __call__(self) -> list[Any]:
        models = Path(__file__).with_name("models.py")
        with tempfile.TemporaryDirectory() as empty:
            cache = {"CLEW_CACHE_DIR": empty} if self.is_compiling else {}
            done = subprocess.run(
                [sys.executable, "-c", self.program, self.t.__name__, str(models)],
                env={**self.environment, **cache}, stdout=subprocess.PIPE, text=True, check=True,
            )  # fmt: skip
        return [self.t.tensor(float(line)) for line in done.stdout.split()]


STARTS: dict[str, Callable[[Any], NewProcess]] = {
    "import": partial(NewProcess, _IMPORT, False),
    "gpt_d128_step": partial(NewProcess, _STEP, False),
    "gpt_d128_step_compiling": partial(NewProcess, _STEP, True),
}


def first_calls(dtype: str = "f32") -> dict[str, float]:
    """The seconds that it takes to make each kernel ready for a type, with nothing in the cache."""
    # LLVM is loaded by whatever is compiled first, and belongs to no kernel.
    _load_llvm()
    seconds: dict[str, float] = {}
    with _empty_cache(), _one_thread():
        for kernel in [each for each in ufunc._KERNELS if each.name not in gemm.UFUNCS]:
            for index, (inputs, _) in enumerate(kernel.signatures):
                if inputs[0] == dtype:
                    with _timed(kernel.name, seconds):
                        kernel.make_ready(index)
        for each in foreach.KERNELS:
            with _timed(each.name, seconds):
                each.compiled(dtype)
        for name, use in _PRODUCTS.items():
            with _timed(name, seconds):
                use()
        for name, use in _OTHERS.items():
            with _timed_by_module(name, seconds):
                use()
    return seconds


def _load_llvm() -> None:
    machine = jit.machine()
    compiler.run(lambda: machine.object_code(""))


@contextmanager
def _empty_cache() -> Iterator[None]:
    before = os.environ.get("CLEW_CACHE_DIR")
    with tempfile.TemporaryDirectory() as empty:
        os.environ["CLEW_CACHE_DIR"] = empty
        try:
            yield
        finally:
            if before is None:
                del os.environ["CLEW_CACHE_DIR"]
            else:
                os.environ["CLEW_CACHE_DIR"] = before


@contextmanager
def _one_thread() -> Iterator[None]:
    """The processor's time is measured: threads that wait for another would count as well."""
    before = clew.get_num_threads()
    clew.set_num_threads(1)
    try:
        yield
    finally:
        clew.set_num_threads(before)


@contextmanager
def _timed(name: str, seconds: dict[str, float]) -> Iterator[None]:
    started = time.process_time()
    yield
    seconds[name] = time.process_time() - started


def _trained(layer: Any, *shape: int) -> None:
    layer(clew.randn(*shape, requires_grad=True)).sum().backward()


# Products compile some functions when they find that they need them: what the first one of a
# program takes, and what others of another kind take after it.
_PRODUCTS: dict[str, Callable[[], Any]] = {
    "product": lambda: clew.ones(128, 128) @ clew.ones(128, 128),
    "product with a transposed matrix": lambda: clew.ones(128, 128) @ clew.ones(128, 128).t(),
    "product of a transposed matrix": lambda: clew.ones(256, 256).t() @ clew.ones(256, 256),
    "product of odd sizes": lambda: clew.ones(101, 53) @ clew.ones(53, 75),
}
# Programs that need kernels of other kinds than ufuncs and optimizers.
_OTHERS: dict[str, Callable[[], Any]] = {
    "3x3 convolution": lambda: _trained(nn.Conv2d(32, 32, 3, padding=1), 8, 32, 16, 16),
    "convolution": lambda: _trained(nn.Conv2d(16, 32, 3, stride=2), 8, 16, 16, 16),
    "depthwise convolution": lambda: _trained(nn.Conv2d(32, 32, 3, groups=32), 8, 32, 16, 16),
    "max pooling 2x2": lambda: _trained(nn.MaxPool2d(2), 8, 16, 32, 32),
    "max pooling 3x3": lambda: _trained(nn.MaxPool2d(3, 2, 1), 8, 16, 32, 32),
    "attention": lambda: _trained(
        lambda x: nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True), 4, 4, 128, 32
    ),
    "LSTM": lambda: _trained(lambda x: nn.LSTM(64, 64)(x)[0], 16, 8, 64),
    "embedding": lambda: _trained(lambda x: x[clew.arange(64)], 100, 64),
    "outer product": lambda: clew.outer(clew.randn(1000), clew.randn(1000)),
    "permutation": lambda: clew.randperm(10000),
}


@contextmanager
def _timed_by_module(name: str, seconds: dict[str, float]) -> Iterator[None]:
    """Note how long each module takes that the machine is asked for meanwhile."""
    machine = jit.machine()
    usual = machine.cached_code

    def compiled(*given: Any) -> bytes:
        number = sum(known.startswith(name) for known in seconds) + 1
        with _timed(f"{name} ({number})", seconds):
            return usual(*given)

    machine.cached_code = compiled  # type: ignore[method-assign,assignment]  # for a while
    try:
        yield
    finally:
        machine.cached_code = usual  # type: ignore[method-assign]  # as it was


def main() -> None:
    for package in ("ops", "optim", "nn"):
        folder = importlib.import_module(f"clew.{package}").__path__
        for module in pkgutil.walk_packages(folder, f"clew.{package}."):
            importlib.import_module(module.name)
    loading: dict[str, float] = {}
    with _timed("LLVM", loading):
        _load_llvm()
    seconds = first_calls()
    for name, each in sorted(seconds.items(), key=lambda item: item[1]):
        print(f"{1e3 * each:8.1f} ms  {name}")
    median, longest = statistics.median(seconds.values()), max(seconds.values())
    print(f"LLVM's library was loaded in {1e3 * loading['LLVM']:.1f} ms")
    print(f"{len(seconds)} kernels: median {1e3 * median:.1f} ms, longest {1e3 * longest:.1f} ms")


if __name__ == "__main__":
    main()
