"""Orthogonal polynomials as operations: Chebyshev, Hermite, Laguerre, Legendre.

PyTorch has no derivatives of them: results never require grad.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew import errors
from clew.core.elementwise import NUMBER
from clew.core.tensor import Tensor
from clew.kernels import numpy as kernels
from clew.ops.define.rows import FLOAT, Row

_WIDE = "bif"  # half precision is refused
_NO_DERIVATIVE = "PyTorch has no derivative of it"

_DOC = """{line}

Args:
    x: where to take it, a tensor or a number
    n: the degree, a tensor or a number, without its fraction; below 0 the result is 0

One of the two must be a tensor; they broadcast. The result never requires grad: as in PyTorch, no
derivative is defined.

Example:
    >>> clew.special.{name}(clew.tensor([0., 0.5, 2.]), 3)
    {result}
"""


def _polynomial(name: str, forward: Any, line: str, result: str) -> Callable[[Any, Any], Tensor]:
    """The function `special.name`; its op is named `special_name`."""
    op = Row(
        f"special_{name}", lambda x, n: kernels.orthogonal_polynomials.of_numbers(forward, x, n),
        inputs=("x", "n"), rule=FLOAT, takes=_WIDE, torch_kernel=f"{name}_cpu",
        non_differentiable=_NO_DERIVATIVE,
    )  # fmt: skip

    def function(x: Any, n: Any) -> Tensor:
        tensors = isinstance(x, Tensor), isinstance(n, Tensor)
        if not any(tensors) or not isinstance(n if tensors[0] else x, (Tensor, *NUMBER)):
            raise TypeError(
                f"{op.name}() received an invalid combination of arguments - got "
                f"({type(x).__name__}, {type(n).__name__}), but expected two tensors, or a tensor "
                "and a number" + errors.at_user_line()
            )
        return op(x, n)

    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = _DOC.format(name=name, line=line, result=result)
    return function


chebyshev_polynomial_t = _polynomial(
    "chebyshev_polynomial_t", lambda x, n: kernels.orthogonal_polynomials.chebyshev_t(x, n),
    "Chebyshev polynomials of the first kind: `cos(n * angle)` of `x = cos(angle)`.",
    "tensor([-0., -1., 26.])",
)  # fmt: skip
chebyshev_polynomial_u = _polynomial(
    "chebyshev_polynomial_u", lambda x, n: kernels.orthogonal_polynomials.chebyshev_u(x, n),
    "Chebyshev polynomials of the second kind: `sin((n + 1) * angle) / sin(angle)`.",
    "tensor([-0., -1., 56.])",
)  # fmt: skip
chebyshev_polynomial_v = _polynomial(
    "chebyshev_polynomial_v", lambda x, n: kernels.orthogonal_polynomials.chebyshev_v(x, n),
    "Chebyshev polynomials of the third kind: `cos((n + 0.5) * angle) / cos(angle / 2)`.",
    "tensor([ 1., -1., 41.])",
)  # fmt: skip
chebyshev_polynomial_w = _polynomial(
    "chebyshev_polynomial_w", lambda x, n: kernels.orthogonal_polynomials.chebyshev_w(x, n),
    "Chebyshev polynomials of the fourth kind: `sin((n + 0.5) * angle) / sin(angle / 2)`.",
    "tensor([-1., -1., 71.])",
)  # fmt: skip
shifted_chebyshev_polynomial_t = _polynomial(
    "shifted_chebyshev_polynomial_t",
    lambda x, n: kernels.orthogonal_polynomials.chebyshev_t(x + x - 1, n),
    "Chebyshev polynomials of the first kind, of `2 * x - 1`: those of the interval from 0 to 1.",
    "tensor([-1., -0., 99.])",
)  # fmt: skip
shifted_chebyshev_polynomial_u = _polynomial(
    "shifted_chebyshev_polynomial_u",
    lambda x, n: kernels.orthogonal_polynomials.chebyshev_u(x + x - 1, n),
    "Chebyshev polynomials of the second kind, of `2 * x - 1`: those of the interval from 0 to 1.",
    "tensor([ -4.,  -0., 204.])",
)  # fmt: skip
shifted_chebyshev_polynomial_v = _polynomial(
    "shifted_chebyshev_polynomial_v",
    lambda x, n: kernels.orthogonal_polynomials.chebyshev_v(x + x - 1, n),
    "Chebyshev polynomials of the third kind, of `2 * x - 1`: those of the interval from 0 to 1.",
    "tensor([ -7.,   1., 169.])",
)  # fmt: skip
shifted_chebyshev_polynomial_w = _polynomial(
    "shifted_chebyshev_polynomial_w",
    lambda x, n: kernels.orthogonal_polynomials.chebyshev_w(x + x - 1, n),
    "Chebyshev polynomials of the fourth kind, of `2 * x - 1`: those of the interval from 0 to 1.",
    "tensor([ -1.,  -1., 239.])",
)  # fmt: skip
hermite_polynomial_h = _polynomial(
    "hermite_polynomial_h", lambda x, n: kernels.orthogonal_polynomials.hermite_h(x, n),
    "The physicist's Hermite polynomials, orthogonal with the weight exp(-x²).",
    "tensor([-0., -5., 40.])",
)  # fmt: skip
hermite_polynomial_he = _polynomial(
    "hermite_polynomial_he", lambda x, n: kernels.orthogonal_polynomials.hermite_he(x, n),
    "The probabilist's Hermite polynomials, orthogonal with the weight exp(-x²/2).",
    "tensor([-0.0000, -1.3750,  2.0000])",
)  # fmt: skip
laguerre_polynomial_l = _polynomial(
    "laguerre_polynomial_l", lambda x, n: kernels.orthogonal_polynomials.laguerre_l(x, n),
    "Laguerre polynomials, orthogonal with the weight exp(-x) for x > 0.",
    "tensor([ 1.0000, -0.1458, -0.3333])",
)  # fmt: skip
legendre_polynomial_p = _polynomial(
    "legendre_polynomial_p", lambda x, n: kernels.orthogonal_polynomials.legendre_p(x, n),
    "Legendre polynomials, orthogonal between -1 and 1.",
    "tensor([-0.0000, -0.4375, 17.0000])",
)  # fmt: skip
