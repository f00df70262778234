"""clew: an autograd engine and deep-learning library in Python, with PyTorch's API."""

import sys as _sys

from clew import source as _source
from clew.backend.dtypes import (
    ALL_DTYPES as _ALL_DTYPES,
)
from clew.backend.dtypes import (
    dtype,
    finfo,
    get_default_dtype,
    iinfo,
    promote_types,
    set_default_dtype,
)
from clew.core.public import FUNCTIONS as _FUNCTIONS
from clew.core.tensor import Size, Tensor
from clew import ops as _ops
from clew import autograd
from clew.autograd.mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)

__version__ = "0.1.0"

globals().update(_FUNCTIONS)
globals().update({d.name: d for d in _ALL_DTYPES})

# Frames of these packages are not the user's lines.
_source.INTERNAL_PACKAGES.update(
    module.__package__ for name, module in list(_sys.modules.items()) if name.split(".")[0] == "clew"
)
