"""Keeping gradients small: by their common norm, or value by value."""

from __future__ import annotations

import math
import types
import warnings
from collections.abc import Iterable
from typing import Any

from clew import errors
from clew.autograd.grad_mode import no_grad
from clew.core.inplace import bump_version, check_write
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.kernels.codegen.ufunc import elementwise
from clew.linalg import vector_norm
from clew.observer import active
from clew.ops.create.from_data import scalar_tensor
from clew.ops.pointwise.clamping import clamp
from clew.ops.shape.joining import stack
from clew.source import user_where

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
]

Tensors = Tensor | Iterable[Tensor]


@no_grad()
def get_total_norm(
    tensors: Tensors,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all elements of all tensors, as if they were one vector.

    Args:
        tensors: one tensor or several
        norm_type: the order of the norm; infinity for the largest absolute value
        error_if_nonfinite: raise an error if the norm is infinite or NaN
        foreach: taken as in PyTorch; it changes nothing here

    Example:
        >>> nn.utils.get_total_norm([clew.tensor([3.0]), clew.tensor([0.0, 4.0])])
        tensor(5.)
    """
    norm_type = float(norm_type)
    norms = [vector_norm(tensor, norm_type) for tensor in _as_list(tensors)]
    if not norms:
        return scalar_tensor(0.0)
    total = vector_norm(stack(norms), norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            "so it cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`\n"
            f"  It is {total.item()}: look for the first loss or gradient that is not finite."
            + errors.at_user_line()
        )
    return total


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale all gradients so that a total norm of `total_norm` becomes at most `max_norm`.

    Args:
        parameters: one parameter or several; those without a gradient are passed over
        max_norm: the largest norm
        total_norm: the present norm, from `get_total_norm`
        foreach: taken as in PyTorch; it changes nothing here

    Example:
        >>> weight = nn.Parameter(clew.zeros(2))
        >>> weight.grad = clew.tensor([3.0, 4.0])
        >>> nn.utils.clip_grads_with_norm_(weight, 1.0, nn.utils.get_total_norm(weight.grad))
        >>> weight.grad
        tensor([0.6000, 0.8000])
    """
    coefficient = clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
    if local.state.intercept is None and coefficient.item() == 1.0:
        return  # the usual case, and one pass over all gradients less
    for grad in _gradients(parameters):
        grad.mul_(coefficient)


@no_grad()
def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients so that their common norm is at most `max_norm`.

    Returns the norm before; a parameter without a gradient counts as nothing.

    Args:
        parameters: one parameter or several
        max_norm: the largest norm
        norm_type: the order of the norm; infinity for the largest absolute value
        error_if_nonfinite: raise an error if the norm is infinite or NaN
        foreach: taken as in PyTorch; it changes nothing here

    Example:
        >>> weight = nn.Parameter(clew.zeros(2))
        >>> weight.grad = clew.tensor([3.0, 4.0])
        >>> nn.utils.clip_grad_norm_(weight, max_norm=1.0)
        tensor(5.)
        >>> weight.grad
        tensor([0.6000, 0.8000])
    """
    if isinstance(parameters, Tensor):
        listed = [parameters]
    else:
        listed = list(parameters)
        if not listed and isinstance(parameters, types.GeneratorType):
            warnings.warn(
                "`parameters` is an empty generator, no gradient clipping will occur.",
                stacklevel=3,
            )
    total = get_total_norm(_gradients(listed), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(listed, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Deprecated: the old name of `clip_grad_norm_`."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of "
        "`torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@elementwise("clip_value", 2, scalars=(1,))
def _CLIP_KERNEL(grad: Any, bound: Any) -> Any:
    return grad.maximum(-bound).minimum(bound)


@no_grad()
def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Bring every element of every gradient into [-clip_value, clip_value].

    Args:
        parameters: one parameter or several
        clip_value: the largest absolute value
        foreach: taken as in PyTorch; it changes nothing here

    Example:
        >>> weight = nn.Parameter(clew.zeros(2))
        >>> weight.grad = clew.tensor([0.5, -3.0])
        >>> nn.utils.clip_grad_value_(weight, 1.0)
        >>> weight.grad
        tensor([ 0.5000, -1.0000])
    """
    bound = float(clip_value)
    state, where = local.state, user_where()
    for grad in _gradients(parameters):
        array = grad._array
        kernel = _CLIP_KERNEL.specialize(array)
        if kernel is None or state.intercept is not None:
            grad.clamp_(min=-bound, max=bound)
            continue
        check_write(state, "clamp_", (grad,))
        kernel(array, array.dtype.type(bound), out=array)
        bump_version(grad, "clamp_", where)


def _as_list(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradients(parameters: Tensors) -> list[Tensor]:
    listed = _as_list(parameters)
    observer = active.observer
    if observer is not None:
        observer.clipping(listed)
    return [each.grad for each in listed if each.grad is not None]


# Programs written before these two became public know them by these names.
_get_total_norm = get_total_norm
_clip_grads_with_norm_ = clip_grads_with_norm_
