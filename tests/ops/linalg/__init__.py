"""Tests of clew/ops/linalg."""
