"""The CPU: its identity for the code cache; its vector registers, sizes of cache lines and pages.

Nothing here loads LLVM, which takes longer than all of clew: a program whose kernels are in the
code cache does not need it.
"""

import functools
import mmap
import platform
import sys
from typing import NamedTuple

from numpy._core import _multiarray_umath  # type: ignore[attr-defined]  # no stub for it


class Platform(NamedTuple):
    """A system, by Python's name, and a kind of processor, by Linux's name."""

    system: str
    processor: str

    @property
    def has_workers(self) -> bool:
        """Whether the thread pool knows how threads sleep and wake here.

        Elsewhere the calling thread runs all chunks of a kernel, one after another.
        """
        return self.system in ("linux", "darwin") and self.processor in ("x86_64", "aarch64")

    @property
    def cache_line(self) -> int:
        """The bytes that cores share or do not share: Apple's processors have long lines."""
        return 128 if self == ("darwin", "aarch64") else 64


# macOS and Windows have names of their own for the two kinds.
HOST = Platform(
    sys.platform,
    {"arm64": "aarch64", "ARM64": "aarch64", "AMD64": "x86_64"}.get(
        platform.machine(), platform.machine()
    ),
)
CACHE_LINE = HOST.cache_line
PAGE = mmap.PAGESIZE

# The lines of /proc/cpuinfo that decide which code runs on a processor, and runs best.
_CPUINFO_KEYS = {
    "vendor_id", "cpu family", "model", "stepping", "flags",
    "CPU implementer", "CPU architecture", "CPU variant", "CPU part", "Features",
}  # fmt: skip


def vector_bytes() -> int:
    """The size of a vector register."""
    has: dict[str, bool] = _multiarray_umath.__cpu_features__
    return 64 if has.get("AVX512F") else 32 if has.get("AVX2") else 16


def vector_registers(vector_bytes: int) -> int:
    """How many vector registers of a size there are: AVX-512 and NEON have 32, others 16."""
    return 32 if vector_bytes == 64 or HOST.processor == "aarch64" else 16


@functools.cache
def identity() -> str:
    """The processor's part of the code cache's keys."""
    return f"{sys.platform} {platform.machine()} {vector_bytes()} {PAGE} {_description()}"


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
