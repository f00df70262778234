"""Tests of clew/ops/index."""
