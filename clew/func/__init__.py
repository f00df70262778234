"""Function transforms: functions from functions, which compose in any order."""

from clew.func.batching import vmap
from clew.func.gradients import grad, grad_and_value, value_and_grad, vjp
from clew.func.jacobians import hessian, jacfwd, jacrev, jvp, linearize
from clew.func.modules import functional_call, functionalize, stack_module_state

__all__ = [
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "stack_module_state",
    "value_and_grad",
    "vjp",
    "vmap",
]
