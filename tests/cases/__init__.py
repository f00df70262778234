"""Rows of the op table, one file per family; see tests/sampling.py for the row format."""
