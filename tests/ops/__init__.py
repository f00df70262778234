"""Tests of clew/ops."""
