"""Tests of clew/kernels/pool."""
