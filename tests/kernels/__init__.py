"""Tests of clew/kernels."""
