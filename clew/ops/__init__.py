"""Every operation, each defined once, by family. Importing this package registers them all."""

from clew.ops import (
    arithmetic,
    conversion,
    creation,
    reductions,
    views,
)

__all__ = ["arithmetic", "conversion", "creation", "reductions", "views"]
