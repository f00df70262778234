"""Tests of clew/kernels/numpy."""
