"""Function transforms: functions from functions, which compose in any order."""

from typing import TYPE_CHECKING

from clew.aliasing import on_request
from clew.func.batching import debug_unwrap, vmap
from clew.func.gradients import grad, grad_and_value, value_and_grad, vjp
from clew.func.jacobians import hessian, jacfwd, jacrev, jvp, linearize
from clew.func.modules import (
    functional_call,
    functionalize,
    replace_all_batch_norm_modules_,
    stack_module_state,
)
from clew.func.rearranging import rearrange

if TYPE_CHECKING:
    from clew.func import curvature

__getattr__, __dir__ = on_request(__name__, {"curvature"})

__all__ = [
    "curvature",
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "value_and_grad",
    "vjp",
    "vmap",
]
