"""How drawn gamma numbers and Dirichlet shares move with their parameters."""

from __future__ import annotations

from clew import errors
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor
from clew.kernels import numpy as kernels


def _no_second_derivative(g: Tensor) -> Tensor:
    raise NotImplementedError(
        "the derivative for '_standard_gamma_grad' is not implemented.\n"
        "  Samples can be differentiated once: leave out create_graph." + errors.at_user_line()
    )


def _no_derivative_of_a_share(g: Tensor) -> Tensor:
    raise errors.not_differentiable("_dirichlet_grad", "x", "it is itself a derivative")


STANDARD_GAMMA_GRAD = Op(
    "_standard_gamma_grad",
    lambda self, output: kernels.implicit_gradients.standard_gamma_grad(self, output),
    node="StandardGammaGradBackward0",
    grads={"self": _no_second_derivative, "output": _no_second_derivative},
)
DIRICHLET_GRAD = Op(
    "_dirichlet_grad",
    lambda x, alpha, total: kernels.implicit_gradients.dirichlet_grad(x, alpha, total),
    node="torch::autograd::NotImplemented",
    grads=dict.fromkeys(("x", "alpha", "total"), _no_derivative_of_a_share),
)


@public(method=False, out=False, name="_standard_gamma_grad")
def standard_gamma_grad(self: Tensor, output: Tensor) -> Tensor:
    """The derivative of a gamma number by its shape parameter."""
    return STANDARD_GAMMA_GRAD(self, output)


@public(method=False, out=False, name="_dirichlet_grad")
def dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """The derivative of a share by its weight, over the share of the others."""
    return DIRICHLET_GRAD(x, alpha, total)
