"""`gradcheck` of functions with sparse inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew.autograd.gradient_checks.sparse_inputs import over_values
from clew.core.tensor import Tensor


def as_sparse_gradcheck(gradcheck: Callable[..., Any]) -> Callable[..., Any]:
    """A gradient check that takes sparse tensors, by way of their values.

    Args:
        gradcheck: `clew.autograd.gradcheck`, or a function like it

    Example:
        >>> check = clew.sparse.as_sparse_gradcheck(clew.autograd.gradcheck)
        >>> x = clew.eye(2, dtype=clew.float64).to_sparse().requires_grad_()
        >>> check(lambda x: x.to_dense(), x)
        True
    """

    def check(func: Callable[..., Any], inputs: Any, **kwargs: Any) -> Any:
        given = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
        return gradcheck(*over_values(func, given), **kwargs)

    return check
