"""Views with the dimensions in another order: transpose, permute, movedim, and the properties."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.core.elementwise import NO_PARAMS
from clew.core.public import methods, public
from clew.core.tensor import Tensor
from clew.core.view_op import ViewOp
from clew.ops.define.dims import shape_argument, wrap_dim
from clew.ops.shape.views import ALIAS
from clew.overloads import no_overload

Shape = tuple[int, ...]

TRANSPOSE = ViewOp(
    "transpose",
    lambda self, *, dim0, dim1: _swapped(self, dim0, dim1),
    grads={"self": lambda g, dim0, dim1: _swapped(g, dim0, dim1)},
    linear=True,
    bare=True,
    grad_is_view=True,
)
T = ViewOp(
    "t", lambda self: self.T, grads={"self": lambda g: _transposed(g)}, linear=True, bare=True,
    grad_is_view=True,
)  # fmt: skip
PERMUTE = ViewOp(
    "permute",
    lambda self, *, dims: self.transpose(dims),
    grads={"self": lambda g, dims: _permuted(g, inverse_order(dims))},
    linear=True,
    bare=True,
)


def _swapped(g: Any, dim0: int, dim1: int) -> Any:
    """Of tensors or bare arrays; without dimensions it is the same once more."""
    if isinstance(g, np.ndarray) and not g.ndim:
        return g.view()
    return g.swapaxes(dim0, dim1)


def _transposed(g: Any) -> Any:
    """Of tensors or bare arrays."""
    return g.T if type(g) is np.ndarray else g.t()


def _permuted(g: Any, dims: Shape) -> Any:
    """Of tensors or bare arrays."""
    return g.transpose(dims) if type(g) is np.ndarray else g.permute(dims)


def inverse_order(dims: Shape) -> Shape:
    """The order of dimensions that undoes a permutation."""
    inverse = [0] * len(dims)
    for place, dim in enumerate(dims):
        inverse[dim] = place
    return tuple(inverse)


@public(out=False)
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """A view with two dimensions swapped.

    Args:
        input: any tensor
        dim0: the one dimension
        dim1: the other

    Example:
        >>> clew.transpose(clew.tensor([[1, 2, 3], [4, 5, 6]]), 0, 1)
        tensor([[1, 4],
                [2, 5],
                [3, 6]])
    """
    array = input._array
    ndim = array.ndim
    dim0, dim1 = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    return TRANSPOSE.share(input, {"dim0": dim0, "dim1": dim1}, _swapped(array, dim0, dim1))


@public(out=False)
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Swap two dimensions; NumPy's name for `transpose`.

    Args:
        input: any tensor
        axis0: the one dimension
        axis1: the other

    Example:
        >>> clew.swapaxes(clew.zeros(2, 3, 4), 0, 2).shape
        torch.Size([4, 3, 2])
    """
    return transpose(input, axis0, axis1)


@public(out=False)
def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap two dimensions; another name for `transpose`.

    Args:
        input: any tensor
        dim0: the one dimension
        dim1: the other

    Example:
        >>> clew.swapdims(clew.zeros(2, 3, 4), 0, 2).shape
        torch.Size([4, 3, 2])
    """
    return transpose(input, dim0, dim1)


@public(out=False)
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix, as a view; vectors and numbers stay as they are.

    Args:
        input: at most two dimensions

    Example:
        >>> clew.t(clew.tensor([[1, 2, 3], [4, 5, 6]]))
        tensor([[1, 4],
                [2, 5],
                [3, 6]])
    """
    check_t(input, "t")
    return T.share(input, NO_PARAMS, input._array.T)


def check_t(input: Tensor, name: str) -> None:
    if input._array.ndim > 2:
        raise RuntimeError(
            f"{name}() expects a tensor with <= 2 dimensions, but self is {input._array.ndim}D"
            + errors.at_user_line()
        )


@public(out=False)
def permute(input: Tensor, *args: Any, dims: Any = None) -> Tensor:
    """A view with all dimensions in another order.

    Args:
        input: any tensor
        dims: for each dimension of the result, which one of `input` it is

    Example:
        >>> clew.permute(clew.zeros(2, 3, 5), (2, 0, 1)).shape
        torch.Size([5, 2, 3])
    """
    ndim = input._array.ndim
    order = shape_argument(args, dims, "permute", "dims")
    if len(order) != ndim:
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {ndim} is not equal "
            f"to len(dims) = {len(order)}" + errors.at_user_line()
        )
    order = tuple([wrap_dim(dim, ndim) for dim in order])
    if len(set(order)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed." + errors.at_user_line())
    return PERMUTE.share(input, {"dims": order}, input._array.transpose(order))


@public(checked=True, aliases=("moveaxis",), out=False)
def movedim(input: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """A view with dimensions moved to other places; the rest keep their order.

    Args:
        input: any tensor
        source: which dimensions to move, one or several
        destination: where each goes

    Example:
        >>> images = clew.zeros(8, 32, 48, 3)  # channels last
        >>> clew.movedim(images, -1, 1).shape
        torch.Size([8, 3, 32, 48])
    """
    if isinstance(source, Sequence) != isinstance(destination, Sequence):
        raise no_overload("movedim", (input, source, destination), "two ints, or two lists")
    ndim = input._layout.ndim
    sources: list[Any] = list(source) if isinstance(source, Sequence) else [source]
    destinations: list[Any] = (
        list(destination) if isinstance(destination, Sequence) else [destination]
    )
    if len(sources) != len(destinations):
        raise RuntimeError(
            "movedim: Invalid source or destination dims: source "
            f"({errors.shape_list(sources)} dims) should contain the same number of dims as "
            f"destination ({errors.shape_list(destinations)} dims)" + errors.at_user_line()
        )
    from_dims = [wrap_dim(dim, ndim) for dim in sources]
    to_dims = [wrap_dim(dim, ndim) for dim in destinations]
    for name, dims, given in (
        ("source", from_dims, sources), ("destination", to_dims, destinations)
    ):  # fmt: skip
        if len(set(dims)) != len(dims):
            raise RuntimeError(
                f"movedim: repeated dim in `{name}` ({errors.shape_list(given)})"
                + errors.at_user_line()
            )
    if not ndim:
        return ALIAS(input)
    rest = iter([dim for dim in range(ndim) if dim not in from_dims])
    placed = dict(zip(to_dims, from_dims, strict=True))
    return PERMUTE(input, dims=tuple(placed[i] if i in placed else next(rest) for i in range(ndim)))


def _all_transposed(self: Tensor) -> Tensor:
    """The tensor with its dimensions in reverse order, as a view; meant for matrices.

    Example:
        >>> clew.tensor([[1, 2, 3], [4, 5, 6]]).T
        tensor([[1, 4],
                [2, 5],
                [3, 6]])
    """
    if self._array.ndim not in (0, 2):
        errors.warn_once(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
            "deprecated and it will throw an error in a future release. Consider `x.mT` to "
            "transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to "
            "reverse the dimensions of a tensor."
        )
    order = tuple(range(self._array.ndim - 1, -1, -1))
    return PERMUTE.share(self, {"dims": order}, self._array.T)


def _matrix_transposed(self: Tensor) -> Tensor:
    """The transpose of a matrix, or of each in a batch, as a view.

    Example:
        >>> clew.zeros(5, 2, 3).mT.shape
        torch.Size([5, 3, 2])
    """
    if self._array.ndim == 1:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got "
            f"{self._array.ndim}-D tensor." + errors.at_user_line()
        )
    if not self._array.ndim:
        warnings.warn(
            "Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases.",
            stacklevel=2,
        )
        return self
    return transpose(self, -2, -1)


def _hermitian(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix.

    Example:
        >>> clew.tensor([[1 + 2j, 3], [0, 1j]]).H.resolve_conj()
        tensor([[1.-2.j, 0.-0.j],
                [3.-0.j, 0.-1.j]])
    """
    if self._array.ndim not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self._array.ndim}-D "
            "tensor."
            + ("" if self._array.ndim < 3 else " For batches of matrices, consider using tensor.mH")
            + errors.at_user_line()
        )
    return _conjugate(self if not self._array.ndim else transpose(self, 0, 1))


def _batch_hermitian(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix, or of each in a batch.

    Example:
        >>> clew.zeros(5, 2, 3, dtype=clew.complex64).mH.shape
        torch.Size([5, 3, 2])
    """
    if self._array.ndim == 1:
        raise RuntimeError(
            f"tensor.mH is only supported on matrices or batches of matrices. Got "
            f"{self._array.ndim}-D tensor." + errors.at_user_line()
        )
    return adjoint(self)


@public(out=False)
def adjoint(input: Tensor) -> Tensor:
    """The conjugate transpose of a matrix, or of each in a batch.

    Args:
        input: (..., rows, columns)

    Example:
        >>> clew.adjoint(clew.tensor([[1 + 2j, 3], [0, 1j]])).resolve_conj()
        tensor([[1.-2.j, 0.-0.j],
                [3.-0.j, 0.-1.j]])
    """
    if input._array.ndim == 1:
        raise RuntimeError(
            f"tensor.adjoint() is only supported on matrices or batches of matrices. Got "
            f"{input._array.ndim}-D tensor." + errors.at_user_line()
        )
    return _conjugate(transpose(input, -2, -1) if input._array.ndim else input)


def _conjugate(input: Tensor) -> Tensor:
    return input.conj() if input._array.dtype.kind in "cW" else input


methods(
    T=property(_all_transposed), mT=property(_matrix_transposed), H=property(_hermitian),
    mH=property(_batch_hermitian),
)  # fmt: skip
