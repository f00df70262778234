"""safetensors files, with the safetensors package and PyTorch on the other side."""

from __future__ import annotations

import io
import json
import pickle
import resource
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import safetensors.torch
import torch

import clew
from clew.serialization import safetensors as files
from tests.oracle import assert_same


def make(lib: Any) -> dict[str, Any]:
    return {
        "weight": lib.arange(6.0).reshape(2, 3),
        "bfloat16": lib.tensor([1.5, -2.0], dtype=lib.bfloat16),
        "half": lib.tensor([1.5], dtype=lib.float16),
        "double": lib.tensor([0.1], dtype=lib.float64),
        "flags": lib.tensor([True, False]),
        "bytes": lib.tensor([1, 255], dtype=lib.uint8),
        "words": lib.tensor([1, 65535], dtype=lib.uint16),
        "numbers": lib.tensor([-1, 2]),
        "complex": lib.tensor([1 + 2j]),
        "scalar": lib.tensor(3),
        "empty": lib.empty(0, 4),
    }


def test_both_ways(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    files.save_file(make(clew), path, metadata={"format": "pt"})
    theirs = safetensors.torch.load_file(path)
    assert theirs.keys() == make(clew).keys()
    for name, tensor in make(torch).items():
        assert_same(make(clew)[name], theirs[name])
        assert theirs[name].dtype == tensor.dtype and theirs[name].shape == tensor.shape
    with safetensors.safe_open(path, framework="np") as opened:
        assert opened.metadata() == {"format": "pt"}
    safetensors.torch.save_file(make(torch), path)
    mine = files.load_file(path)
    for name, tensor in make(torch).items():
        assert_same(mine[name], tensor)
    mine["weight"].add_(1)  # memory of its own
    assert files.load(files.save(mine))["weight"].tolist() == mine["weight"].tolist()


def test_load_knows_such_files_by_their_beginning(tmp_path: Path) -> None:
    path = tmp_path / "named otherwise.pt"
    safetensors.torch.save_file(make(torch), path)
    assert_same(clew.load(path)["weight"], make(torch)["weight"])
    with open(path, "rb") as file:
        assert_same(clew.load(file, map_location="cpu")["scalar"], make(torch)["scalar"])
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        clew.load(path, map_location="cuda")


def test_state_dicts(tmp_path: Path) -> None:
    model, path = clew.nn.Linear(3, 2), tmp_path / "model.safetensors"
    files.save_file(model.state_dict(), path)
    theirs = torch.nn.Linear(3, 2)
    theirs.load_state_dict(safetensors.torch.load_file(path))
    assert_same(model.weight, theirs.weight)
    other = clew.nn.Linear(3, 2)
    other.load_state_dict(clew.load(path))
    assert clew.equal(other.weight, model.weight)


def test_refusals_are_those_of_the_package() -> None:
    base = clew.ones(4), torch.ones(4)
    for lib, save, whole in (
        (clew, files.save, base[0]),
        (torch, safetensors.torch.save, base[1]),
    ):
        with pytest.raises(ValueError, match="Expected a dict of"):
            save([whole])
        with pytest.raises(ValueError, match=r"Key `a` is invalid, expected torch\.Tensor but"):
            save({"a": 1})
        with pytest.raises(ValueError, match="You are trying to save a non contiguous tensor: `a`"):
            save({"a": lib.ones(2, 3).t()})
        with pytest.raises(RuntimeError, match="Some tensors share memory"):
            save({"a": whole, "b": whole})
    with pytest.raises(ValueError, match=r"safetensors has no torch\.complex128"):
        files.save({"a": clew.ones(1, dtype=clew.complex128)})
    with pytest.raises(RuntimeError, match="CUDA"):
        files.load_file("unread", device="cuda")


def test_types_that_clew_does_not_have() -> None:
    data = safetensors.torch.save({"a": torch.ones(2, dtype=torch.float8_e4m3fn)})
    with pytest.raises(RuntimeError, match="tensor `a` is of type F8_E4M3, which clew does not"):
        files.load(data)


def test_damaged_files_are_errors() -> None:
    good = files.save(make(clew))
    for length in range(9, len(good), 7):
        with pytest.raises(RuntimeError, match="the safetensors file is damaged"):
            clew.load(io.BytesIO(good[:length]))
    for place in range(len(good)):
        damaged = bytearray(good)
        damaged[place] ^= 1 << place % 8
        try:
            clew.load(io.BytesIO(bytes(damaged)))
        except (RuntimeError, pickle.UnpicklingError) as error:
            assert str(error)
    header = json.dumps({"a": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 4]}})
    lying = struct.pack("<Q", len(header)) + header.encode() + bytes(4)
    with pytest.raises(RuntimeError, match="the safetensors file is damaged"):
        clew.load(io.BytesIO(lying))


def test_large_files_are_mapped(tmp_path: Path) -> None:
    """Ten gigabytes that nobody has written: opened at once, read where they are looked at."""
    path = tmp_path / "large.safetensors"
    header, size = {}, 2**30
    for number in range(10):
        span = [number * size, (number + 1) * size]
        header[f"layer{number}"] = {"dtype": "F32", "shape": [2**14, 2**14], "data_offsets": span}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.seek(8 + len(text) + 5 * size - 4)
        file.write(np.float32(7).tobytes())
        file.truncate(8 + len(text) + 10 * size)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for loaded in (files.load_file(path), clew.load(path, mmap=True)):
        assert loaded["layer4"][-1, -1].item() == 7
        assert loaded["layer5"].shape == (2**14, 2**14)
        loaded["layer5"][0, 0] = 1
    assert files.load_file(path)["layer5"][0, 0].item() == 0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


def test_parts_that_are_not_aligned(tmp_path: Path) -> None:
    path = tmp_path / "small.safetensors"
    values = {"a": clew.tensor([1], dtype=clew.uint8), "b": clew.arange(3.0), "c": clew.ones(0, 2)}
    header = {
        "a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
        "b": {"dtype": "F32", "shape": [3], "data_offsets": [1, 13]},
        "c": {"dtype": "F32", "shape": [0, 2], "data_offsets": [13, 13]},
    }
    text = json.dumps(header).encode()
    body = b"".join(each.numpy().tobytes() for each in values.values())
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)
    for loaded in (files.load_file(path), files.load_file(path, backend="read")):
        assert loaded.keys() == values.keys()
        for name, value in values.items():
            assert loaded[name].dtype == value.dtype and clew.equal(loaded[name], value)
