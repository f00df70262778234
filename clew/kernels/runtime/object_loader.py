"""The object loader: ELF objects into memory, relocated, without LLVM.

LLVM links what it has compiled, too. But a program whose kernels are in the cache has nothing to
compile, and LLVM's library takes longer to load than all of its kernels. The objects that LLVM
emits under Linux are simple: a few sections, and a few kinds of relocations (relocations.py).

The loader trusts nothing in a file: every offset, size, index and distance is checked before it is
used, and memory is mapped after all of them.
"""

import contextlib
import ctypes
import functools
import mmap
import struct
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from clew.kernels.runtime.cpu import HOST
from clew.kernels.runtime.relocations import PROCESSORS, Kind, Processor, Through

# Constants of the ELF format: <elf.h>.
_ELF_MAGIC, _ET_REL = b"\x7fELF\x02\x01", 1
_SHT_SYMTAB, _SHT_STRTAB, _SHT_RELA, _SHT_NOBITS, _SHT_X86_64_UNWIND = 2, 3, 4, 8, 0x70000001
_HEADER_SIZE, _SECTION_SIZE, _ENTRY_SIZE = 64, 64, 24
_SHF_WRITE, _SHF_ALLOC, _SHF_TLS = 1, 2, 0x400
_SHN_UNDEF = 0

# An external function may be too far away for an instruction: a trampoline and its address.
_TRAMPOLINE_SIZE = 16

# No kernel comes near these.
_MAX_IMAGE_SIZE, _MAX_NAME_LENGTH = 1 << 26, 1000


class _Unsupported(Exception):
    """The file is damaged, or has something in it that is not supported here."""


def _require(condition: bool) -> None:
    if not condition:
        raise _Unsupported


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


class _Relocation(NamedTuple):
    section: int
    offset: int
    kind: Kind
    symbol: _Symbol
    addend: int


def link(code: bytes, known: dict[str, int]) -> dict[str, int] | None:
    """Load an object file into memory, for good; the addresses of its symbols.

    `known` are symbols that it may refer to besides those of the process. None if it is for another
    kind of machine, is damaged, or has something in it that is not supported here. AttributeError
    if a symbol is nowhere defined.
    """
    processor = PROCESSORS.get(HOST.processor)
    if processor is None:
        return None
    try:
        return _LoadedObject(_ObjectFile(code, processor), known).addresses()
    except _Unsupported:
        return None


class _ObjectFile:
    """The sections, symbols and relocations of an object file, checked against its size."""

    def __init__(self, code: bytes, processor: Processor) -> None:
        self.processor = processor
        _require(len(code) >= _HEADER_SIZE and code[:6] == _ELF_MAGIC)
        _require(struct.unpack_from("<HH", code, 16) == (_ET_REL, processor.elf_machine))
        self.code = code
        (start,) = struct.unpack_from("<Q", code, 40)
        size, count = struct.unpack_from("<HH", code, 58)
        _require(size == _SECTION_SIZE and start + size * count <= len(code))
        self.sections = [
            _Section(*struct.unpack_from("<IIQQQQIIQQ", code, start + size * i))
            for i in range(count)
        ]
        self.symbols = list(self._read_symbols())
        self.allocated = [
            i
            for i, section in enumerate(self.sections)
            if i != _SHN_UNDEF and section.flags & _SHF_ALLOC and section.kind != _SHT_X86_64_UNWIND
        ]
        for i in self.allocated:
            self._check_section(self.sections[i])
        self.relocations = list(self._read_relocations())

    def _check_section(self, section: _Section) -> None:
        """Check a section that will be in memory."""
        _require(not section.flags & _SHF_TLS)
        _require(section.kind == _SHT_NOBITS or section.offset + section.size <= len(self.code))
        # Alignment: a power of two, at most a page.
        _require(section.align & (section.align - 1) == 0 if section.align else True)
        _require(section.align <= mmap.PAGESIZE)

    def _table_entries(self, table: _Section, form: str) -> Iterator[tuple[Any, ...]]:
        """The entries of a section that is a table."""
        _require(table.entry_size == _ENTRY_SIZE and table.size % _ENTRY_SIZE == 0)
        _require(table.offset + table.size <= len(self.code))
        yield from struct.iter_unpack(
            form, memoryview(self.code)[table.offset : table.offset + table.size]
        )

    def _read_symbols(self) -> Iterator[_Symbol]:
        tables = [section for section in self.sections if section.kind == _SHT_SYMTAB]
        _require(len(tables) == 1 and tables[0].link < len(self.sections))
        names = self.sections[tables[0].link]
        _require(names.kind == _SHT_STRTAB and names.offset + names.size <= len(self.code))
        for name, _, _, section, value, _ in self._table_entries(tables[0], "<IBBHQQ"):
            start = names.offset + name
            last = min(start + _MAX_NAME_LENGTH, names.offset + names.size)
            end = self.code.find(b"\0", start, last)
            _require(end >= 0)
            yield _Symbol(self.code[start:end].decode(errors="replace"), section, value)

    def _read_relocations(self) -> Iterator[_Relocation]:
        allocated = frozenset(self.allocated)
        for table in self.sections:
            if table.kind != _SHT_RELA or table.info not in allocated:
                continue
            size = self.sections[table.info].size
            for offset, what, addend in self._table_entries(table, "<QQq"):
                kind, number = self.processor.kinds.get(what & 0xFFFFFFFF), what >> 32
                if kind is None or number >= len(self.symbols) or offset + kind.size > size:
                    raise _Unsupported
                _require(abs(addend) <= _MAX_IMAGE_SIZE)
                symbol = self.symbols[number]
                # Defined in a section that is loaded; or external, where it may be far away.
                _require(
                    kind.through is not Through.NEAR
                    if symbol.section == _SHN_UNDEF
                    else symbol.section in allocated
                    and symbol.value <= self.sections[symbol.section].size
                )
                yield _Relocation(table.info, offset, kind, symbol, addend)


class _LoadedObject:
    """An object in memory: read-only sections, GOT, trampolines; on own pages, writable ones."""

    def __init__(self, file: _ObjectFile, known: dict[str, int]) -> None:
        self.file, self.known = file, known
        self.offsets: dict[int, int] = {}
        self.processor = file.processor
        calls = self._referenced(Through.CALL)
        got = dict.fromkeys(self._referenced(Through.TABLE))
        trampolines = dict.fromkeys(symbol for symbol in calls if symbol.section == _SHN_UNDEF)
        end = self._lay_out(0, is_writable=False)
        self.got, end = _reserve_slots(got, end, 8)
        self.trampolines, end = _reserve_slots(trampolines, end, _TRAMPOLINE_SIZE)
        self.read_only_size = _align(end, mmap.PAGESIZE)
        size = max(self._lay_out(self.read_only_size, is_writable=True), 1)
        _require(size <= _MAX_IMAGE_SIZE)
        referenced = dict.fromkeys(each.symbol for each in file.relocations)
        self.external = {
            symbol: self.known.get(symbol.name) or _process_symbol(symbol.name)
            for symbol in referenced
            if symbol.section == _SHN_UNDEF
        }
        self.image = bytearray(size)
        self.base = _map_memory(size)
        try:
            self._write_image()
        except BaseException:
            _libc().munmap(self.base, size)
            raise

    def _referenced(self, through: Through) -> list[_Symbol]:
        """The symbols that relocations refer to in some way."""
        return [each.symbol for each in self.file.relocations if each.kind.through is through]

    def _lay_out(self, end: int, is_writable: bool) -> int:
        """Assign offsets to the sections that are writable, or not; the end of the last."""
        for index in self.file.allocated:
            section = self.file.sections[index]
            if bool(section.flags & _SHF_WRITE) == is_writable:
                end = _align(end, section.align)
                self.offsets[index] = end
                end += section.size
        return end

    def _address(self, symbol: _Symbol) -> int:
        if symbol.section == _SHN_UNDEF:
            return self.external[symbol]
        return self.base + self.offsets[symbol.section] + symbol.value

    def _write_image(self) -> None:
        for index, offset in self.offsets.items():
            section = self.file.sections[index]
            if section.kind != _SHT_NOBITS:
                part = self.file.code[section.offset : section.offset + section.size]
                self.image[offset : offset + section.size] = part
        for symbol, at in self.got.items():
            struct.pack_into("<Q", self.image, at, self._address(symbol))
        for symbol, at in self.trampolines.items():
            code = self.processor.trampoline
            self.image[at : at + len(code)] = code
            struct.pack_into("<Q", self.image, at + len(code), self._address(symbol))
        for relocation in self.file.relocations:
            self._relocate(relocation)
        memory = (ctypes.c_char * len(self.image)).from_buffer(self.image)
        ctypes.memmove(self.base, memory, len(self.image))
        if self.read_only_size and _libc().mprotect(
            self.base, self.read_only_size, mmap.PROT_READ | mmap.PROT_EXEC
        ):
            raise OSError(ctypes.get_errno(), "compiled code may not be run from memory")
        if self.processor.needs_flush:
            flush = _clear_cache()
            _require(flush is not None)
            flush(self.base, self.base + self.read_only_size)

    def _relocate(self, relocation: _Relocation) -> None:
        at = self.offsets[relocation.section] + relocation.offset
        through, symbol = relocation.kind.through, relocation.symbol
        if through is Through.TABLE:
            target = self.base + self.got[symbol]
        elif through is Through.CALL and symbol in self.trampolines:
            target = self.base + self.trampolines[symbol]
        else:
            target = self._address(symbol)
        target += relocation.addend
        if through is Through.ADDRESS and symbol.section != _SHN_UNDEF:
            _require(self.base <= target <= self.base + len(self.image))
        _require(relocation.kind.write(self.image, at, self.base + at, target))

    def addresses(self) -> dict[str, int]:
        """The addresses of the symbols that have a name."""
        return {
            symbol.name: self._address(symbol)
            for symbol in self.file.symbols
            if symbol.name
            and symbol.section in self.offsets
            and symbol.value <= self.file.sections[symbol.section].size
        }


def _align(size: int, unit: int) -> int:
    """Round up to a multiple; a unit of 0 means 1."""
    return -(-size // (unit or 1)) * (unit or 1)


def _reserve_slots(
    symbols: Iterable[_Symbol], end: int, size: int
) -> tuple[dict[_Symbol, int], int]:
    """The offset of a slot of `size` bytes for each symbol, and the end of the table."""
    start = _align(end, size)
    slots = {symbol: start + size * i for i, symbol in enumerate(symbols)}
    return slots, start + size * len(slots)


@functools.cache
def _libc() -> Any:
    """The symbols of the process."""
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return library


@functools.cache
def _clear_cache() -> Any:
    """The function that makes processors see new instructions, or None."""
    # It is the compiler's, in its own library.
    with contextlib.suppress(OSError, AttributeError):
        flush = ctypes.CDLL("libgcc_s.so.1")["__clear_cache"]
        flush.argtypes, flush.restype = [ctypes.c_void_p, ctypes.c_void_p], None
        return flush
    return None


def _map_memory(size: int) -> int:
    """Map memory that is never unmapped: threads run code in it until the process ends."""
    protection, flags = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    base: int = _libc().mmap(None, size, protection, flags, -1, 0)
    if base == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "there is no memory for compiled code")
    return base


def _process_symbol(name: str) -> int:
    """The address of a symbol of the process."""
    # By index: attributes of the library are also those of its Python object.
    return ctypes.cast(_libc()[name], ctypes.c_void_p).value or 0
