"""Tests of clew/core."""
