"""Tests of clew/ops/reduce."""
