"""Tests of clew/kernels/compiled."""
