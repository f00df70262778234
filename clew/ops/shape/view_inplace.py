"""In-place forms that change a tensor's shape and not its elements: squeeze_, t_, as_strided_."""

from __future__ import annotations

from typing import Any

from clew.core.inplace import check_write, note_write, refuse_leaf
from clew.core.public import methods, public
from clew.core.state import local
from clew.core.storage import INFERENCE
from clew.core.tensor import Tensor, WeakTensorRef, tangents_of
from clew.core.view_op import ViewOp
from clew.ops.define.dims import wrap_dim
from clew.ops.shape import squeezing, transposing, views
from clew.ops.shape.strided import AS_STRIDED, strided_part


def _twin(op: ViewOp, name: str, node: str) -> ViewOp:
    """The same view with the node that PyTorch gives its in-place form."""
    return ViewOp(name, op.forward, grads=op.grads, linear=True, node=node, bare=op.bare)


UNSQUEEZE_ = _twin(squeezing.UNSQUEEZE, "unsqueeze_", "UnsqueezeBackward1")
TRANSPOSE_ = _twin(transposing.TRANSPOSE, "transpose_", "TransposeBackward1")
T_ = _twin(transposing.T, "t_", "TBackward1")
AS_STRIDED_ = _twin(AS_STRIDED, "as_strided_", "AsStridedBackward1")
SQUEEZE_ = {
    squeezing.SQUEEZE_ALL: _twin(squeezing.SQUEEZE_ALL, "squeeze_", "SqueezeBackward3"),
    squeezing.SQUEEZE_DIM: _twin(squeezing.SQUEEZE_DIM, "squeeze_dim_", "SqueezeBackward4"),
    squeezing.SQUEEZE_DIMS: _twin(squeezing.SQUEEZE_DIMS, "squeeze_dims_", "SqueezeBackward5"),
}


Undo = tuple[ViewOp, dict[str, Any]]


def refuse_change(self: Tensor, writer: str) -> None:
    """Raise for tensors that must not become another tensor: leaves, while grad mode is on."""
    check_write(local.state, writer, (self,), may_overlap=True)


def turn_into_view(self: Tensor, op: ViewOp, undo: Undo, **params: Any) -> Tensor:
    """Let a tensor become a view of what it was; `undo` is the view that leads back."""
    refuse_change(self, op.name)
    viewed = op(self, **params)
    _take_view(self, viewed, undo, op.name)
    for level, tangent in tangents_of(viewed).items():
        level.give(self, tangent)
    return self


def _take_view(self: Tensor, viewed: Tensor, undo: Undo, writer: str) -> None:
    """Let a tensor become a view that was made of it."""
    view = self._view
    if self._is_lifted:
        back = _with_examples(undo, self._level.size) if self._is_batched else undo

        def take(whole: Tensor, now: Tensor) -> None:
            refuse_change(whole, writer)
            _take_view(whole, now, back, writer)

        self.take_view(viewed, take)
    self._array = viewed._array
    # Without grad the history is that of what it was, until it is made anew from the base.
    has_history = view.base._requires_grad if view is not None else not self.is_leaf
    stays = viewed._node is None and has_history
    if not stays:
        self._node, self._output_nr = viewed._node, viewed._output_nr
    note_write(self, writer)
    if view is not None:
        self._view = viewed._view
        if self._view is not None:
            # It may be written to if what it was may be.
            self._view.kind = view.kind
            if viewed._node is not None:
                self._view.made = self._view.seen = self._storage.changes
            elif not view.borrows:
                self._view.made = self._view.seen = -1
    elif self._storage is not INFERENCE:
        # Views of what it was find their place again from here.
        storage = self._storage
        owner = self._level if self._is_lifted else WeakTensorRef(self)
        storage.inplace_views = (*storage.inplace_views, (storage.version, owner, *undo))
        storage.rewrite()


def _with_examples(undo: Undo, size: int) -> Undo:
    """What leads back for one example, for all of them."""
    op, params = undo
    if op is views.VIEW:
        return op, {"shape": (size, *params["shape"])}
    if op is transposing.T:
        return transposing.TRANSPOSE, {"dim0": 1, "dim1": -1}
    if op is squeezing.SQUEEZE_DIM:
        return op, {"dims": tuple(dim + 1 for dim in params["dims"])}
    return op, {name: dim + 1 for name, dim in params.items()}


def squeeze_(self: Tensor, dim: Any = None, *more: int) -> Tensor:
    """In-place version of `squeeze`: remove dimensions of size 1 from this tensor.

    Args:
        dim: the dimension, or several; by default all of size 1
        more: further dimensions
    """
    refuse_leaf(self, "squeeze_")
    op, dims = squeezing.squeeze_form(self, (dim, *more) if more else dim)
    undo = views.VIEW, {"shape": self._array.shape}
    return turn_into_view(self, SQUEEZE_[op], undo, dims=dims)


def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """In-place version of `unsqueeze`: insert a dimension of size 1 into this tensor.

    Args:
        dim: where it will be
    """
    refuse_leaf(self, "unsqueeze_")
    dim = wrap_dim(dim, self._array.ndim + 1)
    return turn_into_view(self, UNSQUEEZE_, (squeezing.SQUEEZE_DIM, {"dims": (dim,)}), dim=dim)


def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """In-place version of `transpose`: swap two dimensions of this tensor.

    Args:
        dim0: the one dimension
        dim1: the other
    """
    refuse_leaf(self, "transpose_")
    ndim = self._array.ndim
    first, second = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    params = {"dim0": first, "dim1": second}
    return turn_into_view(self, TRANSPOSE_, (transposing.TRANSPOSE, params), **params)


def swapaxes_(self: Tensor, axis0: int, axis1: int) -> Tensor:
    """In-place version of `swapaxes`: swap two dimensions of this tensor.

    Args:
        axis0: the one dimension
        axis1: the other
    """
    return transpose_(self, axis0, axis1)


def t_(self: Tensor) -> Tensor:
    """In-place version of `t`: transpose this matrix."""
    refuse_leaf(self, "t_")
    transposing.check_t(self, "t_")
    return turn_into_view(self, T_, (transposing.T, {}))


@public(out=False)
def as_strided_(self: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """In-place version of `as_strided`: give this tensor any size and strides over its memory.

    Args:
        size: the new shape
        stride: for each dimension, how many elements of memory lie between neighbours
        storage_offset: where in memory it begins; by default where it does
    """
    refuse_leaf(self, "as_strided_")
    part, whole = strided_part("as_strided_", self, size, stride, storage_offset)
    undo = AS_STRIDED, {"part": whole, "whole": part}
    return turn_into_view(self, AS_STRIDED_, undo, part=part, whole=whole)


methods(
    squeeze_=squeeze_, unsqueeze_=unsqueeze_, transpose_=transpose_, swapaxes_=swapaxes_,
    swapdims_=transpose_, t_=t_,
)  # fmt: skip
