"""Triangles and diagonals of matrices, and matrices made of them: tril, diag, block_diag."""

from __future__ import annotations

import numpy as np

from clew import errors
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor, wrap
from clew.kernels.numpy.arrays import as_new
from clew.ops.define import out_checks
from clew.ops.define.dims import wrap_dim
from clew.ops.shape.joining import common_dtype
from clew.ops.shape.slicing import DIAGONAL

Shape = tuple[int, ...]


def _clipped(matrices: np.ndarray, diagonal: int) -> int:
    """Diagonals far outside are all alike, and need not fit into NumPy's integers."""
    rows, columns = matrices.shape[-2:]
    return max(-rows, min(diagonal, columns))


TRIL = Op(
    "tril",
    lambda self, *, diagonal: as_new(np.tril(self, _clipped(self, diagonal))),
    grads={"self": lambda g, diagonal: g.tril(diagonal)},
    linear=True,
)
TRIU = Op(
    "triu",
    lambda self, *, diagonal: as_new(np.triu(self, _clipped(self, diagonal))),
    grads={"self": lambda g, diagonal: g.triu(diagonal)},
    linear=True,
)


def _check_matrix(name: str, input: Tensor) -> None:
    if input._array.ndim < 2:
        raise RuntimeError(
            f"{name}: input tensor must have at least 2 dimensions" + errors.at_user_line()
        )


@public(checked=True, inplace=True, out=out_checks.input_dtype(may_alias=True))
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The lower triangle of matrices: a copy with zeros above a diagonal.

    Args:
        input: (..., rows, columns)
        diagonal: the last diagonal to keep: 0 is the main one, positive ones lie above it

    Example:
        >>> clew.tril(clew.ones(3, 3))
        tensor([[1., 0., 0.],
                [1., 1., 0.],
                [1., 1., 1.]])
    """
    _check_matrix("tril", input)
    return TRIL(input, diagonal=diagonal)


@public(checked=True, inplace=True, out=out_checks.input_dtype(may_alias=True))
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The upper triangle of matrices: a copy with zeros below a diagonal.

    Args:
        input: (..., rows, columns)
        diagonal: the first diagonal to keep: 0 is the main one, positive ones lie above it

    Example:
        >>> clew.triu(clew.ones(3, 3), diagonal=1)
        tensor([[0., 1., 1.],
                [0., 0., 1.],
                [0., 0., 0.]])
    """
    _check_matrix("triu", input)
    return TRIU(input, diagonal=diagonal)


def _diag_embedded(self: np.ndarray, *, offset: int, dim1: int, dim2: int) -> np.ndarray:
    n = self.shape[-1] + abs(offset)
    shape = list(self.shape[:-1])
    for dim in sorted((dim1, dim2)):
        shape.insert(dim, n)
    out = np.zeros(shape, self.dtype)
    DIAGONAL.view.forward(out, offset=offset, dim1=dim1, dim2=dim2)[...] = self
    return out


DIAG_EMBED = Op(
    "diag_embed",
    _diag_embedded,
    grads={"self": lambda g, offset, dim1, dim2: g.diagonal(offset, dim1, dim2)},
    linear=True,
)
DIAGONAL_COPY = Op(
    "diagonal_copy",
    lambda self, *, offset, dim1, dim2: DIAGONAL.view.forward(
        self, offset=offset, dim1=dim1, dim2=dim2
    ).copy(),
    grads={
        "self": lambda g, self_shape, offset, dim1, dim2: DIAGONAL.backward(
            g, input_sizes=self_shape, offset=offset, dim1=dim1, dim2=dim2
        )
    },
    linear=True,
    node="DiagonalBackward0_copy",
)


@public(checked=True, out=False)
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The last dimension on the diagonals of new matrices.

    Args:
        input: at least one dimension
        offset: which diagonal: 0 is the main one, positive ones lie above it
        dim1: the dimension of the result that is the matrices' rows
        dim2: the dimension of the result that is the matrices' columns

    Example:
        >>> clew.diag_embed(clew.tensor([1, 2]), offset=1)
        tensor([[0, 1, 0],
                [0, 0, 2],
                [0, 0, 0]])
    """
    ndim = input._array.ndim
    if not ndim:
        raise errors.dimension_out_of_range(-1, 0)
    first, second = wrap_dim(dim1, ndim + 1), wrap_dim(dim2, ndim + 1)
    if first == second:
        raise RuntimeError(
            f"diagonal dimensions cannot be identical {dim1}, {dim2}" + errors.at_user_line()
        )
    return DIAG_EMBED(input, offset=int(offset), dim1=first, dim2=second)


@public(checked=True, out=out_checks.input_dtype(may_alias=True), differentiable=None)
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """The diagonal of a matrix, or the matrix with a given diagonal: a copy.

    Args:
        input: a matrix, or a vector
        diagonal: which one: 0 is the main one, positive ones lie above it

    Example:
        >>> clew.diag(clew.tensor([1, 2]))
        tensor([[1, 0],
                [0, 2]])
        >>> clew.diag(clew.tensor([[1, 2], [3, 4]]))
        tensor([1, 4])
    """
    ndim = input._array.ndim
    if ndim == 1:
        return diag_embed(input, diagonal)
    if ndim == 2:
        return DIAGONAL_COPY(input, offset=diagonal, dim1=0, dim2=1)
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D" + errors.at_user_line())


@public(checked=True, out=False)
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The matrix with all elements of a tensor on a diagonal.

    Args:
        input: any tensor; it is seen as a vector
        offset: which diagonal: 0 is the main one, positive ones lie above it

    Example:
        >>> clew.diagflat(clew.tensor([1, 2]), offset=1)
        tensor([[0, 1, 0],
                [0, 0, 2],
                [0, 0, 0]])
    """
    return diag_embed(input.contiguous().view(-1), offset)


def _blocks(*tensors: np.ndarray, dtype: np.dtype) -> np.ndarray:
    rows = [_as_matrix_shape(each.shape) for each in tensors]
    out = np.zeros([sum(sizes) for sizes in zip(*rows, strict=True)], dtype)
    row = column = 0
    for each, (height, width) in zip(tensors, rows, strict=True):
        out[row : row + height, column : column + width] = each.reshape(height, width)
        row, column = row + height, column + width
    return out


def _as_matrix_shape(shape: Shape) -> Shape:
    return (1,) * (2 - len(shape)) + shape


def _block_parts(
    g: Tensor, input_shapes: tuple[Shape, ...], needs: tuple[bool, ...]
) -> list[Tensor | None]:
    parts: list[Tensor | None] = []
    row = column = 0
    for shape, needed in zip(input_shapes, needs, strict=True):
        height, width = _as_matrix_shape(shape)
        block = g.narrow(0, row, height).narrow(1, column, width) if needed else None
        parts.append(None if block is None else block.reshape(shape))
        row, column = row + height, column + width
    return parts


BLOCK_DIAG = Op("block_diag", _blocks, joint=_block_parts, linear=True)


@public(method=False, out=False)
def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the given matrices along its diagonal, and zeros elsewhere.

    Args:
        tensors: matrices of any sizes; vectors count as one row

    Example:
        >>> clew.block_diag(clew.tensor([[1, 2]]), clew.tensor([[3], [4]]))
        tensor([[1, 2, 0],
                [0, 0, 3],
                [0, 0, 4]])
    """
    if not tensors:
        return wrap(np.zeros((1, 0), np.float32))
    dtype = common_dtype(tensors) or tensors[0]._array.dtype
    for position, each in enumerate(tensors):
        if each._array.ndim > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                f"{position} has {each._array.ndim} dimensions" + errors.at_user_line()
            )
    return BLOCK_DIAG(*tensors, dtype=dtype)
