"""Tests of clew/bench."""
