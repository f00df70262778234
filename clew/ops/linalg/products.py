"""Products made of other products: outer, inner, tensordot, kron, chains of matrices, trace."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.casting import FLOAT32, casts
from clew.core.interception import note_constant
from clew.core.op import Op
from clew.core.public import deliver, public
from clew.core.tensor import Tensor, wrap
from clew.ops.define import out_checks
from clew.ops.define.dims import wrap_dim
from clew.ops.define.out_checks import (
    multi_dot_words,
    of_result_dtype,
    require_dtype,
    tensordot_words,
)
from clew.ops.define.rows import require_tensors
from clew.ops.linalg.product_checks import refuse_bool
from clew.ops.shape.views import UNSAFE_RESHAPE, VIEW
from clew.source import user_stacklevel


@public(aliases=("ger",), out=out_checks.same_or_apart)
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The matrix of all products of two vectors' elements.

    Args:
        input: (n,)
        vec2: (m,); the result is (n, m)

    Example:
        >>> clew.outer(clew.tensor([1, 2]), clew.tensor([3, 4, 5]))
        tensor([[ 3,  4,  5],
                [ 6,  8, 10]])
    """
    require_tensors("outer", input=input, vec2=vec2)
    for name, vector in (("self", input), ("vec2", vec2)):
        if vector._array.ndim != 1:
            raise RuntimeError(
                f"outer: Expected 1-D argument {name}, but got {vector._array.ndim}-D"
                + errors.at_user_line()
            )
    return input.reshape(input._array.size, 1) * vec2


@public(out=False)
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The dot products of the last dimensions of two tensors.

    Args:
        input: (..., n); a number scales `other`
        other: (..., n)
        out: the tensor to store the result in; None makes a new one

    Example:
        >>> clew.inner(clew.tensor([[1, 2], [3, 4]]), clew.tensor([1, 10]))
        tensor([21, 43])
    """
    require_tensors("inner", input=input, other=other)
    first, second = input._array.shape, other._array.shape
    if not first or not second:
        return _into(out, input * other, converts=True)
    if first[-1] != second[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{errors.shape_list(first)} and {errors.shape_list(second)}" + errors.at_user_line()
        )
    return _into(out, contract(input, other, [len(first) - 1], [len(second) - 1]))


def _into(out: Tensor | None, result: Tensor, converts: bool = False) -> Tensor:
    """The result of a contraction in `out`, with its history."""
    if out is None:
        return result
    if not converts:
        require_dtype(result.dtype, out, tensordot_words)
    if out.requires_grad and out._array.shape != result._array.shape:
        raise RuntimeError(
            "tensordot(): the 'out' tensor was specified and requires gradients, and its shape "
            "does not match the expected result. Either remove the 'out' argument, ensure it does "
            "not require gradients, or make sure its shape matches the expected output."
            + errors.at_user_line()
        )
    if out._array.shape == result._array.shape and out.dtype is result.dtype:
        return out.copy_(result)
    deliver(result.detach(), out, "tensordot")
    return out.copy_(result) if result.requires_grad else out


# -- tensordot -------------------------------------------------------------------------------


@public(method=False, out=False)
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, *, out: Tensor | None = None) -> Tensor:
    """Contract dimensions of two tensors: the last and first `dims`, or the two lists given.

    Args:
        a: the one tensor
        b: the other
        dims: a number: so many last dimensions of `a` with the first ones of `b`; or two lists, of
            dimensions of `a` and of those of `b` that they meet
        out: the tensor to store the result in; None makes a new one

    Example:
        >>> a, b = clew.ones(2, 3, 4), clew.ones(4, 3, 5)
        >>> clew.tensordot(a, b, dims=([1, 2], [1, 0])).shape
        torch.Size([2, 5])
    """
    require_tensors("tensordot", a=a, b=b)
    is_readable = isinstance(dims, (int, tuple, list, Tensor))
    if not is_readable or (
        isinstance(dims, Tensor) and dims._array.size > 1 and dims._array.shape[0] != 2
    ):
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]]"
            f" containing two lists, but got dims={dims}" + errors.at_user_line()
        )
    if isinstance(dims, Tensor):
        dims = dims._array.tolist()
        dims = dims[0] if isinstance(dims, list) and len(dims) == 1 else dims
    if isinstance(dims, (tuple, list)):
        dims_a, dims_b = ([d] if isinstance(d, int) else list(d) for d in dims)
    else:
        dims_a, dims_b = _counted_dims(a._array.ndim, b._array.ndim, dims)
    if len(dims_a) != len(dims_b):
        raise RuntimeError("both dimension lists should have same length" + errors.at_user_line())
    if a.dtype is not b.dtype:
        raise RuntimeError("both inputs should have same dtype" + errors.at_user_line())
    return _into(out, contract(a, b, dims_a, dims_b))


def _counted_dims(ndim_a: int, ndim_b: int, count: int) -> tuple[list[int], list[int]]:
    if count < 0:
        raise RuntimeError(
            f"tensordot expects dims >= 0, but got dims={count}" + errors.at_user_line()
        )
    if count > min(ndim_a, ndim_b):
        raise RuntimeError(
            f"tensordot expects dims < ndim_a or ndim_b, but got dims={count}"
            + errors.at_user_line()
        )
    return list(range(-count, 0)), list(range(count))


def contract(a: Tensor, b: Tensor, dims_a: Sequence[int], dims_b: Sequence[int]) -> Tensor:
    """One matrix product: the contracted dimensions of `a` as columns, those of `b` as rows."""
    if a.dtype is not b.dtype:
        raise RuntimeError("both inputs should have same dtype" + errors.at_user_line())
    for index, (one, other) in enumerate(zip(dims_a, dims_b, strict=True)):
        size_a = a._array.shape[wrap_dim(one, a._array.ndim)]
        size_b = b._array.shape[wrap_dim(other, b._array.ndim)]
        if size_a == size_b:
            continue
        if size_b == 1:
            a = a.sum(dims_a[index], keepdim=True, dtype=a.dtype)
        elif size_a == 1:
            b = b.sum(dims_b[index], keepdim=True, dtype=b.dtype)
        else:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {size_a} in dim {one} "
                f"and second has size {size_b} in dim {other}" + errors.at_user_line()
            )
    wrapped_a = [wrap_dim(d, a._array.ndim) for d in dims_a]
    wrapped_b = [wrap_dim(d, b._array.ndim) for d in dims_b]
    free_a = [d for d in range(a._array.ndim) if d not in wrapped_a]
    free_b = [d for d in range(b._array.ndim) if d not in wrapped_b]
    shape_a, shape_b = a._array.shape, b._array.shape
    inner = math.prod(shape_a[d] for d in wrapped_a)
    kept_a, kept_b = [shape_a[d] for d in free_a], [shape_b[d] for d in free_b]
    left = a.permute((*free_a, *wrapped_a))
    right = b.permute((*wrapped_b, *free_b))
    if not kept_a and not kept_b:
        return left.reshape(inner).dot(right.reshape(inner)).view(())
    left = left.reshape(math.prod(kept_a), inner)
    right = right.reshape(inner, math.prod(kept_b))
    return (left @ right).view((*kept_a, *kept_b))


# -- kron --------------------------------------------------------------------------------------


@public(out=out_checks.same_or_apart)
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: `other` scaled by every element of `input`, laid out as blocks.

    Args:
        input: the factors of the blocks
        other: the block; missing dimensions of either count as size 1

    Example:
        >>> clew.kron(clew.tensor([[1, 10]]), clew.tensor([[1, 2], [3, 4]]))
        tensor([[ 1,  2, 10, 20],
                [ 3,  4, 30, 40]])
    """
    require_tensors("kron", input=input, other=other)
    shape_a, shape_b = input._array.shape, other._array.shape
    ndim = max(len(shape_a), len(shape_b))
    shape_a = (1,) * (ndim - len(shape_a)) + shape_a
    shape_b = (1,) * (ndim - len(shape_b)) + shape_b
    spread_a = tuple(size for n in shape_a for size in (n, 1))
    spread_b = tuple(size for n in shape_b for size in (1, n))
    product = UNSAFE_RESHAPE(input, shape=spread_a) * UNSAFE_RESHAPE(other, shape=spread_b)
    shape = tuple(n * m for n, m in zip(shape_a, shape_b, strict=True))
    if not product._is_lifted:
        # As in PyTorch, a product whose order in memory has no such view is refused.
        VIEW.forward(product._array, shape=shape)
    return UNSAFE_RESHAPE(product, shape=shape)


# -- chains --------------------------------------------------------------------------------------


def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of two or more matrices, in the order that costs least.

    Args:
        tensors: matrices; the first and the last may be vectors

    Example:
        >>> clew.linalg.multi_dot([clew.ones(2, 100), clew.ones(100, 3), clew.ones(3)])
        tensor([300., 300.])
    """
    chain = list(tensors)
    _check_chain(chain)
    starts_flat, ends_flat = chain[0]._array.ndim == 1, chain[-1]._array.ndim == 1
    shape: list[int] = [] if starts_flat else [chain[0]._array.shape[0]]
    if starts_flat:
        chain[0] = chain[0].unsqueeze(0)
    if ends_flat:
        chain[-1] = chain[-1].unsqueeze(-1)
    else:
        shape.append(chain[-1]._array.shape[1])
    for index, (a, b) in enumerate(itertools.pairwise(chain)):
        if a._array.shape[1] != b._array.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {index} and {index + 1} with shapes "
                f"{errors.shape_list(tensors[index]._array.shape)} and "
                f"{errors.shape_list(tensors[index + 1]._array.shape)} cannot be multiplied"
                + errors.at_user_line()
            )
    splits = _best_splits([chain[0]._array.shape[0], *(t._array.shape[1] for t in chain)])
    product = _multiply_chain(chain, splits, 0, len(chain) - 1)
    return product.view(tuple(shape))


def _check_chain(chain: list[Tensor]) -> None:
    if len(chain) < 2:
        raise RuntimeError(
            f"multi_dot(): expected at least 2 tensors but got {len(chain)}" + errors.at_user_line()
        )
    last = len(chain) - 1
    for index, tensor in enumerate(chain):
        ndim = tensor._array.ndim
        if index in (0, last) and ndim not in (1, 2):
            raise RuntimeError(
                f"multi_dot(): the {'last' if index else 'first'} tensor must be 1D or 2D but got "
                f"{ndim}D" + errors.at_user_line()
            )
        if 0 < index < last and ndim != 2:
            raise RuntimeError(
                f"multi_dot(): tensor {index} must be 2D but got {ndim}D" + errors.at_user_line()
            )
        if tensor.dtype is not chain[0].dtype:
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                f"{chain[0].dtype.c_name} and tensor {index} {tensor.dtype.c_name}"
                + errors.at_user_line()
            )


def _best_splits(sizes: list[int]) -> dict[tuple[int, int], int]:
    """For every part of a chain, after which matrix to split it so that it costs least."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    splits: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            outer = sizes[first] * sizes[last + 1]
            cost[first, last], splits[first, last] = min(
                (cost[first, k] + cost[k + 1, last] + outer * sizes[k + 1], k)
                for k in range(first, last)
            )
    return splits


def _multiply_chain(
    chain: list[Tensor], splits: dict[tuple[int, int], int], first: int, last: int
) -> Tensor:
    if first == last:
        return chain[first]
    split = splits[first, last]
    left = _multiply_chain(chain, splits, first, split)
    return left @ _multiply_chain(chain, splits, split + 1, last)


@public(method=False, accept=of_result_dtype(multi_dot_words))
def chain_matmul(*matrices: Tensor) -> Tensor:
    """Deprecated: the product of matrices given one by one; `linalg.multi_dot` takes a list.

    Args:
        matrices: the matrices, as arguments
    """
    warnings.warn(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use "
        "torch.linalg.multi_dot instead, which accepts a list of two or more tensors rather than "
        "multiple parameters.",
        stacklevel=user_stacklevel(),
    )
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices" + errors.at_user_line())
    for matrix in matrices:
        if matrix._array.ndim != 2:
            raise RuntimeError(
                f"Tensor dimension is {matrix._array.ndim}, expected 2 instead."
                + errors.at_user_line()
            )
    return matrices[0].clone() if len(matrices) == 1 else multi_dot(matrices)


# -- trace ---------------------------------------------------------------------------------------


def _trace(self: np.ndarray) -> np.ndarray:
    diagonal = self.diagonal()
    if self.dtype.kind in "iu":
        return np.asarray(diagonal.sum(dtype=np.int64))
    wide = np.float32 if self.dtype.itemsize == 2 else self.dtype
    return np.asarray(diagonal.sum(dtype=wide)).astype(self.dtype)


TRACE = Op(
    "trace", _trace, linear=True,
    # Chosen, not multiplied by 0 and 1: the gradient may be infinite.
    grads={
        "self": lambda g, self_shape: g.expand(self_shape).masked_fill(
            note_constant(wrap(~np.eye(*self_shape, dtype=np.bool_))), 0
        )
    },
)  # fmt: skip


@public(out=False)
@casts(FLOAT32)
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal.

    Args:
        input: a matrix

    Example:
        >>> clew.trace(clew.tensor([[1, 2], [3, 4]]))
        tensor(5)
    """
    if input.dtype is dtypes.bool_:
        raise errors.no_kernel("trace", input.dtype)
    if input._array.ndim != 2:
        raise RuntimeError(
            f"trace: expected a matrix, but got tensor with dim {input._array.ndim}"
            + errors.at_user_line()
        )
    refuse_bool("trace", input._array)
    return TRACE(input)
