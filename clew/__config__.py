"""How this library was built, as text for people."""

from __future__ import annotations

import platform

import ml_dtypes
import numpy as np

from clew.settings import get_num_interop_threads, get_num_threads
from clew.version import api, clew

__all__ = ["parallel_info", "show"]


def show() -> str:
    """The versions of what clew is built on."""
    return (
        f"clew {clew}, with the API of PyTorch {api.partition('+')[0]}, on the CPU:\n"
        f"  - Python {platform.python_version()}\n"
        f"  - NumPy {np.__version__}\n"
        f"  - ml_dtypes {ml_dtypes.__version__}\n"
    )


def parallel_info() -> str:
    """The numbers of threads."""
    return (
        f"threads of matrix products: {get_num_threads()}\n"
        f"threads between operations: {get_num_interop_threads()}\n"
    )


def _cxx_flags() -> str:
    """The flags of a C++ compiler: none was used."""
    return ""
