"""Relocations: how an address becomes part of an instruction or of data, for each processor.

A place is where something is filled in, a target the address that it is about. Numbers and names
are those of the processors' supplements to the ELF standard.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import NamedTuple

# Writes into an image: at an offset, for a place with some address, a target.
Write = Callable[[bytearray, int, int, int], bool]


class Through(Enum):
    """What a relocation's target is."""

    ADDRESS = "the symbol, wherever it is"
    NEAR = "the symbol, which must be in the same object"
    CALL = "the symbol, or a trampoline to one that may be far away"
    TABLE = "the symbol's entry in the global offset table (GOT)"


class Kind(NamedTuple):
    """A kind of relocation: bytes of its place, its target, and how it is written.

    Writing returns False where the target is too far away, or not aligned as it must be.
    """

    size: int
    through: Through
    write: Write


class Processor(NamedTuple):
    """What the object loader must know of a kind of processor."""

    elf_machine: int
    kinds: dict[int, Kind]
    # A trampoline begins with this code, then the address follows to which it jumps.
    trampoline: bytes
    # Whether caches of instructions do not see what is written to memory.
    needs_flush: bool


# -- data, and x86-64 ------------------------------------------------------------------------------


def _address(image: bytearray, at: int, place: int, target: int) -> bool:
    if not 0 <= target < 1 << 64:
        return False
    struct.pack_into("<Q", image, at, target)
    return True


def _distance(image: bytearray, at: int, place: int, target: int) -> bool:
    if not -(1 << 31) <= target - place < 1 << 31:
        return False
    struct.pack_into("<i", image, at, target - place)
    return True


X86_64 = Processor(
    elf_machine=62,
    kinds={
        1: Kind(8, Through.ADDRESS, _address),  # 64
        2: Kind(4, Through.NEAR, _distance),  # PC32
        4: Kind(4, Through.CALL, _distance),  # PLT32
        9: Kind(4, Through.TABLE, _distance),  # GOTPCREL
        41: Kind(4, Through.TABLE, _distance),  # GOTPCRELX
        42: Kind(4, Through.TABLE, _distance),  # REX_GOTPCRELX
    },
    trampoline=bytes.fromhex("ff2500000000"),  # jmp *0(%rip)
    needs_flush=False,
)


# -- arm64 -----------------------------------------------------------------------------------------

_PAGE = 4096


def _insert(image: bytearray, at: int, bits: int, first: int, count: int) -> None:
    """Set a field of an instruction: `count` bits from `first` on."""
    (word,) = struct.unpack_from("<I", image, at)
    mask = ((1 << count) - 1) << first
    struct.pack_into("<I", image, at, word & ~mask | bits << first & mask)


def _branch(image: bytearray, at: int, place: int, target: int) -> bool:
    """The distance of a call or jump, in instructions."""
    distance = target - place
    if distance % 4 or not -(1 << 27) <= distance < 1 << 27:
        return False
    _insert(image, at, distance >> 2, 0, 26)
    return True


def _page(image: bytearray, at: int, place: int, target: int) -> bool:
    """The distance of a page, in pages, as ADRP has it: the low two bits stand apart."""
    pages = target // _PAGE - place // _PAGE
    if not -(1 << 20) <= pages < 1 << 20:
        return False
    _insert(image, at, pages, 29, 2)
    _insert(image, at, pages >> 2, 5, 19)
    return True


def _in_page(shift: int, image: bytearray, at: int, place: int, target: int) -> bool:
    """The offset in a page, in units of what is loaded or stored."""
    offset = target % _PAGE
    if offset % (1 << shift):
        return False
    _insert(image, at, offset >> shift, 10, 12)
    return True


AARCH64 = Processor(
    elf_machine=183,
    kinds={
        257: Kind(8, Through.ADDRESS, _address),  # ABS64
        261: Kind(4, Through.NEAR, _distance),  # PREL32
        275: Kind(4, Through.NEAR, _page),  # ADR_PREL_PG_HI21
        277: Kind(4, Through.NEAR, partial(_in_page, 0)),  # ADD_ABS_LO12_NC
        278: Kind(4, Through.NEAR, partial(_in_page, 0)),  # LDST8_ABS_LO12_NC
        282: Kind(4, Through.CALL, _branch),  # JUMP26
        283: Kind(4, Through.CALL, _branch),  # CALL26
        284: Kind(4, Through.NEAR, partial(_in_page, 1)),  # LDST16_ABS_LO12_NC
        285: Kind(4, Through.NEAR, partial(_in_page, 2)),  # LDST32_ABS_LO12_NC
        286: Kind(4, Through.NEAR, partial(_in_page, 3)),  # LDST64_ABS_LO12_NC
        299: Kind(4, Through.NEAR, partial(_in_page, 4)),  # LDST128_ABS_LO12_NC
        311: Kind(4, Through.TABLE, _page),  # ADR_GOT_PAGE
        312: Kind(4, Through.TABLE, partial(_in_page, 3)),  # LD64_GOT_LO12_NC
    },
    trampoline=bytes.fromhex("5000005800021fd6"),  # ldr x16, 8; br x16
    needs_flush=True,
)

PROCESSORS = {"x86_64": X86_64, "aarch64": AARCH64}
