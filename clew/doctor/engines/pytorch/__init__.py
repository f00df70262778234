"""PyTorch: what its hooks and modes tell the doctor of a program."""

from __future__ import annotations

import re
import sys

_OLDEST = (2, 4)


def _require() -> None:
    """Say in one sentence what is missing."""
    needs = "the doctor's engine 'torch' needs PyTorch 2.4 or newer"
    if "torch" in sys.modules and sys.modules["torch"] is sys.modules.get("clew"):
        raise ImportError(f"{needs}, and `torch` means clew in this process")
    try:
        import torch
    except ImportError:
        raise ImportError(f"{needs}, which is not installed") from None
    found = re.match(r"(\d+)\.(\d+)", str(getattr(torch, "__version__", "")))
    if found is None or (int(found[1]), int(found[2])) < _OLDEST:
        raise ImportError(f"{needs}; this is {getattr(torch, '__version__', 'unknown')}")


_require()
