"""What programs ask about accelerator libraries, and switches of theirs that have no meaning here.

What a program sets is kept, and changes nothing on the CPU.
"""

from clew.backends import (
    cpu,
    cuda,
    cudnn,
    mha,
    mkl,
    mkldnn,
    mps,
    nnpack,
    openmp,
    opt_einsum,
    quantized,
    xnnpack,
)

__all__ = [
    "cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum",
    "quantized", "xnnpack",
]  # fmt: skip

fp32_precision = "none"
