"""Reductions, scans, order statistics and searching."""
