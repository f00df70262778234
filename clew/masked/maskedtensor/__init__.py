"""Tensors with masks: `clew.masked.MaskedTensor`."""

from clew.masked.maskedtensor import functions as _functions
from clew.masked.maskedtensor import operations as _operations
from clew.masked.maskedtensor.core import MaskedTensor, is_masked_tensor
from clew.masked.maskedtensor.creation import as_masked_tensor, masked_tensor

__all__ = ["MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"]

_functions.register()
_operations.register()
