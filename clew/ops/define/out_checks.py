"""What operations ask of `out=` before they run: its dtype, and memory of its own.

For `@public(out=...)`. Operations that say nothing convert their result to the dtype of `out`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.inplace import check_overlap
from clew.core.tensor import Tensor

# PyTorch's C++ names of dtypes, as its messages about `out=` have them.
C_NAMES = {
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
    "int8": "signed char", "uint8": "unsigned char", "int16": "short int", "int32": "int",
    "int64": "long int", "bool": "bool", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}  # fmt: skip

# The same where the function has run: for `out_form`.
EXACT_OUT = "Expected out tensor to have dtype {expected}, but got {found} instead"

Args = tuple[Any, ...]
Kwargs = dict[str, Any]
Words = Callable[[dtypes.dtype, dtypes.dtype], str]


def expected_dtype(want: dtypes.dtype, have: dtypes.dtype) -> str:
    return (
        f"Expected out tensor to have dtype {C_NAMES[want.name]}, but got {C_NAMES[have.name]} "
        "instead"
    )


def same_scalar_type(name: str) -> Words:
    return lambda want, have: f"{name}(): self and result must have the same scalar type"


def take_words(want: dtypes.dtype, have: dtypes.dtype) -> str:
    return (
        "take(): self and out expected to have the same dtype, but got self.dtype = "
        f"{want.scalar_name} and out.dtype = {have.scalar_name}"
    )


def extreme_words(want: dtypes.dtype, have: dtypes.dtype) -> str:
    return (
        "Expected the dtype for input and out to match, but got "
        f"{want.scalar_name} for input's dtype and {have.scalar_name} for out's dtype."
    )


def scan_words(want: dtypes.dtype, have: dtypes.dtype) -> str:
    return f"expected scalar_type {want.scalar_name} but found {have.scalar_name}"


def _require(want: dtypes.dtype, out: Tensor, words: Words) -> None:
    if out.dtype is not want:
        raise RuntimeError(words(want, out.dtype) + errors.at_user_line())


def _keep_apart(tensors: list[Tensor], out: Tensor) -> None:
    if any(each is out or np.may_share_memory(each._array, out._array) for each in tensors):
        raise errors.partial_overlap()


def input_dtype(words: Words = expected_dtype, may_alias: bool = False) -> Any:
    """`out` must have the dtype of the input and, mostly, memory of its own."""

    def check(args: Args, kwargs: Kwargs, out: Tensor) -> None:
        given = [*args, *kwargs.values()]
        _require(given[0].dtype, out, words)
        if not may_alias:
            _keep_apart([each for each in given if isinstance(each, Tensor)], out)

    return check


def pair_of_input_dtype(args: Args, kwargs: Kwargs, out: tuple[Tensor, Tensor]) -> None:
    for each in out:
        _require([*args, *kwargs.values()][0].dtype, each, expected_dtype)


def scanned_pair(args: Args, kwargs: Kwargs, out: tuple[Tensor, Tensor]) -> None:
    """The values of a running extremum have the dtype of the input, the indices int64."""
    _require([*args, *kwargs.values()][0].dtype, out[0], scan_words)
    _require(dtypes.int64, out[1], scan_words)


def same_or_apart(args: Args, kwargs: Kwargs, out: Any) -> None:
    """`out` may be an input, but must not share a part of its memory."""
    for each in out if isinstance(out, (tuple, list)) else (out,):
        check_overlap((each, *args, *kwargs.values()))


def own_memory(args: Args, kwargs: Kwargs, out: Any) -> None:
    """The two tensors given as `out=` must not share memory with the input."""
    for each in out if isinstance(out, (tuple, list)) and args else ():
        _keep_apart([args[0]], each)


def decides_dtype(args: Args, kwargs: Kwargs, out: Tensor) -> None:
    """Where `dtype=` is not given, the operation computes in the dtype of `out`."""
    if kwargs.get("dtype") is not None:
        _require(kwargs["dtype"], out, expected_dtype)
    kwargs["dtype"] = out.dtype
    same_or_apart(args, {}, out)


def long_out(args: Args, kwargs: Kwargs, out: Tensor) -> None:
    if out.dtype is not dtypes.int64:
        raise RuntimeError(
            "nonzero: Expected out tensor to have scalar type Long but got scalar type"
            f"{out.dtype.scalar_name}" + errors.at_user_line()
        )


def castable_out(args: Args, kwargs: Kwargs, out: Tensor) -> None:
    tensors = [*args, *kwargs.values()][0]
    if any(not dtypes.can_cast(each.dtype, out.dtype) for each in tensors):
        raise TypeError(
            "torch.cat(): input types can't be cast to the desired output type "
            f"{out.dtype.scalar_name}" + errors.at_user_line()
        )
    if all(each._array.ndim for each in tensors):
        _keep_apart(tensors, out)
