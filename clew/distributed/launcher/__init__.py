"""Starts several processes, which clew does not have."""
