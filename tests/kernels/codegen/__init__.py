"""Tests of clew/kernels/codegen."""
