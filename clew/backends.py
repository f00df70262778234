"""What programs ask about accelerators, and switches of PyTorch's that have no meaning here."""

from __future__ import annotations


class _Absent:
    """An accelerator library that this build does not have."""

    @staticmethod
    def is_available() -> bool:
        return False

    @staticmethod
    def is_built() -> bool:
        return False


class _Cudnn(_Absent):
    """Switches that programs set for the GPU; they are kept and change nothing on the CPU."""

    enabled = True
    benchmark = False
    deterministic = False
    allow_tf32 = True


class _Matmul:
    allow_tf32 = False


class _Cuda(_Absent):
    """Switches of CUDA's matrix products; they are kept and change nothing on the CPU."""

    matmul = _Matmul()


cudnn, cuda, mps = _Cudnn(), _Cuda(), _Absent()
