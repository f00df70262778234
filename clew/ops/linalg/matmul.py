"""Matrix products: mm, bmm, mv, dot, vdot and matmul, which chooses among them.

Two matrices of one float dtype take a short path: one BLAS call and one node. Gradients pass
transposed views to BLAS, so nothing is copied.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.casting import LOWER, casts
from clew.core.elementwise import F32, F64, NO_PARAMS
from clew.core.op import Op
from clew.core.overrides import unseen
from clew.core.public import FUNCTIONS, methods, public
from clew.core.state import local
from clew.core.tensor import Tensor, wrap
from clew.kernels.codegen.ufunc import over_rows
from clew.kernels.gemm.products import async_product, batch_product, product
from clew.kernels.numpy.arrays import as_new, widened
from clew.ops.define.out_checks import EXACT_OUT
from clew.ops.define.rows import out_form, require_tensors
from clew.ops.linalg.product_checks import (
    check_batches,
    check_matrices,
    check_mv,
    check_vectors,
    refuse_bool,
    require_batch,
    require_matrix,
    require_same_dtype,
    require_same_scalar_type,
)
from clew.ops.pointwise.arithmetic import conj
from clew.ops.shape.views import UNSAFE_RESHAPE

Array = np.ndarray

# Rows shorter than this are quicker without a kernel.
_SHORTEST_ROW = 16


# -- the product of arrays -------------------------------------------------------------------


def times(a: Any, b: Any) -> Any:
    """The product of two matrices or of a matrix and a vector, of arrays or of tensors."""
    if type(a) is not Array:
        return a.matmul(b)
    if a.dtype.kind == "f" and a.itemsize > 2:
        return product(a, b)
    return narrowed(a, b, product)


def of_right(g: Any, left: Any, is_transposed: bool) -> Any:
    """The gradient of a product's right factor, in memory as that factor is.

    A weight that is used transposed gets its gradient row by row, so that it need not be copied.
    """
    return times(g.T, conj(left)).T if is_transposed else times(conj(left).T, g)


def async_of_right(g: Array, left: Array, is_transposed: bool) -> Array:
    """The same for bare arrays, as an asynchronous job."""
    if g.dtype.kind != "f" or g.itemsize == 2:
        return of_right(g, left, is_transposed)
    pending = local.state.pending_products
    if is_transposed:
        return async_product(g.T, left, pending).T
    return async_product(left.T, g, pending)


def batch_times(a: Any, b: Any) -> Any:
    """The products of corresponding matrices of two batches, of arrays or of tensors."""
    if type(a) is not Array:
        return BMM(a, b)
    if a.shape[-1] == 1 == b.shape[-2] and a.dtype.kind in "fc":
        return _outer_products(a, b)
    return narrowed(a, b, batch_product)


def _outer_products(a: Array, b: Array) -> Array:
    """Columns times rows, where BLAS has nothing to add up."""
    rows, columns = a.shape[-2], b.shape[-1]
    if columns < _SHORTEST_ROW <= rows:
        # The longer side is the inner loop.
        transposed = _outer_products(b.swapaxes(-2, -1), a.swapaxes(-2, -1))
        return np.ascontiguousarray(transposed.swapaxes(-2, -1))
    kernel = (
        _OUTER_KERNEL.specialize(a) if columns >= _SHORTEST_ROW and a.dtype is b.dtype else None
    )
    if kernel is None:
        products = np.multiply(a, b, order="C")
        products += 0
        return products
    return kernel(b, a[..., 0], order="C")


@over_rows("outer_product", "(n),()->(n)")
def _OUTER_KERNEL(row: Any, factor: Any) -> Any:
    # A sum of one product: never -0.
    return row * factor + 0.0


def narrowed(a: Array, b: Array, multiply: Callable[[Array, Array], Any]) -> Array:
    """A product whose 16-bit floats are added up in float32 and rounded once."""
    dtype = a.dtype
    if dtype in dtypes.LOW_PRECISION:
        result = np.asarray(multiply(widened(a), widened(b)))
        # Of one product, too, it is a sum: never -0.
        return (result + 0 if a.shape[-1] == 1 else result).astype(dtype)
    if dtype.kind in "iu":
        multiply = np.matmul  # `dot` is much slower than this where BLAS does not apply
    return np.asarray(multiply(a, b))


def transposed(value: Any) -> Any:
    """The conjugate transpose of matrices, given as an array or as a tensor."""
    value = conj(value)
    return value.swapaxes(-2, -1)


def _dot(self: Array, tensor: Array) -> Array:
    total = narrowed(self, tensor, Array.dot)
    return np.asarray(total + total.dtype.type(0)) if self.size == 1 else total


def _vdot(self: Array, other: Array) -> Array:
    return np.asarray(np.vdot(self, other) if self.dtype.kind in "cW" else _dot(self, other))


MM = Op(
    "mm", lambda self, mat2: times(self, mat2), multilinear=True, bare=True,
    grads={
        "self": lambda g, mat2: times(g, conj(mat2).T),
        "mat2": lambda g, self, mat2_transposed: of_right(g, self, mat2_transposed),
    },
    deferred=("mat2", "self", async_of_right),
)  # fmt: skip
BMM = Op(
    "bmm", lambda self, mat2: as_new(batch_times(self, mat2)), multilinear=True, bare=True,
    grads={
        "self": lambda g, mat2: batch_times(g, transposed(mat2)),
        "mat2": lambda g, self: batch_times(transposed(self), g),
    },
)  # fmt: skip
MV = Op(
    "mv", lambda self, vec: times(self, vec), multilinear=True, bare=True,
    grads={
        "self": lambda g, vec: g[:, None] * conj(vec),
        "vec": lambda g, self: times(conj(self).T, g),
    },
)  # fmt: skip
DOT = Op(
    "dot", _dot, multilinear=True, bare=True,
    grads={
        "self": lambda g, tensor: g * conj(tensor),
        "tensor": lambda g, self: g * conj(self),
    },
)  # fmt: skip
VDOT = Op(
    "vdot", _vdot, multilinear=True,
    grads={
        "self": lambda g, other: conj(g) * other,
        "other": lambda g, self: g * self,
    },
)  # fmt: skip

# -- the short path ----------------------------------------------------------------------------


def product_of(op: Op, ndim: int, other_ndim: int) -> Callable[[Tensor, Tensor], Tensor | None]:
    """`op` of two float operands that fit each other; None where there is more to look at."""

    def product(input: Tensor, other: Tensor) -> Tensor | None:
        state = local.state
        a, b = input._array, other._array
        dtype = a.dtype
        if (
            state.intercept is not None
            or state.autocast is not None
            or dtype is not b.dtype
            or (dtype is not F32 and dtype is not F64)
            or a.ndim != ndim
            or b.ndim != other_ndim
            or a.shape[-1] != b.shape[0]
        ):
            return None
        return op.output(state, (input, other), NO_PARAMS, times(a, b))

    return product


_mm, _mv = product_of(MM, 2, 2), product_of(MV, 2, 1)

# -- public functions ------------------------------------------------------------------------


@public()
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices.

    Args:
        input: (n, m)
        mat2: (m, p)

    Example:
        >>> clew.mm(clew.tensor([[1., 2.]]), clew.tensor([[3.], [4.]]))
        tensor([[11.]])
    """
    require_tensors("mm", input=input, mat2=mat2)
    quick = _mm(input, mat2)
    if quick is not None:
        return quick
    autocast = local.state.autocast
    if autocast is not None:
        product: Tensor = autocast(LOWER, mm, input, mat2)
        return product
    require_matrix("self", input)
    require_matrix("mat2", mat2)
    check_matrices(input, mat2)
    require_same_dtype(input, mat2)
    refuse_bool("addmm_impl_cpu_", input._array, mat2._array)
    return MM(input, mat2)


# For matrices that may be sparse, which none is here.
FUNCTIONS["spmm"] = FUNCTIONS["mm"]


@public()
@casts(LOWER)
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The products of the matrices in two batches.

    Args:
        input: (b, n, m)
        mat2: (b, m, p)

    Example:
        >>> clew.bmm(clew.ones(10, 2, 3), clew.ones(10, 3, 4)).shape
        torch.Size([10, 2, 4])
    """
    require_tensors("bmm", input=input, mat2=mat2)
    require_batch("batch1", input)
    require_batch("batch2", mat2)
    check_batches(input, mat2)
    return BMM(*_factors(input, mat2))


def _factors(input: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """The operands of `bmm`, which only looks at their dtypes where there is something to add."""
    first, second = input._array, other._array
    if not (first.size and second.size):
        return input.to(other.dtype), other
    refuse_bool("bmm", first, second)
    require_same_scalar_type(input, other)
    return input, other


@public()
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a matrix and a vector.

    Args:
        input: (n, m)
        vec: (m,)

    Example:
        >>> clew.mv(clew.tensor([[1., 2.], [3., 4.]]), clew.tensor([1., 10.]))
        tensor([21., 43.])
    """
    require_tensors("mv", input=input, vec=vec)
    quick = _mv(input, vec)
    if quick is not None:
        return quick
    if not input._array.ndim:
        raise errors.no_dimensions(0)
    check_mv(input._array.shape[:1], input, vec)
    if input.dtype is not vec.dtype:
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {vec.dtype.scalar_name}, "
            f"{input.dtype.scalar_name}, and {vec.dtype.scalar_name}" + errors.at_user_line()
        )
    refuse_bool("addmv_impl_cpu", input._array, vec._array)
    return MV(input, vec)


@public()
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The sum of the products of two vectors' elements.

    Args:
        input: a vector
        tensor: a vector of the same length

    Example:
        >>> clew.dot(clew.tensor([1., 2.]), clew.tensor([3., 4.]))
        tensor(11.)
    """
    require_tensors("dot", input=input, tensor=tensor)
    check_vectors(input, tensor)
    refuse_bool("dot", input._array)
    return DOT(input, tensor)


@public()
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The dot product with the first vector conjugated.

    Args:
        input: a vector
        other: a vector of the same length

    Example:
        >>> clew.vdot(clew.tensor([1 + 1j]), clew.tensor([1 + 1j]))
        tensor(2.+0.j)
    """
    require_tensors("vdot", input=input, other=other)
    check_vectors(input, other)
    refuse_bool("vdot", input._array)
    return VDOT(input, other)


@public()
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product `input @ other`; leading dimensions are batches, which broadcast.

    A vector counts as one row on the left, as one column on the right.

    Args:
        input: (..., n, m), or a vector
        other: (..., m, p), or a vector

    Example:
        >>> a = clew.tensor([[1., 2.], [3., 4.]])
        >>> clew.matmul(a, clew.tensor([1., 1.]))
        tensor([3., 7.])
        >>> clew.matmul(clew.ones(5, 1, 2, 3), clew.ones(4, 3, 2)).shape
        torch.Size([5, 4, 2, 2])
    """
    require_tensors("matmul", input=input, other=other)
    quick = _mm(input, other)
    if quick is not None:
        return quick
    autocast = local.state.autocast
    if autocast is not None:
        product: Tensor = autocast(LOWER, matmul, input, other)
        return product
    ndim, other_ndim = input._array.ndim, other._array.ndim
    if ndim == 2 and other_ndim == 2:
        return mm(input, other)
    if not ndim or not other_ndim:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {ndim}D and "
            f"{other_ndim}D\n  Multiply by a number with `*`." + errors.at_user_line()
        )
    if other_ndim == 1:
        if ndim == 1:
            return dot(input, other)
        return mv(input, other) if ndim == 2 else _fold(input, other, mv)
    if ndim == 1 and other_ndim == 2:
        return mm(input.unsqueeze(0), other).squeeze_(0)
    if other_ndim == 2:
        return _fold(input, other, mm)
    first, second = input._array, other._array
    if ndim == 3 and other_ndim == 3 and first.size and second.size:
        if second.shape[0] == 1 and first.shape[2] == second.shape[1] > 1:
            if not other.requires_grad:
                input, other = _factors(input, other)
            return _fold(input, other.squeeze(0), mm)
        if first.shape[0] == 1 < second.shape[0]:
            return _batched(input.squeeze(0), other)
    return _batched(input, other)


def _fold(input: Tensor, other: Tensor, product: Callable[..., Tensor]) -> Tensor:
    """All leading dimensions as the rows of one matrix."""
    array, shape = input._array, input._array.shape
    if array.dtype is not other._array.dtype and not other.requires_grad and _has_gaps(array):
        # To PyTorch it is a batch then, and is refused as one.
        _factors(input, other)
    rows = input.reshape(math.prod(shape[:-1]), shape[-1])
    return UNSAFE_RESHAPE(product(rows, other), shape=shape[:-1] + other._array.shape[1:])


def _has_gaps(array: Array) -> bool:
    """Whether an array cannot be viewed as the rows of one matrix."""
    return bool(array.size) and not np.may_share_memory(array.reshape(-1, array.shape[-1]), array)


def _batched(input: Tensor, other: Tensor) -> Tensor:
    """The product with a batch on the right side."""
    folds = input.requires_grad and local.state.grad_enabled
    if input._array.ndim == 1:
        if not folds:
            # To PyTorch it is a batch of matrices with one row.
            row = input._array.shape
            _check_inner((1, *row), other._array.shape, other._array.shape[:-2])
            _factors(input, other)
        # A vector from the left is the transposed matrices' product with it from the right.
        return _fold(other.transpose(-2, -1), input, mv)
    if input._array.ndim == 2 and folds:
        # As rows of one matrix, the left matrix's gradient is one product instead of a batch.
        return _fold(other.transpose(-2, -1), input.t(), mm).transpose(-2, -1).contiguous()
    first, second = input._array.shape, other._array.shape
    batch = _broadcast_batches(first[:-2], second[:-2])
    _check_inner(first, second, batch)
    left, right = _factors(input, other)
    if local.state.grad_enabled and (left.requires_grad or right.requires_grad):
        left, right = _apart(left, batch), _apart(right, batch)
    product = BMM(left, right)
    return UNSAFE_RESHAPE(product, shape=(*batch, first[-2], second[-1]))


def _apart(factor: Tensor, batch: tuple[int, ...]) -> Tensor:
    """A factor that is repeated along some batch dimensions and not along others, as a copy.

    PyTorch has one in memory, too; so backward does not mind what is written to the factor later.
    """
    own = factor._array.shape[:-2]
    return factor.clone() if math.prod(own) > 1 and math.prod(own) < math.prod(batch) else factor


def _check_inner(first: tuple[int, ...], second: tuple[int, ...], batch: tuple[int, ...]) -> None:
    if first[-1] != second[-2]:
        count = math.prod(batch)
        raise RuntimeError(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{count}, {first[-1]}] but got: [{count}, {second[-2]}].\n  matmul got shapes "
            f"{errors.shape_list(first)} and {errors.shape_list(second)}" + errors.at_user_line()
        )


def _broadcast_batches(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    if first == second:
        return first
    mismatch = errors.broadcast_mismatch("matmul", first, second)
    if mismatch is not None:
        raise mismatch
    return np.broadcast_shapes(first, second)


def _matmul_operator(self: Tensor, other: Any) -> Any:
    if isinstance(other, Tensor):
        quick = _mm(self, other)
        return matmul(self, other) if quick is None else quick
    if isinstance(other, np.ndarray):
        return matmul(self, wrap(other))
    return _matmul_operator(self, other) if unseen(other) else NotImplemented


def _reflected_matmul(self: Tensor, other: Any) -> Any:
    if isinstance(other, (Tensor, np.ndarray)):
        return matmul(other if isinstance(other, Tensor) else wrap(other), self)
    return _reflected_matmul(self, other) if unseen(other) else NotImplemented


FUNCTIONS.update(
    {each.__name__: out_form(each, EXACT_OUT, elementwise=False) for each in (mm, bmm, matmul)}
)
FUNCTIONS["mv"] = out_form(
    mv,
    "addmv input tensors must have the same dtype, but got {found}, {expected}, and {expected}",
    elementwise=False,
)
for _each in (dot, vdot):
    FUNCTIONS[_each.__name__] = out_form(
        _each, "result dtype {found} does not match input dtype {expected}", elementwise=False
    )
methods(__matmul__=_matmul_operator, __rmatmul__=_reflected_matmul)
