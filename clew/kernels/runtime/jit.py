"""LLVM IR to machine code in memory, through llvmlite, with a cache of compiled code on disk."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from clew.kernels import runtime
from clew.kernels.runtime import aligned_allocator, cpu, lazy_compilation
from clew.kernels.runtime.compile_thread import compiler
from clew.kernels.runtime.lazy_compilation import LazyFunction, LazyTable

_O3, _O0 = 3, 0
# The bytes of the header of compiled code: the size of its first object.
_HEADER = 8


class Machine:
    """The JIT of this process: the symbols that are loaded so far, and LLVM, once it is needed.

    The methods below `functions` run in the compile thread only.
    """

    def __init__(self) -> None:
        # Imported with the first kernel: it is a tenth of the time that a program takes to start.
        try:
            import llvmlite
        except ImportError as error:
            raise ImportError(
                "clew compiles its kernels with llvmlite, which cannot be imported here "
                f"({error}): pip install llvmlite"
            ) from None

        from clew.kernels.runtime import code_cache

        self.cache = code_cache
        self.identity = f"llvmlite {llvmlite.__version__} {cpu.identity()}"
        # Libraries that LLVM has linked own their code: they live as long as the process.
        self.libraries: list[Any] = []
        # The symbols that code may refer to besides those of the process.
        self.symbols: dict[str, int] = lazy_compilation.python_symbols()
        # The functions that are loaded, by the key of their module and their names.
        self.loaded: dict[tuple[str, tuple[str, ...]], dict[str, int]] = {}
        self.thread_pool: runtime.thread_pool.ThreadPool
        self.requests: lazy_compilation.Requests
        # Runs a command list: takes a tuple of arrays, and the address of the list.
        self.run_commands: Any
        self.same_words: Any
        # The address of the command that calls a hand-written kernel.
        self.call_context = 0
        # The tables that compiled code reads: they live as long as it does.
        self.tables: list[LazyTable] = []

    def define_symbol(self, name: str, address: int) -> None:
        """Let the code that is loaded from now on refer to an address by name."""
        self.symbols[name] = address

    def compile_lazily(self, record: int, compile: Callable[[], int]) -> None:
        """Set what compiles a function when compiled code first calls it through this record."""
        compiler.compile_callbacks[record] = compile

    def function(self, key: str, module: Callable[[], str], name: str) -> int:
        """The address of a function of a module."""
        return self.functions(key, module, name)[name]

    def functions(self, key: str, module: Callable[[], str], *names: str) -> dict[str, int]:
        """The addresses of functions of a module, which is loaded once.

        The key stands for the module's text, which is generated only if it is compiled.
        """
        if (key, names) in self.loaded:
            return self.loaded[key, names]
        return compiler.run(lambda: self._load_once(key, module, names))

    def assembly(self, text: str) -> str:
        """The machine code of a module as text: of its functions at -O3."""
        part = runtime.optimization_levels.split(text)[0]

        def emit() -> str:
            module = self.llvm.parse_assembly(part)
            shown: str = self.target(_O3).emit_assembly(module)
            return shown

        return compiler.run(emit)

    # -- in the compile thread -------------------------------------------------------------------

    def _load_once(
        self, key: str, module: Callable[[], str], names: tuple[str, ...]
    ) -> dict[str, int]:
        if (key, names) not in self.loaded:
            addresses = self.load(self.cached_code(key, module), *names)
            self.loaded[key, names] = dict(zip(names, addresses, strict=True))
        return self.loaded[key, names]

    @functools.cached_property
    def llvm(self) -> Any:
        # Imported when there is something to compile: it is large.
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        return llvm

    @functools.cache  # noqa: B019  # one machine per process
    def target(self, level: int) -> Any:
        """LLVM's target machine for this processor, at an optimization level."""
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
        return self.llvm.create_lljit_compiler(self.target(_O3), use_jit_link=True)

    def cached_code(self, key: str, module: Callable[[], str]) -> bytes:
        """The code of a module: from the cache on disk, by a key for its text, or compiled."""
        if sys.is_finalizing():
            # Files cannot be opened any more.
            return self.compile_module(module())
        return self.cache.get_or_compile(key, self.identity, lambda: self.compile_module(module()))

    def compile_module(self, text: str) -> bytes:
        """The code of a module: the size of the object at -O3, that object, and the one at -O0."""
        parts = zip(runtime.optimization_levels.split(text), (_O3, _O0), strict=True)
        at_o3, at_o0 = (self.object_code(part, level) if part else b"" for part, level in parts)
        return len(at_o3).to_bytes(_HEADER, "little") + at_o3 + at_o0

    def object_code(self, text: str, level: int = _O3) -> bytes:
        """The ELF object of a module. Only the code generator optimizes: no IR pass runs."""
        module = self.llvm.parse_assembly(text)
        module.verify()
        code: bytes = self.target(level).emit_object(module)
        return code

    def load(self, code: bytes, *names: str) -> list[int]:
        """The addresses of functions of compiled code."""
        middle = _HEADER + int.from_bytes(code[:_HEADER], "little")
        objects = [each for each in (code[_HEADER:middle], code[middle:]) if each]
        addresses: dict[str, int] = {}
        for each in objects:
            linked = runtime.object_loader.link(each, self.symbols | addresses)
            if linked is None:
                addresses = self._link_with_llvm(objects, names)
                break
            addresses |= linked
        return [addresses[name] for name in names]

    def _link_with_llvm(self, objects: list[bytes], names: tuple[str, ...]) -> dict[str, int]:
        """The same for processors and systems that the object loader does not support."""
        builder = self.llvm.JITLibraryBuilder().add_current_process()
        for each in objects:
            builder.add_object_img(each)
        for name, address in self.symbols.items():
            builder.import_symbol(name, address)
        for name in names:
            builder.export_symbol(name)
        # A library of its own for each: kernels for several types have the same names.
        library = builder.link(self.linker, f"clew {len(self.libraries)}")
        self.libraries.append(library)
        return {name: library[name] for name in names}


_machine: Machine | None = None

# Lazy tables that every kernel may refer to, by symbol: the key of their code, and their functions.
_tables: dict[str, tuple[str, Callable[[], Sequence[LazyFunction | None]]]] = {}


def register_lazy_table(
    symbol: str, key: str, functions: Callable[[], Sequence[LazyFunction | None]]
) -> None:
    """Let every kernel refer to a table of functions that are compiled lazily.

    It is called as modules are imported, before the machine is made, which defines the symbols.
    """
    assert _machine is None, "the first kernel has been made without this table"
    _tables[symbol] = key, functions


def machine() -> Machine:
    """The JIT of this process, made when it is first needed."""
    if _machine is None:
        compiler.run(_make_machine)
        aligned_allocator.use_in_this_thread()
    assert _machine is not None  # it has just been made
    return _machine


def _join_modules(*modules: str) -> str:
    """One module of several, which may declare the same functions."""
    lines = "\n".join(modules).splitlines()
    declared = dict.fromkeys(line for line in lines if line.startswith("declare "))
    return "\n".join([*declared, *(line for line in lines if line not in declared)])


def _make_machine() -> None:
    global _machine
    if _machine is not None:
        return
    machine = Machine()
    thread_pool = runtime.thread_pool
    parts = (
        lazy_compilation, thread_pool, runtime.async_jobs, aligned_allocator,
        runtime.command_interpreter,
    )  # fmt: skip
    code = machine.cached_code("runtime", lambda: _join_modules(*(part.source() for part in parts)))
    for_kernels = (*thread_pool.FOR_KERNELS, "clew_submit_job", *lazy_compilation.FOR_KERNELS)
    for_python = (
        thread_pool.FOR_PYTHON + lazy_compilation.FOR_PYTHON + aligned_allocator.FUNCTIONS
        + runtime.command_interpreter.FOR_PYTHON
    )  # fmt: skip
    names = for_kernels + for_python
    address = dict(zip(names, machine.load(code, *names), strict=True))
    for name in for_kernels:
        machine.define_symbol(name, address[name])
    machine.call_context = address["clew_call_context"]
    # It holds the GIL: what it looks at stays where it is.
    machine.same_words = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(
        address["clew_same_words"]
    )
    machine.run_commands = ctypes.CFUNCTYPE(None, ctypes.py_object, ctypes.c_void_p)(
        address["clew_run_commands"]
    )
    machine.requests = lazy_compilation.Requests(address)
    compiler.attach(machine.requests)
    machine.thread_pool = thread_pool.ThreadPool(
        *(address[name] for name in thread_pool.FOR_PYTHON)
    )
    machine.thread_pool.resize(_threads)
    for symbol, (key, functions) in _tables.items():
        table = LazyTable(machine, key, functions())
        machine.tables.append(table)
        machine.define_symbol(symbol, table.address)
    aligned_allocator.install([address[name] for name in aligned_allocator.FUNCTIONS], machine)
    _machine = machine


def _default_threads() -> int:
    """OMP_NUM_THREADS, or the number of cores that this process may use."""
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_threads = _default_threads()


def threads() -> int:
    """The number of threads that kernels may use."""
    return _threads


def set_threads(count: int) -> None:
    """Let kernels run on this many threads. A forked process uses one until this is called."""
    global _threads
    _threads = count
    if _machine is not None:
        compiler.run(functools.partial(_machine.thread_pool.resize, count))
