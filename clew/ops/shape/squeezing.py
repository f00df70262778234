"""Dimensions of size 1: squeeze, unsqueeze, and tensors with at least so many dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.core.public import public
from clew.core.tensor import Tensor
from clew.core.view_op import ViewOp
from clew.ops.define.dims import numpy_names, wrap_dim, wrap_dims
from clew.ops.shape.views import reshape, same_elements

Shape = tuple[int, ...]


def _unsqueezed(self: np.ndarray, *, dim: int) -> np.ndarray:
    # NumPy would give the new dimension stride 0, which says "expanded" elsewhere.
    shape, strides = self.shape, self.strides
    if 0 not in shape and 1 not in shape and self.flags.c_contiguous:
        return self.reshape(shape[:dim] + (1,) + shape[dim:])
    step = shape[dim] * strides[dim] if dim < len(shape) else self.itemsize
    return same_elements(
        self, shape[:dim] + (1,) + shape[dim:], strides[:dim] + (step,) + strides[dim:]
    )


UNSQUEEZE = ViewOp(
    "unsqueeze",
    _unsqueezed,
    grads={"self": lambda g, dim: g.squeeze(dim)},
    linear=True,
    bare=True,
)


def _squeezed(self: np.ndarray, *, dims: Shape) -> np.ndarray:
    shape = self.shape
    return self.squeeze(tuple([dim for dim in dims if shape and shape[dim] == 1]))


def _squeeze_op(name: str, node: str) -> ViewOp:
    """PyTorch gives each form of squeeze its own node."""
    gradient = lambda g, self_shape: g.reshape(self_shape)  # noqa: E731  # a formula is a lambda
    return ViewOp(name, _squeezed, grads={"self": gradient}, linear=True, node=node, bare=True)


SQUEEZE_ALL = _squeeze_op("squeeze", "SqueezeBackward0")
SQUEEZE_DIM = _squeeze_op("squeeze_dim", "SqueezeBackward1")
SQUEEZE_DIMS = _squeeze_op("squeeze_dims", "SqueezeBackward2")


@public(out=False)
@numpy_names
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A view with a dimension of size 1 inserted.

    Args:
        input: any tensor
        dim: where it will be; negative ones count from the end of the result

    Example:
        >>> clew.unsqueeze(clew.tensor([1, 2]), 1)
        tensor([[1],
                [2]])
    """
    array = input._array
    dim = wrap_dim(dim, array.ndim + 1)
    return UNSQUEEZE.share(input, {"dim": dim}, _unsqueezed(array, dim=dim))


@public(out=False)
@numpy_names
def squeeze(input: Tensor, dim: Any = None, *more: int) -> Tensor:
    """A view without dimensions of size 1: all, one, or some.

    Args:
        input: any tensor
        dim: the dimension, or several, to remove; one of another size stays
        more: further dimensions

    Example:
        >>> clew.squeeze(clew.zeros(1, 3, 1)).shape
        torch.Size([3])
        >>> clew.squeeze(clew.zeros(1, 3, 1), 0).shape
        torch.Size([3, 1])
    """
    array = input._array
    if type(dim) is int and array.ndim and not more:
        dim = wrap_dim(dim, array.ndim)
        part = array.squeeze(dim if array.shape[dim] == 1 else ())
        return SQUEEZE_DIM.share(input, {"dims": (dim,)}, part)
    op, dims = squeeze_form(input, (dim, *more) if more else dim)
    return op.share(input, {"dims": dims}, _squeezed(array, dims=dims))


def squeeze_form(input: Tensor, dim: Any) -> tuple[ViewOp, Shape]:
    ndim = input._array.ndim
    if dim is None:
        return SQUEEZE_ALL, tuple(range(ndim))
    if isinstance(dim, (tuple, list)):
        return SQUEEZE_DIMS, wrap_dims(dim, ndim) if dim else ()
    return SQUEEZE_DIM, (wrap_dim(dim, ndim),)


def _at_least(ndim: int, tensors: tuple[Any, ...]) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return _with_dims(tensors[0], ndim)
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    for position, each in enumerate(tensors):
        if not isinstance(each, Tensor):
            raise errors.wrong_argument(
                f"atleast_{ndim}d", "tensors", position + 1, "tuple of Tensors", each
            )
    return tuple(_with_dims(each, ndim) for each in tensors)


def _with_dims(input: Tensor, ndim: int) -> Tensor:
    have = input._array.ndim
    if have >= ndim:
        return input
    if have == 0:
        return reshape(input, (1,) * ndim)
    if have == 2:
        return unsqueeze(input, -1)
    row = unsqueeze(input, 0)
    return row if ndim == 2 else unsqueeze(row, -1)


@public(method=False, out=False)
def atleast_1d(*tensors: Any) -> Any:
    """Views with at least one dimension: numbers become vectors.

    Args:
        tensors: the tensors, as arguments or in one sequence

    Example:
        >>> clew.atleast_1d(clew.tensor(5))
        tensor([5])
    """
    return _at_least(1, tensors)


@public(method=False, out=False)
def atleast_2d(*tensors: Any) -> Any:
    """Views with at least two dimensions: numbers and vectors become matrices of one row.

    Args:
        tensors: the tensors, as arguments or in one sequence

    Example:
        >>> clew.atleast_2d(clew.tensor([1, 2]))
        tensor([[1, 2]])
    """
    return _at_least(2, tensors)


@public(method=False, out=False)
def atleast_3d(*tensors: Any) -> Any:
    """Views with at least three dimensions: vectors become (1, n, 1), matrices (m, n, 1).

    Args:
        tensors: the tensors, as arguments or in one sequence

    Example:
        >>> clew.atleast_3d(clew.tensor([1, 2])).shape
        torch.Size([1, 2, 1])
    """
    return _at_least(3, tensors)
