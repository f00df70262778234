"""`python -m torch.utils.collect_env`: the versions and the machine, for a bug report."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata

from clew.version import __version__

__all__ = ["get_pretty_env_info", "main"]

_PACKAGES = ("clew", "llvmlite", "ml_dtypes", "numpy", "safetensors")


def get_pretty_env_info() -> str:
    """Versions, the system and the processor, with the headings that PyTorch prints.

    Example:
        >>> print(clew.utils.collect_env.get_pretty_env_info())
        PyTorch version: ...
    """
    lines = [
        f"PyTorch version: {__version__} (clew)",
        "Is debug build: False",
        "CUDA used to build PyTorch: None",
        "ROCM used to build PyTorch: N/A",
        "",
        f"OS: {platform.system()} {platform.release()} ({platform.machine()})",
        f"Libc version: {'-'.join(filter(None, platform.libc_ver())) or 'N/A'}",
        "",
        f"Python version: {' '.join(sys.version.split())} ({sys.maxsize.bit_length() + 1}-bit "
        "runtime)",
        f"Python platform: {platform.platform()}",
        "Is CUDA available: False",
        "CUDA runtime version: No CUDA",
        "GPU models and configuration: No CUDA",
        "Nvidia driver version: No CUDA",
        "cuDNN version: No CUDA",
        "Is XPU available: False",
        "",
        "CPU:",
        f"Architecture: {platform.machine()}",
        f"CPU(s): {os.cpu_count()}",
        "",
        "Versions of relevant libraries:",
        *(f"[pip3] {name}=={version}" for name in _PACKAGES if (version := _version(name))),
    ]
    return "\n".join(lines)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def main() -> None:
    """Print the report."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
