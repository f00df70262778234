"""Floats among the arguments: a trace for all values, or a guard where Python looks at one."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clew
from clew import nn
from clew.nn import functional as F

X = clew.linspace(-1, 1, 12).reshape(3, 4)
VALUES = (0.5, 0.25, -3.0, 0.0, -0.0, 1.0, math.inf, math.nan, 7.5, 1e-3)


def branch(x: Any, k: float) -> Any:
    return x * 2 if k > 1 else x - k


def in_numpy(x: Any, k: float) -> Any:
    return x * float(np.float64(2.0) * k)


def by_type(x: Any, k: float) -> Any:
    return x * 2 if type(k) is float else x * k


def of_complex(x: Any, k: float) -> Any:
    return x * (1j * k).imag


def kept(x: Any, k: float) -> Any:
    return x + 1, k


def shown(x: Any, k: float) -> Any:
    return x * len(f"{k}")


class Scaled(nn.Module):
    """A module that is given a number."""

    def forward(self, x: Any, k: float) -> Any:
        return x * k


SCALED = Scaled()
# Functions for which one trace is enough, and those that look at their number.
ONE: dict[str, Callable[..., Any]] = {
    "product": lambda x, k: x * k,
    "from the left": lambda x, k: k * x - (k - x) + k / x.exp(),
    "quotient": lambda x, k: x / k,
    "arithmetic": lambda x, k: x * (1 - k) + (2 * k + 1) * x.sin() - (-k / 4),
    "in place": lambda x, k: x.clone().mul_(k).add_(1) * 2,
    "operators": lambda x, k: _assigned(x, k),
    "module": lambda x, k: SCALED(x, k) + 1,
    "doubles": lambda x, k: x.double() * k + x * k,
    "with a product": lambda x, k: ((x * k) @ x.T).softmax(-1) * k,
}
MANY: dict[str, Callable[..., Any]] = {
    "branch": branch,
    "numpy": in_numpy,
    "type": by_type,
    "complex": of_complex,
    "returned": kept,
    "text": shown,
    "power": lambda x, k: x.abs() ** k,
    "root": lambda x, k: x * math.cos(k),
    "filled": lambda x, k: x + clew.full((4,), k),
    "tensor": lambda x, k: x + clew.tensor([[k, 1.0, 2.0, k]]),
    "option": lambda x, k: F.leaky_relu(x, k),
    "alpha": lambda x, k: clew.add(x, x, alpha=k),
    "rounded": lambda x, k: x * round(k, 1) if math.isfinite(k) else x,
    "largest": lambda x, k: x * max(k, 0.3),
    "halves": lambda x, k: x.half() * k,
    "list": lambda x, k: x * [k, 1.0][0] + sum([k, 2.0]),
}


def _assigned(x: Any, k: float) -> Any:
    y = x.clone()
    y *= k
    y += k
    y -= 2 * k
    y /= 3.0
    return y


def results(function: Callable[..., Any]) -> list[Any]:
    found = []
    for k in (*VALUES, *VALUES):
        try:
            found.append(function(X, k))
        except Exception as error:  # compared with the other run's
            found.append(type(error))
    return found


@pytest.mark.parametrize("name", [*ONE, *MANY])
def test_every_value_gives_what_eager_gives(name: str) -> None:
    function = {**ONE, **MANY}[name]
    compiled = clew.compile(function, recompile_limit=30)
    for mine, right in zip(results(compiled), results(function), strict=True):
        if isinstance(right, type):
            assert mine is right
        else:
            clew.testing.assert_close(mine, right, equal_nan=True)
    if name in ONE:
        assert [event.problem for event in compiled.events] == [None]


_WITH_OVERRIDES = """
import clew
from tests.compiler import test_numbers

class Marked(clew.Tensor):
    pass

assert type(Marked(test_numbers.X) * 2) is Marked
for name in (*test_numbers.ONE, *test_numbers.MANY):
    test_numbers.test_every_value_gives_what_eager_gives(name)

state = clew.compile(lambda x: x * clew.rand(()) + clew.initial_seed())
state(test_numbers.X)
(event,) = state.events
assert event.problem.startswith("initial_seed is called"), event
"""


@pytest.mark.parametrize("first", ["", "import clew.compiler.watch"])
def test_numbers_are_followed_once_classes_take_over_functions(first: str) -> None:
    # Functions have other code from then on, for the rest of the process.
    text = f"{first}\n{_WITH_OVERRIDES}"
    subprocess.run([sys.executable, "-c", text], check=True, timeout=120)


def test_gradients_follow_the_numbers() -> None:
    weight = nn.Parameter(clew.linspace(-1, 1, 4))

    def step(x: Any, rate: float, decay: float) -> Any:
        weight.grad = None
        loss = ((x * weight - 1).square() * rate).mean() + decay * weight.abs().sum()
        loss.backward()
        with clew.no_grad():
            weight.sub_(rate * weight.grad)
        return loss.detach()

    compiled = clew.compile(step)
    for number in range(8):
        rate, decay = 0.3 / (1 + number), 0.01 * number
        before = weight.detach().clone()
        found = compiled(X, rate, decay=decay), weight.detach().clone()
        with clew.no_grad():
            weight.copy_(before)
        right = step(X, rate, decay=decay), weight.detach().clone()
        clew.testing.assert_close(found, right)
    assert [event.problem for event in compiled.events] == [None]


def test_the_backward_of_a_result_uses_the_number_of_its_call() -> None:
    compiled = clew.compile(lambda x, k: (x * k).sin())
    for k in (1.0, 2.0, 3.0):
        x, y = (X.clone().requires_grad_() for _ in range(2))
        first, second = compiled(x, k), compiled(x, 2 * k)
        (first.sum() + second.sum()).backward()
        ((y * k).sin().sum() + (y * 2 * k).sin().sum()).backward()
        clew.testing.assert_close(x.grad, y.grad)
    assert len(compiled.events) == 1


def test_two_numbers_that_were_read_are_both_guards() -> None:
    @clew.compile
    def product(x: Any, y: Any) -> Any:
        return x * (x.sum().item() * y.sum().item())

    for factor in (1.0, 2.0, 3.0):
        y = clew.ones(3, 4) * factor
        clew.testing.assert_close(product(X + 1, y), (X + 1) * ((X + 1).sum() * y.sum()))


# -- shapes --------------------------------------------------------------------------------------


def losses(function: Callable[..., Any], sizes: tuple[int, ...]) -> list[float]:
    clew.manual_seed(0)
    return [function(clew.randn(size, 4)).item() for size in sizes]


SIZES = (8, 8, 3, 8, 5, 1, 3, 7, 2, 6, 4, 9, 10, 11, 12, 3, 8)


def test_batches_of_any_size_are_traces_of_one_kind() -> None:
    def trained(wrap: Callable[[Any], Any]) -> tuple[Any, list[float]]:
        clew.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = clew.optim.Adam(model.parameters(), 0.01)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        run = wrap(step)
        return run, losses(run, SIZES)

    compiled, found = trained(clew.compile)
    _, right = trained(lambda step: step)
    np.testing.assert_allclose(found, right, 1e-5)
    assert len(compiled.events) == len(set(SIZES)) > 8
    assert [event.problem for event in compiled.events] == [None] * len(set(SIZES))
    static, found = trained(lambda step: clew.compile(step, dynamic=False))
    np.testing.assert_allclose(found, right, 1e-5)
    assert len([each for each in static.events if each.trace is not None]) == 8


def test_a_kind_has_no_more_traces_for_its_other_guards() -> None:
    options = {"k": 0}

    @clew.compile
    def scaled(x: Any) -> Any:
        return x * options["k"]

    for number in range(12):
        options["k"] = number
        for size in (2, 3):
            assert scaled(clew.ones(size)).tolist() == [float(number)] * size
    assert len(scaled.events) <= 16
