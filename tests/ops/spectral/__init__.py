"""Tests of clew/ops/spectral."""
