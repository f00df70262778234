"""Tests of clew/nn/utils."""
