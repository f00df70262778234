"""Tests of clew/nn."""
