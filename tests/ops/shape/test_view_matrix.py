"""Views, leaves, `requires_grad` and writes in all combinations, compared with PyTorch."""

from __future__ import annotations

import itertools

import pytest
import torch

import clew
from tests.twice import twice
from tests.view_matrix import BASES, ENDS, VIEWS, Program, differences, loses_a_leaf, programs, run


def check(program: Program, end: str) -> None:
    if loses_a_leaf(program):
        return
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


def test_a_leaf_that_is_a_view_keeps_its_views() -> None:
    """PyTorch's views of it lead nowhere after a write under no_grad: the leaf would stay as is."""
    w = clew.arange(4.0).reshape(2, 2).requires_grad_()
    turned = w.t()
    with clew.no_grad():
        w.mul_(2)
    (turned * turned).sum().backward()
    assert w.grad is not None
    assert w.grad.tolist() == (2 * w).tolist()


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
