"""Tests of clew/kernels/runtime."""
