"""Every public name that PyTorch documents has a docstring here: a line that says what it is, its
arguments by name, and an example that runs."""

from __future__ import annotations

import doctest
import enum
import importlib
import inspect
import re
from typing import Any

import pytest
import torch

import clew

# The namespaces of PyTorch whose names are its public interface.
NAMESPACES = (
    "", "Tensor", "amp", "autograd", "autograd.forward_ad", "autograd.functional",
    "autograd.graph", "cuda", "distributions", "fft", "func", "func.curvature", "fx",
    "hub", "jit", "linalg", "nn",
    "nn.functional", "nn.init", "nn.parameter", "nn.utils", "nn.utils.parametrizations",
    "nn.utils.parametrize", "nn.utils.prune", "nn.utils.rnn", "optim", "optim.lr_scheduler",
    "optim.swa_utils", "overrides", "profiler", "random", "serialization", "signal.windows",
    "special", "testing", "utils.checkpoint", "utils.data",
)  # fmt: skip
# Arguments that mean the same everywhere.
UNDERSTOOD = {"self", "cls", "input", "out", "args", "kwargs"}
# A name that only stands for another one says which, and the example is there.
REFERENCES = ("Alias of `", "In-place version of `", "Deprecated: ")
# What an example may use without importing it.
GLOBALS = {"clew": clew, "nn": clew.nn, "F": clew.nn.functional, "optim": clew.optim}
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def resolve(library: Any, namespace: str) -> Any:
    """The module or class of that name, or None."""
    found = library
    for part in filter(None, namespace.split(".")):
        if not hasattr(found, part):
            try:
                importlib.import_module(f"{found.__name__}.{part}")
            except ImportError:
                return None
        found = getattr(found, part)
    return found


def documented(owner: Any) -> list[str]:
    """The public names of a namespace of PyTorch that it documents itself."""
    names = getattr(owner, "__all__", None) or dir(owner)
    return [name for name in sorted(names) if _documented(owner, name)]


def _documented(owner: Any, name: str) -> bool:
    value = inspect.getattr_static(owner, name, None)
    if name.startswith("_") or inspect.ismodule(value) or not inspect.getdoc(value):
        return False
    if not (callable(value) or isinstance(value, (property, classmethod, staticmethod))):
        return inspect.isgetsetdescriptor(value)
    # Names that a module only imports (`Any`, `dataclass`) are not its own.
    return (getattr(value, "__module__", None) or "torch").startswith("torch")


CASES = [
    pytest.param(namespace, name, id=f"{namespace or 'clew'}-{name}")
    for namespace in NAMESPACES
    if (theirs := resolve(torch, namespace)) and (ours := resolve(clew, namespace))
    for name in documented(theirs)
    if hasattr(ours, name)
]


def parameters(value: Any) -> set[str]:
    """The names of what a function or a class takes."""
    if isinstance(value, enum.EnumMeta):  # its members are there, nobody makes one
        return set()
    try:
        given = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):  # properties, and builtins without a signature
        return set()
    names = {each.name for each in given if not each.name.startswith("_")}
    return names - UNDERSTOOD


@pytest.mark.parametrize(("namespace", "name"), CASES)
def test_a_public_name_is_documented(namespace: str, name: str) -> None:
    value = inspect.getattr_static(resolve(clew, namespace), name)
    if isinstance(value, (classmethod, staticmethod)):
        value = value.__func__
    text = inspect.getdoc(value) or ""
    assert len(text.splitlines()[0] if text else "") > 10, "no docstring"
    if text.startswith(REFERENCES):
        return
    missing = {each for each in parameters(value) if not re.search(rf"\b{each}\b", text)}
    assert not missing, f"arguments that the docstring does not name: {sorted(missing)}"
    assert ">>> " in text, "no example"


def examples() -> list[Any]:
    """The examples of all documented names, each once."""
    texts: dict[str, str] = {}
    for case in CASES:
        namespace, name = case.values
        text = inspect.getdoc(inspect.getattr_static(resolve(clew, namespace), name)) or ""
        if ">>> " in text:
            texts.setdefault(text, case.id or "")
    return [pytest.param(text, id=where) for text, where in texts.items()]


@pytest.mark.parametrize("text", examples())
def test_the_example_runs(text: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(text, dict(GLOBALS), "example", None, 0)
    report: list[str] = []
    results = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
    assert results.attempted
    assert not results.failed, "".join(report)


@pytest.mark.parametrize("name", ["add", "exp", "lerp", "pow", "clamp", "eq"])
def test_functions_name_out_once_and_methods_do_not(name: str) -> None:
    text = inspect.getdoc(getattr(clew, name)) or ""
    assert text.count(" out: ") == 1
    assert " out: " not in (inspect.getdoc(getattr(clew.Tensor, name)) or "")
    in_place = getattr(clew.Tensor, name + "_", None)
    assert in_place is None or inspect.getdoc(in_place) == f"In-place version of `{name}`."
