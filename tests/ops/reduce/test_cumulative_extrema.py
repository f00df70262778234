"""cummax and cummin: values, places, gradients, in every layout and with every special value."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

import clew
from tests import oracle

SHAPES = [(1,), (7,), (5, 9), (3, 70, 5), (4, 90, 3), (2, 0, 3), (40, 300), (300, 2)]
LAYOUTS = {
    "as it is": lambda x: x,
    "turned": lambda x: x.transpose(0, -1),
    "with steps": lambda x: x[::2],
    "repeated": lambda x: x[:1].expand(3, *x.shape[1:]),
}
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64]
SPECIAL = {"none": None, "nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def numbers(shape: tuple[int, ...], dtype: torch.dtype, special: float | None) -> torch.Tensor:
    """With many equal ones among them, so that the latest of equals can be told."""
    torch.manual_seed(0)
    x = (torch.randn(shape) * 3).round().to(dtype)
    if special is not None and dtype.is_floating_point:
        x.view(-1)[1::5] = special
    return x


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("special", SPECIAL)
@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_values_and_places(name: str, special: str, dtype: torch.dtype) -> None:
    for shape in SHAPES:
        for layout in LAYOUTS.values():
            x = layout(numbers(shape, dtype, SPECIAL[special]))
            ours = layout(oracle.to_clew(numbers(shape, dtype, SPECIAL[special])))
            for dim in range(x.dim()):
                expected: Any = getattr(torch, name)(x, dim)
                found = getattr(clew, name)(ours, dim)
                oracle.assert_same(tuple(found), tuple(expected), where=f"{shape} along {dim}")


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_gradients(name: str, dim: int) -> None:
    """Both ways through the kernels: along rows, and across them."""
    for shape in ((4, 3, 5), (6, 9, 70)):
        x = numbers(shape, torch.float64, None).requires_grad_()
        ours = oracle.to_clew(x.detach()).requires_grad_()
        weights = torch.arange(x.numel(), dtype=torch.float64).reshape(shape)
        (getattr(x, name)(dim)[0] * weights).sum().backward()
        (getattr(ours, name)(dim)[0] * oracle.to_clew(weights)).sum().backward()
        oracle.assert_same(ours.grad, x.grad)
