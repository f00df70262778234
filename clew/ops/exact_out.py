"""Operations that are strict about the dtype of `out=`: they convert nothing."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.public import FUNCTIONS, deliver, refuse_non_tensor, without_names
from clew.core.tensor import Tensor
from clew.ops import (  # noqa: F401  # they make the functions that are replaced here
    gathering,
    index_rows,
    joining,
    masking,
    rearranging,
    taking,
)

# PyTorch's C++ names of dtypes, as some of its messages have them.
C_NAMES = {
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
    "int8": "signed char", "uint8": "unsigned char", "int16": "short int", "int32": "int",
    "int64": "long int", "bool": "bool", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}  # fmt: skip

Words = Callable[[Tensor, Tensor], str]


def _expected(input: Tensor, out: Tensor) -> str:
    want, have = C_NAMES[input.dtype.name], C_NAMES[out.dtype.name]
    return f"Expected out tensor to have dtype {want}, but got {have} instead"


def _same_scalar_type(name: str) -> Words:
    return lambda input, out: f"{name}(): self and result must have the same scalar type"


def _take_words(input: Tensor, out: Tensor) -> str:
    return (
        "take(): self and out expected to have the same dtype, but got self.dtype = "
        f"{input.dtype.scalar_name} and out.dtype = {out.dtype.scalar_name}"
    )


def _replace(
    name: str, check: Callable[[Sequence[Any], Tensor], None], refuses_history: bool = True
) -> None:
    """Put a check of `out` before the function of that name."""
    implementation = FUNCTIONS[name].__wrapped__
    positional = without_names(implementation)
    delivering = FUNCTIONS[name]

    @functools.wraps(implementation)
    def function(*args: Any, out: Tensor | None = None, **kwargs: Any) -> Any:
        if out is None:
            try:
                return implementation(*args, **kwargs) if kwargs else positional(*args)
            except AttributeError as error:
                refuse_non_tensor(implementation, args, error)
                raise
        check([*args, *kwargs.values()], out)
        if refuses_history:
            return delivering(*args, out=out, **kwargs)
        return deliver(implementation(*args, **kwargs), out)

    FUNCTIONS[name] = function


def same_dtype(name: str, words: Words, may_alias: bool = False) -> None:
    """`out` must have the dtype of the input and, mostly, memory of its own."""

    def check(given: Sequence[Any], out: Tensor) -> None:
        if out.dtype is not given[0].dtype:
            raise RuntimeError(words(given[0], out) + errors.at_user_line())
        tensors = [] if may_alias else [each for each in given if isinstance(each, Tensor)]
        if any(np.may_share_memory(each._array, out._array) for each in tensors):
            raise errors.partial_overlap()

    _replace(name, check)


def _long_out(given: Sequence[Any], out: Tensor) -> None:
    if out.dtype is not dtypes.int64:
        raise RuntimeError(
            "nonzero: Expected out tensor to have scalar type Long but got scalar type"
            f"{out.dtype.scalar_name}" + errors.at_user_line()
        )


def _castable_out(given: Sequence[Any], out: Tensor) -> None:
    if any(not dtypes.can_cast(each.dtype, out.dtype) for each in given[0]):
        raise TypeError(
            "torch.cat(): input types can't be cast to the desired output type "
            f"{out.dtype.scalar_name}" + errors.at_user_line()
        )
    if any(each is out or np.may_share_memory(each._array, out._array) for each in given[0]):
        raise errors.partial_overlap()


for _name in ("tril", "triu", "diag"):
    same_dtype(_name, _expected, may_alias=True)
same_dtype("gather", _expected)
for _name in ("index_select", "masked_select"):
    same_dtype(_name, _same_scalar_type(_name))
same_dtype("take", _take_words)
_replace("nonzero", _long_out, refuses_history=False)
for _name in ("cat", "concat", "concatenate", "stack"):
    _replace(_name, _castable_out)
