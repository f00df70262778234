"""Tests of clew/ops/create."""
