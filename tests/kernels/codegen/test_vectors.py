"""Kernels at the ends of vectors and of what is copied for operands of other layouts."""

from typing import Any

import numpy as np
import pytest

from clew.kernels.codegen.ir import BOOL, F32, F64, where
from clew.kernels.codegen.ufunc import across, elementwise, over_columns, over_rows, scan

TYPES = [np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)]
# Less than a vector, whole ones, some more; more than goes through a loop at once.
SIZES = [1, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 129, 1000]


@elementwise("test_ends_short", 2, half=True)
def SHORT(x: Any, y: Any) -> Any:
    return x * y


@elementwise("test_ends_long", 1, half=True)
def LONG(x: Any) -> Any:
    return x.tanh() + 2.0


@elementwise("test_ends_chosen", 3, types=[([BOOL, each, each], [each]) for each in (F32, F64)])
def CHOSEN(condition: Any, x: Any, y: Any) -> Any:
    return where(condition, x, y)


@elementwise("test_ends_scaled", 2, scalars=(1,))
def SCALED(x: Any, factor: Any) -> Any:
    return x * (factor + 1.0)


@over_rows("test_ends_centred", "(n)->(n),()")
def CENTRED(x: Any) -> Any:
    return x - x.row_max(), (x * x).row_sum()


@over_columns("test_ends_columns", "(m,n),(m)->(n)")
def COLUMNS(x: Any, factor: Any) -> Any:
    return x * factor


CENTRED_ACROSS = across(CENTRED)
RUNNING = scan("test_ends_running", is_associative=True)(lambda last, x: last + x)


def some(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def at_steps(array: np.ndarray) -> np.ndarray:
    """The same numbers, every second one in memory, from the last to the first."""
    apart = np.full((*array.shape[:-1], 2 * array.shape[-1]), np.nan, array.dtype)
    apart[..., ::-2] = array
    return apart[..., ::-2]


def room(shape: tuple[int, ...], dtype: Any, step: int) -> tuple[np.ndarray, np.ndarray]:
    """A place for results among numbers that must stay, and all of them."""
    whole = np.full((*shape[:-1], step * shape[-1] + 70), 7.0, dtype)
    return whole[..., 3 : 3 + step * shape[-1] : step], whole


def stays(whole: np.ndarray, count: int) -> bool:
    """Whether all numbers but `count` are as they were."""
    return int((whole == 7.0).sum()) == whole.size - count


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("size", SIZES)
def test_elementwise_results_end_where_they_should(size: int, dtype: Any, step: int) -> None:
    x, y = some(size, dtype=dtype), some(size + 1, dtype=dtype)[1:]
    out, whole = room((size,), dtype, step)
    SHORT.ufunc(x, y, out=out)
    assert np.array_equal(out, x * y) and stays(whole, size)
    out, whole = room((size,), dtype, step)
    LONG.ufunc(x, out=out)
    expected = np.tanh(x.astype(np.float64)) + 2
    assert np.allclose(out, expected, rtol=4 * np.finfo(dtype).eps) and stays(whole, size)


@pytest.mark.parametrize("size", [5, 1364, 1365, 1366, 5000])
def test_operands_at_steps_and_single_numbers_are_copied_in_blocks(size: int) -> None:
    condition, x = some(size) > 0, some(size)
    for given in (x, at_steps(x), x[:1], np.float32(2.0)):
        expected = np.where(condition, x, given)
        assert np.array_equal(CHOSEN.ufunc(condition, x, given), expected)
        assert np.array_equal(CHOSEN.ufunc(at_steps(condition[None])[0], x, given), expected)
        assert np.array_equal(SHORT.ufunc(at_steps(x), given), x * given)


def test_what_is_usually_a_number_may_be_an_array() -> None:
    x, factor = some(100), some(101)[1:]
    assert np.array_equal(SCALED.ufunc(x, factor), x * (factor + 1))
    assert np.array_equal(SCALED.ufunc(at_steps(x), factor), x * (factor + 1))
    assert np.array_equal(SCALED.ufunc(at_steps(x), factor[0]), x * (factor[0] + 1))


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("size", SIZES)
def test_rows_end_where_they_should(size: int, step: int) -> None:
    x = some(5, size)
    for given in (x, at_steps(x)):
        out, whole = room((5, size), np.float32, step)
        sums = np.empty(5, np.float32)
        CENTRED.ufunc(given, out=(out, sums))
        assert np.array_equal(out, x - x.max(-1, keepdims=True)) and stays(whole, x.size)
        assert np.allclose(sums, np.square(x).sum(-1), rtol=1e-5)


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("size", SIZES)
def test_rows_across_memory_end_where_they_should(size: int, step: int) -> None:
    x = some(5, size)
    for given in (x, at_steps(x)):
        out, whole = room((5, size), np.float32, step)
        sums = np.empty(size, np.float32)
        CENTRED_ACROSS.ufunc(given, out=(out, sums))
        assert np.array_equal(out, x - x.max(0)) and stays(whole, x.size)
        assert np.allclose(sums, np.square(x).sum(0), rtol=1e-5)


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("size", SIZES)
def test_columns_end_where_they_should(size: int, step: int) -> None:
    x, factor = some(37, size), some(37)
    for given in (x, at_steps(x)):
        out, whole = room((size,), np.float32, step)
        COLUMNS.ufunc(given, factor, out=out)
        assert np.allclose(out, (x * factor[:, None]).sum(0), rtol=1e-4, atol=1e-5)
        assert stays(whole, size)


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("size", SIZES)
def test_scans_side_by_side_end_where_they_should(size: int, step: int) -> None:
    x = some(9, size)
    for given in (x, at_steps(x)):
        out, whole = room((9, size), np.float32, step)
        RUNNING.ufunc(given.T, out=out.T)
        assert np.allclose(out, np.cumsum(x, 0), rtol=1e-5, atol=1e-5) and stays(whole, x.size)


def test_more_rows_at_steps_than_are_copied_at_a_time() -> None:
    x = some(300, 500)
    centred, sums = CENTRED.ufunc(at_steps(x))
    assert np.array_equal(centred, x - x.max(-1, keepdims=True))
    assert np.array_equal(sums, CENTRED.ufunc(x)[1])
    planes = some(7, 130, 90)
    assert np.array_equal(
        COLUMNS.ufunc(at_steps(planes), some(130)), COLUMNS.ufunc(planes, some(130))
    )
