"""Lines of Python over nested tensors, evaluated with both libraries: values, errors, gradients."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import torch

import clew
from tests.oracle import assert_same

LENGTHS = (3, 1, 2)


def names(m: Any) -> dict[str, Any]:
    """What the lines are about, with the same numbers in both libraries."""
    random = np.random.default_rng(0)

    def dense(*shape: int) -> Any:
        return m.tensor(random.uniform(0.2, 0.9, shape))

    def rows() -> list[Any]:
        return [dense(n, 4) for n in LENGTHS]

    a = m.nested.nested_tensor(rows(), layout=m.jagged, requires_grad=True)
    b = m.nested.nested_tensor_from_jagged(dense(6, 4), a.offsets())
    gaps = m.nested.nested_tensor_from_jagged(
        dense(8, 4), m.tensor([0, 3, 6, 8]), lengths=m.tensor([2, 3, 1])
    )
    return {
        "torch": m, "F": m.nn.functional, "nested": m.nested, "a": a, "b": b.requires_grad_(),
        "h": gaps.requires_grad_(),
        "t": a.detach().unflatten(-1, [2, 2]).transpose(1, 2).requires_grad_(),
        "i": m.nested.nested_tensor([[1, 2, 0], [3], [2, 2]], layout=m.jagged),
        "s": m.nested.nested_tensor(rows(), requires_grad=True),
        "s2": m.nested.nested_tensor(rows(), requires_grad=True),
        "u": m.nested.nested_tensor([dense(n, n + 1) for n in LENGTHS], requires_grad=True),
        "d": dense(4).requires_grad_(), "p": dense(3, 1, 4).requires_grad_(),
        "q": dense(3, 3, 4).requires_grad_(), "m": dense(4, 5).requires_grad_(),
        "w": dense(5, 4).requires_grad_(), "v": dense(5).requires_grad_(),
    }  # fmt: skip


# Backward through these ends PyTorch's process.
CRASHES = re.compile(r"a\.(split|chunk)\(")


def answer(m: Any, line: str) -> Any:
    """What a line gives, and the gradients of what it is about; or its error."""
    given = names(m)
    m.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = eval(line, given)
            found = described(m, result)
        except Exception as error:
            text = re.sub(r"'aten::(\w+?)(\.\w+)?'", r"\1", str(error).partition("\n")[0])
            return "error", type(error).__name__, without_numbers(text)
        if CRASHES.match(line):
            return "value", found, None
        try:
            return "value", found, gradients(m, result, given)
        except Exception as error:
            return "value", found, f"{type(error).__name__}: {error}"


def without_numbers(text: str) -> str:
    """A text without the numbers of ragged lengths, and where objects lie."""
    return re.sub(r"\bj\d+", "j", re.sub(r" at 0x[0-9a-f]+", "", text))


def described(m: Any, value: Any, is_result: bool = True) -> Any:
    """A value as strided tensors and plain Python: of nested tensors all components."""
    if isinstance(value, (list, tuple)) and not isinstance(value, m.Size):
        return [described(m, each) for each in value]
    if not isinstance(value, m.Tensor):
        return without_numbers(repr(value))
    if not value.is_nested:
        return value.detach(), value.requires_grad
    about = [repr(value.layout), value.requires_grad, value.dim(), value.numel()]
    if value.layout is m.jagged:
        about.append(without_numbers(repr(value.shape)))
    if is_result:
        about.append(value.is_contiguous())
    return about, [each.detach() for each in value.detach().unbind()]


def gradients(m: Any, result: Any, given: dict[str, Any]) -> Any:
    """The gradients of all leaves for a weighted sum of a result."""
    results = result if isinstance(result, (list, tuple)) else [result]
    total = None
    for each in results:
        if isinstance(each, m.Tensor) and each.requires_grad and each.grad_fn is not None:
            values = each.values() if each.is_nested else each
            weights = m.arange(1.0, values.numel() + 1, dtype=values.dtype).reshape(values.shape)
            part = (values * weights).sum()
            total = part if total is None else total + part
    if total is None:
        return None
    total.backward()
    leaves = {name: each for name, each in given.items() if isinstance(each, m.Tensor)}
    return {
        name: described(m, each.grad, False) for name, each in leaves.items()
        if each.is_leaf and each.grad is not None
    }  # fmt: skip


def check(line: str) -> None:
    """Compare both libraries: an error's type and first words, or values and gradients."""
    theirs, ours = answer(torch, line), answer(clew, line)
    assert ours[0] == theirs[0], (ours, theirs)
    if ours[0] == "error":
        assert ours[1] == theirs[1], (ours, theirs)
        # PyTorch names what a function is made of, clew the function.
        if not theirs[2].startswith(("aten.", "Could not run")):
            assert ours[2].split()[:5] == theirs[2].split()[:5]
        return
    assert_same(ours[1], theirs[1])
    # A text says why PyTorch has no gradients there.
    if not isinstance(theirs[2], str):
        assert_same(ours[2], theirs[2], rtol=1e-6, atol=1e-7)


# A test of its own for each line would take much longer than the lines do.
TOGETHER = 40


def differing(lines: list[str]) -> list[str]:
    """The lines that the libraries do not agree on, each with what differs."""
    found = []
    for line in lines:
        try:
            check(line)
        except AssertionError as error:
            found.append(f"{line}: {error}")
    return found
