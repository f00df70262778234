"""Small files that would become large: refused, before the memory is taken."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import clew
from tests.processes import ended
from tests.saving import clew_bytes, clew_load, torch_load

START = b"\x80\x04"
ZEROS = 200_000_000
STORAGE = b"(X\x07\x00\x00\x00storagectorch\n%sStorage\nX\x01\x00\x00\x00%sX\x03\x00\x00\x00cpu%stQ"


def archive(records: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as target:
        for name, data in records.items():
            target.writestr(f"archive/{name}", data)
    return buffer.getvalue()


def number(value: int) -> bytes:
    """A number as a pickle has it."""
    size = value.bit_length() // 8 + 1
    return b"\x8a" + bytes([size]) + value.to_bytes(size, "little", signed=True)


def tensor(storage: bytes, size: int, rest: bytes = b"") -> bytes:
    return (
        b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00" + number(size)
        + b"\x85K\x01\x85\x89N" + rest + b"tR"
    )  # fmt: skip


def storage(count: int, key: bytes = b"0", kind: bytes = b"Byte") -> bytes:
    return STORAGE % (kind, key, number(count))


def compressed_zeros() -> bytes:
    body = START + tensor(storage(ZEROS), ZEROS) + b"."
    return archive({"data.pkl": body, "data/0": bytes(ZEROS)}, zipfile.ZIP_DEFLATED)


def compressed_pickle() -> bytes:
    """Eight million empty sets."""
    body = START + b"(" + b"\x8f" * (1 << 23) + b"t."
    return archive({"data.pkl": body}, zipfile.ZIP_DEFLATED)


def again_and_again(made: bytes, called: bytes, times: int = 20_000) -> Callable[[], bytes]:
    """A function and its arguments, put aside, and called over and over; all results are kept."""
    body = START + called + b"q\x00" + made + b"q\x01" + b"(" + b"h\x00h\x01R" * times + b"t."
    return lambda: archive({"data.pkl": body})


def long_bytes(size: int = 200_000) -> bytes:
    return b"B" + struct.pack("<I", size) + bytes(size)


def list_of_numbers(count: int = 20_000) -> bytes:
    return b"](" + b"".join(b"M" + struct.pack("<H", n) for n in range(count)) + b"e"


def copied_state() -> bytes:
    """One dict of attributes for twenty thousand objects."""
    state = b"}(" + b"".join(
        b"\x8c\x05%05d" % n + b"N" for n in range(5000)
    ) + b"u"  # fmt: skip
    body = START + b"cargparse\nNamespace\nq\x00" + state + b"q\x01("
    return archive({"data.pkl": body + b"h\x00)\x81h\x01b" * 20_000 + b"t."})


def conjugated() -> bytes:
    """One storage, and a thousand conjugated tensors over it."""
    size = 100_000
    part = storage(size, kind=b"ComplexFloat")
    body = START + part + b"q\x00}X\x04\x00\x00\x00conj\x88sq\x010("
    one = tensor(b"h\x00", size, b"h\x01")
    return archive({"data.pkl": body + one * 1000 + b"t.", "data/0": bytes(8 * size)})


def legacy(body: bytes, keys: bytes = b"].") -> bytes:
    beginning = clew_bytes(1, _use_new_zipfile_serialization=False)
    return beginning[: beginning.index(b"K\x01.") - 2] + START + body + START + keys


def legacy_storages() -> bytes:
    """Each storage as large as the file, and very many of them."""
    size = 100_000
    parts = b"".join(
        STORAGE % (b"Byte", b"%d" % (n % 10), number(size)) for n in range(10)
    )  # fmt: skip
    return legacy(b"(" + parts + b"t.") + bytes(size)


def with_directory(change: Callable[[zipfile.ZipFile], Any]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        target.writestr("archive/data.pkl", START + b"N.")
        target.writestr("archive/data/0", bytes(1000))
        target.writestr("archive/data/1", bytes(1000))
        change(target)
    return buffer.getvalue()


def overlapping(target: zipfile.ZipFile) -> None:
    first, second = target.infolist()[1:]
    second.header_offset = first.header_offset + 100


def behind_the_end(target: zipfile.ZipFile) -> None:
    target.infolist()[2].header_offset += 5000


def twice(target: zipfile.ZipFile) -> None:
    target.infolist()[2].filename = "archive/data/0"


def safetensors(header: dict[str, Any], size: int = 16) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(size)


def one_tensor(shape: list[int], end: int) -> Callable[[], bytes]:
    entry = {"dtype": "F32", "shape": shape, "data_offsets": [0, end]}
    return lambda: safetensors({"a": entry})


PROPORTION = "out of all proportion to the size of its file"
NUMBERS = list_of_numbers() + b"\x85"
DICT = b"}" + b"".join(b"M" + struct.pack("<H", n) + b"Ns" for n in range(9000)) + b"\x85"
ARRAY = (
    b"(" + long_bytes() + b"cnumpy\ndtype\nX\x02\x00\x00\x00u1\x85R" + number(200_000)
    + b"\x85X\x01\x00\x00\x00Ct"
)  # fmt: skip

# What makes a file, and the words of the error.
BOMBS: dict[str, tuple[Callable[[], bytes], str]] = {
    "zeros, compressed": (compressed_zeros, "its compressed records would unpack to 200000"),
    "a pickle, compressed": (compressed_pickle, PROPORTION),
    "bytes, copied": (
        again_and_again(long_bytes() + b"\x85", b"cbuiltins\nbytearray\n"), PROPORTION),
    "a set, copied": (again_and_again(NUMBERS, b"cbuiltins\nset\n"), PROPORTION),
    "a dict, copied": (again_and_again(DICT, b"ccollections\nOrderedDict\n"), PROPORTION),
    "a deque, copied": (again_and_again(NUMBERS, b"ccollections\ndeque\n"), PROPORTION),
    "sizes, copied": (again_and_again(NUMBERS, b"ctorch\nSize\n"), PROPORTION),
    "an array, copied": (
        again_and_again(ARRAY, b"cnumpy._core.numeric\n_frombuffer\n"), PROPORTION),
    "attributes, copied": (copied_state, PROPORTION),
    "conjugated tensors": (conjugated, "much larger than their storage"),
    "sets": (
        lambda: archive({"data.pkl": START + b"(" + b"\x8f" * 2_000_000 + b"t."}), PROPORTION),
    "names for values": (
        lambda: archive({"data.pkl": START + b"N" + b"\x94" * 3_000_000 + b"."}), PROPORTION),
    "legacy storages": (legacy_storages, "is larger than the file"),
    "legacy sets": (lambda: legacy(b"(" + b"\x8f" * 2_000_000 + b"t."), PROPORTION),
    "records on top of each other": (
        lambda: with_directory(overlapping), "its records lie on top of each other"),
    "records behind the end": (
        lambda: with_directory(behind_the_end), "its records go on behind the end of the file"),
    "two records of one name": (
        lambda: with_directory(twice), "two of its records have the same name"),
    "a huge size": (
        lambda: archive(
            {"data.pkl": START + tensor(storage(8), 1 << 63) + b".", "data/0": bytes(8)}
        ), "should be numbers from 0 on, below 2**63"),
    "safetensors, values behind the end": (one_tensor([1 << 40], 1 << 42), "damaged"),
    "safetensors, another size": (one_tensor([1 << 40], 16), "damaged"),
    "safetensors, an overflow": (one_tensor([1 << 40, 1 << 40, 0], 0), "damaged"),
    "safetensors, a header behind the end": (
        lambda: struct.pack("<Q", 99_999_999) + b"{" + bytes(9), "damaged"),
}  # fmt: skip

# Each file in a child of its own, whose largest size is compared with that at its beginning.
LOADING = """
import os, pickle, resource, sys
import safetensors
import clew

clew.save([clew.ones(2), clew.nn.Linear(1, 1)], FOLDER + "/small")
clew.load(FOLDER + "/small", weights_only=False)
for name in sorted(os.listdir(FOLDER)):
    sys.stdout.flush()
    if os.fork() == 0:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            clew.load(os.path.join(FOLDER, name), weights_only=False)
            error = "none"
        except (RuntimeError, pickle.UnpicklingError) as caught:
            error = type(caught).__name__ + " " + str(caught).splitlines()[0]
        taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(name, taken, error, sep="|", flush=True)
        os._exit(0)
    assert os.wait()[1] == 0, name
"""


def test_small_files_stay_small(tmp_path: Path) -> None:
    sizes = {}
    for what, (make, _) in BOMBS.items():
        data = make()
        (tmp_path / what).write_bytes(data)
        sizes[what] = len(data)
    code, said = ended(LOADING.replace("FOLDER", repr(str(tmp_path))), 240)
    assert code == 0, said
    found = dict(line.split("|", 1) for line in said.splitlines())
    assert found.pop("small").endswith("|none")
    wrong = {}
    for what, (_, words) in BOMBS.items():
        taken, error = found[what].split("|", 1)
        # What is allowed to every file, and what Python's own objects need.
        is_small = int(taken) * 1024 < 40_000_000 + 60 * sizes[what]
        if not is_small or words not in error:
            wrong[what] = found[what]
    assert not wrong


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_ordinary_files_still_load(method: int) -> None:
    """Packed again by another program, also compressed."""
    weights = clew.randn(300, 300, generator=clew.Generator().manual_seed(0))
    state = {"w": weights, "zeros": clew.zeros(500, 500), "steps": list(range(1000))}
    state["many"] = [{"name": f"layer {n}", "parts": [n, (n, {n})]} for n in range(5000)]
    saved = zipfile.ZipFile(io.BytesIO(clew_bytes(state)))
    records = {name.removeprefix("archive/"): saved.read(name) for name in saved.namelist()}
    packed = archive(records, method)
    loaded = clew_load(packed)
    assert loaded["w"].equal(weights) and loaded["many"] == state["many"]
    assert torch_load(packed)["w"].tolist() == weights.tolist()


def test_many_small_objects_are_ordinary() -> None:
    values: list[Any] = [[n, {}, set(), ()] for n in range(30_000)]
    assert clew_load(clew_bytes(values)) == values
    tensors = {f"t{n}": clew.ones(()) for n in range(3000)}
    assert len(clew_load(clew_bytes(tensors))) == 3000
