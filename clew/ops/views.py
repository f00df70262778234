"""Views: operations whose result shares memory with their input.

The forward maps an ndarray to an ndarray over the same memory; the gradient is another view, or a
scatter into zeros where the view leaves elements out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.core.op import Op, ViewOp
from clew.core.public import public
from clew.core.tensor import Tensor
from clew.ops.dims import infer_shape, shape_argument, wrap_dim

Shape = tuple[int, ...]


def _viewed(self: np.ndarray, *, shape: Shape) -> np.ndarray:
    result = self.view()
    try:
        # Assigning a shape never copies: it raises when the strides do not allow the view.
        result.shape = shape
    except AttributeError:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
            + errors.at_user_line()
        ) from None
    return result


VIEW = ViewOp(
    "view", _viewed, grads={"self": lambda g, self_shape: g.reshape(self_shape)}, linear=True
)
TRANSPOSE = ViewOp(
    "transpose",
    lambda self, *, dim0, dim1: self.swapaxes(dim0, dim1),
    grads={"self": lambda g, dim0, dim1: g.transpose(dim0, dim1)},
    linear=True,
)
PERMUTE = ViewOp(
    "permute",
    lambda self, *, dims: self.transpose(dims),
    grads={"self": lambda g, dims: g.permute(tuple(int(i) for i in np.argsort(dims)))},
    linear=True,
)


def _expanded(self: np.ndarray, *, shape: Shape) -> np.ndarray:
    extra = len(shape) - self.ndim
    strides = (0,) * extra + tuple(
        stride if size == wanted else 0
        for stride, size, wanted in zip(self.strides, self.shape, shape[extra:], strict=True)
    )
    return np.lib.stride_tricks.as_strided(self, shape, strides)


EXPAND = ViewOp("expand", _expanded, grads={"self": lambda g: g}, linear=True)

CLONE = Op("clone", lambda self: self.copy(order="K"), grads={"self": lambda g: g}, linear=True)
UNSAFE_RESHAPE = Op(
    "_unsafe_view",
    lambda self, *, shape: self.reshape(shape),
    grads={"self": lambda g, self_shape: g.reshape(self_shape)},
    node="UnsafeViewBackward0",
    linear=True,
)


@public(function=False)
def view(self: Tensor, *shape: Any) -> Tensor:
    """The same elements in another shape, without a copy."""
    return VIEW(self, shape=infer_shape(shape_argument(shape), self._array.size))


@public()
def reshape(input: Tensor, *shape: Any) -> Tensor:
    """The same elements in another shape: a view where possible, else a copy."""
    wanted = infer_shape(shape_argument(shape), input._array.size)
    if _can_view(input._array, wanted):
        return VIEW(input, shape=wanted)
    return UNSAFE_RESHAPE(input.clone(), shape=wanted)


def _can_view(array: np.ndarray, shape: Shape) -> bool:
    return array.flags.c_contiguous or np.shares_memory(array.reshape(shape), array)


@public(aliases=("swapaxes", "swapdims"))
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap two dimensions."""
    ndim = input._array.ndim
    if not ndim:
        wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
        return VIEW(input, shape=())
    return TRANSPOSE(input, dim0=wrap_dim(dim0, ndim), dim1=wrap_dim(dim1, ndim))


@public()
def permute(input: Tensor, *dims: Any) -> Tensor:
    """Reorder all dimensions."""
    ndim = input._array.ndim
    order = tuple(wrap_dim(dim, ndim) for dim in shape_argument(dims))
    if len(order) != ndim:
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {ndim} is not equal "
            f"to len(dims) = {len(order)}" + errors.at_user_line()
        )
    if len(set(order)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed." + errors.at_user_line())
    return PERMUTE(input, dims=order)


@public(function=False)
def expand(self: Tensor, *shape: Any) -> Tensor:
    """Repeat dimensions of size 1 (and new leading ones) without a copy; -1 keeps a size."""
    wanted = shape_argument(shape)
    have = self._array.shape
    extra = len(wanted) - len(have)
    if extra < 0:
        raise RuntimeError(
            f"expand(torch.{self.dtype.scalar_name}Tensor{{{errors.shape_list(have)}}}, "
            f"size={errors.shape_list(wanted)}): the number of sizes provided ({len(wanted)}) must "
            f"be greater or equal to the number of dimensions in the tensor ({len(have)})"
            + errors.at_user_line()
        )
    sizes = []
    for index, n in enumerate(wanted):
        old = have[index - extra] if index >= extra else 1
        if n == -1 and index >= extra:
            n = old
        elif n < 0 or (old != 1 and n != old):
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({old}) at "
                f"non-singleton dimension {index}.  Target sizes: {errors.shape_list(wanted)}.  "
                f"Tensor sizes: {errors.shape_list(have)}" + errors.at_user_line()
            )
        sizes.append(n)
    return EXPAND(self, shape=tuple(sizes))


@public(out=False)
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy that is part of the graph."""
    return CLONE(input)
