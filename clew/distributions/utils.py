"""What distributions share: broadcasting of parameters, probabilities and logits, triangles."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import update_wrapper
from numbers import Number
from typing import Any, Generic, TypeVar, overload

from clew import errors
from clew.autograd.grad_mode import enable_grad
from clew.backend.dtypes import dtype as dtype_type
from clew.backend.dtypes import finfo, get_default_dtype
from clew.core.tensor import Tensor
from clew.ops.create.constants import empty
from clew.ops.create.from_data import tensor
from clew.ops.create.ranges import arange
from clew.ops.shape.broadcasting import broadcast_tensors

__all__ = [
    "broadcast_all", "logits_to_probs", "clamp_probs", "probs_to_logits", "lazy_property",
    "tril_matrix_to_vec", "vec_to_tril_matrix",
]  # fmt: skip

euler_constant = 0.57721566490153286060  # Euler's gamma

Value = TypeVar("Value")


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Numbers and tensors as tensors of one shape; numbers take the dtype of the first tensor."""
    if len(values) == 1 and isinstance(values[0], Tensor):
        return values
    # Floats and integers first: asking an abstract class takes longer.
    if not all(isinstance(value, (Tensor, float, int, Number)) for value in values):
        given = ", ".join(type(value).__name__ for value in values)
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing "
            f"__torch_function__. (given: {given})" + errors.at_user_line()
        )
    kind = next((v.dtype for v in values if isinstance(v, Tensor)), get_default_dtype())
    as_tensors = [v if isinstance(v, Tensor) else tensor(v, dtype=kind) for v in values]
    return tuple(broadcast_tensors(*as_tensors))


def _standard_normal(shape: Sequence[int], dtype: dtype_type, device: Any = None) -> Tensor:
    return empty(tuple(shape), dtype=dtype, device=device).normal_()


def _sum_rightmost(value: Any, dim: int) -> Any:
    """Sum over the last `dim` dimensions."""
    if dim == 0:
        return value
    return value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities kept away from 0 and 1 by the resolution of their dtype."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log odds of a binary probability, or log probabilities of several classes."""
    clamped = clamp_probs(probs)
    return clamped.log() - (-clamped).log1p() if is_binary else clamped.log()


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """The inverse of `probs_to_logits`."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


class lazy_property(Generic[Value]):
    """An attribute computed at first use and kept in the instance from then on."""

    def __init__(self, wrapped: Callable[[Any], Value]) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]  # copies name and docstring only

    @overload
    def __get__(self, instance: None, owner: Any = None) -> lazy_property[Value]: ...

    @overload
    def __get__(self, instance: object, owner: Any = None) -> Value: ...

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        # The value is kept, so it must have a history even if it is first asked for without.
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def _lower_mask(size: int, diag: int) -> Tensor:
    steps = arange(size)
    return steps < steps.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The entries on and below a diagonal, row after row, as the last dimension."""
    size = mat.shape[-1]
    if not -size <= diag < size:
        raise ValueError(
            f"diag ({diag}) provided is outside [{-size}, {size - 1}]." + errors.at_user_line()
        )
    return mat[..., _lower_mask(size, diag)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The inverse of `tril_matrix_to_vec`, with zeros above the diagonal."""
    length = vec.shape[-1]
    # The number of entries is quadratic in the size; this is the positive root.
    root = math.sqrt((1 + 2 * diag) ** 2 + 8 * length + 4 * abs(diag) * (diag + 1))
    exact_size = (root - (1 + 2 * diag)) / 2
    size = round(exact_size)
    if size - exact_size > finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {length} which cannot be expressed as the lower "
            "triangular part of a square D x D matrix." + errors.at_user_line()
        )
    mat = vec.new_zeros(vec.shape[:-1] + (size, size))
    mat[..., _lower_mask(size, diag)] = vec
    return mat
