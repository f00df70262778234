"""Tests of clew/ops/nn."""
