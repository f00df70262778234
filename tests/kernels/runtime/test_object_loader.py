"""Compiled code in memory: linked without LLVM, and by LLVM where it is not known."""

import ctypes
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from clew.kernels.runtime import jit, object_loader

# All kinds of places: a far call, a near one, an address in a table, a variable of another module,
# a constant, and memory that can be written to.
SOURCE = """
declare i64 @provided(i64)
declare i64 @labs(i64)
@elsewhere = external global i64
@count = internal global i64 0
@table = constant [2 x ptr] [ptr @twice, ptr @start]

define internal i64 @twice(i64 %x) noinline {
  %y = shl i64 %x, 1
  ret i64 %y
}

define i64 @start(i64 %x) {
  %before = load i64, ptr @count
  %after = add i64 %before, 1
  store i64 %after, ptr @count
  %other = load i64, ptr @elsewhere
  %positive = call i64 @labs(i64 %x)
  %near = call i64 @twice(i64 %positive)
  %far = call i64 @provided(i64 %near)
  %sum = add i64 %far, %other
  %all = add i64 %sum, %after
  ret i64 %all
}

define double @scaled(double %x) {
  %y = fmul double %x, 0.625
  ret double %y
}
"""


def provided() -> tuple[dict[str, int], list[object]]:
    """Functions and variables for the code above, and what keeps them alive."""
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda x: x + 1000)
    variable = ctypes.c_int64(20000)
    address = ctypes.cast(function, ctypes.c_void_p).value or 0
    return {"provided": address, "elsewhere": ctypes.addressof(variable)}, [function, variable]


@pytest.fixture(scope="module")
def code() -> bytes:
    return jit.machine().object_code(SOURCE)


def check(found: dict[str, int]) -> None:
    start = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(found["start"])
    assert [start(-7), start(7)] == [21015, 21016]
    scaled = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(found["scaled"])
    assert scaled(8.0) == 5.0
    table = (ctypes.c_uint64 * 2).from_address(found["table"])
    assert table[1] == found["start"]
    twice = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(table[0])
    assert twice(21) == 42


def test_functions_call_each_other_and_what_is_provided(code: bytes) -> None:
    given, alive = provided()
    found = object_loader.link(code, given)
    assert found is not None and alive
    check(found)
    again = object_loader.link(code, given)
    assert again is not None and again["start"] != found["start"], "each has a memory of its own"
    check(again)


def test_code_cannot_be_written_to(code: bytes) -> None:
    found = object_loader.link(code, provided()[0])
    assert found is not None
    pages = Path("/proc/self/maps").read_text().splitlines()

    def rights(address: int) -> str:
        for line in pages:
            span, what = line.split()[:2]
            low, high = (int(end, 16) for end in span.split("-"))
            if low <= address < high:
                return what
        raise AssertionError("not in memory")

    assert rights(found["start"]) == "r-xp"
    assert rights(found["table"]).endswith("-p"), "what can be written to is not run"


def changed(code: bytes, at: int, form: str, value: int) -> bytes:
    content = bytearray(code)
    struct.pack_into(form, content, at, value)
    return bytes(content)


def sections_of(code: bytes) -> list[tuple[int, ...]]:
    (start,), (count,) = struct.unpack_from("<Q", code, 40), struct.unpack_from("<H", code, 60)
    return [
        (start + 64 * i, *struct.unpack_from("<IIQQQQIIQQ", code, start + 64 * i))
        for i in range(count)
    ]


def with_another_kind(code: bytes) -> bytes:
    """The first place to be filled in is of a kind that is not known."""
    at = next(offset for _, _, kind, _, _, offset, *_ in sections_of(code) if kind == 4)
    return changed(code, at + 8, "<I", 23)


def per_thread(code: bytes) -> bytes:
    at, flags = next((at, flags) for at, _, _, flags, *_ in sections_of(code) if flags & 1)
    return changed(code, at + 8, "<Q", flags | 0x400)


def in_section(code: bytes, kind: int, field: int, value: int) -> bytes:
    """A number in the header of the first section of a kind that has anything in it."""
    header = next(at for at, _, found, *rest in sections_of(code) if found == kind and rest[3])
    return changed(code, header + field, "<I" if field == 40 else "<Q", value)


def in_table(code: bytes, kind: int, field: int, value: int) -> bytes:
    """A number in the first entry of a table."""
    at = next(offset for _, _, found, _, _, offset, *_ in sections_of(code) if found == kind)
    return changed(code, at + field, "<Q", value)


STRANGE: dict[str, Callable[[bytes], bytes]] = {
    "another format": lambda code: b"\xcf\xfa\xed\xfe" + code[4:],
    "32 bits": lambda code: changed(code, 4, "<B", 1),
    "a shared library": lambda code: changed(code, 16, "<H", 3),
    "another processor": lambda code: changed(code, 18, "<H", 243),
    "a kind of place": with_another_kind,
    "memory of each thread": per_thread,
    "a huge section": lambda code: in_section(code, 8, 32, 1 << 40),
    "a section behind the end": lambda code: in_section(code, 1, 24, 1 << 40),
    "an alignment that is none": lambda code: in_section(code, 1, 48, 24),
    "a huge alignment": lambda code: in_section(code, 1, 48, 1 << 62),
    "symbols of no size": lambda code: in_section(code, 2, 56, 0),
    "names elsewhere": lambda code: in_section(code, 2, 40, 60000),
    "places of no size": lambda code: in_section(code, 4, 56, 0),
    "a place behind the end": lambda code: in_table(code, 4, 0, 1 << 30),
    "a place of no symbol": lambda code: in_table(code, 4, 8, (1 << 60) | 1),
    "a far distance": lambda code: in_table(code, 4, 16, 1 << 40),
    "headers behind the end": lambda code: changed(code, 40, "<Q", 1 << 62),
    "headers of another size": lambda code: changed(code, 58, "<H", 0),
}


@pytest.mark.parametrize("what", STRANGE)
def test_what_is_not_known_is_left_to_llvm(what: str, code: bytes) -> None:
    assert object_loader.link(STRANGE[what](code), provided()[0]) is None


def damaged(code: bytes, random: Random) -> bytes:
    """The code with a few bytes changed, mostly where numbers mean something, or cut off."""
    content = bytearray(code)
    for _ in range(random.choice((1, 1, 2, 8))):
        at = random.choice(
            (
                random.randrange(64),
                random.randrange(len(code)),
                random.choice(meaningful(code)) + random.randrange(24),
            )
        )
        size = random.choice((1, 2, 4, 8))
        value = random.choice(
            (0, 1, 0xFF, 0x7FFFFFFF, 0x80000000, 1 << 40, 1 << 63, (1 << 64) - 1, len(code))
        ) if random.random() < 0.5 else random.getrandbits(64)  # fmt: skip
        piece = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        content[at : at + size] = piece[: max(0, len(code) - at)]
    return bytes(content[: random.randrange(len(content))] if random.random() < 0.1 else content)


def meaningful(code: bytes) -> list[int]:
    """Where section headers, symbols and relocations begin."""
    found = []
    for at, _, kind, _, _, offset, size, *_ in sections_of(code):
        found.append(at)
        if kind in (2, 4):
            found.extend(range(offset, offset + size, 24))
    return found


def test_damaged_code_is_refused_and_does_no_harm(
    code: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is executed: only whether linking ends as it should, without much memory."""
    taken: list[tuple[int, int]] = []
    new_memory = object_loader._map_memory

    def counted(size: int) -> int:
        taken.append((new_memory(size), size))
        return taken[-1][0]

    monkeypatch.setattr(object_loader, "_map_memory", counted)
    given, _ = provided()
    random, refused = Random(0), 0
    tracemalloc.start()
    for _ in range(5000):
        changed_code = damaged(code, random)
        taken.clear()
        try:
            found = object_loader.link(changed_code, given)
        except AttributeError as error:
            assert "undefined symbol" in str(error)
            found = None
        if found is None:
            refused += 1
            continue
        ((base, size),) = taken
        assert all(base <= address <= base + size for address in found.values())
        object_loader._libc().munmap(base, size)
    assert 2000 < refused < 5000
    assert tracemalloc.get_traced_memory()[1] < 200_000_000
    tracemalloc.stop()


def test_every_cut_is_refused(code: bytes) -> None:
    for length in range(len(code) - 64):
        assert object_loader.link(code[:length], {}) is None


def test_llvm_links_the_same_code(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = jit.machine()
    given, alive = provided()
    monkeypatch.setattr(object_loader, "link", lambda code, provided: None)
    monkeypatch.setattr(machine, "symbols", {**machine.symbols, **given})
    names = ["start", "scaled", "table"]
    assert alive
    loaded = machine.load(machine.compile_module(SOURCE), *names)
    check(dict(zip(names, loaded, strict=True)))


def test_a_function_that_is_nowhere_is_named() -> None:
    source = "declare void @nowhere()\ndefine void @f() {\ncall void @nowhere()\nret void\n}"
    code = jit.machine().object_code(source)
    with pytest.raises(AttributeError, match="nowhere"):
        object_loader.link(code, {})


STEP = """
import sys, clew
x = clew.randn(64, 64, requires_grad=True)
loss = clew.nn.functional.gelu(x @ x).softmax(-1).sum()
loss.backward()
print("llvmlite.binding" in sys.modules)
"""


def test_a_second_process_does_without_llvm(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STEP]
    environment = {"CLEW_CACHE_DIR": str(tmp_path), "PATH": "/usr/bin"}
    said = [
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert said == ["True\n", "False\n"]
