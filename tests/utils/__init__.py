"""Tests of clew/utils."""
