"""Options of loading that a program or the environment sets, under both libraries."""

from __future__ import annotations

import io
import mmap
import pickle
import zipfile
from typing import Any

import pytest

import clew
from tests.twice import raised, twice


def saved_module(torch: Any) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(torch.nn.Linear(2, 2), file)
    file.seek(0)
    return file


@pytest.mark.parametrize(
    "name", ["TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"]
)
def test_the_environment_overrules(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "1")

    @twice
    def compare(torch: Any) -> Any:
        def kind(**options: Any) -> str:
            return type(torch.load(saved_module(torch), **options)).__name__

        return [
            raised(kind, words=4),
            raised(lambda: kind(weights_only=False), words=4),
            raised(lambda: kind(weights_only=True), words=4),
        ]

    compare()


@twice
def test_options_are_kept(torch: Any) -> Any:
    options = torch.serialization
    before = options.get_default_mmap_options()
    with options.set_default_mmap_options(mmap.MAP_SHARED):
        inside = options.get_default_mmap_options()
    options.set_crc32_options(False)
    crc = options.get_crc32_options()
    options.set_crc32_options(True)
    options.set_default_load_endianness(options.LoadEndianness.LITTLE)
    order = options.get_default_load_endianness().name
    options.set_default_load_endianness(None)
    return [
        before, inside, options.get_default_mmap_options(), crc, order,
        raised(options.set_default_mmap_options, -1, words=6),
        raised(options.set_default_load_endianness, "little", words=6),
    ]  # fmt: skip


@twice
def test_files_state_checksums_if_asked(lib: Any) -> Any:
    told = []
    for asked in (True, False):
        file = io.BytesIO()
        lib.serialization.set_crc32_options(asked)
        try:
            lib.save({"x": lib.ones(3)}, file)
        finally:
            lib.serialization.set_crc32_options(True)
        file.seek(0)
        with zipfile.ZipFile(file) as archive:
            told.append(archive.testzip() is None)
        file.seek(0)
        told.append(lib.load(file)["x"])
    return told


@twice
def test_which_files_are_mapped_is_said_before_where_they_must_be(lib: Any) -> Any:
    seen = []
    for options in ({}, {"_use_new_zipfile_serialization": False}):
        file = io.BytesIO()
        lib.save(3, file, **options)
        file.seek(0)
        seen.append(raised(lib.load, file, mmap=True))
    return seen


def test_functions_of_no_module_are_not_saved() -> None:
    # Those of programs that `exec` runs without a name.
    names: dict[str, Any] = {"clew": clew, "io": io}
    with pytest.raises(pickle.PicklingError, match="Can't pickle <function <lambda>"):
        exec("clew.save(lambda: 0, io.BytesIO())", names)
