"""Copies of arrays whose rows are columns in memory, against NumPy's."""

import itertools

import numpy as np
import pytest

import clew
from clew.kernels.compiled import transpose

DTYPES = [np.float32, np.float64, np.int32, np.int64, np.uint32, np.complex64]


def numbers(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """All different, as bits."""
    size = int(np.prod(shape))
    return np.arange(size, dtype=f"u{np.dtype(dtype).itemsize}").view(dtype).reshape(shape)


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.tobytes() == b.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape", [(128, 128), (131, 257), (8, 4000), (4000, 8), (1000, 37), (300, 1024), (2048, 64)]
)
def test_matrices(shape: tuple[int, int], dtype: type) -> None:
    array = numbers(shape, dtype).T
    copied = transpose.transposed_copy(array)
    assert copied is not None and copied.flags.c_contiguous and copied.dtype == array.dtype
    assert same_bits(copied, np.ascontiguousarray(array))


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
@pytest.mark.parametrize("part", [np.s_[:], np.s_[:, ::2], np.s_[..., 1:-2], np.s_[1:, 3:, :, :5]])
def test_more_dimensions_and_parts_of_arrays(order: tuple[int, ...], part: object) -> None:
    array = numbers((9, 16, 20, 24), np.float32)[part].transpose(order)
    copied = transpose.transposed_copy(array)
    if copied is not None:
        assert same_bits(copied, np.ascontiguousarray(array))
    if part == np.s_[:] and order[-1] != 3:
        assert copied is not None


def test_what_numpy_does_as_quickly_is_left_to_it() -> None:
    for array in (
        numbers((200, 200), np.float32),  # in order already
        numbers((10, 10), np.float32).T,
        numbers((40000, 2), np.float32).T,
        np.zeros((200, 200), np.float16).T,
        np.zeros((200, 200), np.complex128).T,
        np.broadcast_to(np.float32(1), (200, 200)),
        numbers((400, 400), np.float32)[:, ::2].T,
    ):
        assert transpose.transposed_copy(array) is None


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_tensors_that_are_put_in_order(threads: int) -> None:
    before = clew.get_num_threads()
    clew.set_num_threads(threads)
    try:
        x = clew.randn(6, 64, 32, 32)
        assert np.array_equal(
            x.permute(0, 2, 3, 1).contiguous().numpy(), x.numpy().transpose(0, 2, 3, 1)
        )
        last = x.contiguous(memory_format=clew.channels_last)
        assert last.is_contiguous(memory_format=clew.channels_last)
        assert np.array_equal(last.numpy(), x.numpy())
        assert np.array_equal(last.reshape(6, -1).numpy(), x.numpy().reshape(6, -1))
        y = clew.randn(512, 512, requires_grad=True)
        y.t().contiguous().mul(x.reshape(-1)[: 512 * 512].reshape(512, 512)).sum().backward()
        assert np.array_equal(y.grad.numpy(), x.numpy().ravel()[: 512 * 512].reshape(512, 512).T)
    finally:
        clew.set_num_threads(before)
