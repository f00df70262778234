"""Thread counts, for programs that ask about them.

Operations run on the calling thread; only matrix products use more, and how many is up to the BLAS
library that NumPy brings, which reads OMP_NUM_THREADS once, when it is loaded. So the numbers here
are kept, and change nothing.
"""

from __future__ import annotations

import os

from clew import errors


class _Counts:
    within_op = int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)
    between_ops = 1


def get_num_threads() -> int:
    """The number of threads that matrix products may use."""
    return _Counts.within_op


def set_num_threads(int: int) -> None:
    """Keep a number of threads. The BLAS library has read its own already."""
    _Counts.within_op = _positive("set_num_threads", int)


def get_num_interop_threads() -> int:
    """The number of operations that run at once: one, unless the program has threads."""
    return _Counts.between_ops


def set_num_interop_threads(int: int) -> None:
    """Keep a number of threads between operations."""
    _Counts.between_ops = _positive("set_num_interop_threads", int)


def _positive(function: str, count: int) -> int:
    if count <= 0:
        raise RuntimeError(
            f"{function} expects a positive integer: got {count}" + errors.at_user_line()
        )
    return count
