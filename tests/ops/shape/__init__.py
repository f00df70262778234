"""Tests of clew/ops/shape."""
