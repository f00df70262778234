"""Code for other processors and systems, as far as it can be looked at here."""

from __future__ import annotations

import re
import struct

import pytest

from clew.kernels.gemm import gemm, microkernels
from clew.kernels.gemm.microkernels import Tiling
from clew.kernels.runtime.cpu import Platform
from clew.kernels.runtime.relocations import AARCH64
from tests.platforms.cross_compile import TARGETS, parse, runtime_module, target_machine

LINUX_ARM = "aarch64-unknown-linux-gnu"
# What threads sleep with.
SLEEPS = {"linux": "syscall", "darwin": "__ulock_wait", "win32": None}


def assembly(text: str, triple: str) -> str:
    shown: str = target_machine(triple).emit_assembly(parse(text, triple))
    return shown


@pytest.mark.parametrize("triple", TARGETS)
def test_the_thread_pool(triple: str) -> None:
    platform = TARGETS[triple][1]
    code = assembly(runtime_module(platform), triple)
    for system, function in SLEEPS.items():
        if function is not None:
            assert (function in code) == (system == platform.system)
    if platform == Platform("linux", "aarch64"):
        assert re.search(r"mov\s+w0, #98\b", code), "the futex of arm64"


def test_tiles_of_neon_fill_its_registers_and_stay_in_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microkernels, "vector_registers", lambda size: 32)
    tiling = Tiling(16, "float")
    tile = tiling.tiles[-1]
    assert tile is not None and (tile.height, tile.width) == (6, 4)
    code = assembly(gemm.microkernel_module(tiling, tile), LINUX_ARM)
    (loop,) = re.findall(r"^(\.LBB0_\d+):.*?\n(.*?)\tb\.ne\t\1", code, re.DOTALL | re.MULTILINE)
    assert loop[1].count("fmla") == 6 * 4 * microkernels.K_UNROLL
    assert "sp" not in re.findall(r"\[(\w+)", loop[1]), "an accumulator is in memory"


def test_the_object_loader_knows_all_relocations_of_arm64() -> None:
    machine = target_machine(LINUX_ARM)
    for text in (runtime_module(Platform("linux", "aarch64")), gemm.gemm_module("float")):
        code = machine.emit_object(parse(text, LINUX_ARM))
        assert set(relocations(code)) <= set(AARCH64.kinds)


def relocations(code: bytes) -> list[int]:
    """The kinds of relocations of the sections that are loaded."""
    (start,), (count,) = struct.unpack_from("<Q", code, 40), struct.unpack_from("<H", code, 60)
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, start + 64 * i) for i in range(count)]
    return [
        struct.unpack_from("<I", code, at + 8)[0]
        for _, kind, _, _, offset, size, _, info, _, _ in sections
        if kind == 4 and sections[info][2] & 2
        for at in range(offset, offset + size, 24)
    ]
