"""Operations on the meta device whose results are not found by running them.

`core/meta/shapes.py` derives all others from their definitions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.core.meta import memory as meta_memory
from clew.core.meta.device import WRITES
from clew.core.meta.shapes import LARGE, RULES, as_first, joined, refuse
from clew.core.op import Op

_RANDOM_FILLS = (
    "normal", "uniform", "log_normal", "cauchy", "exponential", "geometric", "random",
    "random_below", "random_any", "bernoulli_tensor", "bernoulli_number",
)  # fmt: skip
WRITES.update(_RANDOM_FILLS, ("copy", "fill", "fill_tensor", "zero"))

# Random numbers are not drawn.
_DRAWN_AS_FIRST = (
    "bernoulli", "bernoulli_like", "poisson", "binomial", "_standard_gamma", "_sample_dirichlet",
    "normal_mean", "normal_std", "_random_like", "dropout", "_dropout_noise",
    "_alpha_dropout_noise", "_rrelu_noise",
)  # fmt: skip
# What zeros would make fail.
_DECOMPOSED_AS_FIRST = ("cholesky", "cholesky_inverse")
RULES.update(dict.fromkeys((*_RANDOM_FILLS, *_DRAWN_AS_FIRST, *_DECOMPOSED_AS_FIRST), as_first))

_DATA_DEPENDENT = (
    "nonzero", "masked_select", "_unique2", "unique_dim", "unique_consecutive", "bincount",
)  # fmt: skip
RULES.update(dict.fromkeys(_DATA_DEPENDENT, refuse))
LARGE["cat"] = joined


def _multinomial(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> np.ndarray:
    shape = (*inputs[0]._array.shape[:-1], params["num_samples"])
    return meta_memory.empty(shape, np.dtype(np.int64))


RULES["multinomial"] = _multinomial
