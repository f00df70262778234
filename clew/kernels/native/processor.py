"""What LLVM knows of this machine's processor."""

from __future__ import annotations

import functools


@functools.cache
def features() -> str:
    """What it has and has not, as LLVM writes it: +avx2,-avx512f and so on."""
    # Imported with the first kernel: LLVM takes longer to load than all of clew.
    from llvmlite import binding

    return str(binding.get_host_cpu_features().flatten())


def vector_bytes() -> int:
    """The size of vector registers."""
    return 64 if "+avx512f" in features() else 32 if "+avx2" in features() else 16
