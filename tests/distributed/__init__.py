"""Tests of clew/distributed."""
