"""clew.special: special functions under PyTorch's names."""

from __future__ import annotations

from clew.core.public import FUNCTIONS, with_out
from clew.ops.define.rows import out_form
from clew.ops.pointwise import special as _ops

__all__ = [
    "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1", "gammainc",
    "gammaincc", "gammaln", "i0", "i0e", "i1", "i1e", "log1p", "log_ndtr", "log_softmax", "logit",
    "logsumexp", "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round", "sinc", "softmax",
    "xlog1py", "xlogy", "zeta",
]  # fmt: skip

digamma = psi = FUNCTIONS["digamma"]
erf, erfc, erfinv = FUNCTIONS["erf"], FUNCTIONS["erfc"], FUNCTIONS["erfinv"]
exp2, expm1, log1p = FUNCTIONS["exp2"], FUNCTIONS["expm1"], FUNCTIONS["log1p"]
expit, logit = FUNCTIONS["sigmoid"], FUNCTIONS["logit"]
gammainc, gammaincc = FUNCTIONS["igamma"], FUNCTIONS["igammac"]
gammaln, multigammaln = FUNCTIONS["lgamma"], FUNCTIONS["mvlgamma"]
i0, polygamma, round = FUNCTIONS["i0"], FUNCTIONS["polygamma"], FUNCTIONS["round"]
logsumexp, softmax = FUNCTIONS["logsumexp"], FUNCTIONS["softmax"]
log_softmax = FUNCTIONS["log_softmax"]
sinc, xlogy = FUNCTIONS["sinc"], FUNCTIONS["xlogy"]

entr, erfcx = with_out(_ops.entr), with_out(_ops.erfcx)
i0e, i1, i1e = with_out(_ops.i0e), with_out(_ops.i1), with_out(_ops.i1e)
log_ndtr, ndtri = with_out(_ops.log_ndtr), with_out(_ops.ndtri)
# Composed of others, so inputs with history are no obstacle to `out=`.
ndtr = out_form(_ops.ndtr, differentiable=False)
xlog1py, zeta = with_out(_ops.xlog1py), with_out(_ops.zeta)
