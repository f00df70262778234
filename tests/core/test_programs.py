"""Random programs of operations, views and in-place writes: clew and PyTorch must agree.

A program is a list of small integers. Each step picks an operation and its operands among the
tensors made so far and runs it in both libraries. Compared are: which steps raise, every value,
requires_grad, is_leaf and version counter, then which backward calls raise, and all gradients.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import clew

Steps = list[tuple[int, int, int, int]]


class Step(NamedTuple):
    """An operation of random programs: `run(module, a, b, k)` with two tensors and a number."""

    name: str
    run: Callable[[Any, Any, Any, int], Any]


def _dim(t: Any, k: int) -> int:
    return k % t.dim() if t.dim() else 0


def _set_item(m: Any, a: Any, b: Any, k: int) -> Any:
    if a.dim() == 0:
        a[...] = b
    else:
        a[k % a.shape[0]] = b
    return a


def _set_slice(m: Any, a: Any, b: Any, k: int) -> Any:
    a[..., :1] = b
    return a


def _under_no_grad(m: Any, a: Any, b: Any, k: int) -> Any:
    with m.no_grad():
        return a.mul_(0.5) if k % 2 else a.view(-1)


def _masked(m: Any, a: Any, b: Any, k: int) -> Any:
    return a.masked_fill(a > 0.3, 0.25)


OUT_OF_PLACE = [
    Step("mul", lambda m, a, b, k: a * b),
    Step("add", lambda m, a, b, k: a + b),
    Step("sub", lambda m, a, b, k: a - b),
    Step("div", lambda m, a, b, k: a / (b * b + 1.5)),
    Step("scale", lambda m, a, b, k: a * (k - 2.5)),
    Step("rsub", lambda m, a, b, k: 1.0 - a),
    Step("sin", lambda m, a, b, k: a.sin()),
    Step("tanh", lambda m, a, b, k: a.tanh()),
    Step("sigmoid", lambda m, a, b, k: a.sigmoid()),
    Step("exp", lambda m, a, b, k: (-a * a).exp()),
    Step("relu", lambda m, a, b, k: a.relu()),
    Step("sum", lambda m, a, b, k: a.sum(_dim(a, k), keepdim=bool(k % 2))),
    Step("mean", lambda m, a, b, k: a.mean()),
    Step("amax", lambda m, a, b, k: a.amax(_dim(a, k))),
    Step("clone", lambda m, a, b, k: a.clone()),
    Step("cat", lambda m, a, b, k: m.cat([a, a], _dim(a, k))),
    Step("where", lambda m, a, b, k: m.where(a > 0, a, b)),
    Step("masked_fill", _masked),
    # A fresh product of torch's may have been written to already: the clone has version 0 in both.
    Step("matmul", lambda m, a, b, k: (a @ b.transpose(0, -1)).clone()),
    Step("index", lambda m, a, b, k: a[m.tensor([0, 0])]),
    Step("detach", lambda m, a, b, k: a.detach()),
    Step("cumsum", lambda m, a, b, k: a.cumsum(_dim(a, k))),
]

VIEWS = [
    Step("transpose", lambda m, a, b, k: a.transpose(0, -1)),
    Step("select", lambda m, a, b, k: a[k % a.shape[0]] if a.dim() else a.view(1)),
    Step("slice", lambda m, a, b, k: a[k % 2 :]),
    Step("last", lambda m, a, b, k: a[..., -1]),
    Step("unsqueeze", lambda m, a, b, k: a.unsqueeze(_dim(a, k))),
    Step("squeeze", lambda m, a, b, k: a.squeeze()),
    Step("flat view", lambda m, a, b, k: a.view(-1)),
    Step("reshape", lambda m, a, b, k: a.reshape(-1, 1)),
    Step("expand", lambda m, a, b, k: a.expand(2, *a.shape)),
    Step("diagonal", lambda m, a, b, k: a.diagonal()),
    Step("narrow", lambda m, a, b, k: a.narrow(0, 0, 1)),
    Step("unbind", lambda m, a, b, k: a.unbind(0)[0]),
    Step("chunk", lambda m, a, b, k: a.chunk(2, 0)[-1]),
    Step("permute", lambda m, a, b, k: a.permute(tuple(reversed(range(a.dim()))))),
]

IN_PLACE = [
    Step("add_", lambda m, a, b, k: a.add_(b)),
    Step("mul_", lambda m, a, b, k: a.mul_(b)),
    Step("sub_ number", lambda m, a, b, k: a.sub_(0.5)),
    Step("iadd", lambda m, a, b, k: a.__iadd__(b)),
    Step("sigmoid_", lambda m, a, b, k: a.sigmoid_()),
    Step("relu_", lambda m, a, b, k: a.relu_()),
    Step("sin_", lambda m, a, b, k: a.sin_()),
    Step("tanh_", lambda m, a, b, k: a.tanh_()),
    Step("zero_", lambda m, a, b, k: a.zero_()),
    Step("fill_", lambda m, a, b, k: a.fill_(0.75)),
    Step("copy_", lambda m, a, b, k: a.copy_(b)),
    Step("set item", _set_item),
    Step("set slice", _set_slice),
    Step("masked_fill_", lambda m, a, b, k: a.masked_fill_(a > 0, 0.5)),
    Step("no_grad", _under_no_grad),
    Step("detach().mul_", lambda m, a, b, k: a.detach().mul_(1.5)),
]

STEPS = OUT_OF_PLACE + VIEWS + IN_PLACE
START = [
    (np.array([[0.3, -0.7, 1.1], [0.9, 0.2, -0.4]]), True),
    (np.array([[0.5, 0.25, -0.125]]), True),
    (np.array([[-0.6], [0.8]]), False),
    (np.array([0.1, -0.2, 0.7]), False),
]


def start(module: Any) -> list[Any]:
    return [module.tensor(values, requires_grad=needs) for values, needs in START]


def run_step(module: Any, step: Step, tensors: list[Any], a: int, b: int, k: int) -> Any:
    """The new tensor, or the exception."""
    try:
        return step.run(module, tensors[a % len(tensors)], tensors[b % len(tensors)], k)
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        return error


def facts(tensor: Any) -> tuple[Any, ...]:
    return (
        tuple(tensor.shape),
        tensor.requires_grad,
        tensor.is_leaf,
        tensor._version,
        tensor.detach().numpy().tolist(),
    )


def observe(tensor: Any) -> Any:
    """Everything compared about a tensor; reading its history may itself raise."""
    try:
        return facts(tensor)
    except RuntimeError as error:
        return type(error).__name__


def assert_alike(ours: Any, theirs: Any, story: str) -> None:
    if isinstance(ours, str) or isinstance(theirs, str):
        assert ours == theirs, story
        return
    assert ours[:4] == theirs[:4], story
    np.testing.assert_allclose(
        np.array(ours[4]), np.array(theirs[4]), rtol=1e-9, atol=1e-12, err_msg=story
    )


def run_program(steps: Steps) -> None:
    ours, theirs = start(clew), start(torch)
    story: list[str] = []
    for code, a, b, k in steps:
        step = STEPS[code % len(STEPS)]
        count = len(ours)
        story.append(f"t{count} = {step.name}(t{a % count}, t{b % count}, {k})")
        text = "\n".join(story)
        mine = run_step(clew, step, ours, a, b, k)
        his = run_step(torch, step, theirs, a, b, k)
        if isinstance(mine, Exception) or isinstance(his, Exception):
            assert type(mine) is type(his), f"{text}\nclew: {mine!r}\ntorch: {his!r}"
            story[-1] += f"   raises {type(his).__name__}"
            continue
        ours.append(mine)
        theirs.append(his)
        for number, (x, y) in enumerate(zip(ours, theirs, strict=True)):
            assert_alike(observe(x), observe(y), f"{text}\nt{number}")
    backward_all(ours, theirs, story)


def backward_all(ours: list[Any], theirs: list[Any], story: list[str]) -> None:
    for number in reversed(range(len(ours))):
        text = "\n".join(story) + f"\nt{number}.sum().backward(retain_graph=True)"
        outcomes = []
        for tensors in (ours, theirs):
            try:
                tensors[number].sum().backward(retain_graph=True)
                outcomes.append(None)
            except RuntimeError as error:
                outcomes.append(error)
        mine, his = outcomes
        assert (mine is None) == (his is None), f"{text}\nclew: {mine!r}\ntorch: {his!r}"
        for leaf in range(2):
            compare_grads(ours[leaf], theirs[leaf], mine is None, f"{text}\ngrad of t{leaf}")


def compare_grads(mine: Any, his: Any, completed: bool, text: str) -> None:
    if not completed:
        # A backward that raised may have reached some leaves before: start again from nothing.
        mine.grad = his.grad = None
        return
    assert (mine.grad is None) == (his.grad is None), text
    if his.grad is not None:
        np.testing.assert_allclose(
            mine.grad.numpy(), his.grad.numpy(), rtol=1e-8, atol=1e-10, err_msg=text
        )


number = st.integers(0, 63)


@settings(
    max_examples=250, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
@given(st.lists(st.tuples(number, number, number, st.integers(0, 5)), min_size=1, max_size=12))
def test_random_programs_agree(steps: Steps) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_program(steps)


@pytest.mark.parametrize("seed", range(60))
def test_longer_programs_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    steps = [
        (int(rng.integers(len(STEPS))), int(rng.integers(64)), int(rng.integers(64)),
         int(rng.integers(6)))
        for _ in range(30)
    ]  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_program(steps)
