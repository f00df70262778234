"""Comparisons: elementwise to bool, and whole tensors to a Python bool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.elementwise import NUMBER
from clew.core.public import methods, public
from clew.core.tensor import Tensor
from clew.ops.rows import BOOL, EVERYTHING, REALS, binary_row, require_tensors

WHY = "bool output"


def _comparison(name: str, forward: Any, takes: str, aliases: tuple[str, ...]) -> Any:
    return binary_row(
        name, forward, rule=BOOL, takes=takes, aliases=aliases, non_differentiable=WHY
    )


eq = _comparison("eq", np.equal, EVERYTHING, ())
ne = _comparison("ne", np.not_equal, EVERYTHING, ("not_equal",))
lt = _comparison("lt", np.less, REALS, ("less",))
le = _comparison("le", np.less_equal, REALS, ("less_equal",))
gt = _comparison("gt", np.greater, REALS, ("greater",))
ge = _comparison("ge", np.greater_equal, REALS, ("greater_equal",))


def comparison_operator(function: Callable[[Any, Any], Tensor]) -> Callable[[Tensor, Any], Any]:
    """The dunder method: what is neither tensor nor number is left to the other side."""

    def method(self: Tensor, other: Any) -> Any:
        if isinstance(other, (Tensor, *NUMBER, np.ndarray)):
            return function(self, other)
        return NotImplemented

    return method


methods(
    __eq__=comparison_operator(eq), __ne__=comparison_operator(ne),
    __lt__=comparison_operator(lt), __le__=comparison_operator(le),
    __gt__=comparison_operator(gt), __ge__=comparison_operator(ge),
)  # fmt: skip
