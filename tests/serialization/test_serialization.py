"""`save` and `load` against PyTorch as reader and as writer: values, sharing, formats, devices."""

from __future__ import annotations

import argparse
import collections
import io
import pathlib
import pickle
import struct
import zipfile
from typing import Any

import numpy as np
import pytest
import torch

import clew
from tests.oracle import assert_same
from tests.saving import clew_bytes, clew_load, torch_bytes, torch_load

FORMATS = pytest.mark.parametrize("new_format", [True, False], ids=["zip", "legacy"])


def make_values(lib: Any) -> dict[str, Any]:
    """The same values in either library."""
    numbers = lib.arange(24.0).reshape(2, 3, 4)
    return {
        "contiguous": numbers,
        "transposed": numbers.permute(2, 0, 1),
        "narrow": numbers[1, :, 1:3],
        "expanded": lib.ones(3, 1).expand(3, 4),
        "scalar": lib.tensor(2.5),
        "empty": lib.empty(0, 3),
        "empty at the end": numbers[2:],
        "bool": lib.tensor([True, False]),
        "float16": lib.tensor([1.5, -2], dtype=lib.float16),
        "bfloat16": lib.tensor([1.5, -2], dtype=lib.bfloat16),
        "float64": lib.tensor([1.5, -2], dtype=lib.float64),
        "uint8": lib.tensor([1, 255], dtype=lib.uint8),
        "int8": lib.tensor([1, -128], dtype=lib.int8),
        "int16": lib.tensor([1, -2], dtype=lib.int16),
        "int32": lib.tensor([1, -2], dtype=lib.int32),
        "int64": lib.tensor([1, -(2**60)]),
        "uint16": lib.tensor([1, 65535], dtype=lib.uint16),
        "uint32": lib.tensor([1, 2], dtype=lib.uint32),
        "uint64": lib.tensor([1, 2], dtype=lib.uint64)[1:],
        "complex64": lib.tensor([1 + 2j, 3 - 1j]),
        "complex128": lib.tensor([1 + 2j], dtype=lib.complex128),
        "channels last": lib.zeros(2, 3, 4, 5).to(memory_format=lib.channels_last),
        "leaf": lib.ones(2, requires_grad=True),
        "computed": lib.ones(2, requires_grad=True) * 2,
        "parameter": lib.nn.Parameter(lib.ones(2, 2)),
        "frozen": lib.nn.Parameter(lib.arange(3), requires_grad=False),
        "buffer": lib.nn.Buffer(lib.ones(2)),
    }


def make_containers(lib: Any) -> Any:
    return {
        "numbers": [1, -1, 255, 65536, 2**31, -(2**40), 10**50, 1.5, float("inf"), True, None],
        "text": ["", "état", "\U0001f40c", "x" * 300, "lone \ud800"],
        "bytes": [b"ab\xff", bytearray(b"xyz")],
        "nested": ({"a": [lib.ones(1), (1, (2, (3,)))]}, {}, [], ()),
        "set": {1, "two"},
        "complex": 1 - 2j,
        "counter": collections.Counter("abca"),
        "ordered": collections.OrderedDict([("b", 1), ("a", lib.zeros(2))]),
        "dtype": [lib.float32, lib.bfloat16, lib.bool, lib.int64, lib.uint16],
        "size": lib.Size([2, 3]),
        "device": [lib.device("cpu"), lib.device("cuda", 1)],
        "layout": lib.strided,
        (1, "key"): 5,
        7: "seven",
    }


def same_layout(mine: Any, theirs: Any) -> None:
    assert tuple(mine.stride()) == tuple(theirs.stride())
    assert mine.storage_offset() == theirs.storage_offset()
    assert mine.requires_grad == theirs.requires_grad
    assert mine.is_leaf == theirs.is_leaf
    if 0 not in theirs.stride():
        assert mine.untyped_storage().nbytes() == theirs.untyped_storage().nbytes()


@FORMATS
@pytest.mark.parametrize("name", list(make_values(torch)))
def test_tensors_from_torch(name: str, new_format: bool) -> None:
    saved = make_values(torch)[name]
    data = torch_bytes(saved, _use_new_zipfile_serialization=new_format)
    # PyTorch does not read its own legacy files of these types.
    unreadable = not new_format and name in ("uint16", "uint32", "uint64")
    mine, theirs = clew_load(data), saved if unreadable else torch_load(data)
    assert_same(mine, theirs)
    same_layout(mine, theirs)
    assert type(mine).__name__ == type(theirs).__name__
    assert mine.__dict__ == theirs.__dict__


@FORMATS
@pytest.mark.parametrize("name", list(make_values(clew)))
def test_tensors_to_torch_and_back(name: str, new_format: bool) -> None:
    saved = make_values(clew)[name]
    data = clew_bytes(saved, _use_new_zipfile_serialization=new_format)
    theirs = torch_load(data, weights_only=True)
    assert_same(saved.detach(), theirs.detach())
    assert type(theirs).__name__ == type(saved).__name__
    assert theirs.requires_grad == saved.requires_grad and theirs.is_leaf
    assert tuple(theirs.stride()) == tuple(saved.stride())
    assert theirs.__dict__ == saved.__dict__
    mine = clew_load(data)
    assert_same(mine, theirs)
    same_layout(mine, theirs)


@FORMATS
def test_containers(new_format: bool) -> None:
    options = {"_use_new_zipfile_serialization": new_format}
    mine, theirs = make_containers(clew), make_containers(torch)
    from_torch = clew_load(torch_bytes(theirs, **options))
    to_torch = torch_load(clew_bytes(mine, **options), weights_only=True)
    for key, value in theirs.items():
        assert_same(from_torch[key], value)
        assert_same(mine[key], to_torch[key])
    assert list(from_torch) == list(theirs)
    assert isinstance(from_torch["size"], clew.Size)
    assert isinstance(to_torch["size"], torch.Size)
    assert type(from_torch["counter"]) is collections.Counter
    assert from_torch["device"][1] == clew.device("cuda:1")


@FORMATS
def test_tensors_that_share_memory_go_on_sharing(new_format: bool) -> None:
    base = torch.arange(10.0)
    saved = {
        "base": base,
        "middle": base[2:8],
        "steps": base[::3],
        "again": base,
        "other": base + 0,
    }
    data = torch_bytes(saved, _use_new_zipfile_serialization=new_format)
    for loaded in (clew_load(data), clew_load(clew_bytes(clew_load(data)))):
        assert loaded["again"] is loaded["base"]
        loaded["middle"][1] = -7.0
        assert loaded["base"][3].item() == -7.0
        assert loaded["steps"][1].item() == -7.0
        assert loaded["other"][3].item() == 3.0
        assert loaded["steps"].stride() == (3,)
    theirs = torch_load(clew_bytes(clew_load(data)))
    theirs["middle"][1] = -7.0
    assert theirs["base"][3] == -7 and theirs["steps"][1] == -7


def test_a_view_keeps_the_version_counter_of_its_base() -> None:
    base = clew.arange(4.0)
    loaded = clew_load(clew_bytes([base, base[1:]]))
    loaded[1].add_(1)
    assert loaded[0]._version == 1


def test_the_storage_is_written_once_and_whole() -> None:
    base = clew.arange(1000.0)
    archive = zipfile.ZipFile(io.BytesIO(clew_bytes([base[:1], base[5:6]])))
    sizes = [entry.file_size for entry in archive.infolist() if "/data/" in entry.filename]
    assert sizes == [4000]


def test_conjugated_and_negated_views_have_their_values() -> None:
    values = torch.tensor([1 + 2j, 3 - 4j])
    assert clew_load(torch_bytes(values.conj())).tolist() == [1 - 2j, 3 + 4j]
    assert clew_load(torch_bytes(values.conj().imag)).tolist() == [-2, 4]
    old = clew_load(torch_bytes(values.conj(), _use_new_zipfile_serialization=False))
    assert old.tolist() == [1 - 2j, 3 + 4j]


def test_attributes_of_tensors_and_parameters() -> None:
    for lib, other, save, load in (
        (torch, clew, torch_bytes, clew_load),
        (clew, torch, clew_bytes, torch_load),
    ):
        parameter, plain = lib.nn.Parameter(lib.ones(1)), lib.ones(2)
        parameter.tag, plain.count = "embedding", 3
        tag, count = load(save([parameter, plain]))
        assert tag.tag == "embedding" and isinstance(tag, other.nn.Parameter)
        assert count.count == 3 and type(count) is other.Tensor


def test_records_are_aligned_stored_and_named_as_in_pytorch() -> None:
    saved = {"a": clew.ones(3), "b": clew.ones(5, dtype=clew.float64), "c": clew.empty(0)}
    raw = clew_bytes(saved)
    theirs = torch_bytes({"a": torch.ones(3), "b": torch.ones(5).double(), "c": torch.empty(0)})
    entries = zipfile.ZipFile(io.BytesIO(raw)).infolist()
    for entry in entries:
        name_size, extra_size = struct.unpack_from("<HH", raw, entry.header_offset + 26)
        assert (entry.header_offset + 30 + name_size + extra_size) % 64 == 0
        assert entry.compress_type == zipfile.ZIP_STORED
    names = [entry.filename for entry in zipfile.ZipFile(io.BytesIO(theirs)).infolist()]
    assert [entry.filename for entry in entries] == names[:-1]  # but for an id
    assert zipfile.ZipFile(io.BytesIO(raw)).testzip() is None


def test_the_same_object_gives_the_same_bytes() -> None:
    first, second = (clew_bytes(make_containers(clew)) for _ in range(2))
    assert first == second


def test_no_bytes_at_all() -> None:
    assert torch_load(clew_bytes([b"", bytearray()]), weights_only=True) == [b"", bytearray()]
    assert clew_load(torch_bytes([b"", bytearray()])) == [b"", bytearray()]


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickle_protocols(protocol: int) -> None:
    data = clew_bytes(make_containers(clew), pickle_protocol=protocol)
    assert_same(clew_load(data)["nested"], make_containers(torch)["nested"])
    theirs = torch_load(data, weights_only=protocol == 2)
    assert theirs["text"] == make_containers(torch)["text"]
    from_torch = clew_load(torch_bytes(make_containers(torch), pickle_protocol=protocol))
    assert from_torch["set"] == {1, "two"}


def test_storages_themselves() -> None:
    loaded = clew_load(torch_bytes(torch.ones(3).untyped_storage()))
    assert clew.is_storage(loaded) and loaded.nbytes() == 12
    theirs = torch_load(clew_bytes(clew.ones(3).untyped_storage()))
    assert theirs.nbytes() == 12


def test_the_same_memory_under_two_types_is_refused() -> None:
    base = clew.ones(2)
    with pytest.raises(RuntimeError, match="Cannot save multiple tensors or storages that view"):
        clew_bytes([base, base.view(clew.int32)])


def test_arrays_of_numpy_as_tensors() -> None:
    for array in (np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(12.0)[::3]):
        tensor = clew.from_numpy(array)
        assert_same(tensor, torch_load(clew_bytes(tensor)))
        assert_same(clew_load(clew_bytes(tensor)), torch.from_numpy(array))


# -- paths, file objects, mmap ---------------------------------------------------------------------


def test_paths_and_open_files(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "model.pt"
    clew.save({"a": clew.ones(2)}, path)
    assert_same(clew.load(str(path)), torch.load(path))
    with open(path, "wb") as file:
        clew.save([1, clew.ones(3)], file)
    with open(path, "rb") as file:
        assert_same(clew.load(file), torch.load(path))


def test_reading_and_writing_begin_where_the_file_is() -> None:
    buffer = io.BytesIO()
    buffer.write(b"head")
    clew.save(clew.ones(3), buffer)
    for load in (clew.load, torch.load):
        buffer.seek(4)
        assert load(buffer).tolist() == [1, 1, 1]


def test_legacy_files_follow_each_other() -> None:
    buffer = io.BytesIO()
    for value in (1, 2):
        clew.save(clew.full((2,), float(value)), buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    assert clew.load(buffer).tolist() == [1, 1]
    assert clew.load(buffer).tolist() == [2, 2]
    buffer.seek(0)
    assert [torch.load(buffer)[0].item() for _ in range(2)] == [1, 2]


def test_files_that_cannot_seek_are_written() -> None:
    class Pipe:
        def __init__(self) -> None:
            self.data = b""

        def write(self, data: Any) -> int:
            self.data += bytes(data)
            return len(data)

    pipe = Pipe()
    clew.save({"a": clew.ones(100)}, pipe)
    assert_same(clew_load(pipe.data), torch_load(pipe.data))


@FORMATS
def test_files_that_take_little_at_a_time(new_format: bool) -> None:
    class Slow(io.BytesIO):
        def write(self, data: Any) -> int:
            return super().write(bytes(memoryview(data)[:100]))

    slow = Slow()
    clew.save(clew.arange(300), slow, _use_new_zipfile_serialization=new_format)
    assert_same(clew_load(slow.getvalue()), torch_load(slow.getvalue()))


def test_files_without_readinto_are_read() -> None:
    class Plain:
        def __init__(self, data: bytes) -> None:
            self._file = io.BytesIO(data)
            self.read, self.seek, self.tell = self._file.read, self._file.seek, self._file.tell

        def seekable(self) -> bool:
            return True

    assert clew.load(Plain(torch_bytes(torch.ones(3)))).tolist() == [1, 1, 1]


def test_mmap_is_copy_on_write(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.pt"
    torch.save({"a": torch.arange(1000.0), "e": torch.empty(0)}, path)
    before = path.read_bytes()
    loaded = clew.load(path, mmap=True)
    loaded["a"].add_(1)
    assert loaded["a"][:3].tolist() == [1, 2, 3]
    assert path.read_bytes() == before
    # The file may be replaced by one made from itself: the old contents stay mapped.
    clew.save(loaded, path)
    assert loaded["a"][:3].tolist() == [1, 2, 3]
    assert torch.load(path)["a"][:3].tolist() == [1, 2, 3]
    assert torch.load(path)["a"].untyped_storage().nbytes() == 4000


def test_the_other_byte_order() -> None:
    values = torch.tensor([1.5, -2.0]), torch.tensor([1 + 2j]), torch.tensor([3], dtype=torch.int16)
    source = zipfile.ZipFile(io.BytesIO(torch_bytes(values)))
    swapped = io.BytesIO()
    with zipfile.ZipFile(swapped, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name.endswith("byteorder"):
                data = b"big"
            elif "/data/" in name:
                kind = {"0": "f4", "1": "f4", "2": "i2"}[name[-1]]
                data = np.frombuffer(data, kind).byteswap().tobytes()
            target.writestr(name, data)
    assert_same(clew_load(swapped.getvalue()), values)


def test_compressed_archives() -> None:
    source = zipfile.ZipFile(io.BytesIO(torch_bytes(torch.arange(1000))))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
    assert len(packed.getvalue()) < 5000
    assert_same(clew_load(packed.getvalue()), torch.arange(1000))


def test_strings_of_python_2() -> None:
    source = zipfile.ZipFile(io.BytesIO(torch_bytes({"k": 1})))
    old = source.read("archive/data.pkl").replace(b"X\x01\x00\x00\x00k", b"U\x01k")
    rewritten = io.BytesIO()
    with zipfile.ZipFile(rewritten, "w") as target:
        target.writestr("archive/data.pkl", old)
        target.writestr("archive/version", b"3\n")
    assert clew_load(rewritten.getvalue()) == {"k": 1}
    assert clew_load(rewritten.getvalue(), encoding="bytes") == {b"k": 1}


# -- devices ---------------------------------------------------------------------------------------


def saved_on(location: str) -> bytes:
    """A file as a machine with that device would write it."""
    source = zipfile.ZipFile(io.BytesIO(torch_bytes({"w": torch.arange(3.0)})))
    where = struct.pack("<I", len(location)) + location.encode()
    body = source.read("archive/data.pkl").replace(b"\x03\x00\x00\x00cpu", where)
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w") as target:
        for name in source.namelist():
            target.writestr(name, body if name.endswith("data.pkl") else source.read(name))
    return result.getvalue()


@pytest.mark.parametrize(
    "map_location",
    [
        "cpu",
        lambda lib: lib.device("cpu"),
        {"cuda:0": "cpu"},
        lambda lib: lambda storage, location: storage,
        lambda lib: lambda storage, location: storage.cpu(),
    ],
)
def test_files_from_cuda_load_on_the_cpu(map_location: Any) -> None:
    for lib, load in ((clew, clew_load), (torch, torch_load)):
        where = map_location(lib) if callable(map_location) else map_location
        assert load(saved_on("cuda:0"), map_location=where)["w"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("location", "map_location"),
    [
        ("cuda:0", None),
        ("cuda:0", {"cuda:1": "cpu"}),
        ("cpu", "cuda"),
        ("cpu", "cuda:1"),
        ("cpu", {"cpu": "cuda:0"}),
        ("cuda:0", lambda storage, location: None),
        ("xpu", None),
        ("elsewhere", None),
        ("cpu", "elsewhere"),
    ],
)
def test_devices_that_are_not_there(location: str, map_location: Any) -> None:
    texts = []
    for load in (clew_load, torch_load):
        with pytest.raises(RuntimeError) as caught:
            load(saved_on(location), map_location=map_location)
        texts.append(str(caught.value).split("\n")[0])
    assert texts[0] == texts[1]


def test_map_location_sees_each_storage_once() -> None:
    calls = []

    def note(storage: Any, location: str) -> None:
        calls.append((storage.nbytes(), location))

    base = torch.ones(4)
    clew_load(torch_bytes([base, base[1:], torch.ones(2)]), map_location=note)
    assert calls == [(16, "cpu"), (8, "cpu")]


def test_errors_of_map_location_reach_the_user() -> None:
    def wrong(storage: Any, location: str) -> Any:
        raise KeyError("mine")

    data = torch_bytes(torch.ones(1))
    with pytest.raises(KeyError, match="mine"):
        clew_load(data, map_location=wrong)
    with pytest.raises(TypeError, match="map_location should return a storage"):
        clew_load(data, map_location=lambda storage, location: 5)
    with pytest.raises(TypeError, match="'int' object is not callable"):
        clew_load(data, map_location=3)


# -- data beside tensors ---------------------------------------------------------------------------


DATA = {
    "numpy scalar": np.float64(1.5),
    "numpy array": np.arange(6, dtype=np.int32).reshape(2, 3),
    "fortran array": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "big endian": np.arange(3, dtype=">f4"),
    "text array": np.array(["a", "bc"]),
    "empty array": np.empty((0, 2), np.float32),
    "dtype": np.dtype("float32"),
    "namespace": argparse.Namespace(lr=0.1, layers=[1, 2]),
    "path": pathlib.PurePosixPath("a/b"),
    "defaultdict": collections.defaultdict(list, {"a": [1]}),
    "deque": collections.deque([1, 2], maxlen=3),
    "frozenset": frozenset({1, 2}),
    "slice": slice(1, 5, 2),
    "range": range(3),
}


@pytest.mark.parametrize("name", list(DATA))
@pytest.mark.parametrize("protocol", [2, 5])
def test_plain_data_needs_weights_only_false(name: str, protocol: int) -> None:
    value = DATA[name]
    data = torch_bytes({"value": value}, pickle_protocol=protocol)
    if not (protocol == 5 and name == "frozenset"):  # there it is data, not a name
        with pytest.raises(pickle.UnpicklingError, match="Pass weights_only=False to read it"):
            clew_load(data)
    loaded = clew_load(data, weights_only=False)["value"]
    assert type(loaded) is type(value)
    if isinstance(value, np.ndarray):
        assert loaded.dtype == pickle.loads(pickle.dumps(value, protocol)).dtype
        np.testing.assert_array_equal(loaded, value)
        assert loaded.flags.f_contiguous == value.flags.f_contiguous
    else:
        assert loaded == value
    saved_here = clew_bytes({"value": value}, pickle_protocol=protocol)
    assert torch_load(saved_here, weights_only=False)["value"].__class__ is type(value)


def test_numpy_scalars_load_once_their_functions_are_named() -> None:
    data = torch_bytes({"loss": np.float64(0.25)})
    needed = clew.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data))
    theirs = torch.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data))
    assert sorted(needed) == sorted(theirs) == ["numpy._core.multiarray.scalar", "numpy.dtype"]
    scalar = (np._core.multiarray.scalar, "numpy.core.multiarray.scalar")
    with clew.serialization.safe_globals([scalar, np.dtype, np.dtypes.Float64DType]):
        assert clew_load(data)["loss"] == 0.25
