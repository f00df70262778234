"""Views, leaves, `requires_grad` and writes in all combinations, compared with PyTorch."""

from __future__ import annotations

import itertools

import pytest
import torch

import clew
from tests.twice import raised, twice
from tests.view_matrix import BASES, ENDS, VIEWS, Program, differences, programs, run


def check(program: Program, end: str) -> None:
    expected = run(torch, program, end)
    actual = run(clew, program, end)
    wrong = differences(actual, expected)
    assert not wrong, (program, end, [(what, actual.get(what), expected[what]) for what in wrong])


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("base", BASES)
def test_programs_of_one_action(base: str, view: str) -> None:
    for program in itertools.chain(programs(0), programs(1)):
        if program[:2] == (base, view):
            for end in ENDS:
                check(program, end)


@pytest.mark.parametrize("view", VIEWS)
def test_programs_of_two_actions(view: str) -> None:
    """Each ninth of them; all have been compared."""
    chosen = (program for program in programs(2) if program[1] == view)
    for program, end in zip(itertools.islice(chosen, 0, None, 9), itertools.cycle(ENDS)):
        check(program, end)


@twice
def test_views_lose_a_leaf_that_is_not_their_base(m):
    """After a write their history comes from the base, and leads nowhere if that has none."""
    seen = []
    for write in ("leaf", "view", "base", "flag"):
        base = m.arange(4.0)
        leaf = (base if write == "flag" else base.reshape(2, 2)).requires_grad_()
        view = leaf.view(4).expand(2, 4) if write == "flag" else leaf.t()
        calls = []
        leaf.register_hook(lambda g, calls=calls: calls.append(g.clone()))
        view.retain_grad()
        if write == "flag":
            leaf.requires_grad = False
        with m.no_grad():
            {"leaf": leaf, "view": view[0, :1], "base": base, "flag": leaf}[write].mul_(2)
        seen += [view.requires_grad, view.grad_fn.name(), view.grad_fn.next_functions]
        (view * view).sum().backward()
        seen += [leaf.grad, calls, view.grad, leaf.requires_grad, leaf.is_leaf]
        if write != "flag":
            (leaf.t() * 3).sum().backward()
            seen += [leaf.grad, calls]
    return seen


@twice
def test_gradients_of_sums_are_views(m):
    seen = []
    for dims in ((), (0,), (0, True)):
        x, w = m.ones(2, requires_grad=True), m.ones((), requires_grad=True)
        grads = [
            m.autograd.grad(x.sum(*dims).sum(), x)[0],
            m.autograd.grad((w * 2).sum(*dims), w)[0],
            m.autograd.grad((x.view(2, 1) * 2).sum(*dims).sum(), x)[0],
        ]
        seen += [grads, [g._is_view() for g in grads], [g.requires_grad for g in grads]]
        seen += [raised(grads[0].detach_), raised(grads[1].detach_), raised(grads[1].mul_, w)]
        x.sum(*dims).sum().backward()
        seen += [x.grad._is_view()]
    return seen


@twice
def test_views_of_another_dtype_are_no_views_for_autograd(m):
    seen = []
    for requires_grad in (False, True):
        x, w = (
            m.ones(2, dtype=m.complex64, requires_grad=requires_grad),
            m.ones((), requires_grad=True),
        )
        halves = x.view(m.float32)
        seen.append([halves._is_view(), halves.requires_grad, halves.is_leaf])
        halves[0] = 0.5
        seen.append([halves.requires_grad, halves._version, x._version, x.detach()])
        seen.append([halves.detach_() is halves, halves.mul_(w).requires_grad])
        seen.append([x.requires_grad, x.is_leaf, x._version])
        part = m.arange(4).view(m.float64)[1:].requires_grad_()
        (part * 2).sum().backward()
        seen.append(part.grad)
    return seen
