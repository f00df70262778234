"""clew.special: special functions under PyTorch's names."""

from __future__ import annotations

from collections.abc import Callable as _Callable
from typing import Any as _Any

from clew.core.overrides import overridable as _overridable
from clew.core.public import FUNCTIONS
from clew.core.public import findable as _findable
from clew.core.public import with_out as _with_out
from clew.ops.define.rows import SAME_OUT as _SAME_OUT
from clew.ops.define.rows import out_form as _out_form
from clew.ops.pointwise import bessel as _bessel
from clew.ops.pointwise import orthogonal_polynomials as _polynomials
from clew.ops.pointwise import special as _ops
from clew.ops.pointwise.rounding import special_round as _special_round

__all__ = [
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "chebyshev_polynomial_t",
    "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "digamma",
    "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1", "gammainc", "gammaincc",
    "gammaln", "hermite_polynomial_h", "hermite_polynomial_he", "i0", "i0e", "i1", "i1e",
    "laguerre_polynomial_l", "legendre_polynomial_p", "log1p", "log_ndtr", "log_softmax",
    "logit", "logsumexp", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0",
    "modified_bessel_k1", "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round",
    "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w", "sinc", "softmax", "spherical_bessel_j0", "xlog1py",
    "xlogy", "zeta",
]  # fmt: skip

_Function = _Callable[..., _Any]

digamma = psi = FUNCTIONS["digamma"]
erf, erfc, erfinv = FUNCTIONS["erf"], FUNCTIONS["erfc"], FUNCTIONS["erfinv"]
exp2, expm1, log1p = FUNCTIONS["exp2"], FUNCTIONS["expm1"], FUNCTIONS["log1p"]
expit, logit = FUNCTIONS["sigmoid"], FUNCTIONS["logit"]
gammainc, gammaincc = FUNCTIONS["igamma"], FUNCTIONS["igammac"]
gammaln, multigammaln = FUNCTIONS["lgamma"], FUNCTIONS["mvlgamma"]
i0, polygamma = FUNCTIONS["i0"], FUNCTIONS["polygamma"]
logsumexp, softmax = FUNCTIONS["logsumexp"], FUNCTIONS["softmax"]
log_softmax = FUNCTIONS["log_softmax"]
sinc, xlogy = FUNCTIONS["sinc"], FUNCTIONS["xlogy"]

entr, erfcx = _with_out(_ops.entr), _with_out(_ops.erfcx)
i0e, i1, i1e = _with_out(_ops.i0e), _with_out(_ops.i1), _with_out(_ops.i1e)
log_ndtr, ndtri = _with_out(_ops.log_ndtr), _with_out(_ops.ndtri)
# Composed of others, so inputs with history are no obstacle to `out=`.
ndtr = _out_form(_ops.ndtr, differentiable=False)
round = _out_form(_special_round, _SAME_OUT)
xlog1py, zeta = _with_out(_ops.xlog1py), _with_out(_ops.zeta)


def _without_gradient(function: _Function) -> _Function:
    # Their results have no history, so inputs with one are no obstacle to `out=`.
    return _with_out(function, differentiable=False)


airy_ai = _without_gradient(_bessel.airy_ai)
bessel_j0 = _without_gradient(_bessel.bessel_j0)
bessel_j1 = _without_gradient(_bessel.bessel_j1)
bessel_y0 = _without_gradient(_bessel.bessel_y0)
bessel_y1 = _without_gradient(_bessel.bessel_y1)
modified_bessel_i0 = _without_gradient(_bessel.modified_bessel_i0)
modified_bessel_i1 = _without_gradient(_bessel.modified_bessel_i1)
modified_bessel_k0 = _without_gradient(_bessel.modified_bessel_k0)
modified_bessel_k1 = _without_gradient(_bessel.modified_bessel_k1)
scaled_modified_bessel_k0 = _without_gradient(_bessel.scaled_modified_bessel_k0)
scaled_modified_bessel_k1 = _without_gradient(_bessel.scaled_modified_bessel_k1)
spherical_bessel_j0 = _without_gradient(_bessel.spherical_bessel_j0)
chebyshev_polynomial_t = _without_gradient(_polynomials.chebyshev_polynomial_t)
chebyshev_polynomial_u = _without_gradient(_polynomials.chebyshev_polynomial_u)
chebyshev_polynomial_v = _without_gradient(_polynomials.chebyshev_polynomial_v)
chebyshev_polynomial_w = _without_gradient(_polynomials.chebyshev_polynomial_w)
shifted_chebyshev_polynomial_t = _without_gradient(_polynomials.shifted_chebyshev_polynomial_t)
shifted_chebyshev_polynomial_u = _without_gradient(_polynomials.shifted_chebyshev_polynomial_u)
shifted_chebyshev_polynomial_v = _without_gradient(_polynomials.shifted_chebyshev_polynomial_v)
shifted_chebyshev_polynomial_w = _without_gradient(_polynomials.shifted_chebyshev_polynomial_w)
hermite_polynomial_h = _without_gradient(_polynomials.hermite_polynomial_h)
hermite_polynomial_he = _without_gradient(_polynomials.hermite_polynomial_he)
laguerre_polynomial_l = _without_gradient(_polynomials.laguerre_polynomial_l)
legendre_polynomial_p = _without_gradient(_polynomials.legendre_polynomial_p)

_findable(globals())
_overridable("torch.special", globals())
