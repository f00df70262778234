"""index_reduce, index_add, scatter_reduce and gather: whole vectors of elements, and a rest."""

from __future__ import annotations

import functools
import itertools
import warnings
from typing import Any

import pytest

from tests.twice import outcome, raised, twice

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


@pytest.mark.parametrize("dtype", ["bool", "complex64", "complex128", "complex32"])
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_rows_of_bools_and_complex_numbers(dtype: str, ndim: int) -> None:
    @twice
    def scenario(torch: Any) -> Any:
        numbers = torch.tensor([1, 0, 1, 1, 0, 1, 2, 3][: 2**ndim]).to(getattr(torch, dtype))
        x = numbers.reshape((2,) * ndim)
        requires_grad = [False] if dtype == "bool" else [False, True]
        results = []
        for reduce, include_self, wants, index in itertools.product(
            ["prod", "mean", "amax", "amin"], [True, False], requires_grad, [[0, 0], []]
        ):
            target = x.clone().requires_grad_(wants)
            places = torch.tensor(index, dtype=torch.int64)
            call = functools.partial(target.index_reduce, include_self=include_self)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                got = outcome(call, 0, places, x[: len(index)], reduce, words=12)
            results.append(got.tolist() if isinstance(got, torch.Tensor) else got)
        return results

    scenario()


@twice
def test_a_source_that_is_too_short_is_written(torch: Any) -> Any:
    seen = []
    history = torch.zeros(4, requires_grad=True) * 1
    for target, mask, source in [
        (torch.zeros(4), [True, True, False, True], torch.ones(2)),
        (torch.zeros(8)[::2], [True], torch.ones(2)),
        (torch.zeros(3, 4), [True, True, False, True], torch.arange(1.0, 6)),
        (torch.zeros(2, 3).t(), [True, False], torch.arange(1.0, 3)),
        (torch.zeros(4), [True], torch.ones(6)[::2]),
        (torch.zeros(4), [[True]], torch.ones(2)),
        (torch.zeros(4), [True, False, True], torch.ones(2)),
        (history, [True], torch.ones(2)),
        (torch.zeros(4), [True, False, True, True], torch.arange(1.0, 6)),
    ]:
        seen += [raised(target.masked_scatter_, torch.tensor(mask), source), target.detach()]
        seen.append(target._version)
    one = torch.zeros(4)
    one.masked_scatter_(torch.tensor([True, False, True, True]), one[1:])
    return [*seen, one, raised(torch.zeros(2).masked_scatter, torch.ones(2).bool(), torch.ones(1))]


@twice
def test_a_number_has_no_dimension_to_take_along(torch: Any) -> Any:
    take, place = torch.tensor(1.0).take_along_dim, torch.tensor(0)
    return [take(place), *(raised(take, place, dim, words=9) for dim in (0, -1, 1))]
