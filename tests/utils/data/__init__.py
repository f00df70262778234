"""Tests of clew/utils/data."""
