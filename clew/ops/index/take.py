"""Reading and writing by position in the flattened tensor: take, put, take_along_dim."""

from __future__ import annotations

import numpy as np

from clew import errors
from clew.core.inplace import refuse_leaf
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor, of_values
from clew.kernels import numpy as kernels
from clew.ops.define import out_checks
from clew.ops.define.dims import wrap_dim
from clew.ops.index.gather_scatter import gather
from clew.ops.index.writing import Call, WritingOp, run, run_in_place
from clew.ops.tensor.copying import zeros

Shape = tuple[int, ...]


def _wrapped(index: np.ndarray, n: int) -> np.ndarray:
    if index.size and not n:
        raise IndexError("take(): tried to take from an empty tensor" + errors.at_user_line())
    if index.size and (index.min() < -n or index.max() >= n):
        raise IndexError(
            f"out of range: tried to access index {index[(index < -n) | (index >= n)].flat[0]} on "
            f"a tensor of {n} elements." + errors.at_user_line()
        )
    return np.where(index < 0, index + n, index)


def _taken(self: np.ndarray, index: np.ndarray) -> np.ndarray:
    return self.reshape(-1)[_wrapped(index, self.size)]


def _put_back(grad_output: np.ndarray, index: np.ndarray, *, input_sizes: Shape) -> np.ndarray:
    out = np.zeros(input_sizes, grad_output.dtype)
    return kernels.scatter.add_flat(out, _wrapped(index, out.size), grad_output)


def _put(self: np.ndarray, index: np.ndarray, source: np.ndarray, *, accumulate: bool) -> None:
    positions = _wrapped(index, self.size)
    values = source.reshape(index.shape)
    if accumulate:
        kernels.scatter.add_flat(self, positions, values)
    else:
        kernels.scatter.put_flat(self, positions, values)


TAKE = Op(
    "take",
    _taken,
    # Of the input only the shape is needed, but PyTorch saves it, and notices writes to it.
    grads={"self": lambda g, self, index: TAKE_BACKWARD(g, index, input_sizes=self._array.shape)},
    linear=True,
)
TAKE_BACKWARD: Op = Op(
    "take_backward",
    _put_back,
    grads={"grad_output": lambda g, index: g.take(index)},
    linear=True,
    node="PutBackward0",
)
PUT = WritingOp(
    "put",
    _put,
    grads={
        "self": lambda g, index, accumulate: (
            g if accumulate else g.put(index, zeros(g, index.shape))
        ),
        "source": lambda g, index, source_shape: g.take(index).reshape(source_shape),
    },
    linear=True,
)


def _check_flat_index(name: str, index: Tensor) -> None:
    if index._array.dtype != np.int64:
        raise RuntimeError(
            f"{name}(): Expected a long tensor for index, but got {index.dtype.scalar_name}"
            + errors.at_user_line()
        )


@public(checked=True, out=out_checks.input_dtype(out_checks.take_words))
def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at flat positions, as if `input` had one dimension.

    Args:
        input: where the elements come from
        index: int64; the result has its shape; negative ones count from the end

    Example:
        >>> clew.take(clew.tensor([[1, 2], [3, 4]]), clew.tensor([0, 3, -2]))
        tensor([1, 4, 3])
    """
    _check_flat_index("take", index)
    return TAKE(input, index)


def _put_call(input: Tensor, index: Tensor, source: Tensor, accumulate: bool) -> Call:
    _check_flat_index("put_", index)
    if source._array.dtype is not input._array.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{input.dtype.scalar_name} and source.dtype = {source.dtype.scalar_name}"
            + errors.at_user_line()
        )
    if source._array.size != index._array.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source._array.size}, index.numel() = {index._array.size}"
            + errors.at_user_line()
        )
    return PUT, (input, index, source), {"accumulate": accumulate}


@public(checked=True, out=False)
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with `source` written (or added) at flat positions.

    Args:
        input: what to copy
        index: int64; negative ones count from the end
        source: as many elements as `index` has
        accumulate: add instead, and add several times where an index repeats

    Example:
        >>> clew.zeros(2, 2).put(clew.tensor([0, 3]), clew.tensor([5., 7.]))
        tensor([[5., 0.],
                [0., 7.]])
    """
    return run(_put_call(input, index, source, accumulate))


@public(function=False)
def put_(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """In-place version of `put`: write (or add) `source` at flat positions.

    Args:
        index: int64; negative ones count from the end
        source: as many elements as `index` has
        accumulate: add instead, and add several times where an index repeats
    """
    refuse_leaf(self, "put_")
    return run_in_place(_put_call(self, index, source, accumulate))


def _from_front(indices: Tensor, n: int) -> Tensor:
    """Indices counted from the front, where some are counted from the back."""
    if not of_values(lambda values: bool((values < 0).any()), indices):
        return indices
    counted: Tensor = indices.remainder(n)
    return counted


@public(checked=True, accept=out_checks.exact)
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Gather along a dimension; the other dimensions broadcast.

    Takes the indices that `argsort` returns, or `argmax` with `keepdim=True`.

    Args:
        input: where the elements come from
        indices: int64, with as many dimensions as `input`
        dim: the dimension that they count in; by default both are seen as vectors

    Example:
        >>> x = clew.tensor([[3, 1, 2], [9, 7, 8]])
        >>> clew.take_along_dim(x, x.argsort(dim=1), dim=1)
        tensor([[1, 2, 3],
                [7, 8, 9]])
    """
    if dim is None:
        return gather(input.view(-1), 0, indices.view(-1))
    if indices._array.dtype != np.int64:
        raise RuntimeError(
            "torch.take_along_dim(): dtype of indices should be Long but got "
            f"{indices.dtype.scalar_name}" + errors.at_user_line()
        )
    have, want = input._array.shape, indices._array.shape
    if len(have) != len(want):
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {len(have)} dimensions for input, and {len(want)} dimensions for indices"
            + errors.at_user_line()
        )
    dim = wrap_dim(dim, len(have))
    if not have:
        raise errors.no_dimensions(dim)
    indices = _from_front(indices, have[dim])
    rest = have[:dim] + (1,) + have[dim + 1 :], want[:dim] + (1,) + want[dim + 1 :]
    mismatch = errors.broadcast_mismatch("take_along_dim", *rest)
    if mismatch is not None:
        raise mismatch
    shape = np.broadcast_shapes(*rest)
    source = input.broadcast_to(shape[:dim] + have[dim : dim + 1] + shape[dim + 1 :])
    places = indices.broadcast_to(shape[:dim] + want[dim : dim + 1] + shape[dim + 1 :])
    return gather(source, dim, places)
