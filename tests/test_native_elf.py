"""Compiled code in memory: linked without LLVM, and by LLVM where it is not known."""

import ctypes
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from clew.kernels.native import elf, jit

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
    found = elf.link(code, given)
    assert found is not None and alive
    check(found)
    again = elf.link(code, given)
    assert again is not None and again["start"] != found["start"], "each has a memory of its own"
    check(again)


def test_code_cannot_be_written_to(code: bytes) -> None:
    found = elf.link(code, provided()[0])
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


STRANGE: dict[str, Callable[[bytes], bytes]] = {
    "another format": lambda code: b"\xcf\xfa\xed\xfe" + code[4:],
    "32 bits": lambda code: changed(code, 4, "<B", 1),
    "a shared library": lambda code: changed(code, 16, "<H", 3),
    "another processor": lambda code: changed(code, 18, "<H", 183),
    "a kind of place": with_another_kind,
    "memory of each thread": per_thread,
}


@pytest.mark.parametrize("what", STRANGE)
def test_what_is_not_known_is_left_to_llvm(what: str, code: bytes) -> None:
    assert elf.link(STRANGE[what](code), provided()[0]) is None


def test_llvm_links_the_same_code(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = jit.machine()
    given, alive = provided()
    monkeypatch.setattr(elf, "link", lambda code, provided: None)
    monkeypatch.setattr(machine, "provided", {**machine.provided, **given})
    names = ["start", "scaled", "table"]
    assert alive
    loaded = machine.load(machine.code_of(SOURCE), *names)
    check(dict(zip(names, loaded, strict=True)))


def test_a_function_that_is_nowhere_is_named() -> None:
    source = "declare void @nowhere()\ndefine void @f() {\ncall void @nowhere()\nret void\n}"
    code = jit.machine().object_code(source)
    with pytest.raises(AttributeError, match="nowhere"):
        elf.link(code, {})


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
