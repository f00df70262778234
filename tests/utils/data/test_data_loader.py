"""DataLoader: the same seed gives PyTorch's batches, in this process and with workers."""

from __future__ import annotations

import os
import random
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import clew
from tests.oracle import assert_same


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    """On one processor two workers are too many, and both libraries say so."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="This DataLoader will create")
        yield


class Squares:
    """A dataset that is neither library's: anything with an index and a length will do."""

    def __len__(self) -> int:
        return 13

    def __getitem__(self, index: int) -> Any:
        return {"index": index, "square": np.full((2,), float(index * index)), "name": str(index)}


class Draws:
    """What the random streams of the process give, sample by sample."""

    def __init__(self, m: Any) -> None:
        self.m = m

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> Any:
        info = self.m.utils.data.get_worker_info()
        return [
            float(self.m.rand(())), random.random(), float(np.random.rand()),
            str(self.m.initial_seed()), str(info and (info.id, info.num_workers, info.seed)),
        ]  # fmt: skip


class Batched(Squares):
    def __getitems__(self, indices: list[int]) -> list[int]:
        return [1000 + index for index in indices]


def stream(m: Any, lengths: tuple[int, ...] = (7,)) -> Any:
    """An iterable dataset that gives each worker a share; `lengths` are those of the shares."""

    class Stream(m.utils.data.IterableDataset):
        def __iter__(self) -> Any:
            info = m.utils.data.get_worker_info()
            if info is None:
                return iter(range(sum(lengths)))
            share = lengths[info.id] if len(lengths) > 1 else lengths[0]
            return iter([100 * info.id + n for n in range(share)])

    return Stream()


def tensors(m: Any) -> Any:
    return m.utils.data.TensorDataset(m.arange(22.0).reshape(11, 2), m.arange(11))


def two_epochs(m: Any, make: Any) -> Any:
    """Batches of two passes, and where the global random stream is after each step."""
    m.manual_seed(5)
    random.seed(5)
    np.random.seed(5)
    loader = make(m, m.utils.data.DataLoader)
    seen: list[Any] = []
    for _ in range(2):
        batches = iter(loader)
        seen.append(m.rand(1))
        for place, batch in enumerate(batches):
            seen.append(batch)
            if place == 1:
                seen.append(m.rand(1))
        seen.append(m.rand(1))
    return seen


MAP_LOADERS = {
    "plain": lambda m, Loader, **k: Loader(tensors(m), **k),
    "batches": lambda m, Loader, **k: Loader(tensors(m), batch_size=4, **k),
    "drop_last": lambda m, Loader, **k: Loader(tensors(m), 4, drop_last=True, **k),
    "shuffle": lambda m, Loader, **k: Loader(tensors(m), 4, shuffle=True, **k),
    "single": lambda m, Loader, **k: Loader(tensors(m), None, shuffle=True, **k),
    "generator": lambda m, Loader, **k: Loader(
        tensors(m), 3, True, generator=m.Generator().manual_seed(9), **k
    ),
    "weighted": lambda m, Loader, **k: Loader(
        tensors(m), 3, sampler=m.utils.data.WeightedRandomSampler(list(range(1, 12)), 9), **k
    ),
    "with replacement": lambda m, Loader, **k: Loader(
        tensors(m), 3, sampler=m.utils.data.RandomSampler(range(11), True, 40), **k
    ),
    "batch_sampler": lambda m, Loader, **k: Loader(tensors(m), batch_sampler=[[0, 3], [2]], **k),
    "subset": lambda m, Loader, **k: Loader(
        m.utils.data.random_split(tensors(m), [4, 7])[1], 3, shuffle=True, **k
    ),
    "concat": lambda m, Loader, **k: Loader(tensors(m) + tensors(m), 5, shuffle=True, **k),
    "stack": lambda m, Loader, **k: Loader(
        m.utils.data.StackDataset(a=tensors(m), b=range(11)), 5, **k
    ),
    "dictionaries": lambda m, Loader, **k: Loader(Squares(), 5, shuffle=True, **k),
    "getitems": lambda m, Loader, **k: Loader(Batched(), 5, shuffle=True, **k),
    "collate_fn": lambda m, Loader, **k: Loader(range(9), 4, collate_fn=sum, **k),
    "random samples": lambda m, Loader, **k: Loader(Draws(m), 2, shuffle=True, **k),
    "empty": lambda m, Loader, **k: Loader([], 2, **k),
}


@pytest.mark.parametrize("kind", MAP_LOADERS)
def test_same_batches_and_same_streams(kind: str) -> None:
    assert_same(two_epochs(clew, MAP_LOADERS[kind]), two_epochs(torch, MAP_LOADERS[kind]))


# Every loader works with workers; torch's own are slow to start, so not all are compared to them.
WITH_WORKERS = [
    "batches", "shuffle", "single", "generator", "weighted", "dictionaries", "random samples",
    "empty",
]  # fmt: skip


@pytest.mark.parametrize("kind", WITH_WORKERS)
def test_same_batches_and_same_streams_with_workers(kind: str) -> None:
    def make(m: Any, loader: Any) -> Any:
        return MAP_LOADERS[kind](m, loader, num_workers=2)

    assert_same(two_epochs(clew, make), two_epochs(torch, make))


@pytest.mark.parametrize("kind", [kind for kind in MAP_LOADERS if kind not in WITH_WORKERS])
def test_workers_give_the_batches_of_this_process(kind: str) -> None:
    def batches(workers: int) -> list[Any]:
        clew.manual_seed(3)
        return list(MAP_LOADERS[kind](clew, clew.utils.data.DataLoader, num_workers=workers))

    assert repr(batches(2)) == repr(batches(0))


@pytest.mark.parametrize("kind", ["shuffle", "random samples"])
def test_persistent_workers(kind: str) -> None:
    def make(m: Any, loader: Any) -> Any:
        return MAP_LOADERS[kind](m, loader, num_workers=2, persistent_workers=True)

    assert_same(two_epochs(clew, make), two_epochs(torch, make))


@pytest.mark.parametrize(
    ("lengths", "options", "persistent"),
    [
        ((7,), {"batch_size": 2}, False),
        ((7,), {"batch_size": 3, "drop_last": True}, True),
        ((4,), {"batch_size": None}, False),
        ((8, 4), {"batch_size": 3}, False),
        ((0, 5), {"batch_size": 2}, True),
        ((0, 0), {"batch_size": 2}, False),
    ],
)
def test_iterable_datasets(lengths: tuple[int, ...], options: Any, persistent: bool) -> None:
    """In torch the order after one share has ended depends on timing: compared as a set."""

    def make(m: Any, loader: Any) -> Any:
        data = stream(m, lengths)
        return loader(data, num_workers=2, persistent_workers=persistent, **options)

    actual, expected = two_epochs(clew, make), two_epochs(torch, make)
    if len(lengths) > 1:
        actual, expected = (sorted(map(str, seen)) for seen in (actual, expected))
    assert_same(actual, expected)


@pytest.mark.parametrize("options", [{}, {"batch_size": 3}, {"batch_size": 3, "drop_last": True}])
def test_iterable_dataset_in_this_process(options: Any) -> None:
    def make(m: Any, loader: Any) -> Any:
        return loader(stream(m) + stream(m), **options)

    assert_same(two_epochs(clew, make), two_epochs(torch, make))


def test_order_of_uneven_shares_is_the_same_every_time() -> None:
    def order() -> list[Any]:
        loader = clew.utils.data.DataLoader(stream(clew, (9, 2)), batch_size=2, num_workers=2)
        return [batch.tolist() for batch in loader]

    first = order()
    assert first[:3] == [[0, 1], [100, 101], [2, 3]]
    assert sorted(n for batch in first for n in batch) == [*range(9), 100, 101]
    assert all(order() == first for _ in range(3))


def test_out_of_order_gives_each_batch_once() -> None:
    for persistent in (False, True):
        loader = clew.utils.data.DataLoader(
            range(40), 3, num_workers=2, in_order=False, persistent_workers=persistent
        )
        for _ in range(2):
            assert sorted(n for batch in loader for n in batch.tolist()) == list(range(40))


class SlowFirst:
    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> int:
        if index == 0:
            while not os.path.exists(self.gate):
                pass
        return index

    gate = ""


def test_out_of_order_does_not_wait_for_the_slowest(tmp_path: Any) -> None:
    data = SlowFirst()
    data.gate = str(tmp_path / "gate")
    loader = clew.utils.data.DataLoader(data, 1, num_workers=2, in_order=False)
    batches = iter(loader)
    seen = [int(next(batches)) for _ in range(3)]
    (tmp_path / "gate").touch()
    seen += [int(batch) for batch in batches]
    assert 0 not in seen[:3]
    assert sorted(seen) == list(range(6))


def test_a_broken_off_pass_does_not_leak_into_the_next() -> None:
    loader = clew.utils.data.DataLoader(range(20), 2, num_workers=2, persistent_workers=True)
    pids = set()
    for stop_after in (1, 4, 0, 99):
        seen = []
        for place, batch in enumerate(loader):
            if place == stop_after:
                break
            seen += batch.tolist()
        pids.add(tuple(process.pid for process in loader._iterator._workers))
        assert seen == list(range(min(2 * stop_after, 20)))
    assert len(pids) == 1


def test_worker_init_fn_and_worker_info() -> None:
    loader = clew.utils.data.DataLoader(
        InitData(), 1, num_workers=2, worker_init_fn=_prepare, generator=clew.Generator()
    )
    assert [batch[0][0] for batch in loader] == ["worker 0", "worker 1", "worker 0", "worker 1"]
    assert clew.utils.data.get_worker_info() is None


class InitData:
    mark = "not prepared"

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        info = clew.utils.data.get_worker_info()
        assert info is not None and info.dataset is self
        with pytest.raises(AttributeError, match="cannot assign to field 'id'"):
            info.id = 7
        return [self.mark]


def _prepare(worker: int) -> None:
    info = clew.utils.data.get_worker_info()
    assert info is not None and info.id == worker
    info.dataset.mark = f"worker {worker}"


def test_numpy_seed_of_a_worker_is_pytorchs() -> None:
    from torch.utils.data._utils.worker import _generate_state as expected

    from clew.utils.data._utils.worker import _generate_state as actual

    for base in (0, 5, 2**40 + 12345, 2**62 + 1):
        for worker in (0, 1, 7):
            assert actual(base, worker) == list(expected(base, worker))


# -- what passes between the processes ---------------------------------------------------------


class Shapes:
    """Samples of all sizes: in the pickle, in a buffer of their own, in a file."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        big = clew.full((300, 100), float(index))
        return {
            "small": clew.tensor(index),
            "middle": clew.full((3000,), index, dtype=clew.int16),
            "big": big,
            "transposed": big.t(),
            "half": clew.full((70, 70), float(index)).bfloat16(),
            "array": np.full((200, 200), index),
            "strided": np.full((200, 200), index)[:, ::2],
            "flags": clew.zeros(0, 3, dtype=clew.bool),
            "text": "x" * 100_000,
            "grad": clew.ones(2, requires_grad=True),
        }


@pytest.mark.parametrize("files", [True, False])
def test_samples_of_all_sizes_arrive_whole(files: bool, monkeypatch: Any) -> None:
    channel = clew.utils.data._utils.channel
    monkeypatch.setattr(channel, "_CAN_PASS_FILES", files and channel._CAN_PASS_FILES)
    loader = clew.utils.data.DataLoader(Shapes(), batch_size=None, num_workers=2)
    for index, sample in enumerate(loader):
        for name, expected in Shapes()[index].items():
            actual = sample[name]
            assert type(actual) is (
                clew.Tensor if isinstance(expected, np.ndarray) else type(expected)
            )
            if name == "text":
                assert actual == expected
                continue
            expected = clew.as_tensor(expected)
            assert actual.dtype == expected.dtype and clew.equal(actual, expected), name
            assert actual.requires_grad == expected.requires_grad
        assert sample["transposed"].stride() == (1, 100)
        sample["big"].add_(1)
        sample["array"][0] = -1


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts descriptors in /proc")
def test_keeping_all_batches_does_not_exhaust_descriptors() -> None:
    channel = clew.utils.data._utils.channel
    before = len(os.listdir("/proc/self/fd"))
    kept = list(clew.utils.data.DataLoader(BigRows(), batch_size=1, num_workers=2))
    assert len(os.listdir("/proc/self/fd")) <= before + channel._MAPPINGS_AT_MOST
    assert [int(batch[0, 0]) for batch in kept] == list(range(100))
    assert all(bool((batch == n).all()) for n, batch in enumerate(kept))
    del kept
    assert len(os.listdir("/proc/self/fd")) == before
    assert channel._Mapping.alive == 0


class BigRows:
    def __len__(self) -> int:
        return 100

    def __getitem__(self, index: int) -> Any:
        return clew.full((20_000,), float(index))
