"""cond and while_loop run as Python would."""

from __future__ import annotations

from typing import Any

import pytest

import clew


@pytest.mark.parametrize("pred", [True, clew.tensor(True), clew.tensor([1.0])])
def test_cond_takes_the_branch(pred: Any) -> None:
    x = clew.ones(2, requires_grad=True)
    clew.cond(pred, lambda a: a * 3, lambda a: a, (x,)).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3, 3]
    assert clew.cond(clew.tensor(False), lambda: 1, lambda: 2) == 2


def test_while_loop_runs_until_its_condition_fails() -> None:
    count, value = clew.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, a * 2), (clew.tensor(0), clew.ones(2))
    )
    assert (count.item(), value.tolist()) == (3, [8, 8])
    assert clew.while_loop(lambda a: a.sum() < 3, lambda a: a * 2, (clew.ones(1),)).item() == 4
    assert clew.while_loop(lambda a: False, lambda a: (a,), [1]) == (1,)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: clew.cond(clew.ones(2) > 0, len, len, ()), "Expected pred to be bool or single"),
        (lambda: clew.cond(True, 3, len, ()), "Expect both branches to be callable"),
        (lambda: clew.cond(True, len, len, clew.ones(2)), "Expect operands to be a tuple"),
        (lambda: clew.while_loop(3, len, ()), "Expect cond_fn and body_fn to be callable"),
        (lambda: clew.while_loop(len, len, clew.ones(2)), "Expect carried_inputs to be a tuple"),
    ],
)
def test_what_is_refused(call: Any, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        call()
