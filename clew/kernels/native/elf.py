"""Compiled code into memory, without LLVM.

LLVM links what it has compiled, too. But a program whose kernels are in the cache has nothing to
compile, and LLVM's library takes longer to load than all of its kernels. What the code generator
writes for x86-64 under Linux is simple: a few sections, and a few kinds of places where an address
is to be filled in.
"""

import ctypes
import functools
import mmap
import struct
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

# Numbers of the ELF format.
_START, _RELOCATABLE, _X86_64 = b"\x7fELF\x02\x01", 1, 62
_SYMBOLS, _RELOCATIONS, _ZEROS, _UNWINDING = 2, 4, 8, 0x70000001
_WRITABLE, _IN_MEMORY, _PER_THREAD = 1, 2, 0x400
_UNDEFINED, _FIRST_SPECIAL = 0, 0xFF00
# What is filled in: an address; the distance to one, or to a function; the distance to an entry of
# the table of addresses.
_ADDRESS, _DISTANCE, _CALL, _ENTRIES = 1, 2, 4, (9, 41, 42)
_KNOWN = (_ADDRESS, _DISTANCE, _CALL, *_ENTRIES)

# A jump to the address that follows it: other functions may be too far away for 32 bits.
_JUMP, _JUMP_SIZE = b"\xff\x25\x00\x00\x00\x00", 16


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry_size: int


class _Symbol(NamedTuple):
    name: str
    section: int
    value: int


class _Place(NamedTuple):
    section: int
    offset: int
    kind: int
    symbol: _Symbol
    addend: int


def link(code: bytes, provided: dict[str, int]) -> dict[str, int] | None:
    """Put the code of an object file into memory for good; the addresses of its symbols.

    `provided` are functions that it calls besides those of the process. None if it is for another
    kind of machine, or has something in it that is not known here.
    """
    if code[:6] != _START or struct.unpack_from("<HH", code, 16) != (_RELOCATABLE, _X86_64):
        return None
    image = _Image(code)
    return _Loaded(image, provided).addresses() if image.is_known() else None


class _Image:
    """What is in an object file."""

    def __init__(self, code: bytes) -> None:
        self.code = code
        (start,), (count,) = struct.unpack_from("<Q", code, 40), struct.unpack_from("<H", code, 60)
        self.sections = [
            _Section(*struct.unpack_from("<IIQQQQIIQQ", code, start + 64 * i)) for i in range(count)
        ]
        self.symbols = list(self._symbols())
        self.used = [
            i
            for i, section in enumerate(self.sections)
            if section.flags & _IN_MEMORY and section.kind != _UNWINDING
        ]
        self.places = list(self._places())

    def _symbols(self) -> Iterator[_Symbol]:
        table = next(section for section in self.sections if section.kind == _SYMBOLS)
        names = self.sections[table.link].offset
        for at in range(table.offset, table.offset + table.size, table.entry_size):
            name, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", self.code, at)
            end = self.code.index(b"\0", names + name)
            yield _Symbol(self.code[names + name : end].decode(), section, value)

    def _places(self) -> Iterator[_Place]:
        for section in self.sections:
            if section.kind == _RELOCATIONS and section.info in self.used:
                for at in range(section.offset, section.offset + section.size, section.entry_size):
                    offset, what, addend = struct.unpack_from("<QQq", self.code, at)
                    symbol = self.symbols[what >> 32]
                    yield _Place(section.info, offset, what & 0xFFFFFFFF, symbol, addend)

    def is_known(self) -> bool:
        """Whether there is nothing in it that is not known here."""
        return not any(self.sections[i].flags & _PER_THREAD for i in self.used) and all(
            place.kind in _KNOWN
            and place.symbol.section < _FIRST_SPECIAL
            and (place.kind != _DISTANCE or place.symbol.section != _UNDEFINED)
            for place in self.places
        )


class _Loaded:
    """The image in memory: what stays as it is, two tables, and, on pages of its own, the rest."""

    def __init__(self, image: _Image, provided: dict[str, int]) -> None:
        self.image, self.provided = image, provided
        self.offsets: dict[int, int] = {}
        calls = [place.symbol for place in image.places if place.kind == _CALL]
        entries = dict.fromkeys(p.symbol for p in image.places if p.kind in _ENTRIES)
        jumps = dict.fromkeys(symbol for symbol in calls if symbol.section == _UNDEFINED)
        end = self._lay_out(0, is_writable=False)
        self.entries, end = _table(entries, end, 8)
        self.jumps, end = _table(jumps, end, _JUMP_SIZE)
        self.fixed = _multiple(end, mmap.PAGESIZE)
        size = max(self._lay_out(self.fixed, is_writable=True), 1)
        self.bytes = bytearray(size)
        self.base = _memory(size)
        self._fill()

    def _lay_out(self, end: int, is_writable: bool) -> int:
        """Find places for some sections; what follows them."""
        for index in self.image.used:
            section = self.image.sections[index]
            if bool(section.flags & _WRITABLE) == is_writable:
                end = _multiple(end, section.align)
                self.offsets[index] = end
                end += section.size
        return end

    def _address(self, symbol: _Symbol) -> int:
        if symbol.section == _UNDEFINED:
            return self.provided.get(symbol.name) or _of_process(symbol.name)
        return self.base + self.offsets[symbol.section] + symbol.value

    def _fill(self) -> None:
        for index, offset in self.offsets.items():
            section = self.image.sections[index]
            if section.kind != _ZEROS:
                part = self.image.code[section.offset : section.offset + section.size]
                self.bytes[offset : offset + section.size] = part
        for symbol, at in self.entries.items():
            struct.pack_into("<Q", self.bytes, at, self._address(symbol))
        for symbol, at in self.jumps.items():
            struct.pack_into("<6sQ", self.bytes, at, _JUMP, self._address(symbol))
        for place in self.image.places:
            self._fill_in(place)
        memory = (ctypes.c_char * len(self.bytes)).from_buffer(self.bytes)
        ctypes.memmove(self.base, memory, len(self.bytes))
        if self.fixed and _libc().mprotect(self.base, self.fixed, mmap.PROT_READ | mmap.PROT_EXEC):
            raise OSError(ctypes.get_errno(), "compiled code may not be run from memory")

    def _fill_in(self, place: _Place) -> None:
        at = self.offsets[place.section] + place.offset
        if place.kind == _ADDRESS:
            struct.pack_into("<Q", self.bytes, at, self._address(place.symbol) + place.addend)
            return
        if place.kind in _ENTRIES:
            target = self.base + self.entries[place.symbol]
        elif place.symbol in self.jumps:
            target = self.base + self.jumps[place.symbol]
        else:
            target = self._address(place.symbol)
        struct.pack_into("<i", self.bytes, at, target + place.addend - (self.base + at))

    def addresses(self) -> dict[str, int]:
        """Where the symbols are that have a name."""
        return {
            symbol.name: self._address(symbol)
            for symbol in self.image.symbols
            if symbol.name and symbol.section in self.offsets
        }


def _multiple(size: int, unit: int) -> int:
    return -(-size // (unit or 1)) * (unit or 1)


def _table(symbols: Iterable[_Symbol], end: int, size: int) -> tuple[dict[_Symbol, int], int]:
    """A table with a row of so many bytes for each symbol, and what follows it."""
    start = _multiple(end, size)
    rows = {symbol: start + size * i for i, symbol in enumerate(symbols)}
    return rows, start + size * len(rows)


@functools.cache
def _libc() -> Any:
    """The functions of the process."""
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    library.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return library


def _memory(size: int) -> int:
    """Memory that nobody gives back: threads run code in it until the process ends."""
    protection, flags = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    base: int = _libc().mmap(None, size, protection, flags, -1, 0)
    if base == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "there is no memory for compiled code")
    return base


def _of_process(name: str) -> int:
    """The address of a function of the process."""
    return ctypes.cast(getattr(_libc(), name), ctypes.c_void_p).value or 0
