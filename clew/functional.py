"""The functions that PyTorch has in `torch.functional`, too: they are those of `torch`."""

from clew.core.override_tables import FUNCTIONAL
from clew.core.public import FUNCTIONS

__all__ = sorted(FUNCTIONAL & FUNCTIONS.keys())

globals().update({name: FUNCTIONS[name] for name in __all__})
