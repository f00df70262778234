"""Tests: PyTorch is the oracle, tables of cases drive the checks."""
