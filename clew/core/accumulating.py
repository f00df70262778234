"""Gradients in the shape and dtype of what they belong to; those of leaves, added up in `.grad`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.meta.memory import is_meta
from clew.core.mirror import MIRRORS, reflect
from clew.core.state import local
from clew.core.storage import Storage
from clew.core.tensor import Tensor, _new, placed
from clew.kernels.compiled.copies import copied, copy_into
from clew.kernels.compiled.threaded_ufuncs import threaded
from clew.kernels.numpy.reduce import FEW, sum_few, sum_floats


def sum_bare_to_shape(grad: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """`sum_to_shape` of a bare array of floats; None where it is not the usual case."""
    have = grad.shape
    extra = len(have) - len(shape)
    if grad.dtype not in _PLAIN or not grad.size or not shape or extra < 0:
        return None
    if have[extra:] == shape:
        if extra == 1 == len(shape) and grad.size <= FEW:
            # A bias, mostly.
            summed = sum_few(grad, _FIRST, False)
            if summed is not None:
                return summed
        return sum_floats(grad, tuple(range(extra)), False)
    dims = list(range(extra))
    for dim, n in enumerate(shape, extra):
        if have[dim] != n:
            if n != 1:
                return None
            dims.append(dim)
    return sum_floats(grad, tuple(dims), True).reshape(shape)


def fit(
    grad: Tensor,
    shape: tuple[int, ...],
    dtype: np.dtype | None,
    node: Node | None,
    source: Node | None = None,
) -> Tensor:
    """A gradient in the shape and dtype of what it is the gradient of, an output of `node`.

    `source` is the node that returned it.
    """
    if source is not None:
        refuse_complex_gradient(grad, dtype, source)
    if grad._layout.shape != shape:
        if dtype is not None and grad._layout.dtype.kind == "c" and dtype.kind not in "cW":
            # What is summed is the real part: the sum has no gaps then.
            grad = grad.real
        grad = sum_to_shape(grad, shape, node)
    if dtype is None:
        # A leaf whose `grad_dtype` is None takes gradients as they come.
        return grad
    want = dtypes.BY_NUMPY[dtype]
    have = dtypes.BY_NUMPY[grad._layout.dtype]
    if have is not want:
        if want.category < dtypes.FLOAT:
            raise no_integer_gradient()
        if have.is_complex and not want.is_complex:
            grad = grad.real
        grad = grad.to(want)
    return grad


def no_integer_gradient() -> RuntimeError:
    """That backward has come to integers or bools that a value with history was written to."""
    return RuntimeError(
        "isDifferentiableType(grad.scalar_type()) INTERNAL ASSERT FAILED\n"
        "  A value with history was written to integers or bools, which have no gradient."
        + errors.at_user_line()
    )


def refuse_complex_gradient(grad: Tensor, dtype: np.dtype | None, source: Node) -> None:
    """Raise for a complex gradient of a real tensor, where PyTorch does not take the real part."""
    if dtype is None or dtype.kind in "cW":
        return
    if source._is_op and source.op.keeps_complex and grad._layout.dtype.kind in "cW":
        raise RuntimeError(
            f"{WRONG_KIND}\n  {source._name()} has a complex result, and gives a real operand a "
            "complex gradient: convert that operand to complex first." + errors.at_user_line()
        )


# Of these a sum has the dtype of what is summed.
_PLAIN = frozenset({np.dtype(np.float32), np.dtype(np.float64)})
_FIRST = (0,)
# So many numbers are added before another thread would begin.
_FEW = 1 << 12


def with_strides(grad: Tensor, strides: tuple[int, ...] | None) -> Tensor:
    """A gradient in memory with these strides, in bytes; a copy, unless it has them already."""
    array = grad._array
    if strides is None or array.strides == strides or (0 in strides and array.size > 1):
        return grad
    new = grad.new_empty_strided(array.shape, [n // array.itemsize for n in strides])
    moved: Tensor = new.copy_(grad)
    return moved


def fitted(node: Node, results: Sequence[Any]) -> list[Tensor | None]:
    """What a node returned, each in the shape and dtype of what it is the gradient of."""
    return [
        grad if grad is None or edge is None else fit(grad, *edge[0]._meta[edge[1]], edge[0], node)
        for edge, grad in zip(node._edges, results, strict=True)
    ]


def sum_to_shape(grad: Tensor, shape: tuple[int, ...], node: Node | None) -> Tensor:
    have = grad._layout.shape
    extra = len(have) - len(shape)
    if extra > 0 and have[extra:] == shape and not local.state.grad_enabled:
        return grad.sum(tuple(range(extra)))
    if not shape:
        return grad.sum()
    dims = list(range(extra))
    if extra >= 0:
        dims += [extra + i for i, n in enumerate(shape) if n == 1 and have[extra + i] != 1]
    if extra < 0 or any(have[extra + i] != n and n != 1 for i, n in enumerate(shape)):
        name = "" if node is None else node._name()
        raise RuntimeError(
            f"Function {name} returned an invalid gradient at index 0 - got "
            f"{errors.shape_list(have)} but expected shape compatible with "
            f"{errors.shape_list(shape)}"
        )
    if dims:
        grad = grad.sum(dims, keepdim=True)
    return grad.reshape(shape) if extra else grad


if TYPE_CHECKING:
    from clew.core.node import Node

# How PyTorch's engine says that a gradient is complex and its tensor real, or the other way round.
WRONG_KIND = (
    "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to be "
    "true, but got false."
)


def is_unstrided(grad: Tensor | np.ndarray) -> bool:
    """Whether a gradient is sparse, or the like."""
    return isinstance(grad, Tensor) and grad._is_unstrided


def accumulate_into(variable: Tensor, grad: Tensor) -> None:
    """`variable.grad += grad`, in place only when no graph of the gradient is asked for."""
    have = variable._grad
    if grad._is_unstrided or variable._is_unstrided or (have is not None and have._is_unstrided):
        accumulate_unstrided(variable, have, grad)
    elif have is None:
        variable._grad = own(grad, variable._array)
    elif local.state.grad_enabled or type(have) is not Tensor:
        variable._grad = have + grad
    else:
        total = have._array
        if grad._array.shape != total.shape:
            # The leaf was given data of another shape: the sum, or why there is none.
            variable._grad = have + grad
            return
        # Before the write, so that an interrupt does not leave one that nobody knows of.
        have._storage.bump("AccumulateGrad", None)
        if is_meta(total):
            return
        if grad._array.dtype is total.dtype:
            threaded(np.add, total, grad._array, total)
        else:
            np.add(total, grad._array, total, casting="unsafe")
        if MIRRORS:
            reflect(total)


def accumulate_array(variable: Tensor, grad: np.ndarray) -> bool:
    """`accumulate_into` for few numbers, where no graph is asked for and all is as usual; whether
    it was."""
    have = variable._grad
    if type(have) is not Tensor:
        return False
    total = have._array
    if (
        type(total) is not np.ndarray
        or total.size > _FEW
        or total.dtype is not grad.dtype
        or total.shape != grad.shape
        or MIRRORS
        or is_meta(total)
    ):
        return False
    # Before the write, so that an interrupt does not leave one that nobody knows of.
    have._storage.bump("AccumulateGrad", None)
    np.add(total, grad, total)
    return True


def accumulate_unstrided(variable: Tensor, have: Tensor | None, grad: Tensor) -> None:
    """The same where one of them is sparse."""
    if have is None:
        kept = grad.clone() if local.state.grad_enabled else grad.detach().clone()
        variable._grad = kept
    elif local.state.grad_enabled or (have._is_unstrided and not grad._is_unstrided):
        variable._grad = grad + have
    else:
        have.add_(grad)


def own(grad: Tensor, like: np.ndarray) -> Tensor:
    """`grad` as a tensor with memory of its own, and with the strides of the leaf."""
    if type(grad) is not Tensor and hasattr(type(grad), "__torch_dispatch__"):
        return grad if local.state.grad_enabled else placed(grad, None, 0)
    if local.state.grad_enabled and grad._requires_grad:
        return _new_like(grad, like).copy_(grad)
    result: Tensor = _new(Tensor)
    if is_meta(grad._array):
        result._array = grad._array
    elif like.flags.c_contiguous or like.shape != grad._array.shape:
        result._array = copied(grad._array)
    else:
        result._array = _dense(like, grad._array.dtype)
        copy_into(result._array, grad._array)
    result._storage = Storage()
    result._requires_grad = False
    result._node = None
    result._output_nr = 0
    result._view = None
    result._reason = None
    result._grad = None
    return result


def _new_like(grad: Tensor, like: np.ndarray) -> Tensor:
    shape = grad._array.shape
    if like.flags.c_contiguous or like.shape != shape:
        return grad.new_empty(shape)
    return grad.new_empty_strided(shape, [n // like.itemsize for n in _dense(like).strides])


def _dense(like: np.ndarray, dtype: Any = None) -> np.ndarray:
    """New memory as that of a leaf; where that has gaps, it is in the order of dimensions."""
    result = np.empty_like(like, dtype)
    steps = zip(like.shape, like.strides, result.strides, strict=True)
    for size, has, dense in steps:
        if size > 1 and has * result.itemsize != dense * like.itemsize:
            return np.empty(like.shape, result.dtype)
    return result
