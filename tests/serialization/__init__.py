"""Tests of clew/serialization."""
