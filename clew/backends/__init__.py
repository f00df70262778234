"""What programs ask about accelerator libraries, and switches of theirs that have no meaning here.

What a program sets is kept, and changes nothing on the CPU.
"""

from clew.backends import cpu, cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]
