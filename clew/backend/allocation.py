"""Large temporaries from memory that was used before.

By default the C library asks the operating system for every large array and gives it back at once;
each time, every page is faulted in and cleared anew, which can cost more than the arithmetic. Told
otherwise, it keeps freed memory for the next array.
"""

from __future__ import annotations

import ctypes
import sys

# From <malloc.h>: the size from which memory is mapped on its own, and the free memory at the top
# of the heap that is given back.
_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
# The largest that glibc accepts for the first, and a bound on what is kept for the second.
LARGEST_KEPT, KEPT = 32 << 20, 512 << 20


def keep_freed_memory() -> bool:
    """Have glibc reuse large blocks; False where the C library is another one."""
    if not sys.platform.startswith("linux"):
        return False
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallopt"):
        return False
    kept = library.mallopt(_MMAP_THRESHOLD, LARGEST_KEPT)
    return bool(kept and library.mallopt(_TRIM_THRESHOLD, KEPT))
