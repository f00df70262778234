"""Datasets, samplers, collating, and the arguments of DataLoader: as in PyTorch."""

from __future__ import annotations

import array
import collections
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import clew
from tests.twice import raised, twice

Pair = collections.namedtuple("Pair", "a b")


class ListOfTwo(list):
    def __init__(self, a: Any, b: Any) -> None:
        super().__init__([a, b])


class DictOfTwo(dict):
    def __init__(self, a: Any, b: Any) -> None:
        super().__init__(a=a, b=b)


class PlainTuple(tuple):
    __slots__ = ()


def names(m: Any) -> dict[str, Any]:
    """What the expressions below may use: `m` is torch or clew."""
    data = m.utils.data

    class Stream(data.IterableDataset):
        def __init__(self, n: int = 10) -> None:
            self.n = n

        def __iter__(self) -> Any:
            return iter(range(self.n))

        def __repr__(self) -> str:
            return "Stream()"

    class SizedStream(Stream):
        def __len__(self) -> int:
            return 5

    class Unfinished(data.Dataset):
        pass

    known = {name: getattr(data, name) for name in data.__all__ if hasattr(torch.utils.data, name)}
    return {
        **known, "m": m, "np": np, "D": list(range(10)), "Stream": Stream, "array": array,
        "SizedStream": SizedStream, "Unfinished": Unfinished, "ListOfTwo": ListOfTwo,
        "DictOfTwo": DictOfTwo, "Pair": Pair, "PlainTuple": PlainTuple,
        "OrderedDict": collections.OrderedDict, "defaultdict": collections.defaultdict,
        "gen": lambda seed: m.Generator().manual_seed(seed),
    }  # fmt: skip


def compare(expression: str, words: int = 7) -> None:
    """Both libraries give the same value, or raise the same error; warnings agree, too."""

    def scenario(m: Any) -> Any:
        seen = []
        result = raised(lambda: seen.append(eval(expression, names(m))), words=words)
        return [type(seen[0]).__name__, seen[0]] if seen else result

    twice(scenario)()


DATASETS = """
Unfinished()[0]
Unfinished() + D
len(Unfinished() + D)
len(Stream() + Stream())
len(SizedStream() + SizedStream())
list(Stream(2) + Stream(3))
len(ChainDataset([D]))
list(ChainDataset([Stream(2), D]))
IterableDataset()
TensorDataset(m.zeros(2), m.zeros(3))
len(TensorDataset())
TensorDataset(m.arange(2), m.ones(2))[1]
TensorDataset(m.arange(2), m.ones(2))[5]
TensorDataset(m.arange(5), m.ones(5))[1:3]
TensorDataset(m.zeros(2), [1, 2])
StackDataset()
StackDataset(D, a=D)
StackDataset(D, D[:3])
StackDataset(a=D, b=D[:3])
StackDataset(D, D)[1]
StackDataset(a=D, b=D)[1]
StackDataset(D, D).__getitems__([1, 2])
StackDataset(a=Subset(D, [3, 4, 5]), b=Subset(D, [3, 4, 5])).__getitems__([1, 2])
len(StackDataset(D, D))
StackDataset(3)
ConcatDataset([])
ConcatDataset([Stream()])
ConcatDataset([D, D])[12]
ConcatDataset([D, D])[-1]
ConcatDataset([D, D])[-21]
ConcatDataset([D, D])[20]
ConcatDataset([D, D])[0:2]
ConcatDataset([D, D]).cummulative_sizes
ConcatDataset([D, D[:3]]).cumulative_sizes
ConcatDataset.cumsum([D, D])
len(ConcatDataset([D, D]))
Subset(D, [1, 2])[0]
Subset(D, [1, 2])[[0, 1]]
Subset(D, [1, 2]).__getitems__([0, 1])
Subset(Subset(D, [1, 2, 3]), [1, 2]).__getitems__([0, 1])
Subset(D, [1, 2])[5]
Subset(TensorDataset(m.arange(4)), [1, 2])[[0, 1]]
random_split(D, [3, 3])
random_split(D, [0.5, 0.6])
random_split(D, [0.5, -0.5])
random_split(D, [1.5, -0.5])
random_split(D, [])
[s.indices for s in random_split(D, [0.99, 0.01])]
[s.indices for s in random_split(D, [3, 7])]
[s.indices for s in random_split(D, [0.3, 0.3, 0.4], generator=gen(1))]
[s.indices for s in random_split(D, [10, 0])]
[s.indices for s in random_split(range(11), [0.33, 0.33, 0.34], generator=gen(1))]
[s.indices for s in random_split(range(13), [0.1] * 10)]
""".strip().splitlines()

SAMPLERS = """
list(Sampler())
len(Sampler())
Sampler(D)
list(SequentialSampler(D)), len(SequentialSampler(D))
RandomSampler(D, replacement=1)
RandomSampler(D, num_samples=0)
RandomSampler(D, num_samples=-1)
RandomSampler(D, num_samples=2.0)
RandomSampler(D, num_samples=True).num_samples
RandomSampler([])
list(RandomSampler(D)), m.rand(1)
list(RandomSampler(D, num_samples=25)), m.rand(1)
list(RandomSampler(D, replacement=True)), m.rand(1)
list(RandomSampler(D, replacement=True, num_samples=70)), m.rand(1)
len(RandomSampler(D, replacement=True, num_samples=70))
(lambda g: (list(RandomSampler(D, generator=g)), m.rand(1, generator=g)))(gen(2))
(lambda g: (list(RandomSampler(D, True, 64, generator=g)), m.rand(1, generator=g)))(gen(2))
(lambda g: (list(RandomSampler(D, False, 20, generator=g)), m.rand(1, generator=g)))(gen(2))
(lambda s: (list(s), list(s)))(RandomSampler(D))
list(SubsetRandomSampler([3, 1, 4, 15])), m.rand(1), len(SubsetRandomSampler([3, 1]))
list(SubsetRandomSampler([3, 1, 4, 15], generator=gen(3)))
WeightedRandomSampler([1, 2], 0)
WeightedRandomSampler([1, 2], True)
WeightedRandomSampler([1, 2], 2.0)
WeightedRandomSampler([1, 2], 2, 1)
WeightedRandomSampler([[1, 2]], 2)
WeightedRandomSampler([1, 2], 2).weights
list(WeightedRandomSampler([1, 2], 3, False))
list(WeightedRandomSampler([0.1, 0.9, 0.4, 0.7], 12)), m.rand(1)
list(WeightedRandomSampler(m.tensor([0.1, 0.9, 0.4]), 3, replacement=False)), m.rand(1)
list(WeightedRandomSampler([0.1, 0.9, 0.4, 0.7], 12, generator=gen(5)))
BatchSampler(D, 0, False)
BatchSampler(D, True, False)
BatchSampler(D, 2, 1)
BatchSampler(D, 2.0, False)
list(BatchSampler(D, 3, False)), list(BatchSampler(D, 3, True))
list(BatchSampler(D, 5, False)), list(BatchSampler([], 3, False))
len(BatchSampler(D, 3, True)), len(BatchSampler(D, 3, False)), len(BatchSampler(D, 5, False))
len(BatchSampler(iter(D), 3, False))
DistributedSampler(D)
DistributedSampler(D, 2)
DistributedSampler(D, rank=0)
DistributedSampler(D, 2, 2)
DistributedSampler(D, 2, -1)
[list(DistributedSampler(D, 3, rank)) for rank in range(3)], len(DistributedSampler(D, 3, 1))
[list(DistributedSampler(D, 3, rank, drop_last=True)) for rank in range(3)]
[list(DistributedSampler(D, 3, rank, False, drop_last=True)) for rank in range(3)]
[list(DistributedSampler([1, 2], 5, rank, shuffle=False)) for rank in range(5)]
list(DistributedSampler([], 3, 2)), list(DistributedSampler([1], 3, 2, drop_last=True))
(lambda s: (list(s), s.set_epoch(3), list(s), vars(s)))(DistributedSampler(D, 2, 0, seed=7))
""".strip().splitlines()

COLLATE = """
default_collate([1, 2])
default_collate([1.5, 2])
default_collate([True, False])
default_collate(["a", "b"])
default_collate([b"a"])
default_collate([Pair(1, 2.0), Pair(3, 4.0)])
default_collate([(1, "a"), (2, "b")])
default_collate([ListOfTwo(1, 2)])
default_collate([DictOfTwo(1, 2)])
default_collate([OrderedDict(b=1, a=2)])
default_collate([defaultdict(list, {"a": 1})])
default_collate([np.zeros(2, np.float32), np.ones(2, np.float32)])
default_collate([np.float32(1), np.float32(2)])
default_collate([np.bool_(1)])
default_collate([np.int8(1)])
default_collate([np.array(1.0), np.array(2.0)])
default_collate([np.zeros(1), np.ones(1, int)])
default_collate([m.ones(2, dtype=m.int8)] * 2)
default_collate([m.ones(2), m.ones(2, dtype=m.int8)])
default_collate([m.ones(1, requires_grad=True)] * 2).requires_grad
default_collate((1, 2))
default_collate([range(3), range(3)])
default_collate([1j])
default_collate([{"a": [1, 2], "b": (m.ones(1), "x")}] * 2)
default_collate([[]])
default_collate([()])
default_collate([{}])
default_collate([PlainTuple((1, 2))])
default_collate([array.array("i", [1, 2])])
default_collate([1, "a"])
default_collate([1, None])
default_collate([[1], 2])
default_collate([])
default_collate([object()])
default_collate([np.array(["a"])])
default_collate([None])
default_collate([{1, 2}])
default_collate([[1], [1, 2]])
default_collate([{"a": 1}, {"b": 1}])
default_collate([m.zeros(2), m.zeros(3)])
default_convert(1)
default_convert(np.zeros(2))
default_convert(np.float32(1))
default_convert([np.zeros(2), "a"])
default_convert(Pair(np.zeros(1), 1))
default_convert((np.zeros(1),))
default_convert({"a": np.zeros(1)})
default_convert(OrderedDict(a=np.zeros(1)))
default_convert(DictOfTwo(np.zeros(1), 2))
default_convert(ListOfTwo(np.zeros(1), 2))
default_convert("abc")
default_convert(range(3))
default_convert(None)
default_convert(PlainTuple((1, 2)))
""".strip().splitlines()

LOADERS = """
DataLoader(D, num_workers=-1)
DataLoader(D, timeout=-1)
DataLoader(D, num_workers=0, prefetch_factor=3)
DataLoader(D, num_workers=1, prefetch_factor=-1)
DataLoader(D, persistent_workers=True)
DataLoader(Stream(), shuffle=True)
DataLoader(Stream(), shuffle="x")
DataLoader(Stream(), shuffle=False).batch_size
DataLoader(Stream(), sampler=[1])
DataLoader(Stream(), batch_sampler=[[1]])
DataLoader(D, sampler=[1], shuffle=True)
DataLoader(D, batch_sampler=[[1]], batch_size=2)
DataLoader(D, batch_sampler=[[1]], shuffle=True)
DataLoader(D, batch_sampler=[[1]], sampler=[1])
DataLoader(D, batch_sampler=[[1]], drop_last=True)
DataLoader(D, batch_sampler=[[1]]).batch_size
DataLoader(D, batch_size=None, drop_last=True)
DataLoader(D, batch_size=0)
DataLoader(D, batch_size=-1)
DataLoader(D, batch_size=True)
DataLoader(D, batch_size=2.0)
DataLoader(D, batch_size="a")
DataLoader(Stream(), batch_size=0)
DataLoader(D, drop_last=2)
DataLoader([], shuffle=True)
list(DataLoader([]))
list(DataLoader(5))
DataLoader(D, num_workers="a")
list(DataLoader(D, collate_fn=3))
DataLoader(D, foo=1)
DataLoader(D, multiprocessing_context="fork")
DataLoader(D, num_workers=1, multiprocessing_context="bogus")
DataLoader(D, num_workers=1, multiprocessing_context=3)
type(DataLoader(D, num_workers=1, multiprocessing_context="fork").multiprocessing_context).__name__
DataLoader(D, num_workers=10**6).prefetch_factor
setattr(DataLoader(D), "batch_size", 3)
setattr(DataLoader(D), "sampler", 3)
setattr(DataLoader(D), "batch_sampler", 3)
setattr(DataLoader(D), "drop_last", 3)
setattr(DataLoader(D), "dataset", 3)
setattr(DataLoader(D), "persistent_workers", 3)
setattr(DataLoader(D), "num_workers", 3)
setattr(DataLoader(D), "multiprocessing_context", "x")
list(DataLoader(D, pin_memory=True))
list(DataLoader(D, pin_memory=True, pin_memory_device="cuda"))
DataLoader(D, pin_memory=True).pin_memory
len(DataLoader(Stream()))
len(DataLoader(Unfinished()))
list(DataLoader(Unfinished()))
len(DataLoader(SizedStream(), batch_size=2)), len(DataLoader(D, batch_size=3))
len(DataLoader(D, batch_size=3, drop_last=True)), len(DataLoader(D, batch_size=None))
(lambda l: (len(l), [*l]))(DataLoader(SizedStream(), batch_size=2))
(lambda l: (len(l), [*l]))(DataLoader(SizedStream(), batch_size=2, drop_last=True))
(lambda l: (len(l), [*l]))(DataLoader(SizedStream(), batch_size=None))
len(iter(DataLoader(D, batch_size=3)))
__import__("pickle").dumps(iter(DataLoader(D)))
get_worker_info()
""".strip().splitlines()


@pytest.mark.parametrize("expression", [*DATASETS, *SAMPLERS, *COLLATE, *LOADERS])
def test_as_in_pytorch(expression: str) -> None:
    compare(expression)


def test_names_and_module_paths() -> None:
    for path in ("", ".dataloader", ".dataset", ".sampler", ".distributed"):
        expected = _module(torch, path)
        actual = _module(clew, path)
        public = getattr(expected, "__all__", [])
        skipped = [name for name in public if not hasattr(actual, name)]
        assert all("DataPipe" in n or "pipe" in n or n in _DATA_PIPES for n in skipped), skipped
    from clew.utils.data._utils.collate import default_collate
    from clew.utils.data.dataloader import default_collate as same

    assert same is default_collate is clew.utils.data.default_collate


_DATA_PIPES = {
    "DataChunk", "argument_validation", "non_deterministic", "runtime_validation",
    "runtime_validation_disabled",
}  # fmt: skip


def _module(root: Any, path: str) -> Any:
    module = root.utils.data
    return getattr(module, path[1:]) if path else module


def test_custom_collate_map_and_generic_classes() -> None:
    class Point:
        pass

    class Typed(clew.utils.data.Dataset[int]):
        pass

    collate = clew.utils.data._utils.collate.collate
    found = collate([Point(), Point()], collate_fn_map={Point: lambda b, *, collate_fn_map: len(b)})
    assert found == 2
    assert issubclass(Typed, clew.utils.data.Dataset)
    assert clew.utils.data.DataLoader[int] is not None
    assert clew.utils.data.Sampler[int] is not None


def test_tensor_dataset_in_one_step_gives_what_stacking_gives() -> None:
    """The loader indexes a plain TensorDataset at once; a subclass goes sample by sample."""
    data = clew.utils.data

    class Single(data.TensorDataset):
        pass

    tensors = clew.randn(11, 3), clew.arange(11), clew.randn(11, 2, 2).bfloat16()
    at_once = list(data.DataLoader(data.TensorDataset(*tensors), batch_size=4))
    one_by_one = list(data.DataLoader(Single(*tensors), batch_size=4))
    for left, right in zip(at_once, one_by_one, strict=True):
        assert type(left) is type(right) is list
        for a, b in zip(left, right, strict=True):
            assert a.dtype == b.dtype and clew.equal(a, b) and a.is_contiguous()
    at_once[0][0].zero_()
    assert not clew.equal(tensors[0][:4], at_once[0][0])


def test_prefetching_nothing_is_an_error() -> None:
    with pytest.raises(AssertionError, match=r"^prefetch_factor must be greater than 0"):
        list(clew.utils.data.DataLoader([1], num_workers=1, prefetch_factor=0))


def test_too_many_workers_are_warned_of() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clew.utils.data.DataLoader([1], num_workers=4096)
    assert len(caught) == 1
    assert str(caught[0].message).startswith("This DataLoader will create 4096 worker processes")
    assert caught[0].filename == __file__
