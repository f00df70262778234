"""Reductions and normalizations that leave elements out: `clew.masked`, as `torch.masked`.

A mask is a bool tensor that broadcasts to the input: True for the elements that count. What is
left out is replaced by a value that does not change the result, so it gets no gradient.
`MaskedTensor` is a tensor that has its mask with it (`maskedtensor/`).
"""

from clew.aliasing import on_request as _on_request
from clew.masked.along import (
    cumprod,
    cumsum,
    log_softmax,
    logaddexp,
    normalize,
    softmax,
    softmin,
)
from clew.masked.elements import _input_mask as _input_mask
from clew.masked.elements import _output_mask as _output_mask
from clew.masked.elements import _reduction_identity as _reduction_identity
from clew.masked.reductions import (
    amax,
    amin,
    argmax,
    argmin,
    logsumexp,
    mean,
    median,
    norm,
    prod,
    std,
    sum,
    var,
)

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp",
    "logsumexp", "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum",
    "var", "MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor",
]  # fmt: skip

# From the first class that takes over functions on, all functions look for one.
__getattr__, __dir__ = _on_request(
    __name__,
    {"maskedtensor"},
    dict.fromkeys(
        ("MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"), "maskedtensor"
    ),
)
