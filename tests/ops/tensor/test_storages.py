"""Storages: what they hold, who shares them, what changes them; the same under both libraries."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import warnings
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import clew
from tests.twice import outcome, raised, twice

DTYPES = (
    "float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8",
    "bool", "complex64", "complex128",
)  # fmt: skip


@pytest.fixture(autouse=True)
def quiet() -> Any:
    """The warning that typed storages will go has a test of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@twice
def test_untyped_storages_are_made_and_indexed(lib: Any) -> Any:
    make = lib.UntypedStorage
    storage = make([1, 2, 300, 4, 5])
    part = storage[1:3]
    part[0] = 77
    storage[4] = 258
    return [
        make().tolist(), make(3).nbytes(), storage.tolist(), part.tolist(), storage[-1], len(part),
        repr(storage), list(storage), storage.type(), storage.element_size(), str(storage.device),
        part.resizable(), storage.resizable(), storage.is_shared(), storage.is_pinned(),
        raised(make, 1.5), raised(make, "a"), raised(make, [1.5]), raised(make, lib.ones(2)),
        raised(lambda: storage[5]), raised(lambda: storage["a"]), raised(lambda: storage[::2]),
        raised(storage.__setitem__, 0, 1.5), raised(storage.__setitem__, slice(0, 2), [1, 2]),
        raised(storage.fill_, 1.5), raised(part.resize_, 10), storage.fill_(3).tolist(),
        raised(storage.copy_, make([1])), storage.copy_(make([5, 4, 3, 2, 1])).tolist(),
        storage.new().nbytes(), storage.untyped() is storage, storage.cpu() is storage,
        make([1, 2]).float().tolist(), make([1, 2]).bool().tolist(),
    ]  # fmt: skip


@twice
def test_typed_storages_are_made_and_indexed(lib: Any) -> Any:
    seen: list[Any] = []
    for name in DTYPES:
        x = lib.tensor([0, 1, 1, 0]).to(getattr(lib, name))
        storage = x.storage()
        storage[3] = 1
        seen += [
            storage.tolist(), storage.type(), storage.size(), storage.nbytes(), len(storage),
            storage[1], str(storage.dtype), x, storage.double().tolist(), x.storage_type().__name__,
            isinstance(storage, x.storage_type()), isinstance(storage, lib.FloatStorage),
            storage.data_ptr() == x.data_ptr(), storage.element_size(), repr(storage),
        ]  # fmt: skip
    storage = lib.FloatStorage([1, 2, 3])
    return seen + [
        raised(lambda: storage[0:2]), raised(lambda: storage["a"], words=3),
        raised(lambda: storage[9]), raised(storage.__setitem__, 0, storage, words=6),
        storage.fill_(2).tolist(), storage.resize_(5),
        storage.size(), lib.TypedStorage(3, dtype=lib.int64).nbytes(),
        raised(lib.FloatStorage, 1, 2, words=0),
        raised(lib.FloatStorage, dtype=lib.int8, words=0), raised(lib.TypedStorage, lib.ones(1)),
        raised(lib.TypedStorage, wrap_storage=storage.untyped(), words=2),
        lib.Storage is lib.FloatStorage, issubclass(lib.LongStorage, lib.TypedStorage),
    ]  # fmt: skip


@twice
def test_tensors_over_one_memory_have_one_storage(lib: Any) -> Any:
    x = lib.arange(6.0)
    storage = x.untyped_storage()
    storage.mark = 3
    alike = [x.view(2, 3), x[2:], x.detach(), x.data, lib.empty(0).set_(storage), x.t()]
    over = lib.tensor(storage, dtype=lib.float32)
    over[0] = 9
    return [
        [each.untyped_storage() is storage for each in (*alike, over)],
        x.clone().untyped_storage() is storage, x, x.view(3, 2).untyped_storage().mark,
        over._version, x._version, lib.tensor(lib.UntypedStorage(0)), lib.FloatTensor(x.storage()),
        raised(lib.tensor, x.double().storage()), raised(lib.FloatTensor, x.double().storage()),
        x.new(x.storage()).data_ptr() == x.data_ptr(), x.new(size=(2, 3)).shape,
        lib.is_storage(storage), lib.is_storage(x.storage()), lib.is_storage(x),
    ]  # fmt: skip


@twice
def test_set_to_a_storage(lib: Any) -> Any:
    x = lib.arange(6.0)
    storage = x.untyped_storage()
    new = lambda: lib.empty(0)  # noqa: E731  # shorter than its uses
    return [
        new().set_(storage), new().set_(x.storage()), new().set_(storage, 1, (2, 2)),
        new().set_(storage, 1, (2, 2), (1, 2)), new().set_(x, 2, (2,), (2,)),
        new().set_(source=storage, storage_offset=5, size=(1,), stride=(1,)),
        new().set_(storage, 1, (2, 2)).storage_offset(), lib.ones(2).set_().shape,
        raised(new().set_, x.double()), raised(new().set_, 3, words=5),
        raised(new().set_, x.double().storage(), words=4), raised(new().set_, storage, -1, (2,)),
        raised(new().set_, storage, 1, (2,), (-1,)),
        raised(x.set_, storage, 9, (6,), (1,), words=2),
        new().set_(storage, 2, (20,)).shape, storage.nbytes(), x,
    ]  # fmt: skip


@twice
def test_a_storage_that_grows_takes_all_its_tensors_along(lib: Any) -> Any:
    x = lib.arange(4.0)
    part = x[1:3]
    storage = x.untyped_storage()
    storage.resize_(64)
    part.fill_(7)
    grown = lib.empty(0).set_(storage)
    grown[4:] = 5
    before = grown.clone(), storage.nbytes()
    storage.resize_(16)
    y = lib.arange(6.0)
    z = y[2:4]
    z.resize_(8)
    z[6] = 3
    outside = lib.arange(3.0)
    outside.numpy()
    return [
        x, part, before, storage.nbytes(), y, z[:4], y.untyped_storage().nbytes(),
        raised(outside.resize_, 5), outside.resize_(2), outside.untyped_storage().resizable(),
        raised(lib.from_numpy(np.zeros(3)).resize_, 4),
    ]  # fmt: skip


@twice
def test_storages_exchange_their_memory(lib: Any) -> Any:
    x, y = lib.arange(4.0), lib.ones(4)
    part = x[1:3]
    x.untyped_storage()._swap_data_ptr_(y.untyped_storage())
    first = [x.clone(), y.clone(), part.clone()]
    y.untyped_storage().resize_(0)
    y.untyped_storage()._swap_data_ptr_(x.untyped_storage())
    return [
        first, y, x.untyped_storage().nbytes(), y.untyped_storage().nbytes(),
        raised(y.untyped_storage()._swap_data_ptr_, lib.ones(9).untyped_storage(), words=1),
    ]  # fmt: skip


@twice
def test_copies_of_storages(lib: Any) -> Any:
    x = lib.arange(4.0)
    other, typed, untyped, part = copy.deepcopy([x, x.storage(), x.untyped_storage(), x.data[1:]])
    other[1] = 9
    shallow, pickled = copy.copy(x.untyped_storage()), pickle.loads(pickle.dumps(x.storage()))
    x.fill_(0)
    clone = x.untyped_storage().clone()
    x.fill_(1)
    swapped = lib.UntypedStorage(list(range(8)))
    swapped.byteswap(lib.float32)
    return [
        typed.tolist(), lib.tensor(untyped, dtype=lib.float32), part, pickled.tolist(),
        lib.tensor(shallow, dtype=lib.float32), sum(clone.tolist()), swapped.tolist(),
        other.untyped_storage() is untyped, typed.untyped() is untyped,
    ]  # fmt: skip


@twice
def test_storages_from_buffers(lib: Any) -> Any:
    data = bytearray([1, 2, 3, 4, 5, 6, 7, 8])
    read = lib.ShortStorage.from_buffer
    return [
        read(data, "big").tolist(), read(data, "little").tolist(),
        read(data, "little", 2, 2).tolist(),
        lib.BoolStorage.from_buffer(bytearray(3), "big").tolist(),
        lib.ComplexFloatStorage.from_buffer(data, "little").size(),
        raised(read, bytearray(3), "big"), raised(read, data, "other"),
        raised(read, data, "big", -1, 20),
        lib.UntypedStorage.from_buffer(data, "big", dtype=lib.int32).tolist(),
    ]  # fmt: skip


@pytest.mark.parametrize("name", DTYPES)
def test_files_as_memory(name: str, tmp_path: Path) -> None:
    path = str(tmp_path / "número")
    results = []
    for lib in (torch, clew):
        dtype = getattr(lib, name)
        first = lib.from_file(path, shared=True, size=5, dtype=dtype)
        first.copy_(lib.tensor([0, 1, 0, 1, 1]).to(dtype))
        second = lib.from_file(path, True, 5, dtype=dtype)
        private = lib.from_file(path, size=3, dtype=dtype)
        private.fill_(0)
        second[0] = 1
        results.append(
            [
                first.tolist(), private.tolist(), first.is_shared(), private.is_shared(),
                first.untyped_storage().filename == path, lib.ones(1).untyped_storage().filename,
                raised(lib.from_file, path, False, 50), lib.from_file(path, size=0).shape,
                lib.UntypedStorage.from_file(path, False, 4).tolist(),
            ]
        )  # fmt: skip
        Path(path).unlink()
    assert results[0] == results[1]


@pytest.mark.parametrize("lib", [torch, clew], ids=["torch", "clew"])
def test_a_storage_lives_as_long_as_its_tensors(lib: Any) -> None:
    class Named(lib.UntypedStorage):  # type: ignore[misc, name-defined]  # of either library
        pass

    storage = Named(8)
    reference = weakref.ref(storage)
    x = lib.tensor(storage)
    del storage
    gc.collect()
    assert type(x.untyped_storage()) is Named
    del x
    assert reference() is None


def test_storages_go_to_files_and_back() -> None:
    x = clew.arange(3.0)
    file = io.BytesIO()
    clew.save([x.untyped_storage(), x.storage()][1:], file)
    file.seek(0)
    (loaded,) = torch.load(file, weights_only=False)
    assert loaded.tolist() == [0.0, 1.0, 2.0]


def test_typed_storages_warn_once() -> None:
    for lib in (torch, clew):
        lib.storage._reset_warn_typed_storage_removal()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            lib.ones(2).storage()
            lib.FloatStorage()
        assert [str(each.message)[:27] for each in caught] == ["TypedStorage is deprecated."]
        assert caught[0].filename == __file__


@twice
def test_resize_keeps_a_memory_format(lib: Any) -> Any:
    x, last = lib.zeros(2, 3, 4, 5), lib.channels_last
    template = x.to(memory_format=last)
    flat = lambda: lib.zeros(120)  # noqa: E731  # a new one each time
    return [
        flat().resize_(2, 3, 4, 5, memory_format=last).stride(),
        x.clone().resize_(2, 3, 4, 5, memory_format=last).stride(),
        template.clone().resize_(2, 3, 4, 5, memory_format=lib.contiguous_format).stride(),
        flat().resize_as_(template).stride(),
        flat().resize_as_(template, memory_format=lib.preserve_format).stride(),
        raised(flat().resize_, 2, 2, memory_format=last),
        raised(flat().resize_, 2, 2, memory_format=lib.preserve_format, words=3),
        raised(flat().resize_, 2, memory_format=3, words=2),
        raised(flat().resize_, 2**62, 4, words=3), raised(flat().resize_, -1, words=3),
        raised(flat().resize_, 2**62, words=4), raised(flat().resize_, 0, 4, 2**61, words=3),
        raised(lib.as_strided, x, [1], [1], 2**61, words=4),
        raised(lib.as_strided, x, [1], [1], -1),
        outcome(lambda: lib.zeros(3, 4).t().resize_(4, 3).stride()),
    ]  # fmt: skip


@twice
def test_deterministic_mode_fills_new_memory(lib: Any) -> Any:
    seen: list[Any] = []
    lib.use_deterministic_algorithms(True)
    try:
        for name in DTYPES:
            dtype = getattr(lib, name)
            x = lib.zeros(2, dtype=dtype)
            made = [
                lib.empty(3, dtype=dtype), lib.empty_like(x), x.new_empty(2), x.resize_(4),
                lib.empty_strided((2, 2), (1, 2), dtype=dtype),
                lib.empty_permuted((1, 2), (1, 0), dtype=dtype),
                lib.empty(3, out=lib.zeros(0, dtype=dtype)),
            ]  # fmt: skip
            seen.append([each.nan_to_num(nan=7).tolist() for each in made])
        lib.utils.deterministic.fill_uninitialized_memory = False
        seen.append(bool(lib.utils.deterministic.fill_uninitialized_memory))
    finally:
        lib.utils.deterministic.fill_uninitialized_memory = True
        lib.use_deterministic_algorithms(False)
    return seen


def test_random_numbers_have_storages_of_their_size() -> None:
    for n in (1, 15, 16, 17, 100):
        for dtype in ("float32", "float64", "float16"):
            x = clew.randn(n, dtype=getattr(clew, dtype))
            assert x.untyped_storage().nbytes() == x.nbytes
