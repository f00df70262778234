"""Programs that run twice, without and with the doctor, and must end alike.

`python -m tests.watched [--filter TEXT]` does so with all programs of the test suite: those of
`tests/user_programs`, the scenarios that are compared with torch, random programs, and the correct
ones of `tests/doctor_programs`. Compared are results bit for bit, what is printed, errors and
warnings with their texts and lines, and the state of the random streams afterwards.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import pkgutil
import random
import runpy
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

import clew
from clew import aliasing, errors
from clew.core.no_history import CUTS
from clew.core.state import local
from clew.doctor import Session
from clew.ops.tensor import to_numpy, typed_storage
from tests import user_programs, watched_programs, watched_surroundings
from tests.core import test_programs
from tests.doctor_score import programs as doctor_programs

TESTS = Path(__file__).resolve().parent
# They tell times.
_TIMED = frozenset({"test_profiler"})
# They register names, which a process can do once.
_REGISTERING = frozenset({"test_custom_ops", "test_datapipes"})
# It draws a seed from the system, so that its stream differs from run to run.
_DRAWS_A_SEED = "user_programs.beginner_notebook"


class Outcome(NamedTuple):
    """Everything that a run shows of itself."""

    result: Any
    printed: str
    error: Any
    warnings: list[Any]
    random: Any


def plain(value: Any, seen: tuple[int, ...] = ()) -> Any:
    """A value so that `==` compares all of its bits; objects are compared by their types."""
    if id(value) in seen:
        return "again"
    inner = (*seen, id(value))
    if isinstance(value, clew.Tensor):
        if value._is_lifted or clew.nn.parameter.is_lazy(value):
            return type(value).__name__
        grad = None if value._grad is None else plain(value._grad, inner)
        history = None if value.grad_fn is None else value.grad_fn.name()
        return ("tensor", plain(value._array), value.requires_grad, history, grad)
    if isinstance(value, np.ndarray):
        return (str(value.dtype), value.shape, value.tobytes())
    if isinstance(value, float | complex | np.generic):
        return (type(value).__name__, np.asarray(value).tobytes())
    if isinstance(value, dict):
        return [(plain(key, inner), plain(each, inner)) for key, each in value.items()]
    if isinstance(value, list | tuple):
        return [plain(each, inner) for each in value]
    if isinstance(value, str | int | bytes | None):
        return value
    return type(value).__name__


def run(program: Callable[[], Any], session: Session | None = None) -> Outcome:
    """One run of a program, from the same random numbers and settings."""
    clew.manual_seed(0)
    np.random.seed(0)
    random.seed(0)
    # What error texts remember of earlier runs.
    to_numpy._exits.last = local.state.last_backward = None
    CUTS.clear()
    # Warnings that a process gives once.
    errors.Warnings.given.clear()
    typed_storage.reset_warning()
    printed, result, error = io.StringIO(), None, None
    with (
        contextlib.redirect_stdout(printed),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        if session is not None:
            session.start()
        try:
            result = program()
        except (Exception, SystemExit) as raised:
            error = [(type(each).__name__, str(each)) for each in _chain(raised)]
            if session is not None:
                session.ended_by(raised)
        finally:
            if session is not None:
                session.stop()
            clew.set_grad_enabled(True)
            clew.set_default_dtype(clew.float32)
    said = [(w.category.__name__, str(w.message), w.filename, w.lineno) for w in caught]
    streams = (
        clew.get_rng_state().numpy().tobytes(),
        random.getstate(),
        np.random.get_state()[1].tobytes(),  # type: ignore[index, union-attr]  # the old form
    )
    return Outcome(plain(result), printed.getvalue(), error, said, streams)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def differences(name: str, program: Callable[[], Any]) -> tuple[list[str], Session]:
    """What is different under the doctor, in words; and the session that watched."""
    expected = run(program)
    session = Session()
    actual = run(program, session)
    found = [
        f"{what}: {_shortened(ours)} instead of {_shortened(right)}"
        for what, ours, right in zip(Outcome._fields, actual, expected, strict=True)
        if ours != right and (name, what) != (_DRAWS_A_SEED, "random")
    ]
    return found + [f"the doctor failed: {text}" for text in session.failures], session


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 600 else f"{text[:300]} ... {text[-300:]}"


# -- the programs --------------------------------------------------------------------------------


def of_this_suite() -> Iterator[tuple[str, Callable[[], Any]]]:
    for name, function in {**watched_programs.PROGRAMS, **watched_surroundings.PROGRAMS}.items():
        yield f"watched_programs.{name}", lambda function=function: function(clew)


def of_users() -> Iterator[tuple[str, Callable[[], Any]]]:
    for module in pkgutil.iter_modules(user_programs.__path__):
        main = importlib.import_module(f"{user_programs.__name__}.{module.name}").main
        yield f"user_programs.{module.name}", lambda main=main: main(clew)


def of_scenarios() -> Iterator[tuple[str, Callable[[], Any]]]:
    """What `tests.twice` compares with torch."""
    for path in sorted(TESTS.rglob("test_*.py")):
        if (
            "twice import" not in path.read_text(encoding="utf-8")
            or path.stem in _TIMED | _REGISTERING
        ):
            continue
        module = ".".join(path.relative_to(TESTS.parent).with_suffix("").parts)
        for name, test in list(vars(importlib.import_module(module)).items()):
            scenario = getattr(test, "scenario", None)
            if isinstance(test, FunctionType) and scenario is not None:
                yield f"{path.stem}.{name}", lambda scenario=scenario: scenario(clew)


def of_random_steps(count: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    for seed in range(count):
        numbers = np.random.default_rng(seed).integers(0, 1000, (30, 4))
        steps = [tuple(map(int, row)) for row in numbers]
        yield f"random.{seed}", lambda steps=steps: random_program(steps)


def random_program(steps: list[tuple[int, ...]]) -> Any:
    """As in `tests.core.test_programs`, with clew alone."""
    tensors = test_programs.start(clew)
    seen: list[Any] = []
    for which, a, b, k in steps:
        step = test_programs.STEPS[which % len(test_programs.STEPS)]
        made = test_programs.run_step(clew, step, tensors, a, b, k)
        if isinstance(made, Exception):
            seen.append((step.name, type(made).__name__, str(made)))
        else:
            tensors.append(made)
            seen.append([test_programs.observe(each) for each in tensors])
    for tensor in tensors:
        try:
            tensor.sum().backward()
        except RuntimeError as error:
            seen.append(str(error))
    return seen, [each.grad for each in tensors if each.is_leaf]


def of_doctor(folder: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    for path, _ in doctor_programs(folder, ""):
        yield f"doctor_programs.{folder}.{path.stem}", lambda path=path: script(path)


def script(path: Path) -> None:
    """A script that says `import torch`, as `clew run` would run it."""
    before, arguments, folders = sys.modules["__main__"], sys.argv, list(sys.path)
    sys.argv, sys.path[:0] = [str(path)], [str(path.parent)]
    try:
        with aliasing.as_torch():
            runpy.run_path(str(path), run_name="__main__")
    finally:
        sys.modules["__main__"], sys.argv, sys.path[:] = before, arguments, folders


def everything() -> Iterator[tuple[str, Callable[[], Any]]]:
    yield from of_this_suite()
    yield from of_users()
    yield from of_scenarios()
    yield from of_random_steps(300)
    yield from of_doctor("correct")
    yield from of_doctor("faulty")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--filter", default="", help="only programs whose name contains this")
    args = parser.parse_args()
    count, bad, begun = 0, 0, time.perf_counter()
    for name, program in everything():
        if args.filter not in name:
            continue
        count += 1
        try:
            found, session = differences(name, program)
        except BaseException:  # any failure is a finding
            found, session = [traceback.format_exc()], Session()
        if "faulty" not in name and ("user" in name or "correct" in name):
            found += [f"finding: {f.rule} {f.line} {f.message}" for f in session.report().problems]
        bad += bool(found)
        for each in found:
            print(f"{name}: {each}", flush=True)
    print(f"{count} programs, {bad} differ, {time.perf_counter() - begun:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
