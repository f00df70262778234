"""Tests of clew/distributions."""
