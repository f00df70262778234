"""In-place forms that change a tensor's shape and not its elements: squeeze_, t_, resize_, set_."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.core.inplace import bump_version, check_write
from clew.core.node import AccumulateGrad
from clew.core.public import methods, public
from clew.core.state import local
from clew.core.storage import INFERENCE
from clew.core.tensor import Tensor, wrap
from clew.core.view_op import ViewOp
from clew.kernels.numpy.strides import owner_of, restride
from clew.ops.define.dims import shape_argument, wrap_dim
from clew.ops.shape import transposing, views
from clew.ops.shape.strided import AS_STRIDED, strided_part


def _twin(op: ViewOp, name: str, node: str) -> ViewOp:
    """The same view with the node that PyTorch gives its in-place form."""
    return ViewOp(name, op.forward, grads=op.grads, linear=True, node=node, bare=op.bare)


UNSQUEEZE_ = _twin(views.UNSQUEEZE, "unsqueeze_", "UnsqueezeBackward1")
TRANSPOSE_ = _twin(transposing.TRANSPOSE, "transpose_", "TransposeBackward1")
T_ = _twin(transposing.T, "t_", "TBackward1")
AS_STRIDED_ = _twin(AS_STRIDED, "as_strided_", "AsStridedBackward1")
SQUEEZE_ = {
    views.SQUEEZE_ALL: _twin(views.SQUEEZE_ALL, "squeeze_", "SqueezeBackward3"),
    views.SQUEEZE_DIM: _twin(views.SQUEEZE_DIM, "squeeze_dim_", "SqueezeBackward4"),
    views.SQUEEZE_DIMS: _twin(views.SQUEEZE_DIMS, "squeeze_dims_", "SqueezeBackward5"),
}


Undo = tuple[ViewOp, dict[str, Any]]


def refuse_leaf(self: Tensor, writer: str) -> None:
    """A leaf that requires grad must not become another tensor while grad mode is on."""
    check_write(local.state, writer, (self,), may_overlap=True)


def turn_into_view(self: Tensor, op: ViewOp, undo: Undo, **params: Any) -> Tensor:
    """Let a tensor become a view of what it was; `undo` is the view that leads back."""
    refuse_leaf(self, op.name)
    was_view = self._view is not None
    viewed = op(self, **params)
    self._array = viewed._array
    self._node, self._output_nr = viewed._node, viewed._output_nr
    bump_version(self, op.name)
    if was_view:
        self._view = viewed._view
    elif self._storage is not INFERENCE:
        # Views of what it was find their place again from here.
        storage = self._storage
        storage.inplace_views = (*storage.inplace_views, (storage.version, *undo))
        storage.rewrite()
    return self


def squeeze_(self: Tensor, dim: Any = None) -> Tensor:
    """Remove dimensions of size 1 from this tensor."""
    op, dims = views.squeeze_form(self, dim)
    undo = views.VIEW, {"shape": self._array.shape}
    return turn_into_view(self, SQUEEZE_[op], undo, dims=dims)


def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """Insert a dimension of size 1 into this tensor."""
    dim = wrap_dim(dim, self._array.ndim + 1)
    return turn_into_view(self, UNSQUEEZE_, (views.SQUEEZE_DIM, {"dims": (dim,)}), dim=dim)


def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap two dimensions of this tensor."""
    ndim = self._array.ndim
    first, second = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    if not ndim:
        refuse_leaf(self, "transpose_")
        return self
    params = {"dim0": first, "dim1": second}
    return turn_into_view(self, TRANSPOSE_, (transposing.TRANSPOSE, params), **params)


def swapaxes_(self: Tensor, axis0: int, axis1: int) -> Tensor:
    """Swap two dimensions of this tensor; NumPy's name."""
    return transpose_(self, axis0, axis1)


def t_(self: Tensor) -> Tensor:
    """Transpose this matrix."""
    transposing.check_t(self, "t_")
    return turn_into_view(self, T_, (transposing.T, {}))


@public(out=False)
def as_strided_(self: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """Give this tensor any size and strides over its memory."""
    part, whole = strided_part("as_strided_", self, size, stride, storage_offset)
    undo = AS_STRIDED, {"part": whole, "whole": part}
    return turn_into_view(self, AS_STRIDED_, undo, part=part, whole=whole)


# -- size and memory -----------------------------------------------------------------------


def resize_(self: Tensor, *args: Any, size: Any = None, memory_format: Any = None) -> Tensor:
    """Give this tensor another size; its memory grows when it must, and new elements are unset."""
    shape = shape_argument(args, size)
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad" + errors.at_user_line())
    array = self._array
    if array.shape == shape:
        return self
    count = int(np.prod(shape))
    owner = owner_of(array)
    if owner.nbytes < count * array.itemsize:
        grown = np.zeros(count, array.dtype)
        kept = array.reshape(-1) if array.flags.c_contiguous else owner.reshape(-1)
        grown[: kept.size] = kept
        self._array = grown.reshape(shape)
    else:
        strides = np.empty(shape, np.bool_).strides
        self._array = restride(array, shape, tuple(s * array.itemsize for s in strides))
    bump_version(self, "resize_")
    return self


@public(out=False)
def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Give this tensor the size of another."""
    return resize_(self, the_template._array.shape, memory_format=memory_format)


def set_(self: Tensor, source: Tensor | None = None) -> Tensor:
    """Let this tensor share another's memory, size and strides; without one it becomes empty."""
    refuse_leaf(self, "set_")
    if self.requires_grad and not self.is_leaf:
        raise RuntimeError(
            "set_ is only supported on tensors without a history" + errors.at_user_line()
        )
    if source is None:
        source = wrap(np.empty(0, self._array.dtype))
    if source._array.dtype is not self._array.dtype:
        raise RuntimeError(
            f"Could not set tensor of type {source.dtype.name} to a tensor of type "
            f"{self.dtype.name}" + errors.at_user_line()
        )
    # As with `.data`, the version counter stays with the tensor.
    self._array = source._array
    if isinstance(self._node, AccumulateGrad):
        self._node = self._node.for_data_of(self)
    bump_version(self, "set_")
    return self


methods(
    squeeze_=squeeze_, unsqueeze_=unsqueeze_, transpose_=transpose_, swapaxes_=swapaxes_,
    swapdims_=transpose_, t_=t_, resize_=resize_, set_=set_,
)  # fmt: skip
