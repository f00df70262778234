"""What operations ask of `out=`: its dtype, and memory of its own.

Before they run, for `@public(out=...)`; or once there is a result, for `@public(accept=...)`.
Operations that say nothing convert their result to the dtype of `out`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.public import Accept
from clew.core.tensor import Tensor

# PyTorch's C++ names of dtypes, as its messages about `out=` have them.
C_NAMES = {
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
    "int8": "signed char", "uint8": "unsigned char", "int16": "short int", "int32": "int",
    "int64": "long int", "bool": "bool", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}  # fmt: skip

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


def found_scalar_type(want: dtypes.dtype, have: dtypes.dtype) -> str:
    return f"expected scalar type {want.scalar_name} but found {have.scalar_name}"


def vecdot_words(want: dtypes.dtype, have: dtypes.dtype) -> str:
    return f"linalg.vecdot: Expected out of dtype{want.scalar_name} but found {have.scalar_name}"


def multi_dot_words(want: dtypes.dtype, have: dtypes.dtype) -> str:
    return (
        f"multi_dot(): expected out tensor to have dtype {C_NAMES[want.name]} but got "
        f"{C_NAMES[have.name]}"
    )


def tensordot_words(want: dtypes.dtype, have: dtypes.dtype) -> str:
    return (
        f"tensordot: Expected the output tensor to have dtype {want.scalar_name}, but got an "
        f"output tensor with dtype {have.scalar_name}"
    )


def norm_words(name: str) -> Words:
    return lambda want, have: (
        f"{name} expected out tensor dtype {want.scalar_name} but got: {have.scalar_name}"
    )


def require_dtype(want: dtypes.dtype, out: Tensor, words: Words = expected_dtype) -> None:
    """`out` must have this dtype."""
    if out.dtype is not want:
        raise RuntimeError(words(want, out.dtype) + errors.at_user_line())


def keep_apart(tensors: list[Tensor], out: Tensor) -> None:
    """`out` must share no memory with any of the tensors."""
    if any(each is out or np.may_share_memory(each._array, out._array) for each in tensors):
        raise errors.partial_overlap()


def input_dtype(words: Words = expected_dtype, may_alias: bool = False) -> Any:
    """`out` must have the dtype of the input and, mostly, memory of its own."""

    def check(args: Args, kwargs: Kwargs, out: Tensor) -> None:
        given = [*args, *kwargs.values()]
        require_dtype(given[0].dtype, out, words)
        if not may_alias:
            keep_apart([each for each in given if isinstance(each, Tensor)], out)

    return check


def pair_of_input_dtype(args: Args, kwargs: Kwargs, out: tuple[Tensor, Tensor]) -> None:
    for each in out:
        require_dtype([*args, *kwargs.values()][0].dtype, each, expected_dtype)


def own_memory(args: Args, kwargs: Kwargs, out: Any) -> None:
    """The two tensors given as `out=` must not share memory with the input."""
    for each in out if isinstance(out, (tuple, list)) and args else ():
        keep_apart([args[0]], each)


def decides_dtype(args: Args, kwargs: Kwargs, out: Tensor) -> None:
    """Where `dtype=` is not given, the operation computes in the dtype of `out`."""
    if kwargs.get("dtype") is not None:
        require_dtype(kwargs["dtype"], out, expected_dtype)
    kwargs["dtype"] = out.dtype


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
    keep_apart(tensors, out)


# -- once there is a result ----------------------------------------------------------------------


def of_result_dtype(words: Words) -> Accept:
    """`out` must have the dtype of the result; `words` say so for the pair of dtypes."""

    def accept(number: int, result: Tensor, out: Tensor) -> None:
        require_dtype(result.dtype, out, words)

    return accept


exact = of_result_dtype(expected_dtype)


def castable(name: str, *roles: str) -> Accept:
    """The result must be convertible to the dtype of `out`; `roles` name the results."""

    def accept(number: int, result: Tensor, out: Tensor) -> None:
        if not dtypes.can_cast(result.dtype, out.dtype):
            role = roles[number] if roles else "result"
            raise RuntimeError(
                f"{name}: Expected {role} to be safely castable from {result.dtype.scalar_name} "
                f"dtype, but got {role} with dtype {out.dtype.scalar_name}" + errors.at_user_line()
            )

    return accept
