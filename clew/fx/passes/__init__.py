"""Passes over graphs."""

from clew.fx.passes import shape_prop

__all__ = ["shape_prop"]
