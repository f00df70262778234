"""The length of a ragged dimension, by the name that packages import."""

from clew.core.size import SymInt as NestedIntNode

__all__ = ["NestedIntNode"]
