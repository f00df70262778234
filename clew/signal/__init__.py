"""clew.signal: signal processing, with the functions of `torch.signal`."""

from clew.signal import windows

__all__ = ["windows"]
