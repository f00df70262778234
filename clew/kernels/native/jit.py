"""LLVM IR to machine code in memory, through llvmlite, with a cache of compiled code on disk."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import Any

from clew.kernels.native import alignment, blocks, cores, elf, late, levels, processor, team
from clew.kernels.native.on_demand import OnDemand

# How hard LLVM tries: as hard as it can; or, for code that runs once in a while, hardly.
_USUAL, _QUICK = 3, 0
# The bytes of a size in front of compiled code.
_SIZE = 8

# Held while LLVM works, by the thread that uses it. A signal handler may come in between: hence
# reentrant. A fork waits for it, so that no child begins with LLVM in the middle of something.
lock = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
    )


class Machine:
    """The processor with the code that is loaded so far, and LLVM, once something is compiled."""

    def __init__(self) -> None:
        import llvmlite

        self.identity = f"llvmlite {llvmlite.__version__} {processor.identity()}"
        # What LLVM's linker loaded owns the code: it lives as long as the process.
        self.loaded: list[Any] = []
        self.provided: dict[str, int] = {}
        self.lock = lock
        self.team: team.Team
        self.apart: OnDemand

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
        return self.llvm.create_lljit_compiler(self.target(_USUAL))

    def provide(self, name: str, address: int) -> None:
        """Make a function known to the code that is loaded from now on."""
        self.provided[name] = address

    def compiled(self, key: str, module: Callable[[], str]) -> bytes:
        """The code of a module: from the cache on disk, by a key for its text, or compiled."""
        # Imported with the first kernel: files and hashes are a tenth of the time of a start.
        from clew.kernels.native import cache

        return cache.through(key, self.identity, lambda: self.code_of(module()))

    def code_of(self, text: str) -> bytes:
        """The code of a module: of what is compiled with care, after its size, and of the rest."""
        parts = zip(levels.split(text), (_USUAL, _QUICK), strict=True)
        careful, quick = (self.object_code(part, level) if part else b"" for part, level in parts)
        return len(careful).to_bytes(_SIZE, "little") + careful + quick

    def object_code(self, text: str, level: int = _USUAL) -> bytes:
        """The code of a module as it is written: no pass of LLVM's looks for anything better."""
        with lock:
            module = self.llvm.parse_assembly(text)
            module.verify()
            code: bytes = self.target(level).emit_object(module)
        return code

    def load(self, code: bytes, *names: str) -> list[int]:
        """The addresses of functions of compiled code."""
        middle = _SIZE + int.from_bytes(code[:_SIZE], "little")
        parts = [part for part in (code[_SIZE:middle], code[middle:]) if part]
        with lock:
            found: dict[str, int] = {}
            for part in parts:
                linked = elf.link(part, self.provided | found)
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


def machine() -> Machine:
    """The one of this process, made when it is first needed."""
    with lock:
        return _machine()


def _joined(*modules: str) -> str:
    """One module of several, which may declare the same functions."""
    lines = "\n".join(modules).splitlines()
    declared = dict.fromkeys(line for line in lines if line.startswith("declare "))
    return "\n".join([*declared, *(line for line in lines if line not in declared)])


@functools.cache
def _machine() -> Machine:
    found = Machine()
    parts = (team, late, alignment)
    code = found.compiled("shared", lambda: _joined(*(part.source() for part in parts)))
    for_kernels = ("clew_run", "clew_later")
    for_team = (
        "clew_worker", "clew_set_workers", "clew_forget", "clew_finish", "clew_late_left",
    )  # fmt: skip
    names = for_kernels + for_team + alignment.NAMES
    address = dict(zip(names, found.load(code, *names), strict=True))
    for name in for_kernels:
        found.provide(name, address[name])
    found.team = team.Team(*(address[name] for name in for_team))
    found.team.use(_threads)
    found.apart = OnDemand(found, "of any size", [*blocks.functions(), cores.function()])
    found.provide(blocks.TABLE, found.apart.address)
    alignment.provide([address[name] for name in alignment.NAMES], found)
    return found


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
    with lock:
        if _machine.cache_info().currsize:
            _machine().team.use(count)
