"""The CPU: its identity for the code cache; sizes of its vector registers, cache lines and pages.

Nothing here loads LLVM, which takes longer than all of clew: a program whose kernels are in the
code cache does not need it.
"""

from __future__ import annotations

import functools
import platform
import sys

from numpy._core import _multiarray_umath  # type: ignore[attr-defined]  # no stub for it

CACHE_LINE = 64
PAGE = 4096

# The lines of /proc/cpuinfo that decide which code runs on a processor, and runs best.
_CPUINFO_KEYS = {
    "vendor_id", "cpu family", "model", "stepping", "flags",
    "CPU implementer", "CPU architecture", "CPU variant", "CPU part", "Features",
}  # fmt: skip


def vector_bytes() -> int:
    """The size of a vector register."""
    has: dict[str, bool] = _multiarray_umath.__cpu_features__
    return 64 if has.get("AVX512F") else 32 if has.get("AVX2") else 16


@functools.cache
def identity() -> str:
    """The processor's part of the code cache's keys."""
    return f"{sys.platform} {platform.machine()} {vector_bytes()} {_description()}"


def _description() -> str:
    """The entry of the first core in /proc/cpuinfo: the others repeat it."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            lines = []
            for line in file:
                if not line.strip():
                    break
                if line.partition("\t")[0].strip(" :") in _CPUINFO_KEYS:
                    lines.append(line)
            return "".join(lines)
    except OSError:
        # Only where there is no such file.
        from llvmlite import binding

        return f"{binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"
