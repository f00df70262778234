"""Neural networks: functions now, modules built of them."""

from clew.nn import functional

__all__ = ["functional"]
