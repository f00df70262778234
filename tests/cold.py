"""Every kernel in fresh processes with an empty code cache, on 1, 2, 4 and 16 threads.

    python -m tests.cold [--processes 1000] [--jobs 2] [--seed 0]

A process takes some calls of the table of operations, with their gradients, and one of the programs
below, whose arrays are large enough for several threads. None may hang or end badly, and a call has
the same bits in every process, whatever the number of threads and whatever was compiled before it.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import hashlib
import importlib
import json
import os
import pickle
import random
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import clew
from clew import nn
from clew.nn import functional as F

THREADS = (1, 2, 4, 16)
CALLS = 12
# Seconds after which a process hangs: a hundred times what one takes alone.
LIMIT = 180


@dataclass
class Call:
    """A call of an operation: where clew has it, and its arguments."""

    name: str
    path: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __call__(self) -> list[clew.Tensor]:
        function: Any = clew
        for part in self.path.split("."):
            function = getattr(function, part)
        result = list(_tensors(function(*self.args, **self.kwargs)))
        inputs = [t for t in _tensors([self.args, self.kwargs]) if t.requires_grad]
        outputs = [t for t in result if t.requires_grad]
        if inputs and outputs:
            seeds = [clew.ones_like(t) for t in outputs]
            result += [
                g
                for g in clew.autograd.grad(outputs, inputs, seeds, allow_unused=True)
                if g is not None
            ]
        return result


def _tensors(value: Any) -> Iterator[clew.Tensor]:
    if isinstance(value, clew.Tensor):
        yield value
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors(each)


def _digest(tensors: Iterable[clew.Tensor]) -> str:
    digest = hashlib.sha256()
    for tensor in tensors:
        plain = tensor.detach().resolve_conj().resolve_neg()
        digest.update(f"{plain.dtype} {tuple(plain.shape)}".encode())
        bits = clew.view_as_real(plain) if plain.is_complex() else plain
        if bits.dtype is clew.bfloat16:
            bits = bits.float()
        digest.update(bits.contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


# -- programs with work for several threads ------------------------------------------------------


def _trained(layer: Any, *shape: int, dtype: Any = clew.float32) -> list[clew.Tensor]:
    if isinstance(layer, nn.Module):
        layer.to(dtype)
    x = clew.randn(*shape, dtype=dtype, requires_grad=True)
    out = layer(x)
    out.square().sum().backward()
    assert x.grad is not None
    weights = [p.grad for p in layer.parameters()] if isinstance(layer, nn.Module) else []
    return [out, x.grad, *[g for g in weights if g is not None]]


def _attention(*shapes: tuple[int, ...], **options: Any) -> list[clew.Tensor]:
    given = [clew.randn(*shape, requires_grad=True) for shape in shapes]
    out = F.scaled_dot_product_attention(*given, **options)
    with clew.no_grad():
        again = F.scaled_dot_product_attention(*given, **options)
    out.sum().backward()
    return [out, again, *[t.grad for t in given if t.grad is not None]]


def _products(*shape: int) -> list[clew.Tensor]:
    m, k, n = shape
    a, b = clew.randn(m, k), clew.randn(k, n)
    return [a @ b, a @ clew.randn(n, k).t(), clew.randn(k, m).t() @ b, F.linear(a, b.t())]


def _steps(kind: Any, **options: Any) -> list[clew.Tensor]:
    model = nn.Sequential(nn.Linear(60, 130), nn.Tanh(), nn.LayerNorm(130), nn.Linear(130, 7))
    optimizer = kind(model.parameters(), **options)
    for _ in range(3):
        optimizer.zero_grad()
        model(clew.randn(50, 60)).logsumexp(1).mean().backward()
        optimizer.step()
    return list(model.parameters())


def _along_rows() -> list[clew.Tensor]:
    x = clew.randn(300, 211)
    return [x.softmax(1), x.log_softmax(0), x.cumsum(1), x.cummax(0)[0], x.sort(1)[0], x.var(0)]


def _elementwise(dtype: Any) -> list[clew.Tensor]:
    x = clew.randn(257, 301, dtype=dtype, requires_grad=True)
    y = F.gelu(x) * x.t()[:257, :257].sigmoid().sum() + x.exp().log1p() - x[:, ::1].tanh()
    (y.sin() * x.erf()).sum().backward()
    assert x.grad is not None
    return [y, x.grad, x.t().cos(), x[::3, ::2].exp()]


PROGRAMS: dict[str, Callable[[], list[clew.Tensor]]] = {
    "attention of one query": lambda: _attention((1, 4, 1, 8), (1, 4, 5, 8), (1, 4, 5, 8)),
    "attention": lambda: _attention(*[(2, 4, 65, 32)] * 3, is_causal=True),
    "attention of odd sizes": lambda: _attention((2, 3, 33, 17), (2, 3, 47, 17), (2, 3, 47, 17)),
    "products": lambda: _products(128, 128, 128),
    "products of odd sizes": lambda: _products(101, 53, 75),
    "products of few rows": lambda: _products(5, 300, 400),
    "large products": lambda: _products(300, 400, 500),
    "batches of products": lambda: [clew.randn(8, 33, 40) @ clew.randn(8, 40, 21)],
    "3x3 convolution": lambda: _trained(nn.Conv2d(16, 24, 3, padding=1), 4, 16, 17, 17),
    "strided convolution": lambda: _trained(nn.Conv2d(8, 16, 3, stride=2), 4, 8, 17, 17),
    "depthwise": lambda: _trained(nn.Conv2d(16, 16, 3, groups=16, padding=1), 4, 16, 20, 20),
    "convolution of doubles": lambda: _trained(
        nn.Conv2d(4, 8, 5), 3, 4, 15, 15, dtype=clew.float64
    ),
    "transposed convolution": lambda: _trained(nn.ConvTranspose2d(8, 4, 3, 2), 3, 8, 9, 9),
    "1d convolution": lambda: _trained(nn.Conv1d(8, 12, 5), 5, 8, 100),
    "max pooling": lambda: _trained(nn.MaxPool2d(2), 8, 8, 32, 32),
    "overlapping pooling": lambda: _trained(nn.MaxPool2d(3, 2, 1), 8, 8, 31, 31),
    "average pooling": lambda: _trained(nn.AvgPool2d(2), 8, 8, 32, 32),
    "adaptive pooling": lambda: _trained(nn.AdaptiveMaxPool2d(5), 8, 8, 32, 32),
    "batch norm": lambda: _trained(nn.BatchNorm2d(8), 16, 8, 20, 20),
    "layer norm": lambda: _trained(nn.LayerNorm(100), 200, 100),
    "group norm": lambda: _trained(nn.GroupNorm(4, 16), 8, 16, 15, 15),
    "rms norm": lambda: _trained(nn.RMSNorm(100), 200, 100),
    "LSTM": lambda: _trained(lambda x: nn.LSTM(40, 50, 2)(x)[0], 12, 8, 40),
    "GRU": lambda: _trained(lambda x: nn.GRU(40, 50)(x)[0], 12, 8, 40),
    "transformer": lambda: _trained(
        nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True), 4, 30, 32
    ),
    "embedding": lambda: _trained(lambda x: x[clew.arange(300) % 50], 100, 64),
    "interpolation": lambda: _trained(nn.Upsample(scale_factor=2, mode="bilinear"), 4, 8, 20, 20),
    "cross entropy": lambda: _trained(
        lambda x: F.cross_entropy(x, clew.arange(400) % 50, reduction="none"), 400, 50
    ),
    "rows": _along_rows,
    "floats": lambda: _elementwise(clew.float32),
    "doubles": lambda: _elementwise(clew.float64),
    "random numbers": lambda: [clew.randn(10000), clew.rand(10001), clew.randperm(10000)],
    "dropout": lambda: _trained(lambda x: F.dropout(x, 0.3), 300, 200),
    "outer product": lambda: [clew.outer(clew.randn(1000), clew.randn(777))],
    "SGD": lambda: _steps(clew.optim.SGD, lr=0.1, momentum=0.9),
    "Adam": lambda: _steps(clew.optim.Adam, lr=0.01),
    "AdamW": lambda: _steps(clew.optim.AdamW, lr=0.01, amsgrad=True),
    "RMSprop": lambda: _steps(clew.optim.RMSprop, lr=0.01),
    "Adagrad": lambda: _steps(clew.optim.Adagrad, lr=0.01),
    "Adadelta": lambda: _steps(clew.optim.Adadelta),
    "NAdam": lambda: _steps(clew.optim.NAdam, lr=0.01),
}


# -- one process ---------------------------------------------------------------------------------


@dataclass
class Task:
    """What one process does."""

    threads: int
    program: str
    calls: list[int]


@dataclass
class Ended:
    """How a process ended: what it found by name, or why it failed."""

    digests: dict[str, str] = field(default_factory=dict)
    kernels: list[str] = field(default_factory=list)
    failure: str = ""


def run(task: Task, table: Path) -> Ended:
    """Do a task in a fresh process with an empty code cache."""
    with tempfile.TemporaryDirectory() as home:
        environment = {
            **os.environ, "HOME": home, "CLEW_CACHE_DIR": f"{home}/code",
            "OMP_NUM_THREADS": str(task.threads), "OPENBLAS_NUM_THREADS": "1",
        }  # fmt: skip
        arguments = [str(table), task.program, *map(str, task.calls)]
        command = [sys.executable, "-X", "faulthandler", "-m", "tests.cold", "--child", *arguments]
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=LIMIT
            )
        except subprocess.TimeoutExpired as late:
            return Ended(failure=f"{task} hangs: {late.stderr!r}")
    if done.returncode:
        return Ended(failure=f"{task} ended with {done.returncode}: {done.stderr}")
    digests, kernels = json.loads(done.stdout)
    return Ended(digests, kernels)


def child(table: str, program: str, *calls: str) -> None:
    """What runs in the fresh process."""
    from clew.kernels.runtime import jit

    everything: list[bytes] = pickle.loads(Path(table).read_bytes())
    digests = {}
    warnings.simplefilter("ignore")
    clew.manual_seed(0)
    digests[program] = _digest(PROGRAMS[program]())
    for number in map(int, calls):
        call: Call = pickle.loads(everything[number])
        clew.manual_seed(0)
        digests[call.name] = _digest(call())
    print(json.dumps([digests, sorted(key for key, _ in jit.machine().loaded)]))


# -- all of them ---------------------------------------------------------------------------------


def table_of_calls() -> list[bytes]:
    """The calls that the table of operations has samples for, pickled one by one."""
    from tests.ops.test_ops import CASES

    from . import oracle
    from .sampling import WIDE_FLOATS, Maker
    from .tensors import short_name

    calls = []
    for case in CASES:
        path = case.name if "function" in case.variants else f"Tensor.{case.name}"
        for dtype in WIDE_FLOATS:
            made = Maker(dtype, case.domain, requires_grad=True)
            # What raises, or cannot be told to another process, is of no use here.
            with contextlib.suppress(Exception):
                for number, sample in enumerate(case.samples(made)):
                    args, kwargs = oracle.to_clew((sample.args, sample.kwargs))
                    name = f"{case.id} {short_name(dtype)} {number}"
                    call = Call(name, path, args, kwargs)
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        call()
                    calls.append(pickle.dumps(call))
    return calls


def tasks(processes: int, calls: int, seed: int) -> list[Task]:
    """Each call and each program as often as any other, with all numbers of threads."""
    rng = random.Random(seed)
    names, order = list(PROGRAMS), list(range(calls))
    rng.shuffle(order)
    found = []
    for number in range(processes):
        chosen = [order[(number * CALLS + k) % calls] for k in range(CALLS)]
        threads = THREADS[(number // len(names) + number) % len(THREADS)]
        found.append(Task(threads, names[number % len(names)], chosen))
    return found


def main() -> int:
    from rich.progress import track

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    calls = table_of_calls()
    digests: dict[str, str] = {}
    kernels: set[str] = set()
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "calls"
        table.write_bytes(pickle.dumps(calls))
        work = tasks(options.processes, len(calls), options.seed)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            results = pool.map(lambda task: (task, run(task, table)), work)
            for task, ended in track(results, "fresh processes", total=len(work)):
                if ended.failure:
                    failures.append(ended.failure)
                    print(ended.failure, file=sys.stderr)
                for name, digest in ended.digests.items():
                    if digests.setdefault(name, digest) != digest:
                        failures.append(f"{name}: other bits on {task.threads} threads")
                        print(failures[-1], file=sys.stderr)
                kernels.update(ended.kernels)
    print(
        f"{len(work)} processes, {len(digests)} of {len(calls) + len(PROGRAMS)} calls and programs,"
    )
    print(f"{len(kernels)} modules compiled, {len(failures)} failures")
    return bool(failures)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        # The classes of this module are pickled by its name.
        importlib.import_module("tests.cold").child(*sys.argv[2:])
    else:
        sys.exit(importlib.import_module("tests.cold").main())
