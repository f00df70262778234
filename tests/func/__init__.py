"""Tests of clew/func."""
