"""Files of other kinds: compressed, without checksums, shared with what is mapped, very old."""

from __future__ import annotations

import datetime
import gzip
import io
import mmap
import pickle
import struct
import zoneinfo
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy._core import multiarray

import clew
from clew.serialization import safe_globals
from tests.twice import raised, twice


def test_what_is_saved_to_an_open_file_is_found_under_its_name(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    with open(path, "wb") as file:
        clew.save(clew.ones(3), file)
        assert clew.load(path, mmap=True).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("in_zip", [True, False])
def test_a_file_that_is_unpacked_while_it_is_read(tmp_path: Path, in_zip: bool) -> None:
    path = tmp_path / "model.pt.gz"
    with gzip.open(path, "wb") as file:
        pickle.dump(41, file)
        clew.save(clew.ones(3), file, _use_new_zipfile_serialization=in_zip)
    with gzip.open(path, "rb") as file:
        assert pickle.load(file) == 41
        assert clew.load(file).tolist() == [1.0, 1.0, 1.0]


def test_pytorch_may_leave_checksums_out(tmp_path: Path) -> None:
    torch.serialization.set_crc32_options(False)
    try:
        torch.save(torch.ones(3), tmp_path / "model.pt")
    finally:
        torch.serialization.set_crc32_options(True)
    assert clew.load(tmp_path / "model.pt").tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("flags", [mmap.MAP_PRIVATE, mmap.MAP_SHARED])
def test_a_shared_map_is_written_to_the_file(tmp_path: Path, flags: int) -> None:
    path = tmp_path / "model.pt"
    clew.save(clew.ones(3), path)
    with clew.serialization.set_default_mmap_options(flags):
        clew.load(path, mmap=True)[0] = 5
        first = clew.load(path, mmap=True)[0].item()
    assert first == (5.0 if flags == mmap.MAP_SHARED else 1.0)
    assert torch.load(path)[0].item() == first


def _with_parts(*parts: tuple[int, int]) -> io.BytesIO:
    """A file as PyTorch 0.3 wrote parts of one storage, (offset, length) each, of four numbers."""

    class Part:
        pass

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj: Any) -> Any:
            if not isinstance(obj, Part):
                return None
            part = (str(named.index(obj)), *parts[named.index(obj)])
            return "storage", torch.FloatStorage, "0", "cpu", 4, part

    named = [Part() for _ in parts]
    file = io.BytesIO()
    clew.save((), file, _use_new_zipfile_serialization=False)
    before = file.getvalue()[: -len(pickle.dumps((), 2) + pickle.dumps([], 2))]
    body = io.BytesIO()
    Pickler(body, 2).dump(tuple(named))
    values = struct.pack("<q4f", 4, 1, 2, 3, 4)
    return io.BytesIO(before + body.getvalue() + pickle.dumps(["0"], 2) + values)


def test_parts_of_one_storage_share_its_memory() -> None:
    file = _with_parts((0, 1), (1, 3))
    first, second = clew.load(file)
    assert (list(first), list(second)) == ([1.0], [2.0, 3.0, 4.0])
    assert first.data_ptr() + 4 == second.data_ptr()


def test_a_part_lies_inside_its_storage() -> None:
    with pytest.raises(pickle.UnpicklingError, match="not inside it"):
        clew.load(_with_parts((2, 3)))


def test_a_method_may_be_allowed() -> None:
    value = datetime.datetime(2025, 1, 1, tzinfo=zoneinfo.ZoneInfo("UTC"))
    file, classes = io.BytesIO(), [datetime.datetime, zoneinfo.ZoneInfo, getattr]
    clew.save(value, file)
    file.seek(0)
    with (
        safe_globals(classes),
        pytest.raises(pickle.UnpicklingError, match=r"_unpickle which .*zoneinfo.ZoneInfo"),
    ):
        clew.load(file)
    file.seek(0)
    with safe_globals([*classes, zoneinfo.ZoneInfo._unpickle]):
        assert clew.load(file) == value


@twice
def test_arrays_need_the_classes_of_their_dtypes(lib: Any) -> Any:
    names: list[Any] = [multiarray._reconstruct, np.ndarray, np.dtype]
    file, seen = io.BytesIO(), []
    lib.save([np.arange(3.0)], file)
    for allowed in ([], names[:2], names, [*names, np.dtypes.Float32DType]):
        file.seek(0)
        with lib.serialization.safe_globals(allowed):
            seen.append(raised(lib.load, file, words=4))
    file.seek(0)
    with lib.serialization.safe_globals([*names, np.dtypes.Float64DType]):
        return seen, lib.load(file)[0].tolist()


@twice
def test_a_damaged_header_is_noticed(lib: Any) -> Any:
    file = io.BytesIO()
    lib.save(lib.ones(2), file)
    data = bytearray(file.getvalue())
    data[data.find(b"PK\3\4", 4)] = 0
    try:
        lib.load(io.BytesIO(data))
    except RuntimeError as error:
        return str(error).split(".")[:2]
