"""Reductions and scans that are strict about the dtype of `out=`, or compute in it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.public import FUNCTIONS, with_out
from clew.core.tensor import Tensor
from clew.ops.exact_out import C_NAMES, same_dtype
from clew.ops.extrema import amax, amin, aminmax, max, min
from clew.ops.scans import cumprod, cumsum, logcumsumexp
from clew.ops.sorting import kthvalue, median, mode, nanmedian, topk


def _extreme_words(input: Tensor, out: Tensor) -> str:
    return (
        "Expected the dtype for input and out to match, but got "
        f"{input.dtype.scalar_name} for input's dtype and {out.dtype.scalar_name} for out's dtype."
    )


def _scalar_type_words(input: Tensor, out: Tensor) -> str:
    return f"expected scalar_type {input.dtype.scalar_name} but found {out.dtype.scalar_name}"


def _in_dtype_of_out(implementation: Callable[..., Any]) -> None:
    """Export a function with a `dtype=` argument that `out=` decides where it is not given."""
    plain = with_out(implementation)

    @functools.wraps(implementation)
    def function(
        *args: Any, dtype: dtypes.dtype | None = None, out: Tensor | None = None, **kwargs: Any
    ) -> Any:
        if out is not None:
            if dtype is not None and dtype is not out.dtype:
                raise RuntimeError(
                    f"Expected out tensor to have dtype {C_NAMES[dtype.name]}, but got "
                    f"{C_NAMES[out.dtype.name]} instead" + errors.at_user_line()
                )
            dtype = out.dtype
        return plain(*args, dtype=dtype, out=out, **kwargs)

    FUNCTIONS[implementation.__name__] = function


def _pair_of_input_dtype(implementation: Callable[..., Any]) -> None:
    """Export a function of two results, for which `out=` holds two tensors of the input's dtype."""
    plain = with_out(implementation)

    @functools.wraps(implementation)
    def function(input: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        for each in out or ():
            if each.dtype is not input.dtype:
                raise RuntimeError(
                    f"Expected out tensor to have dtype {C_NAMES[input.dtype.name]}, but got "
                    f"{C_NAMES[each.dtype.name]} instead" + errors.at_user_line()
                )
        return plain(input, *args, out=out, **kwargs)

    FUNCTIONS[implementation.__name__] = function


def _in_memory_of_their_own(name: str) -> None:
    """The two tensors given as `out=` must not share memory with the input."""
    plain = FUNCTIONS[name]

    @functools.wraps(plain)
    def function(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if isinstance(out, (tuple, list)) and args:
            for each in out:
                if np.may_share_memory(args[0]._array, each._array):
                    raise errors.partial_overlap()
        return plain(*args, out=out, **kwargs)

    FUNCTIONS[name] = function


for _function in (kthvalue, topk, mode, median, nanmedian, max, min):
    _in_memory_of_their_own(_function.__name__)
_pair_of_input_dtype(aminmax)
same_dtype(amax.__name__, _extreme_words)
same_dtype(amin.__name__, _extreme_words)
same_dtype(logcumsumexp.__name__, _scalar_type_words)
_in_dtype_of_out(cumsum)
_in_dtype_of_out(cumprod)
