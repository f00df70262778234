"""Convolutions of few chunks: tasks of slices of filters or channels change no bit of a result."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

import clew
from clew.kernels.conv.im2col_conv import slice_count


@pytest.fixture(autouse=True)
def _same_threads_afterwards() -> Iterator[None]:
    threads = clew.get_num_threads()
    yield
    clew.set_num_threads(threads)


def test_slices_are_made_where_threads_would_be_idle() -> None:
    clew.set_num_threads(8)
    assert slice_count(8, 512) == slice_count(0, 512) == 1
    assert slice_count(2, 512) == 4
    assert slice_count(2, 70) == 2
    assert slice_count(2, 20) == 1
    clew.set_num_threads(1)
    assert slice_count(1, 512) == 1


@pytest.mark.parametrize(
    ("shape", "weights", "options"),
    [
        ((16, 256, 8, 8), (256, 256, 3, 3), {"padding": 1}),
        ((2, 128, 40, 40), (130, 128, 3, 3), {"padding": 1}),
        ((16, 256, 4, 4), (192, 256, 3, 3), {"padding": 1}),
        ((4, 70, 9, 11), (90, 70, 5, 3), {"stride": 2, "padding": 2}),
        ((3, 140, 9, 11), (180, 70, 3, 3), {"stride": 2, "padding": 1, "groups": 2}),
    ],
)
def test_threads_change_no_bit(
    shape: tuple[int, ...], weights: tuple[int, ...], options: dict[str, int]
) -> None:
    generator = np.random.default_rng(0)
    x, w = (generator.standard_normal(size).astype(np.float32) for size in (shape, weights))

    def results(lib: object) -> list[np.ndarray]:
        given = [lib.tensor(each, requires_grad=True) for each in (x, w)]  # type: ignore[attr-defined]  # either library
        out = lib.nn.functional.conv2d(*given, **options)  # type: ignore[attr-defined]  # either library
        out.backward(out.detach() + 1)
        return [each.detach().numpy() for each in (out, given[0].grad, given[1].grad)]

    found = []
    for threads in (1, 2, 3, 8, 16):
        clew.set_num_threads(threads)
        found.append(results(clew))
    for ours, theirs in zip(found[0], results(torch), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4 * np.abs(theirs).max())
    for each in found[1:]:
        for one, many in zip(found[0], each, strict=True):
            np.testing.assert_array_equal(one, many)
