"""The old place of `torch.cond`."""

from clew import cond

__all__ = ["cond"]
