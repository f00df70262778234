"""The CPU: its identity for the code cache, and the width of its vector registers.

Without LLVM, which takes longer to load than all of clew: a program whose kernels are in the cache
does not need it.
"""

from __future__ import annotations

import functools
import platform
import sys

from numpy._core import _multiarray_umath  # type: ignore[attr-defined]  # no stub for it

# The lines of Linux's description that say what code may run on a processor, and runs best.
_TELLING = {
    "vendor_id", "cpu family", "model", "stepping", "flags",
    "CPU implementer", "CPU architecture", "CPU variant", "CPU part", "Features",
}  # fmt: skip


def vector_bytes() -> int:
    """The size of vector registers."""
    has: dict[str, bool] = _multiarray_umath.__cpu_features__
    return 64 if has.get("AVX512F") else 32 if has.get("AVX2") else 16


@functools.cache
def identity() -> str:
    """What tells this processor from others, for which other code is compiled."""
    return f"{sys.platform} {platform.machine()} {vector_bytes()} {_description()}"


def _description() -> str:
    """Of the first processor: the rest of the file repeats it for every core."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            lines = []
            for line in file:
                if not line.strip():
                    break
                if line.partition("\t")[0].strip(" :") in _TELLING:
                    lines.append(line)
            return "".join(lines)
    except OSError:
        # Imported late, for systems that have no such file.
        from llvmlite import binding

        return f"{binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"
