"""What `clew bench` says about starting: each call is a process of its own."""

from pathlib import Path
from typing import Any

import pytest

import clew
from clew.bench import start
from clew.kernels.codegen import loops, ufunc
from clew.kernels.codegen.tracing import trace
from clew.kernels.compiled import foreach
from clew.kernels.runtime import jit


def test_each_call_is_a_new_process() -> None:
    run = start.NewProcess("import os, sys; print(os.getpid())", False, clew)
    assert run()[0].item() != run()[0].item()


def test_bytecode_is_used_also_where_it_is_not_to_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    run = start.NewProcess("import sys; print(int(sys.dont_write_bytecode))", False, clew)
    assert run()[0].item() == 0
    assert run.environment["PYTHONPYCACHEPREFIX"] == run.folder.name


def test_compiling_starts_with_an_empty_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CLEW_CACHE_DIR", str(tmp_path))
    (tmp_path / "entry").touch()
    program = "import os; print(len(os.listdir(os.environ['CLEW_CACHE_DIR'])))"
    assert start.NewProcess(program, False, clew)()[0].item() == 1
    assert start.NewProcess(program, True, clew)()[0].item() == 0


def test_first_calls_are_timed_without_the_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    jit.machine()  # has code of its own in the cache
    monkeypatch.setenv("CLEW_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(ufunc, "_KERNELS", [])
    monkeypatch.setattr(foreach, "KERNELS", [])
    ufunc.elementwise("start_twice", 1)(lambda x: x * 2.0)
    monkeypatch.setattr(start, "_PRODUCTS", {"whole": lambda: sum(range(1000))})
    other = {"other": lambda: jit.machine().cached_code("start_other", lambda: "")}
    monkeypatch.setattr(start, "_OTHERS", other)
    seconds = start.first_calls()
    assert list(seconds) == ["start_twice", "whole", "other (1)"] and min(seconds.values()) > 0
    assert not list(tmp_path.iterdir())


def loops_of(inputs: int, scalars: tuple[int, ...], formula: Any) -> int:
    program = trace(formula, ["f32"] * inputs, ["f32"], False)
    text = loops.elementwise_module("counted", program, scalars, 1)
    return text.count("define internal void @contiguous")


def test_only_short_kernels_of_two_operands_have_versions_for_single_numbers() -> None:
    """Each version of the loop costs as much time to compile as the first."""
    assert loops_of(2, (), lambda x, y: x + y) == 3
    assert loops_of(2, (), lambda x, y: x * y.exp()) == 1
    assert loops_of(3, (2,), lambda x, y, a: x + y * a) == 1
    assert loops_of(3, (), lambda x, y, z: x + y * z) == 1
