"""Which of several equal elements is named, and so gets the gradient: PyTorch's choice."""

from __future__ import annotations

from typing import Any

import pytest

from tests.twice import twice

NAN = float("nan")
SIZES = (1, 2, 3, 4, 5, 8, 16, 17, 33, 64, 65, 130, 200, 1000)


def _rows(lib: Any, size: int, dtype: Any, distinct: int = 4) -> Any:
    """Three rows of few different numbers: mixed, falling and rising."""
    mixed = [(7 * i * i + 3 * i) % 11 % distinct for i in range(size)]
    falling = [(size - i) // 3 % 100 for i in range(size)]
    return lib.tensor([mixed, falling, falling[::-1]], dtype=dtype)


def _dtypes(lib: Any) -> list[Any]:
    return [lib.float32, lib.float64, lib.bfloat16, lib.int64, lib.int32, lib.uint8]


@twice
def test_topk(lib: Any) -> Any:
    seen: list[Any] = []
    for size in SIZES:
        for dtype in _dtypes(lib):
            x = _rows(lib, size, dtype)
            for k in sorted({1, min(3, size), size // 2, size}):
                for largest in (True, False):
                    seen += [*x.topk(k, largest=largest)]
                    seen += [*x.T.topk(k, 0, largest=largest, sorted=False)]
    return seen


@twice
def test_kthvalue_median_and_mode(lib: Any) -> Any:
    seen: list[Any] = []
    for size in SIZES:
        for dtype in _dtypes(lib):
            x = _rows(lib, size, dtype)
            for k in sorted({1, (size + 1) // 2, size}):
                seen += [*x.kthvalue(k), *x.T.kthvalue(k, 0, keepdim=True)]
            seen += [*x.median(1), *x.nanmedian(1), *x.mode(1), *x.T.median(0), *x.T.mode(0)]
    return seen


@twice
def test_among_nan_and_zeros_of_both_signs(lib: Any) -> Any:
    x = lib.tensor([[NAN, 1.0, NAN, 0.0, -0.0, 1.0], [0.0, -0.0, 0.0, -0.0, NAN, 0.0]])
    seen: list[Any] = [*x.nanmedian(1), *x.median(1)]
    for k in range(1, 7):
        seen += [*x.topk(k), *x.topk(k, largest=False), *x.kthvalue(k)]
    return seen


@pytest.mark.parametrize("name", ["topk", "kthvalue", "median", "mode"])
def test_gradients(name: str) -> None:
    @twice
    def gradients(lib: Any) -> Any:
        seen = []
        for size in (4, 20, 70):
            x = _rows(lib, size, lib.float64).requires_grad_()
            args = {"topk": (2, 1), "kthvalue": (2, 1)}.get(name, (1,))
            getattr(x, name)(*args).values.sum().backward()
            seen.append(x.grad)
        return seen

    gradients()


@twice
def test_indices_are_new_tensors(lib: Any) -> Any:
    seen: list[Any] = []
    for x in (lib.ones(1), lib.ones(1, 3), lib.ones(3, 1), lib.ones(2, 3, 1), lib.ones(2, 2).T):
        for dim in range(x.ndim):
            pairs = [
                x.topk(1, dim),
                x.kthvalue(1, dim),
                x.kthvalue(1, dim, keepdim=True),
                x.sort(dim),
            ]
            found = [each for pair in pairs for each in pair]
            seen += [(each.stride(), each.storage_offset()) for each in found]
    return seen
