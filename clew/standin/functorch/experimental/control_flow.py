"""The old place of `torch.cond`."""

from clew._higher_order_ops import cond

__all__ = ["cond"]
