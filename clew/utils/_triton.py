"""Triton, which compiles kernels for GPUs: clew does not use it."""

__all__ = ["has_triton", "has_triton_package"]


def has_triton_package() -> bool:
    """Whether it is used: no."""
    return False


has_triton = has_triton_package
