"""index_reduce, index_add, scatter_reduce and gather: whole vectors of elements, and a rest."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from tests.twice import twice

DTYPES = ("float32", "float64", "float16", "bfloat16", "int64")
SHAPES = {(7, 75): 0, (75, 7): 1, (3, 9, 37): 1, (133,): 0}


def inputs(torch: Any, shape: tuple[int, ...], dtype: str, special: bool = False) -> Any:
    count = 1
    for size in shape:
        count *= size
    numbers = torch.arange(count).mul(37).remainder(11).sub(5)
    if dtype == "int64":
        return numbers.reshape(shape)
    numbers = numbers.double().div(4).add(1.1)
    if special:
        numbers[3::17] = float("nan")
        numbers[5::19] = float("inf")
    return numbers.to(getattr(torch, dtype)).reshape(shape)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_reductions_at_places(reduce: str, shape: tuple[int, ...], dtype: str) -> None:
    dim = SHAPES[shape]

    @twice
    def scenario(torch: Any) -> Any:
        special = reduce in ("amax", "amin") and dtype != "int64"
        x, y = inputs(torch, shape, dtype), inputs(torch, shape, dtype, special)
        places = torch.arange(shape[dim]).mul(5).remainder(max(shape[dim] // 3, 1))
        whole = torch.arange(y.numel()).mul(7).remainder(shape[dim]).reshape(shape)
        results = []
        for include_self in (True, False):
            options = {"include_self": include_self}
            results.append(x.scatter_reduce(dim, whole, y, reduce, **options))
            if reduce != "sum":
                with warnings.catch_warnings():
                    # PyTorch says once that it is in beta.
                    warnings.simplefilter("ignore")
                    results.append(x.index_reduce(dim, places, y, reduce, **options))
        if reduce == "sum":
            results += [
                x.index_add(dim, places, y), x.scatter_add(dim, whole, y), x.gather(dim, whole),
                x.scatter(dim, places.reshape([-1 if i == dim else 1 for i in range(x.ndim)]), y),
                x.t().scatter_add(x.ndim - 1 - dim, whole.t(), y.t()) if x.ndim == 2 else x,
            ]  # fmt: skip
        return results

    scenario()
