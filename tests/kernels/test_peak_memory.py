"""How much memory operations need at once, forward and backward, in arrays of their input's size.

The bounds are what PyTorch's own allocations come to in the same program (from its profiler), where
nothing else is said. They count what a program holds anyway: the result, and the gradient.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clew
from clew.kernels.numpy import convolution

F = clew.nn.functional
SIDE = 512
UNIT = 4 * SIDE * SIDE
# Nodes, tensors and buffers of a fixed size come on top.
SLACK = 0.1


def peak(function: Callable[[], Any]) -> float:
    """The most memory that lives at a time, in arrays of the usual size."""
    function()  # what is made once: kernels, and tables
    tracemalloc.start(1)
    try:
        function()
        return tracemalloc.get_traced_memory()[1] / UNIT
    finally:
        tracemalloc.stop()


def between_0_and_1() -> Any:
    return clew.rand(SIDE, SIDE).requires_grad_()


TARGET = clew.rand(SIDE, SIDE)
PLACES = clew.randint(0, SIDE, (SIDE,))


@pytest.mark.parametrize(
    ("name", "function", "arrays"),
    [
        ("mse_loss", lambda x: F.mse_loss(x, TARGET), 2),
        ("smooth_l1_loss", lambda x: F.smooth_l1_loss(x, TARGET), 2),
        ("huber_loss", lambda x: F.huber_loss(x, TARGET), 2),  # PyTorch: 1
        ("bce_with_logits", lambda x: F.binary_cross_entropy_with_logits(x, TARGET), 2),
        ("bce", lambda x: F.binary_cross_entropy(x, TARGET), 2),
        ("hardswish", F.hardswish, 2),
        ("gelu", F.gelu, 2),
        ("softmax", lambda x: x.softmax(-1), 2),
        ("layer_norm", lambda x: F.layer_norm(x, (SIDE,)), 2),
        ("rows", lambda x: x.index_select(0, PLACES), 2),
        ("columns", lambda x: x.index_select(1, PLACES), 2),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_no_more_is_held_than_is_needed(
    name: str, function: Callable[[Any], Any], arrays: int
) -> None:
    x = between_0_and_1()
    gradient = clew.ones_like(function(x).detach())

    def step() -> None:
        x.grad = None
        function(x).backward(gradient)

    assert peak(step) <= arrays + SLACK, name


def test_additions_along_any_dimension_need_no_positions() -> None:
    x, rows = np.zeros((4, SIDE, SIDE // 4), np.float32), clew.rand(4, SIDE, SIDE // 4)
    target = clew.from_numpy(x)
    assert peak(lambda: target.index_add_(1, PLACES, rows)) < SLACK


def test_gradients_of_weights_are_summed_once_beside_the_result() -> None:
    """The sums are transposed to the result; so are the output's gradients, to whole panels."""
    images = np.ones((16, SIDE // 3, 4, 4), np.float32)
    out = np.ones((16, SIDE // 3, 4, 4), np.float32)
    shape = (SIDE // 3, SIDE // 3, 3, 3)
    weights = 4 * np.prod(shape) / UNIT
    found = peak(lambda: convolution.conv_grad_weight(out, images, weight_shape=shape, padding=1))
    assert found <= 2 * weights + 2 * out.nbytes / UNIT + SLACK


def test_the_largest_of_many_rows_are_found_in_parts() -> None:
    x = clew.rand(64, 1 << 15)  # 8 arrays, whose order would take 16
    assert peak(lambda: x.topk(4, dim=1)) < 9
