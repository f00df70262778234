"""Tests of clew/doctor."""
