"""Tests of clew/ops/pointwise."""
