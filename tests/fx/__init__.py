"""Tests of clew/fx."""
