"""Tests of clew/ops/batching."""
