"""LLVM IR to machine code in memory, through llvmlite, with a cache of compiled code on disk."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from clew.kernels.runtime import (
    aligned_allocator,
    async_jobs,
    cpu,
    lazy_compilation,
    object_loader,
    optimization_levels,
    thread_pool,
)
from clew.kernels.runtime.compile_thread import compiler
from clew.kernels.runtime.lazy_compilation import Function, OnDemand

# How hard LLVM tries: as hard as it can; or, for code that runs once in a while, hardly.
_USUAL, _QUICK = 3, 0
# The bytes of a size in front of compiled code.
_SIZE = 8


class Machine:
    """The processor with the code that is loaded so far, and LLVM, once something is compiled.

    Functions are found by the compiler thread; the methods below `functions` are for it alone.
    """

    def __init__(self) -> None:
        # Imported with the first kernel: files and hashes are a tenth of the time of a start.
        import llvmlite

        from clew.kernels.runtime import code_cache

        self.cache = code_cache
        self.identity = f"llvmlite {llvmlite.__version__} {cpu.identity()}"
        # What LLVM's linker loaded owns the code: it lives as long as the process.
        self.loaded: list[Any] = []
        self.provided: dict[str, int] = lazy_compilation.from_python()
        self.found: dict[tuple[str, tuple[str, ...]], dict[str, int]] = {}
        self.team: thread_pool.Team
        self.requests: lazy_compilation.Requests
        # The tables that compiled code reads: they live as long as it does.
        self.tables: list[OnDemand] = []

    def provide(self, name: str, address: int) -> None:
        """Make a function known to the code that is loaded from now on."""
        self.provided[name] = address

    def on_demand(self, record: int, make: Callable[[], int]) -> None:
        """Have compiled code that calls a function through this record ask for it."""
        compiler.makers[record] = make

    def function(self, key: str, module: Callable[[], str], name: str) -> int:
        """The address of a function of a module."""
        return self.functions(key, module, name)[name]

    def functions(self, key: str, module: Callable[[], str], *names: str) -> dict[str, int]:
        """The addresses of functions of a module, which is loaded once; the key is for its text."""
        if (key, names) in self.found:
            return self.found[key, names]
        return compiler.run(lambda: self._find(key, module, names))

    # -- in the compiler thread ------------------------------------------------------------------

    def _find(self, key: str, module: Callable[[], str], names: tuple[str, ...]) -> dict[str, int]:
        if (key, names) not in self.found:
            addresses = self.load(self.compiled(key, module), *names)
            self.found[key, names] = dict(zip(names, addresses, strict=True))
        return self.found[key, names]

    @functools.cached_property
    def llvm(self) -> Any:
        # Imported when there is something to compile: it is large.
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        return llvm

    @functools.cache  # noqa: B019  # one machine per process
    def target(self, level: int) -> Any:
        """What makes code for this processor, and how hard it tries."""
        return self.llvm.Target.from_default_triple().create_target_machine(
            cpu=self.llvm.get_host_cpu_name(),
            features=self.llvm.get_host_cpu_features().flatten(),
            opt=level,
            reloc="pic",
            codemodel="small",
        )

    @functools.cached_property
    def linker(self) -> Any:
        # LLVM's older linker aborts where sections come to lie more than 2 GiB apart.
        return self.llvm.create_lljit_compiler(self.target(_USUAL), use_jit_link=True)

    def compiled(self, key: str, module: Callable[[], str]) -> bytes:
        """The code of a module: from the cache on disk, by a key for its text, or compiled."""
        if sys.is_finalizing():
            # There are no files any more.
            return self.code_of(module())
        return self.cache.through(key, self.identity, lambda: self.code_of(module()))

    def code_of(self, text: str) -> bytes:
        """The code of a module: of what is compiled with care, after its size, and of the rest."""
        parts = zip(optimization_levels.split(text), (_USUAL, _QUICK), strict=True)
        careful, quick = (self.object_code(part, level) if part else b"" for part, level in parts)
        return len(careful).to_bytes(_SIZE, "little") + careful + quick

    def object_code(self, text: str, level: int = _USUAL) -> bytes:
        """The code of a module as it is written: no pass of LLVM's looks for anything better."""
        module = self.llvm.parse_assembly(text)
        module.verify()
        code: bytes = self.target(level).emit_object(module)
        return code

    def load(self, code: bytes, *names: str) -> list[int]:
        """The addresses of functions of compiled code."""
        middle = _SIZE + int.from_bytes(code[:_SIZE], "little")
        parts = [part for part in (code[_SIZE:middle], code[middle:]) if part]
        found: dict[str, int] = {}
        for part in parts:
            linked = object_loader.link(part, self.provided | found)
            if linked is None:
                found = self._linked_by_llvm(parts, names)
                break
            found |= linked
        return [found[name] for name in names]

    def _linked_by_llvm(self, parts: list[bytes], names: tuple[str, ...]) -> dict[str, int]:
        """The same for other processors and systems than those that `elf` knows."""
        library = self.llvm.JITLibraryBuilder().add_current_process()
        for part in parts:
            library.add_object_img(part)
        for name, address in self.provided.items():
            library.import_symbol(name, address)
        for name in names:
            library.export_symbol(name)
        # A library of its own for each: kernels for several types have the same names.
        loaded = library.link(self.linker, f"clew {len(self.loaded)}")
        self.loaded.append(loaded)
        return {name: loaded[name] for name in names}


_machine: Machine | None = None

# Tables for all kernels, by their names in compiled code: what their code depends on besides the
# names of functions, and what gives the functions.
_tables: dict[str, tuple[str, Callable[[], Sequence[Function | None]]]] = {}


def provide_on_demand(
    table: str, key: str, functions: Callable[[], Sequence[Function | None]]
) -> None:
    """Have every kernel find a table of functions, which are compiled when they are first used.

    It is called as modules are imported: the machine that is made later has what is there then.
    """
    assert _machine is None, "the first kernel has been made without this table"
    _tables[table] = key, functions


def machine() -> Machine:
    """The one of this process, made when it is first needed."""
    if _machine is None:
        compiler.run(_make_machine)
        aligned_allocator.use_in_this_thread()
    assert _machine is not None  # it has just been made
    return _machine


def _joined(*modules: str) -> str:
    """One module of several, which may declare the same functions."""
    lines = "\n".join(modules).splitlines()
    declared = dict.fromkeys(line for line in lines if line.startswith("declare "))
    return "\n".join([*declared, *(line for line in lines if line not in declared)])


def _make_machine() -> None:
    global _machine
    if _machine is not None:
        return
    found = Machine()
    parts = (lazy_compilation, thread_pool, async_jobs, aligned_allocator)
    code = found.compiled("shared", lambda: _joined(*(part.source() for part in parts)))
    for_kernels = ("clew_run", "clew_later", *lazy_compilation.FOR_KERNELS)
    names = (
        for_kernels + thread_pool.FOR_PYTHON + lazy_compilation.FOR_PYTHON + aligned_allocator.NAMES
    )
    address = dict(zip(names, found.load(code, *names), strict=True))
    for name in for_kernels:
        found.provide(name, address[name])
    found.requests = lazy_compilation.Requests(address)
    compiler.attach(found.requests)
    found.team = thread_pool.Team(*(address[name] for name in thread_pool.FOR_PYTHON))
    found.team.use(_threads)
    for name, (key, functions) in _tables.items():
        table = OnDemand(found, key, functions())
        found.tables.append(table)
        found.provide(name, table.address)
    aligned_allocator.provide([address[name] for name in aligned_allocator.NAMES], found)
    _machine = found


def _usual_threads() -> int:
    """What OMP_NUM_THREADS says, or the number of cores that this process may use."""
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_threads = _usual_threads()


def threads() -> int:
    """The number of threads that kernels may use."""
    return _threads


def set_threads(count: int) -> None:
    """Let kernels run on this many threads. A forked process uses one until this is called."""
    global _threads
    _threads = count
    if _machine is not None:
        compiler.run(functools.partial(_machine.team.use, count))
