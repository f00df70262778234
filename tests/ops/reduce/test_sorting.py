"""Order, sets, searching and counting against PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import clew
from tests import oracle
from tests.tensors import short_name

NAN, INF = float("nan"), float("inf")
TIES = torch.tensor([[2, 1, 2, 0, 1, 2], [0, 0, 3, 3, 1, 0]])
WITH_NAN = torch.tensor([3.0, NAN, -INF, 1.0, NAN, INF, 1.0])


def _same(call: Any, *args: Any, **kwargs: Any) -> None:
    """`call(library, *arguments)` gives the same result, or the same error, in both."""
    ours_args, ours_kwargs = oracle.to_clew((args, kwargs))
    expected, expected_error = oracle.outcome(call, torch, *args, **kwargs)
    actual, error = oracle.outcome(call, clew, *ours_args, **ours_kwargs)
    if expected_error is not None:
        oracle.assert_same_error(error, expected_error, words=3)
    elif error is not None:
        raise error
    else:
        oracle.assert_same(actual, expected)


DTYPES = [torch.int64, torch.uint8, torch.bool, torch.float32, torch.bfloat16, torch.float16]


@pytest.mark.parametrize("dtype", DTYPES, ids=short_name)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dim", [0, -1])
def test_sort_keeps_equal_elements_in_order(dtype: torch.dtype, descending: bool, dim: int) -> None:
    x = TIES.to(dtype)
    _same(lambda t, x: t.argsort(x, dim=dim, descending=descending, stable=True), x)
    _same(lambda t, x: t.sort(x, stable=True, dim=dim, descending=descending), x)


def _with_equals(size: int, values: int, dtype: torch.dtype) -> torch.Tensor:
    """Three rows of a few different numbers, among floats also NaN and both zeros."""
    drawn = torch.randint(values, (3, size), generator=torch.Generator().manual_seed(size))
    x = drawn.to(dtype)
    if dtype.is_floating_point:
        x[1] = torch.where(drawn[1] == 1, NAN, x[1])
        x[2] = torch.where(drawn[2] == 0, -0.0, x[2])
    return x


EQUALS = [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.uint8]


@pytest.mark.parametrize("dtype", EQUALS, ids=short_name)
@pytest.mark.parametrize("size", [3, 16, 17, 64, 200, 9000])
@pytest.mark.parametrize("values", [2, 30])
def test_equal_elements_come_in_the_order_of_pytorchs_algorithms(
    size: int, values: int, dtype: torch.dtype
) -> None:
    x = _with_equals(size, values, dtype)
    for flag in (False, True):
        _same(lambda t, x, flag=flag: t.sort(x, descending=flag), x)
        _same(lambda t, x, flag=flag: t.argsort(x.T, dim=0, descending=flag), x)
        for count in sorted({0, 1, size // 64, size // 3, size}):
            for given in (x, x[:1], x[1]):
                _same(lambda t, x, k=count, flag=flag: t.topk(x, k, largest=flag), given)
            _same(lambda t, x, k=count: t.topk(x.T, k, 0, sorted=False), x)
    for rank in sorted({1, size // 2 + 1, size}):
        _same(lambda t, x, rank=rank: t.kthvalue(x, rank), x)
    _same(lambda t, x: t.median(x, 1), x)
    _same(lambda t, x: t.nanmedian(x.T, 0), x)
    _same(lambda t, x: t.mode(x), x if dtype == torch.int64 else x[:1])


def test_partitions_that_stay_unequal_end_in_heaps() -> None:
    """A sequence for which medians of three are bad pivots."""
    half = 1000
    x = torch.zeros(2 * half, dtype=torch.int64)
    places = torch.arange(half)
    x[half:] = 2 * places + 2
    x[:half:2], x[1:half:2] = places[::2] + 1, places[::2] + 1 + half
    for each in (x, x // 3):
        _same(lambda t, x: t.sort(x), each)
        _same(lambda t, x: t.topk(x, 900, largest=False), each)


def test_nan_is_greater_than_every_number() -> None:
    for descending in (False, True):
        _same(lambda t, x, d=descending: x.sort(descending=d), WITH_NAN)
    _same(lambda t, x: x.topk(3).values, WITH_NAN)
    _same(lambda t, x: x.topk(6, largest=False).values, WITH_NAN)
    for k in range(1, 8):
        _same(lambda t, x, k=k: x.kthvalue(k).values, WITH_NAN)
    for name in ("median", "nanmedian"):
        _same(lambda t, x, name=name: getattr(x, name)(0).values, WITH_NAN)
        _same(lambda t, x, name=name: getattr(x, name)(), WITH_NAN)


@pytest.mark.parametrize("k", [0, 1, 5, 100, 1000])
@pytest.mark.parametrize("largest", [True, False])
def test_topk_of_many(k: int, largest: bool) -> None:
    x = torch.randperm(1000).to(torch.float32)
    _same(lambda t, x: x.topk(k, largest=largest), x)
    _same(lambda t, x: x.topk(min(k, 10), dim=0, largest=largest), x.reshape(100, 10))


@pytest.mark.parametrize("k", [1, 3, 6])
def test_the_indices_point_at_the_values(k: int) -> None:
    x = oracle.to_clew(TIES)
    found = x.topk(k, dim=1)
    oracle.assert_same(x.gather(1, found.indices), torch.topk(TIES, k, dim=1).values)
    value = x.kthvalue(k, dim=1)
    oracle.assert_same(
        x.gather(1, value.indices.unsqueeze(1)).squeeze(1), torch.kthvalue(TIES, k, dim=1).values
    )


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("keepdim", [False, True])
def test_mode(dim: int, keepdim: bool) -> None:
    _same(lambda t, x: x.mode(dim, keepdim), TIES)
    _same(lambda t, x: x.mode(), torch.tensor(3.0))


def test_gradients_go_to_the_chosen_elements() -> None:
    def program(t: Any, x: Any) -> Any:
        values = [x.sort(0).values, x.topk(2, 1).values, x.kthvalue(2, 0).values,
                  x.median(1).values, x.msort(), x.max(0).values]  # fmt: skip
        loss = sum((value**2 * (i + 1)).sum() for i, value in enumerate(values))
        (first,) = t.autograd.grad(loss, x, create_graph=True)
        (second,) = t.autograd.grad((first**2).sum(), x)
        return first, second

    _same(program, torch.randn(4, 5, dtype=torch.float64, requires_grad=True))


UNIQUE_INPUTS = {
    "integers": TIES, "flat": TIES[0], "nan": WITH_NAN, "bools": TIES > 1,
    "one number": torch.tensor(3), "nothing": torch.empty(0), "bfloat16": TIES.to(torch.bfloat16),
    "repeated rows": torch.tensor([[1, 2], [0, 5], [1, 2], [1, 2]]),
}  # fmt: skip


@pytest.mark.parametrize("label", UNIQUE_INPUTS)
@pytest.mark.parametrize("name", ["unique", "unique_consecutive"])
def test_unique(name: str, label: str) -> None:
    x = UNIQUE_INPUTS[label]
    for inverse in (False, True):
        for counts in (False, True):
            _same(
                lambda t, x, i=inverse, c=counts: getattr(t, name)(
                    x, return_inverse=i, return_counts=c
                ),
                x,
            )
    # torch compares slices with `<`, so that its order of slices with NaN is accidental.
    for dim in () if label == "nan" else (0, 1, -1):
        _same(
            lambda t, x, dim=dim: getattr(t, name)(
                x, return_inverse=True, return_counts=True, dim=dim
            ),
            x,
        )


def test_unique_has_no_gradient() -> None:
    values = clew.tensor([1.0, 1.0, 2.0], requires_grad=True).unique()
    assert values.requires_grad
    with pytest.raises(NotImplementedError, match="the derivative for '_unique2' is not"):
        values.sum().backward()


SEARCHES: dict[str, Any] = {
    "one": lambda t, s, v: t.searchsorted(s[0], 4),
    "rows": lambda t, s, v: t.searchsorted(s, v),
    "right": lambda t, s, v: t.searchsorted(s, v, right=True),
    "side": lambda t, s, v: t.searchsorted(s, v, side="right", out_int32=True),
    "flat": lambda t, s, v: t.searchsorted(s[1], v),
    "sorter": lambda t, s, v: t.searchsorted(s.flip(1), v, sorter=t.tensor([[4, 3, 2, 1, 0]] * 2)),
    "flat sorter": lambda t, s, v: t.searchsorted(
        s[0].flip(0), v, sorter=t.tensor([4, 3, 2, 1, 0])
    ),
    "contradiction": lambda t, s, v: t.searchsorted(s, v, side="left", right=True),
    "unknown side": lambda t, s, v: t.searchsorted(s, v, side="middle"),
    "shapes": lambda t, s, v: t.searchsorted(s, v[:1]),
    "number in rows": lambda t, s, v: t.searchsorted(s, 3),
    "sorter dtype": lambda t, s, v: t.searchsorted(s[0], v, sorter=t.ones(5)),
    "sorter size": lambda t, s, v: t.searchsorted(s[0], v, sorter=t.tensor([0])),
    "bucketize": lambda t, s, v: t.bucketize(v, s[0]),
    "bucketize right": lambda t, s, v: t.bucketize(v, s[0], right=True, out_int32=True),
    "bucketize number": lambda t, s, v: t.bucketize(3, s[0]),
    "bucketize rows": lambda t, s, v: t.bucketize(v, s),
}  # fmt: skip


@pytest.mark.parametrize("label", SEARCHES)
def test_searching(label: str) -> None:
    rows = torch.tensor([[1, 3, 5, 7, 9], [2, 4, 4, 4, 10]])
    values = torch.tensor([[3, 6, 9], [4, 0, 11]])
    _same(SEARCHES[label], rows, values)
    if "sorter" not in label:
        _same(SEARCHES[label], rows.to(torch.float64), values)


MEMBERS: dict[str, Any] = {
    "tensors": lambda t, x: t.isin(x, t.tensor([2, 3])),
    "number": lambda t, x: t.isin(x, 2),
    "number in tensor": lambda t, x: t.isin(2, x),
    "invert": lambda t, x: t.isin(x, t.tensor([0]), invert=True),
    "unique": lambda t, x: t.isin(t.tensor([1, 5]), t.tensor([5, 7]), assume_unique=True),
    "numbers": lambda t, x: t.isin(1, 2),
    "complex": lambda t, x: t.isin(t.tensor([1j]), t.tensor([1j])),
}


@pytest.mark.parametrize("label", MEMBERS)
def test_isin(label: str) -> None:
    _same(MEMBERS[label], TIES)


COUNTS: dict[str, Any] = {
    "bincount": lambda t: t.bincount(t.tensor([1, 4, 1])),
    "minlength": lambda t: t.bincount(t.tensor([1], dtype=t.uint8), minlength=4),
    "weights": lambda t: t.bincount(t.tensor([1, 0, 1]), weights=t.tensor([0.5, 1.0, 2.0])),
    "integer weights": lambda t: t.bincount(t.tensor([1, 0]), weights=t.tensor([1, 2])),
    "nothing": lambda t: t.bincount(t.tensor([], dtype=t.int64)),
    "negative": lambda t: t.bincount(t.tensor([-1])),
    "floats": lambda t: t.bincount(t.tensor([1.0])),
    "weights of another length": lambda t: t.bincount(t.tensor([1]), weights=t.ones(2)),
    "histc": lambda t: t.histc(t.tensor([1.0, 2.0, 2.5, 4.0]), 5),
    "histc range": lambda t: t.histc(t.tensor([1.0, 2.0, 2.5, 4.0]), bins=4, min=1, max=3),
    "histc of equal values": lambda t: t.histc(t.tensor([2.0, 2.0]), 4),
    "histc of nothing": lambda t: t.histc(t.tensor([]), 3),
    "histc of integers": lambda t: t.histc(t.tensor([1, 2]), 3),
    "histc backwards": lambda t: t.histc(t.ones(2), 3, 2, 1),
    "histc of no bins": lambda t: t.histc(t.ones(2), 0),
    "histogram": lambda t: t.histogram(t.tensor([1.0, 2.0, 1.0]), 4),
    "histogram edges": lambda t: t.histogram(t.tensor([1.0, 2.0, 5.0]), t.tensor([0.0, 1.0, 4.0])),
    "histogram density": lambda t: t.histogram(t.tensor([1.0, 2.0, 1.0]), 4, density=True),
    "histogram weights": lambda t: t.histogram(
        t.tensor([1.0, 2.0]), 4, range=(0.0, 3.0), weight=t.tensor([0.5, 2.0])
    ),
    "histogram of nothing": lambda t: t.histogram(t.tensor([]), 3),
    "histogram of integers": lambda t: t.histogram(t.tensor([1, 2]), 3),
    "histogram backwards": lambda t: t.histogram(t.ones(2), 3, range=(2.0, 1.0)),
    "histogram of infinities": lambda t: t.histogram(t.tensor([1.0, INF]), 3),
}


@pytest.mark.parametrize("label", COUNTS)
def test_counting(label: str) -> None:
    _same(COUNTS[label])
