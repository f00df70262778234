"""Tests of clew/gallery."""
