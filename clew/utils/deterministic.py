"""The switch that fills new memory in deterministic mode; kept, and without effect.

`empty` gives memory with unspecified contents in any mode.
"""

__all__ = ["fill_uninitialized_memory"]

fill_uninitialized_memory = True
