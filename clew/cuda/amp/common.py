"""A question about mixed precision at its older place."""

from clew.cuda.amp import amp_definitely_not_available

__all__ = ["amp_definitely_not_available"]
