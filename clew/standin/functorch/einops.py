"""Rearranging of dimensions by names."""

from clew.func import rearrange

__all__ = ["rearrange"]
