"""Automatic differentiation: what users reach as `clew.autograd`."""

from clew.autograd import tensor_methods as _tensor_methods
from clew.autograd.backward import backward, grad
from clew.autograd.mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)

__all__ = [
    "backward",
    "enable_grad",
    "grad",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
]
