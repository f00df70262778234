"""Utilities: what users reach as `clew.utils`."""
