"""Operations that are cut into tasks: the same bits on any number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import clew
from clew import nn
from clew.kernels.compiled import copies, gather_scatter

F = nn.functional
COUNTS = (1, 2, 3, 8, 16)


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    before = clew.get_num_threads()
    yield clew.set_num_threads
    clew.set_num_threads(before)


def _randn(*shape: int) -> Any:
    return clew.tensor(np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32))


def _module(make: Callable[[], Any], *shape: int) -> Callable[[], Any]:
    """A module's output, and the gradients of its input and parameters."""

    def run() -> list[Any]:
        clew.manual_seed(3)
        module, x = make(), _randn(*shape).requires_grad_()
        out = module(x)
        out = out[0] if isinstance(out, tuple) else out
        out.backward(_randn(*out.shape))
        return [out, x.grad, *(each.grad for each in module.parameters())]

    return run


def _function(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Callable[[], Any]:
    def run() -> list[Any]:
        leaves = [_randn(*shape).requires_grad_() for shape in shapes]
        out = function(*leaves)
        out.backward(_randn(*out.shape))
        return [out, *(leaf.grad for leaf in leaves)]

    return run


def _embedded() -> list[Any]:
    table = _randn(65, 384).requires_grad_()
    rows = clew.tensor(np.random.default_rng(1).integers(0, 65, 1024))
    out = F.embedding(rows, table)
    out.backward(_randn(1024, 384))
    return [out, table.grad]


def _accumulated() -> list[Any]:
    x = _randn(200, 1024).requires_grad_()
    for _ in range(3):
        (x * 2).sum().backward()
    return [x.grad]


PROGRAMS: dict[str, Callable[[], Any]] = {
    "batch_norm": _module(lambda: nn.BatchNorm2d(16), 16, 16, 24, 24),
    "batch_norm of one image": _module(lambda: nn.BatchNorm2d(64), 1, 64, 48, 48),
    "batch_norm of a matrix": _module(lambda: nn.BatchNorm1d(300), 500, 300),
    "layer_norm": _module(lambda: nn.LayerNorm(384), 512, 384),
    "linear": _module(lambda: nn.Linear(784, 400), 128, 784),
    "small linear": _module(lambda: nn.Linear(128, 96), 64, 128),
    "gru": _module(lambda: nn.GRU(64, 128), 9, 32, 64),
    "gru of few": _module(lambda: nn.GRU(7, 100, bidirectional=True), 4, 33, 7),
    "lstm": _module(lambda: nn.LSTM(64, 128), 9, 50, 64),
    "lstm of few": _module(lambda: nn.LSTM(64, 256, bidirectional=True), 5, 17, 64),
    "add": _function(lambda x, y: x + y, (16, 64, 16, 16), (16, 64, 16, 16)),
    "mean of images": _function(lambda x: x.mean((2, 3)), (64, 128, 8, 8)),
    "mean of columns": _function(lambda x: x.mean(0), (512, 512)),
    "adaptive_avg_pool2d": _function(lambda x: F.adaptive_avg_pool2d(x, 1), (64, 128, 8, 8)),
    "max_pool2d": _function(lambda x: F.max_pool2d(x, 2), (16, 32, 32, 32)),
    "max_pool2d that overlaps": _function(lambda x: F.max_pool2d(x, 3, 1), (4, 16, 32, 32)),
    "gelu": _function(F.gelu, (256, 1536)),
    "embedding": _embedded,
    "accumulated": _accumulated,
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_do_not_depend_on_the_number_of_threads(
    name: str, threads: Callable[[int], None]
) -> None:
    results = []
    for count in COUNTS:
        threads(count)
        results.append([each.detach().numpy().tobytes() for each in PROGRAMS[name]()])
    assert all(each == results[0] for each in results[1:])


VALUES = np.random.default_rng(4).normal(size=(8, 64, 24, 24))
LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "whole": lambda x: x,
    "one number": lambda x: np.broadcast_to(x[0, 0, 0, 0], x.shape),
    "one number a row": lambda x: np.broadcast_to(x[:, :, :1, :1], x.shape),
    "one row": lambda x: np.broadcast_to(x[:1], x.shape),
    "one number a short row": lambda x: np.broadcast_to(x[..., None], (*x.shape, 2)),
    "turned": lambda x: x.transpose(0, 2, 3, 1),
    "reversed": lambda x: x[::-1, :, ::-1],
    "strided": lambda x: x[:, :, :, ::2],
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int16, np.complex64, bool])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies_of_large_arrays(layout: str, dtype: Any, threads: Callable[[int], None]) -> None:
    source = LAYOUTS[layout]((VALUES * 100).astype(dtype))
    wide = np.concatenate([source, source], axis=1)
    assert source.size >= copies.THRESHOLD
    for count in (1, 2, 8):
        threads(count)
        made = copies.copied(source)
        assert made.flags.c_contiguous and made.flags.writeable
        assert made.tobytes() == np.array(source, order="C").tobytes()
        # A part of larger memory: what is beside it stays.
        target = np.zeros_like(wide)
        copies.copy_into(target[:, : source.shape[1]], source)
        assert np.array_equal(target[:, : source.shape[1]], source)
        assert not target[:, source.shape[1] :].any()


def test_copies_keep_the_bits_of_nan(threads: Callable[[int], None]) -> None:
    threads(2)
    bits = np.full(copies.THRESHOLD, 0x7FA01234, np.uint32)
    for source in (bits, np.broadcast_to(bits[:1], bits.shape)):
        made = copies.copied(source.view(np.float32))
        assert (made.view(np.uint32) == bits).all()


def test_a_copy_onto_memory_that_it_overlaps() -> None:
    base = _randn(300_000).numpy()
    expected = base.copy()
    expected[1000:] = base[:-1000].copy()
    copies.copy_into(base[1000:], base[:-1000])
    assert np.array_equal(base, expected)
    copies.copy_into(base, base[5:6])
    assert (base == expected[5]).all()


@pytest.mark.parametrize("count,width", [(1024, 384), (40, 384), (4096, 8), (300, 1000), (5, 1)])
def test_rows_are_added_in_the_order_of_the_index(count: int, width: int) -> None:
    rng = np.random.default_rng(count)
    index, values = rng.integers(0, 7, count), rng.normal(size=(count, width)).astype(np.float32)
    target, expected = np.zeros((7, width), np.float32), np.zeros((7, width), np.float32)
    gather_scatter.rows_combined(target[None], index, values[None])
    for place, row in zip(index, values, strict=True):
        expected[place] += row
    assert target.tobytes() == expected.tobytes()
