"""The object loader: ELF objects into memory, relocated, without LLVM.

LLVM links what it has compiled, too. But a program whose kernels are in the cache has nothing to
compile, and LLVM's library takes longer to load than all of its kernels. What the code generator
writes for x86-64 under Linux is simple: a few sections, and a few kinds of places where an address
is to be filled in.

Nothing that a file says is believed: every offset, size, index and distance is compared with what
it refers to before it is used, and memory is taken when all of it is known to make sense.
"""

import ctypes
import functools
import mmap
import struct
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

# Numbers of the ELF format.
_START, _RELOCATABLE, _X86_64 = b"\x7fELF\x02\x01", 1, 62
_SYMBOLS, _STRINGS, _RELOCATIONS, _ZEROS, _UNWINDING = 2, 3, 4, 8, 0x70000001
_HEADER_SIZE, _SECTION_SIZE, _ENTRY_SIZE = 64, 64, 24
_WRITABLE, _IN_MEMORY, _PER_THREAD = 1, 2, 0x400
_UNDEFINED, _FIRST_SPECIAL = 0, 0xFF00
# What is filled in: an address; the distance to one, or to a function; the distance to an entry of
# the table of addresses.
_ADDRESS, _DISTANCE, _CALL, _ENTRIES = 1, 2, 4, (9, 41, 42)
_KNOWN = (_ADDRESS, _DISTANCE, _CALL, *_ENTRIES)

# A jump to the address that follows it: other functions may be too far away for 32 bits.
_JUMP, _JUMP_SIZE = b"\xff\x25\x00\x00\x00\x00", 16

# Far more than code of kernels has.
_LARGEST_IMAGE, _LONGEST_NAME = 1 << 26, 1000


class _Unknown(Exception):
    """The file is damaged, or has something in it that is not known here."""


def _require(makes_sense: bool) -> None:
    if not makes_sense:
        raise _Unknown


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
    kind of machine, is damaged, or has something in it that is not known here. AttributeError if it
    calls a function that is nowhere.
    """
    try:
        return _Loaded(_Image(code), provided).addresses()
    except _Unknown:
        return None


class _Image:
    """What is in an object file: numbers that have been compared with the file."""

    def __init__(self, code: bytes) -> None:
        _require(len(code) >= _HEADER_SIZE and code[:6] == _START)
        _require(struct.unpack_from("<HH", code, 16) == (_RELOCATABLE, _X86_64))
        self.code = code
        (start,) = struct.unpack_from("<Q", code, 40)
        size, count = struct.unpack_from("<HH", code, 58)
        _require(size == _SECTION_SIZE and start + size * count <= len(code))
        self.sections = [
            _Section(*struct.unpack_from("<IIQQQQIIQQ", code, start + size * i))
            for i in range(count)
        ]
        self.symbols = list(self._symbols())
        self.used = [
            i
            for i, section in enumerate(self.sections)
            if i != _UNDEFINED and section.flags & _IN_MEMORY and section.kind != _UNWINDING
        ]
        for i in self.used:
            self._check_part(self.sections[i])
        self.places = list(self._places())

    def _check_part(self, section: _Section) -> None:
        """Of a section that will be in memory."""
        _require(not section.flags & _PER_THREAD)
        _require(section.kind == _ZEROS or section.offset + section.size <= len(self.code))
        # A power of two, and no more than what memory is aligned to.
        _require(section.align & (section.align - 1) == 0 if section.align else True)
        _require(section.align <= mmap.PAGESIZE)

    def _entries(self, table: _Section, form: str) -> Iterator[tuple[Any, ...]]:
        """The entries of a section that is a table."""
        _require(table.entry_size == _ENTRY_SIZE and table.size % _ENTRY_SIZE == 0)
        _require(table.offset + table.size <= len(self.code))
        yield from struct.iter_unpack(
            form, memoryview(self.code)[table.offset : table.offset + table.size]
        )

    def _symbols(self) -> Iterator[_Symbol]:
        tables = [section for section in self.sections if section.kind == _SYMBOLS]
        _require(len(tables) == 1 and tables[0].link < len(self.sections))
        names = self.sections[tables[0].link]
        _require(names.kind == _STRINGS and names.offset + names.size <= len(self.code))
        for name, _, _, section, value, _ in self._entries(tables[0], "<IBBHQQ"):
            start = names.offset + name
            last = min(start + _LONGEST_NAME, names.offset + names.size)
            end = self.code.find(b"\0", start, last)
            _require(end >= 0)
            yield _Symbol(self.code[start:end].decode(errors="replace"), section, value)

    def _places(self) -> Iterator[_Place]:
        used = frozenset(self.used)
        for table in self.sections:
            if table.kind != _RELOCATIONS or table.info not in used:
                continue
            size = self.sections[table.info].size
            for offset, what, addend in self._entries(table, "<QQq"):
                kind, number = what & 0xFFFFFFFF, what >> 32
                _require(
                    kind in _KNOWN
                    and number < len(self.symbols)
                    and offset + (8 if kind == _ADDRESS else 4) <= size
                )
                symbol = self.symbols[number]
                # In a section that will be there, or, where that is provided for, elsewhere.
                _require(
                    kind != _DISTANCE
                    if symbol.section == _UNDEFINED
                    else symbol.section in used
                    and symbol.value <= self.sections[symbol.section].size
                )
                yield _Place(table.info, offset, kind, symbol, addend)


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
        _require(size <= _LARGEST_IMAGE)
        called = dict.fromkeys(place.symbol for place in image.places)
        self.elsewhere = {
            symbol: self.provided.get(symbol.name) or _of_process(symbol.name)
            for symbol in called
            if symbol.section == _UNDEFINED
        }
        self.bytes = bytearray(size)
        self.base = _memory(size)
        try:
            self._fill()
        except BaseException:
            _libc().munmap(self.base, size)
            raise

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
            return self.elsewhere[symbol]
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
            target = self._address(place.symbol) + place.addend
            is_inside = self.base <= target <= self.base + len(self.bytes)
            _require(is_inside if place.symbol.section else 0 <= target < 1 << 64)
            struct.pack_into("<Q", self.bytes, at, target)
            return
        if place.kind in _ENTRIES:
            target = self.base + self.entries[place.symbol]
        elif place.symbol in self.jumps:
            target = self.base + self.jumps[place.symbol]
        else:
            target = self._address(place.symbol)
        distance = target + place.addend - (self.base + at)
        _require(-(1 << 31) <= distance < 1 << 31)
        struct.pack_into("<i", self.bytes, at, distance)

    def addresses(self) -> dict[str, int]:
        """Where the symbols are that have a name."""
        return {
            symbol.name: self._address(symbol)
            for symbol in self.image.symbols
            if symbol.name
            and symbol.section in self.offsets
            and symbol.value <= self.image.sections[symbol.section].size
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
    library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
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
    # By index: attributes are also those of Python's object.
    return ctypes.cast(_libc()[name], ctypes.c_void_p).value or 0
