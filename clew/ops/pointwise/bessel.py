"""Bessel and Airy functions as operations; the numerics are in `clew.kernels.numpy.bessel`.

PyTorch has no derivatives of them: results never require grad.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clew.core.tensor import Tensor
from clew.kernels import numpy as kernels
from clew.ops.define.rows import FLOAT, Row

_WIDE = "bif"  # half precision is refused
_NO_DERIVATIVE = "PyTorch has no derivative of it"

_DOC = """{line}

Args:
    {argument}: where to take it; integers become floats{domain}

The result never requires grad: as in PyTorch, no derivative is defined.

Example:
    >>> clew.special.{name}(clew.tensor({points}))
    {result}
"""


def _function(
    name: str,
    forward: Callable[[np.ndarray], np.ndarray],
    line: str,
    domain: str,
    example: str,
    argument: str = "input",
) -> Callable[[Tensor], Tensor]:
    """The function `special.name`; its op is named `special_name`.

    `argument` is the name that PyTorch gives its argument.
    """
    op = Row(
        f"special_{name}", forward, inputs=(argument,), rule=FLOAT, takes=_WIDE,
        torch_kernel=f"{name}_cpu", non_differentiable=_NO_DERIVATIVE,
    )  # fmt: skip

    def of_input(input: Tensor) -> Tensor:
        return op(input)

    def of_x(x: Tensor) -> Tensor:
        return op(x)

    function = of_x if argument == "x" else of_input
    function.__name__ = function.__qualname__ = op.name
    points, _, result = example.partition(": ")
    function.__doc__ = _DOC.format(
        name=name, argument=argument, line=line, domain=domain and f"; {domain}", points=points,
        result=result,
    )  # fmt: skip
    return function


_POSITIVE = "NaN below 0"

airy_ai = _function(
    "airy_ai", lambda x: kernels.bessel.airy_ai(x),
    "The Airy function Ai: a wave below 0, which decays above.", "",
    "[-2., 0., 2.]: tensor([0.2274, 0.3550, 0.0349])",
    argument="x",
)  # fmt: skip
bessel_j0 = _function(
    "bessel_j0", lambda x: kernels.bessel.j0(x),
    "The Bessel function of the first kind of order 0.", "",
    "[0., 1., 2.]: tensor([1.0000, 0.7652, 0.2239])",
)  # fmt: skip
bessel_j1 = _function(
    "bessel_j1", lambda x: kernels.bessel.j1(x),
    "The Bessel function of the first kind of order 1.", "",
    "[-1., 0., 1.]: tensor([-0.4401,  0.0000,  0.4401])",
)  # fmt: skip
bessel_y0 = _function(
    "bessel_y0", lambda x: kernels.bessel.y0(x),
    "The Bessel function of the second kind of order 0.", _POSITIVE,
    "[0., 1., 2.]: tensor([  -inf, 0.0883, 0.5104])",
)  # fmt: skip
bessel_y1 = _function(
    "bessel_y1", lambda x: kernels.bessel.y1(x),
    "The Bessel function of the second kind of order 1.", _POSITIVE,
    "[0., 1., 2.]: tensor([   -inf, -0.7812, -0.1070])",
)  # fmt: skip
modified_bessel_i0 = _function(
    "modified_bessel_i0", lambda x: kernels.bessel.i0(x),
    "The modified Bessel function of the first kind of order 0.",
    "", "[0., 1., 2.]: tensor([1.0000, 1.2661, 2.2796])",
)  # fmt: skip
modified_bessel_i1 = _function(
    "modified_bessel_i1", lambda x: kernels.bessel.i1(x),
    "The modified Bessel function of the first kind of order 1.",
    "", "[0., 1., 2.]: tensor([0.0000, 0.5652, 1.5906])",
)  # fmt: skip
modified_bessel_k0 = _function(
    "modified_bessel_k0", lambda x: kernels.bessel.k0(x),
    "The modified Bessel function of the second kind of order 0.",
    _POSITIVE, "[0., 1., 2.]: tensor([   inf, 0.4210, 0.1139])",
)  # fmt: skip
modified_bessel_k1 = _function(
    "modified_bessel_k1", lambda x: kernels.bessel.k1(x),
    "The modified Bessel function of the second kind of order 1.",
    _POSITIVE, "[0., 1., 2.]: tensor([   inf, 0.6019, 0.1399])",
)  # fmt: skip
scaled_modified_bessel_k0 = _function(
    "scaled_modified_bessel_k0", lambda x: kernels.bessel.k0e(x),
    "`exp(x) * modified_bessel_k0(x)`, which large arguments do not underflow.",
    _POSITIVE, "[1., 1000.]: tensor([1.1445, 0.0396])",
    argument="x",
)  # fmt: skip
scaled_modified_bessel_k1 = _function(
    "scaled_modified_bessel_k1", lambda x: kernels.bessel.k1e(x),
    "`exp(x) * modified_bessel_k1(x)`, which large arguments do not underflow.",
    _POSITIVE, "[1., 1000.]: tensor([1.6362, 0.0396])",
    argument="x",
)  # fmt: skip
spherical_bessel_j0 = _function(
    "spherical_bessel_j0", lambda x: kernels.bessel.spherical_j0(x),
    "The spherical Bessel function of the first kind of order 0: `sin(x) / x`.", "",
    "[0., 1., 2.]: tensor([1.0000, 0.8415, 0.4546])",
    argument="x",
)  # fmt: skip
