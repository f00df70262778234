"""What `gradcheck` checks: Jacobians against finite differences, and properties of gradients."""

from typing import TYPE_CHECKING

from clew.aliasing import on_request

if TYPE_CHECKING:
    from clew.autograd.gradient_checks import (
        analytical_jacobian,
        gradient_properties,
        jacobian_check,
        numerical_jacobian,
        sparse_inputs,
    )

# Imported when they are first asked for, so that `import clew` is quick.
__all__ = [
    "analytical_jacobian",
    "gradient_properties",
    "jacobian_check",
    "numerical_jacobian",
    "sparse_inputs",
]

__getattr__, __dir__ = on_request(__name__, __all__)
