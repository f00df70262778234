"""Tests of clew/cli."""
