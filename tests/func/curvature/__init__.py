"""Tests of clew.func.curvature."""
