"""Reductions of truth values: any, all, count_nonzero."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.backend import dtypes
from clew.core.op import Op
from clew.core.public import public
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.ops.define import out_checks
from clew.ops.define.dims import numpy_names
from clew.ops.reduce.reductions import DimArgument, Dims, fold, reduced_dims

_BOOLS = np.dtype(np.bool_)


def _truth(ufunc: np.ufunc, self: np.ndarray, dims: Dims | None, keepdim: bool) -> np.ndarray:
    if self.dtype is _BOOLS:
        return fold(ufunc, self, dims, keepdim)
    # As ml_dtypes converts complex32 to bool, 0.5 is false.
    values = self != 0 if self.dtype == dtypes.complex32.np else self
    result = fold(ufunc, values, dims, keepdim, np.bool_)
    # For uint8, which once stood for bool, PyTorch keeps the dtype.
    return result.astype(np.uint8) if self.dtype == np.uint8 else result


ANY = Op(
    "any",
    lambda self, *, dims, keepdim: _truth(np.logical_or, self, dims, keepdim),
    non_differentiable="boolean output",
)
ALL = Op(
    "all",
    lambda self, *, dims, keepdim: _truth(np.logical_and, self, dims, keepdim),
    non_differentiable="boolean output",
)


def _logic_dims(dim: DimArgument, ndim: int, keepdim: bool) -> Dims:
    if isinstance(dim, (tuple, list)) and not dim:
        # Unlike the sums, an empty list reduces nothing here.
        return ()
    return reduced_dims(dim, ndim, keepdim)


def _of_all(op: Op, ufunc: np.ufunc, input: Tensor) -> Tensor | None:
    """The short path for all elements of a tensor of bools; None for others."""
    array, state = input._array, local.state
    if array.dtype is not _BOOLS or state.intercept is not None:
        return None
    params = {"dims": tuple(range(array.ndim)), "keepdim": False}
    return op.output(state, (input,), params, np.asarray(ufunc.reduce(array, None)))


@public(accept=out_checks.bool_or_byte("any"), differentiable=False)
@numpy_names
def any(input: Tensor, dim: DimArgument = None, keepdim: bool = False) -> Tensor:
    """Whether some element is nonzero.

    Args:
        input: any tensor; NaN counts as nonzero
        dim: the dimension to reduce, or several; by default all
        keepdim: keep reduced dimensions, with size 1

    Example:
        >>> x = clew.tensor([[0, 1], [0, 0]])
        >>> clew.any(x)
        tensor(True)
        >>> clew.any(x, dim=1)
        tensor([ True, False])
    """
    if dim is None and keepdim is False:
        quick = _of_all(ANY, np.logical_or, input)
        if quick is not None:
            return quick
    return ANY(input, dims=_logic_dims(dim, input._array.ndim, keepdim), keepdim=keepdim)


@public(accept=out_checks.bool_or_byte("all"), differentiable=False)
@numpy_names
def all(input: Tensor, dim: DimArgument = None, keepdim: bool = False) -> Tensor:
    """Whether all elements are nonzero.

    Args:
        input: any tensor; NaN counts as nonzero
        dim: the dimension to reduce, or several; by default all
        keepdim: keep reduced dimensions, with size 1

    Example:
        >>> clew.all(clew.tensor([[1, 2], [0, 3]]), dim=1)
        tensor([ True, False])
    """
    if dim is None and keepdim is False:
        quick = _of_all(ALL, np.logical_and, input)
        if quick is not None:
            return quick
    return ALL(input, dims=_logic_dims(dim, input._array.ndim, keepdim), keepdim=keepdim)


def _count_nonzero(self: np.ndarray, *, dims: Dims) -> np.ndarray:
    return fold(np.add, self != 0, dims, False, np.int64)


COUNT_NONZERO = Op("count_nonzero", _count_nonzero, non_differentiable="integer output")


@public(checked=True)
@numpy_names
def count_nonzero(input: Tensor, dim: DimArgument = None) -> Tensor:
    """How many elements are not zero.

    Args:
        input: any tensor
        dim: the dimension to count along, or several; by default all

    Example:
        >>> clew.count_nonzero(clew.tensor([[0, 3], [5, 1]]), dim=1)
        tensor([1, 2])
    """
    return COUNT_NONZERO(input, dims=reduced_dims(dim, input._array.ndim))


@public(method=False, out=False)
def _assert(condition: Any, message: str) -> None:
    """Raise unless a condition is true; in a traced program, when it runs."""
    if not condition:
        raise AssertionError(message)
