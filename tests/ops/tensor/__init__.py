"""Tests of clew/ops/tensor."""
