"""Values that are no numbers, and points of which there are too few to compute any."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tests.twice import outcome, raised, twice


@twice
def test_fill_values_that_are_no_numbers(lib: Any) -> Any:
    x = lib.ones(2)
    wrong = [lib.ones(2, 3), lib.ones(1), np.ones(3), "a", None, [1.0]]
    fine = [lib.ones(()), lib.tensor(3), np.float32(3.0), True, 3j]
    makers = [(lib.full, (2,)), (lib.full_like, x), (x.new_full, (2,))]
    seen = [[raised(f, shape, each) for f, shape in makers] for each in wrong]
    return seen, [outcome(lib.full, (2,), each) for each in fine]


@twice
def test_a_tensor_as_fill_value_is_a_number(lib: Any) -> Any:
    values = [lib.tensor(2.5).double(), lib.tensor(2, dtype=lib.int16), lib.tensor(True)]
    with_history = lib.tensor(2.0, requires_grad=True)
    x = lib.ones(2)
    return [
        *[lib.full((2,), each) for each in (*values, lib.tensor(2j))],
        raised(lib.full, (2,), with_history), raised(lib.full_like, x, with_history),
        raised(x.new_full, (2,), with_history),
    ]  # fmt: skip


@twice
def test_no_points_and_one_have_any_dtype(lib: Any) -> Any:
    return [
        outcome(partial(function, 1, 2, steps, dtype=getattr(lib, name)), words=4)
        for function in (lib.linspace, lib.logspace)
        for steps in (0, 1, 2)
        for name in ("bool", "float32", "uint8")
    ]
