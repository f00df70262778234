"""Compiled loops: layouts, types, special values, long sums, and the same results every time."""

import math
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.kernels.codegen.ir import F32, F64, I32, I64, position, unlikely, where
from clew.kernels.codegen.ufunc import elementwise, over_columns, over_rows
from clew.kernels.runtime import jit

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
HALVES = [np.dtype(np.float16), BFLOAT16]
FLOATS = [np.dtype(np.float32), np.dtype(np.float64)]


@elementwise("test_mix", 3, outputs=2, half=True)
def MIX(x: Any, y: Any, z: Any) -> Any:
    return x * y + z, where(x > y, x - z, y)


@elementwise("test_scaled", 2, scalars=(1,))
def SCALED(x: Any, factor: Any) -> Any:
    return x * factor


@elementwise("test_same", 1, half=True)
def SAME(x: Any) -> Any:
    return x * 1.0


@over_rows("test_softmax", "(n)->(n)", half=True)
def SOFTMAX(x: Any) -> Any:
    weights = (x - x.row_max()).exp().materialize()
    return weights / weights.row_sum()


@over_rows("test_row_facts", "(n),()->(),(),(),(),(n)")
def ROW_FACTS(x: Any, shift: Any) -> Any:
    return x.row_sum(), x.row_mean(), x.row_max(), x.row_min(), x - shift


@over_rows("test_row_sum", "(n)->()", half=True)
def ROW_SUM(x: Any) -> Any:
    return x.row_sum()


@over_columns("test_column_sums", "(m,n),(m),(n)->(n),(n)")
def COLUMN_SUMS(x: Any, weight: Any, shift: Any) -> Any:
    return x * weight - shift, x


@over_columns("test_column_sum", "(m,n)->(n)", half=True)
def COLUMN_SUM(x: Any) -> Any:
    return x.square().sqrt().copysign(x)


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = jit.threads()
    jit.set_threads(request.param)
    yield request.param
    jit.set_threads(before)


def mix(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return x * y + z, np.where(x > y, x - z, y)


@st.composite
def laid_out(draw: st.DrawFn, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array that broadcasts to a shape: any order of axes, steps, reversed, repeated."""
    shape = shape[draw(st.integers(0, len(shape))) :]
    shape = tuple(draw(st.sampled_from([1, size])) for size in shape)
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 2, 3, -1, -2])) for _ in shape]
    whole = [shape[axis] * abs(steps[axis]) for axis in order]
    numbers = np.random.default_rng(draw(st.integers(0, 99))).normal(size=whole).astype(dtype)
    array = numbers.transpose(np.argsort(order))
    array = array[tuple(slice(None, None, step) for step in steps)]
    if draw(st.booleans()):
        array = np.broadcast_to(array, shape)
    return array[tuple(slice(0, size) for size in shape)]


SHAPES = st.lists(st.sampled_from([0, 1, 2, 3, 17, 130]), max_size=3).map(tuple)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), shape=SHAPES, dtype=st.sampled_from(FLOATS))
def test_elementwise_on_any_layout(data: Any, shape: tuple[int, ...], dtype: Any) -> None:
    arrays = [data.draw(laid_out(shape, dtype)) for _ in range(3)]
    copies = [array.copy() for array in arrays]
    results = MIX.ufunc(*arrays)
    for got, want in zip(results, mix(*arrays), strict=True):
        assert got.dtype == dtype and got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    for array, copy in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("dtype", [*FLOATS, *HALVES], ids=str)
def test_what_is_left_after_whole_vectors(dtype: np.dtype) -> None:
    """Every number of elements; what lies after them stays as it is, and is not looked at."""
    numbers = np.random.default_rng(0).normal(size=(3, 300)).astype(dtype)
    want = [each.astype(dtype) for each in mix(*numbers.astype(np.float64))]
    tolerance = 4 * float(ml_dtypes.finfo(dtype).eps)
    for size in range(140):
        given = numbers.copy()
        given[:, size:] = math.nan
        results = np.full((2, 300), 5.0, dtype)
        MIX.specialize(given)(*given[:, :size], out=(results[0, :size], results[1, :size]))
        for result, expected in zip(results, want, strict=True):
            close = np.isclose(
                result[:size].astype(np.float64),
                expected[:size].astype(np.float64),
                rtol=tolerance,
                atol=tolerance,
            )
            assert close.all() and (result[size:] == 5.0).all()


@settings(max_examples=100, deadline=None)
@given(data=st.data(), shape=SHAPES, n=st.sampled_from([1, 2, 5, 64, 700]))
def test_rows_on_any_layout(data: Any, shape: tuple[int, ...], n: int) -> None:
    whole = (*shape[:2], n)
    x = np.broadcast_to(data.draw(laid_out(whole, np.float64)), whole)
    shift = data.draw(laid_out(shape[:2], np.float64))
    got = ROW_FACTS.ufunc(x, shift)
    moved = x - np.broadcast_to(shift, shape[:2])[..., None]
    for one, want in zip(got, (x.sum(-1), x.mean(-1), x.max(-1), x.min(-1), moved), strict=True):
        assert one.shape == want.shape
        np.testing.assert_allclose(one, want, rtol=1e-12, atol=1e-11)
    if x.size:
        weights = np.exp(x - x.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        np.testing.assert_allclose(SOFTMAX.ufunc(x), weights, rtol=1e-13)


@settings(max_examples=100, deadline=None)
@given(data=st.data(), outer=SHAPES, m=st.sampled_from([0, 1, 31, 33, 200]))
def test_columns_on_any_layout(data: Any, outer: tuple[int, ...], m: int) -> None:
    n = data.draw(st.sampled_from([0, 1, 63, 65, 130]))
    outer = outer[:1]
    x = np.broadcast_to(data.draw(laid_out((*outer, m, n), np.float64)), (*outer, m, n))
    weight = np.broadcast_to(data.draw(laid_out((m,), np.float64)), (m,))
    shift = np.broadcast_to(data.draw(laid_out((n,), np.float64)), (n,))
    got = COLUMN_SUMS.ufunc(x, weight, shift)
    want = (x * weight[:, None] - shift).sum(-2), x.sum(-2)
    for one, other in zip(got, want, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-11)


def test_results_can_replace_inputs_and_go_where_they_are_told() -> None:
    random = np.random.default_rng(0)
    x, y, z = (random.normal(size=50_001).astype(np.float32) for _ in range(3))
    first, second = mix(x, y, z)
    result = MIX.ufunc(x, y, z, out=(x, y))
    assert result[0] is x and result[1] is y
    np.testing.assert_allclose(x, first, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(y, second)
    # Shifted onto itself: NumPy makes a copy first.
    moving = np.arange(100_000.0, dtype=np.float32)
    SCALED.ufunc(moving[:-1], np.float32(2.0), out=moving[1:])
    np.testing.assert_array_equal(moving[1:], 2.0 * np.arange(99_999.0, dtype=np.float32))
    rows = random.normal(size=(30, 40))
    want = SOFTMAX.ufunc(rows)
    into = np.zeros((40, 30)).T
    assert SOFTMAX.ufunc(rows, out=into) is into
    np.testing.assert_allclose(into, want, rtol=1e-14)
    SOFTMAX.ufunc(rows, out=rows)
    np.testing.assert_array_equal(rows, want)


def test_numbers_and_arrays_without_dimensions() -> None:
    one = np.float32(1.5)
    assert SCALED.ufunc(one, np.float32(2.0)) == 3.0
    assert SCALED.ufunc(np.array(1.5), 2.0).shape == ()
    assert SCALED.ufunc(np.zeros((3, 0), np.float32), one).shape == (3, 0)
    assert ROW_SUM.ufunc(np.zeros((4, 0), np.float32)).tolist() == [0.0] * 4
    assert COLUMN_SUM.ufunc(np.zeros((0, 3))).tolist() == [0.0] * 3
    assert SOFTMAX.ufunc(np.zeros((0, 5))).shape == (0, 5)


def test_mixed_types_go_to_the_wider_loop() -> None:
    single, double = np.ones(5, np.float32), np.full(5, 0.1)
    assert SCALED.ufunc(single, double).dtype == np.float64
    np.testing.assert_array_equal(SCALED.ufunc(single, double), double)
    assert SCALED.ufunc(single, 2.0).dtype == np.float32
    assert SCALED.ufunc(np.arange(5), double).tolist() == (np.arange(5) * 0.1).tolist()
    with pytest.raises(TypeError, match="test_scaled"):
        SCALED.ufunc(np.ones(5, np.complex64), single)


def test_integers_and_places_in_a_row() -> None:
    types = [([t, I64, I32], [t, t]) for t in (F32, F64)]

    @over_rows("test_places", "(n),(),(n)->(n),()", types=types)
    def places(x: Any, visible: Any, extra: Any) -> Any:
        seen = where(position() < visible, x, 0.0) + (position(I32) + extra).convert(x.dtype)
        return seen, seen.row_sum()

    x = np.ones((3, 50), np.float32)
    visible, extra = np.array([0, 7, 50]), np.arange(50, dtype=np.int32)[::-1].copy()
    seen, total = places.ufunc(x, visible, extra)
    want = (np.arange(50) < visible[:, None]) + 49.0
    np.testing.assert_array_equal(seen, want)
    np.testing.assert_array_equal(total, want.sum(-1))


def test_a_signature_must_fit_the_formula() -> None:
    @over_rows("test_too_short", "(n)->()")
    def too_short(x: Any) -> Any:
        return x * 2.0

    @over_rows("test_too_long", "(n)->(n)")
    def too_long(x: Any) -> Any:
        return x.row_sum()

    large = np.zeros(10_000, np.float32)
    with pytest.raises(TypeError, match="output 0 does not fit: its formula has a value per"):
        too_short.specialize(large)
    with pytest.raises(TypeError, match="output 0 does not fit: its formula has one value for"):
        too_long.specialize(large)


@elementwise("test_rare", 2)
def RARE(x: Any, y: Any) -> Any:
    root = unlikely(x > 9.0, x.square() - 1.0, x * 3.0)
    return unlikely(root < -9.0, x.like(7.0), root + y)


@settings(max_examples=60, deadline=None)
@given(places=st.lists(st.integers(0, 4999), max_size=3), step=st.sampled_from([1, 2, -3]))
def test_rare_cases_anywhere(places: list[int], step: int) -> None:
    """Whether a block has one or none, each element gets what its own condition says."""
    random = np.random.default_rng(0)
    x = random.uniform(-1, 1, (5000 * abs(step),))[::step]
    for number, place in enumerate(places):
        x[place] = [10.0, -5.0, math.nan][number]
    y = random.normal(size=5000)
    root = np.where(x > 9.0, x * x - 1.0, x * 3.0)
    want = np.where(root < -9.0, 7.0, root + y)
    np.testing.assert_allclose(RARE.ufunc(x, y), want, rtol=1e-15)
    with_number = np.where(root < -9.0, 7.0, root + 2.0)
    np.testing.assert_allclose(RARE.ufunc(x, 2.0), with_number, rtol=1e-15)
    assert RARE.ufunc(x, y, out=y) is y
    np.testing.assert_allclose(y, want, rtol=1e-15)


# -- half precision --------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_halves_are_widened_and_rounded(dtype: np.dtype) -> None:
    """Every half comes back as it was, and every float32 becomes the nearest half."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    ufunc = SAME.specialize(halves)
    numbers = ~np.isnan(halves.astype(np.float32))
    back = ufunc(halves)
    assert back.dtype == dtype
    np.testing.assert_array_equal(back.view(np.uint16)[numbers], halves.view(np.uint16)[numbers])
    assert np.isnan(back.astype(np.float32)[~numbers]).all()
    random = np.random.default_rng(0)
    for _ in range(3):
        arrays = [random.normal(size=20_000).astype(dtype) for _ in range(3)]
        MIX.specialize(arrays[0])
        x, y, z = (array.astype(np.float64) for array in arrays)
        got = MIX.ufunc(*arrays)
        for one, want in zip(got, mix(x, y, z), strict=True):
            exact = want.astype(np.float32).astype(dtype)
            assert one.dtype == dtype
            # Rounded twice, product and sum may come to the neighbour of the nearest.
            steps = one.view(np.int16).astype(int) - exact.view(np.int16)
            assert (np.abs(steps) <= 1).all() and np.count_nonzero(steps) < 20


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_halves_at_steps_in_rows_and_in_columns(dtype: np.dtype) -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=(200, 260)).astype(dtype)
    for kernel in (SOFTMAX, ROW_SUM, COLUMN_SUM):
        kernel.specialize(x)
    for array in (x, x[:, ::2], x.T, x[::-1]):
        wide = array.astype(np.float64)
        weights = np.exp(wide - wide.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        tolerance = float(ml_dtypes.finfo(dtype).eps)
        for got, want in (
            (SOFTMAX.ufunc(array), weights),
            (ROW_SUM.ufunc(array), wide.sum(-1)),
            (COLUMN_SUM.ufunc(array), wide.sum(0)),
        ):
            assert got.dtype == dtype
            np.testing.assert_allclose(got.astype(np.float64), want, rtol=tolerance, atol=1e-5)


def test_kernels_without_halves_do_not_take_them() -> None:
    large = np.ones(100_000, np.float16)
    assert SCALED.specialize(large) is None
    assert SCALED.specialize(large.astype(BFLOAT16)) is None
    assert SCALED.specialize(np.ones(100_000, np.int64)) is None


# -- special values --------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("step", [1, 3])
def test_infinities_and_nans_reach_the_results(dtype: np.dtype, step: int) -> None:
    n = 1500
    x = np.ones((6, n * step), dtype)[:, ::step]
    x[1, 700] = math.inf
    x[2, 3] = -math.inf
    x[3, n - 1] = math.nan
    x[4, 0], x[4, n - 1] = math.inf, -math.inf
    x[5] = np.finfo(dtype).max
    total, _, most, least, _ = ROW_FACTS.ufunc(x, np.zeros(6, dtype))
    np.testing.assert_array_equal(total, [n, math.inf, -math.inf, math.nan, math.nan, math.inf])
    np.testing.assert_array_equal(most[:5], [1, math.inf, 1, math.nan, math.inf])
    np.testing.assert_array_equal(least[:5], [1, 1, -math.inf, math.nan, -math.inf])
    np.testing.assert_array_equal(COLUMN_SUM.ufunc(x.T.copy()), total)
    np.testing.assert_array_equal(COLUMN_SUM.ufunc(x.T), total)
    weights = SOFTMAX.ufunc(x)
    assert np.isnan(weights[[1, 3, 4]]).all()
    assert weights[2, 3] == 0.0 and weights[2, 4] == pytest.approx(1 / (n - 1), rel=1e-5)


# -- long sums -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["uniform", "normal", "tenths"])
def test_long_sums_are_as_accurate_as_numpys(kind: str) -> None:
    count = 10_000_000
    random = np.random.default_rng(0)
    if kind == "uniform":
        x = random.random(count, np.float32)
    elif kind == "normal":
        x = random.standard_normal(count, np.float32)
    else:
        x = np.full(count, 0.1, np.float32)
    exact, size = x.sum(dtype=np.longdouble), np.abs(x).sum(dtype=np.float64)
    pairwise = abs(float(x.sum() - exact)) / size
    apart = np.repeat(x, 2)[::2]
    # NumPy's error is at times zero by chance: what rounding the result costs is allowed.
    allowed = 3 * pairwise + float(np.finfo(np.float32).eps)
    for got in (ROW_SUM.ufunc(x), ROW_SUM.ufunc(apart), COLUMN_SUM.ufunc(x[:, None])[0]):
        assert abs(float(got - exact)) / size <= allowed


# -- the same results every time ---------------------------------------------------------------


def all_results() -> list[np.ndarray]:
    random = np.random.default_rng(5)
    x, y, z = (random.normal(size=(700, 1001)).astype(np.float32) for _ in range(3))
    facts = ROW_FACTS.ufunc(x, y[:, 0])
    sums = COLUMN_SUMS.ufunc(x, y[:, 0], z[0])
    transposed = ROW_FACTS.ufunc(x.T, y[0])
    return [*MIX.ufunc(x, y, z), SOFTMAX.ufunc(x), *facts, *sums, *transposed, ROW_SUM.ufunc(x)]


def test_results_do_not_depend_on_threads(threads: int) -> None:
    """Each number of threads gives, run after run, what one thread gives."""
    jit.set_threads(1)
    wanted = [each.tobytes() for each in all_results()]
    jit.set_threads(threads)
    for _ in range(5):
        assert [each.tobytes() for each in all_results()] == wanted
