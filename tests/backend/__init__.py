"""Tests of clew/backend."""
