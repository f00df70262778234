"""Settings of the C library's malloc: freed memory is reused instead of returned to the system.

By default glibc maps every large array on its own and unmaps it when it is freed; each time, every
page is faulted in and cleared anew, which can cost more than the arithmetic.
"""

from __future__ import annotations

import ctypes
import sys

# From <malloc.h>: the parameters of mallopt.
_M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD = -3, -1
# From which size on a block is mapped on its own (the largest that glibc accepts), and how much
# free memory may stay at the top of the heap.
MMAP_THRESHOLD, TRIM_THRESHOLD = 32 << 20, 512 << 20


def tune_malloc() -> bool:
    """Have glibc reuse large blocks; False where the C library is another one."""
    if not sys.platform.startswith("linux"):
        return False
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallopt"):
        return False
    is_set = library.mallopt(_M_MMAP_THRESHOLD, MMAP_THRESHOLD)
    return bool(is_set and library.mallopt(_M_TRIM_THRESHOLD, TRIM_THRESHOLD))


def trim_malloc() -> None:
    """Have glibc return the memory that is free to the system."""
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)
