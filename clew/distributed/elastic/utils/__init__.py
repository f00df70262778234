"""Helpers of programs that are started again when a rank fails."""
