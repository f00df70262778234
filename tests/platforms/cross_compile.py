"""Every kernel, compiled for other systems: `python -m tests.platforms.cross_compile`.

The programs of tests/cold.py run here, and the LLVM IR of all that they have compiled is compiled
once more for each target. Whether the code runs there, nobody says; that LLVM takes it, this does.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from clew.kernels.runtime import async_jobs, command_interpreter, jit, lazy_compilation, thread_pool
from clew.kernels.runtime.cpu import Platform

# LLVM's name of each target, a processor that is common there, and what clew calls it.
TARGETS = {
    "aarch64-unknown-linux-gnu": ("neoverse-n1", Platform("linux", "aarch64")),
    "arm64-apple-macosx13.0": ("apple-m1", Platform("darwin", "aarch64")),
    "x86_64-apple-macosx13.0": ("haswell", Platform("darwin", "x86_64")),
    "x86_64-pc-windows-msvc": ("haswell", Platform("win32", "x86_64")),
}


def target_machine(triple: str) -> Any:
    """LLVM's target machine for a triple, as for this processor in jit.py."""
    from llvmlite import binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding.Target.from_triple(triple).create_target_machine(
        cpu=TARGETS[triple][0], opt=3, reloc="pic", codemodel="small"
    )


def parse(text: str, triple: str) -> Any:
    from llvmlite import binding

    module = binding.parse_assembly(f'target triple = "{triple}"\n{text}')
    module.verify()
    return module


def runtime_module(platform: Platform) -> str:
    """The part of the runtime that differs between systems: what waits, and what allocates not."""
    return jit._join_modules(
        lazy_compilation.source(), thread_pool.source(platform), async_jobs.source(platform),
        command_interpreter.source(),
    )  # fmt: skip


def kernels() -> list[str]:
    """The LLVM IR of all that the programs of tests/cold.py compile, in an empty code cache."""
    texts: dict[str, None] = {}
    compile: Callable[..., bytes] = jit.Machine.object_code

    def recorded(self: jit.Machine, text: str, level: int = 3) -> bytes:
        texts[text] = None
        return compile(self, text, level)

    setattr(jit.Machine, "object_code", recorded)  # noqa: B010  # mypy refuses the assignment
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CLEW_CACHE_DIR"] = folder
        from tests.cold import PROGRAMS

        for program in PROGRAMS.values():
            program()
    # The runtime of this platform is among them; those of the targets are made instead.
    return [text for text in texts if "@clew_sleep" not in text]


def main() -> int:
    found = kernels()
    failed = 0
    for triple, (_, platform) in TARGETS.items():
        machine, size = target_machine(triple), 0
        for text in (runtime_module(platform), *found):
            try:
                size += len(machine.emit_object(parse(text, triple)))
            except RuntimeError as error:
                failed += 1
                print(f"{triple}: {error}\n{text[:300]}", file=sys.stderr)
        print(f"{triple}: {len(found) + 1} modules, {size >> 10} KiB", flush=True)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
