"""Extensions in C++ and CUDA: they need PyTorch's binary interface, which clew does not have."""

from __future__ import annotations

from typing import Any, NoReturn

from clew import errors

__all__ = ["BuildExtension", "CUDAExtension", "CUDA_HOME", "CppExtension", "load", "load_inline"]

CUDA_HOME: str | None = None
ROCM_HOME: str | None = None


def _refuse(name: str) -> NoReturn:
    raise RuntimeError(
        f"torch.utils.cpp_extension.{name}: an extension is compiled against PyTorch's binary "
        "interface, which clew does not have" + errors.at_user_line()
    )


def load(name: str, sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raises: extensions cannot be loaded."""
    _refuse("load")


def load_inline(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raises: extensions cannot be loaded."""
    _refuse("load_inline")


def CppExtension(name: str, sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raises: extensions cannot be built."""
    _refuse("CppExtension")


def CUDAExtension(name: str, sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raises: extensions cannot be built."""
    _refuse("CUDAExtension")


class BuildExtension:
    """Raises: extensions cannot be built."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("BuildExtension")
