"""nn.grad: the gradients of convolutions, as torch's and as backward gives them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.grad

import clew
from tests import oracle

# Sizes of input and weight, and the options.
CASES: list[tuple[int, tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    (1, (2, 4, 9), (6, 2, 3), {"stride": 2, "padding": 1, "groups": 2}),
    (1, (1, 3, 8), (2, 3, 3), {"dilation": 2}),
    (2, (2, 3, 7, 6), (4, 3, 3, 2), {"stride": (2, 1), "padding": (1, 0)}),
    (2, (1, 2, 5, 5), (2, 1, 3, 3), {"groups": 2}),
    (3, (1, 2, 4, 4, 5), (3, 2, 2, 2, 2), {"stride": 2, "padding": 1}),
]


def _arrays(dims: int, size: Any, weight: Any, options: dict[str, Any]) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(0)
    x, w = random.standard_normal(size), random.standard_normal(weight)
    conv = getattr(torch.nn.functional, f"conv{dims}d")
    shape = conv(torch.tensor(x), torch.tensor(w), **options).shape
    return x, w, random.standard_normal(tuple(shape))


@pytest.mark.parametrize(("dims", "size", "weight", "options"), CASES)
def test_gradients_of_convolutions(dims: int, size: Any, weight: Any, options: Any) -> None:
    x, w, g = _arrays(dims, size, weight, options)
    results = []
    for m in (clew, torch):
        of_input = getattr(m.nn.grad, f"conv{dims}d_input")
        of_weight = getattr(m.nn.grad, f"conv{dims}d_weight")
        values = [m.tensor(each, requires_grad=True) for each in (x, w, g)]
        first = of_input(size, values[1], values[2], **options)
        second = of_weight(values[0], weight, values[2], **options)
        (first.square().sum() + second.square().sum()).backward()
        results.append((first, second, *(each.grad for each in values)))
    for ours, theirs in zip(*results, strict=True):
        oracle.assert_same(ours.detach(), theirs.detach())


def test_sizes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(RuntimeError, match="grad_output has shape"):
        clew.nn.grad.conv1d_input((1, 1, 9), clew.ones(1, 1, 2), clew.ones(1, 1, 3))
    with pytest.raises(RuntimeError, match="grad_output has shape"):
        clew.nn.grad.conv1d_weight(clew.ones(1, 1, 4), (1, 1, 3), clew.ones(1, 1, 3))
