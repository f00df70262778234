"""Function transforms: functions from functions, which compose in any order."""

from clew.func.batching import vmap
from clew.func.gradients import grad, grad_and_value, value_and_grad, vjp
from clew.func.jacobians import hessian, jacfwd, jacrev, jvp, linearize

__all__ = [
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "value_and_grad",
    "vjp",
    "vmap",
]
