"""Tests of clew/kernels/gemm."""
