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
from clew.core.public import FUNCTIONS, methods, public
from clew.core.state import local
from clew.core.tensor import Tensor, wrap
from clew.kernels.codegen.ufunc import over_rows
from clew.kernels.gemm.products import batch_product, late_product, product
from clew.kernels.numpy.arrays import widened
from clew.ops.define.out_checks import EXACT_OUT
from clew.ops.define.rows import out_form, require_tensors
from clew.ops.pointwise.arithmetic import conj
from clew.ops.shape.views import UNSAFE_RESHAPE

Array = np.ndarray

# Rows shorter than this are quicker without a kernel.
_SHORTEST_ROW = 16

# How PyTorch's messages about unequal dtypes spell them.
C_NAMES = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short",
    "int32": "int", "int64": "long", "uint16": "unsigned short", "uint32": "unsigned int",
    "uint64": "unsigned long", "float16": "c10::Half", "bfloat16": "c10::BFloat16",
    "float32": "float", "float64": "double", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}  # fmt: skip


def refuse_bool(kernel: str, *arrays: Array) -> None:
    """Products need sums, and PyTorch has none for bools; two empty factors need none."""
    if arrays[0].dtype.kind == "b" and (len(arrays) == 1 or all(each.size for each in arrays)):
        raise NotImplementedError(
            f"\"{kernel}\" not implemented for 'Bool'\n  Convert first: x.float()"
            + errors.at_user_line()
        )


# -- the product of arrays -------------------------------------------------------------------


def times(a: Any, b: Any) -> Any:
    """The product of two matrices or of a matrix and a vector, of arrays or of tensors."""
    if type(a) is not Array:
        return a.matmul(b)
    if a.dtype.kind == "f" and a.itemsize > 2:
        return product(a, b)
    return narrowed(a, b, product)


def of_right(g: Any, left: Any, turned: bool) -> Any:
    """The gradient of a product's right factor, in memory as that factor is.

    A weight that is used transposed gets its gradient row by row, so that it need not be copied.
    """
    return times(g.T, conj(left)).T if turned else times(conj(left).T, g)


def late_of_right(g: Array, left: Array, turned: bool) -> Array:
    """The same for bare arrays, by a thread that has nothing else to do."""
    if g.dtype.kind != "f" or g.itemsize == 2:
        return of_right(g, left, turned)
    late = local.state.late
    return late_product(g.T, left, late).T if turned else late_product(left.T, g, late)


def batch_times(a: Any, b: Any) -> Any:
    """The products of corresponding matrices of two batches, of arrays or of tensors."""
    if type(a) is not Array:
        return BMM(a, b)
    if a.shape[-1] == 1 == b.shape[-2] and a.dtype.kind in "fc":
        return _outer_products(a, b)
    return narrowed(a, b, batch_product)


def _outer_products(a: Array, b: Array) -> Array:
    """Columns times rows, where BLAS has nothing to add up; the longer side lies in memory."""
    rows, columns = a.shape[-2], b.shape[-1]
    if rows > columns:
        return _outer_products(b.swapaxes(-2, -1), a.swapaxes(-2, -1)).swapaxes(-2, -1)
    kernel = _OUTER_KERNEL.when(a) if columns >= _SHORTEST_ROW and a.dtype is b.dtype else None
    return np.multiply(a, b) if kernel is None else kernel(b, a[..., 0])


@over_rows("outer_product", "(n),()->(n)")
def _OUTER_KERNEL(row: Any, factor: Any) -> Any:
    return row * factor


def narrowed(a: Array, b: Array, multiply: Callable[[Array, Array], Any]) -> Array:
    """A product whose 16-bit floats are added up in float32 and rounded once."""
    dtype = a.dtype
    if dtype in dtypes.LOW_PRECISION:
        return np.asarray(multiply(widened(a), widened(b))).astype(dtype)
    if dtype.kind in "iu":
        multiply = np.matmul  # `dot` is much slower than this where BLAS does not apply
    return np.asarray(multiply(a, b))


def transposed(value: Any) -> Any:
    """The conjugate transpose of matrices, given as an array or as a tensor."""
    value = conj(value)
    return value.swapaxes(-2, -1)


def _dot(self: Array, tensor: Array) -> Array:
    return np.asarray(narrowed(self, tensor, Array.dot))


def _vdot(self: Array, other: Array) -> Array:
    return np.asarray(np.vdot(self, other) if self.dtype.kind == "c" else _dot(self, other))


MM = Op(
    "mm", lambda self, mat2: times(self, mat2), multilinear=True, bare=True,
    grads={
        "self": lambda g, mat2: times(g, conj(mat2).T),
        "mat2": lambda g, self, mat2_turned: of_right(g, self, mat2_turned),
    },
    late=("mat2", "self", late_of_right),
)  # fmt: skip
BMM = Op(
    "bmm", lambda self, mat2: batch_times(self, mat2), multilinear=True, bare=True,
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

# -- checks ------------------------------------------------------------------------------------


def require_matrix(name: str, tensor: Tensor) -> None:
    if tensor._array.ndim != 2:
        raise RuntimeError(
            f"{name} must be a matrix\n  It has shape {errors.shape_list(tensor._array.shape)}"
            + errors.at_user_line()
        )


def check_matrices(a: Tensor, b: Tensor) -> None:
    """Refuse matrices whose shapes do not fit each other."""
    rows, columns = a._array.shape, b._array.shape
    if rows[1] != columns[0]:
        fits = (
            "\n  The second one fits when transposed: b.T" if rows[1] == columns[1]
            else "\n  The first one fits when transposed: a.T" if rows[0] == columns[0]
            else ""
        )  # fmt: skip
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows[0]}x{rows[1]} and "
            f"{columns[0]}x{columns[1]})\n  The number of columns of the first ({rows[1]}) must "
            f"be the number of rows of the second ({columns[0]})." + fits + errors.at_user_line()
        )


def require_same_dtype(a: Tensor, b: Tensor) -> None:
    if a._array.dtype is not b._array.dtype and a.dtype is not b.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {C_NAMES[a.dtype.name]} != "
            f"{C_NAMES[b.dtype.name]}\n  Products do not convert: write x.to(y.dtype)"
            + errors.at_user_line()
        )


def check_batches(a: Tensor, b: Tensor) -> None:
    """Refuse batches whose matrices do not fit each other."""
    first, second = a._array.shape, b._array.shape
    if first[0] != second[0] or first[2] != second[1]:
        raise RuntimeError(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{first[0]}, {first[2]}] but got: [{second[0]}, {second[1]}]." + errors.at_user_line()
        )


def require_batch(name: str, tensor: Tensor) -> None:
    if tensor._array.ndim != 3:
        raise RuntimeError(f"{name} must be a 3D tensor" + errors.at_user_line())


def require_same_scalar_type(a: Tensor, b: Tensor) -> None:
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"expected scalar type {a.dtype.scalar_name} but found {b.dtype.scalar_name}\n"
            "  Products do not convert: write x.to(y.dtype)" + errors.at_user_line()
        )


def _check_vectors(a: Tensor, b: Tensor) -> None:
    first, second = a._array, b._array
    if first.ndim != 1 or second.ndim != 1:
        raise RuntimeError(
            f"1D tensors expected, but got {first.ndim}D and {second.ndim}D tensors"
            + errors.at_user_line()
        )
    if a.dtype is not b.dtype:
        raise RuntimeError(
            "dot : expected both vectors to have same dtype, but found "
            f"{a.dtype.scalar_name} and {b.dtype.scalar_name}" + errors.at_user_line()
        )
    if first.size != second.size:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{first.size}] and src [{second.size}] to "
            f"have the same number of elements, but got {first.size} and {second.size} elements "
            "respectively" + errors.at_user_line()
        )


def check_mv(added: tuple[int, ...], matrix: Tensor, vector: Tensor) -> None:
    """Refuse a matrix and a vector that do not fit each other and what they are added to."""
    mat, vec = matrix._array.shape, vector._array.shape
    if len(mat) != 2 or len(vec) != 1 or len(added) > 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {len(added)}, {len(mat)}, {len(vec)}"
            + errors.at_user_line()
        )
    size = added[0] if added else 1
    if mat[1] != vec[0] or size not in (mat[0], 1):
        raise RuntimeError(
            f"size mismatch, got input ({size}), mat ({mat[0]}x{mat[1]}), vec ({vec[0]})"
            + errors.at_user_line()
        )


# -- public functions ------------------------------------------------------------------------


@public()
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices."""
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
    """The products of the matrices in two batches."""
    require_tensors("bmm", input=input, mat2=mat2)
    require_batch("batch1", input)
    require_batch("batch2", mat2)
    check_batches(input, mat2)
    require_same_scalar_type(input, mat2)
    refuse_bool("bmm", input._array, mat2._array)
    return BMM(input, mat2)


@public()
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a matrix and a vector."""
    require_tensors("mv", input=input, vec=vec)
    quick = _mv(input, vec)
    if quick is not None:
        return quick
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
    """The sum of the products of two vectors' elements."""
    require_tensors("dot", input=input, tensor=tensor)
    _check_vectors(input, tensor)
    refuse_bool("dot", input._array)
    return DOT(input, tensor)


@public()
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The dot product with the first vector conjugated."""
    require_tensors("vdot", input=input, other=other)
    _check_vectors(input, other)
    refuse_bool("vdot", input._array)
    return VDOT(input, other)


@public()
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product; leading dimensions are batches, which broadcast."""
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
        return mm(input.unsqueeze(0), other).squeeze(0)
    if other_ndim == 2:
        return _fold(input, other, mm)
    if ndim == 3 and other_ndim == 3 and other._array.shape[0] == 1:
        return _fold(input, other.squeeze(0), mm)
    return _batched(input, other)


def _fold(input: Tensor, other: Tensor, product: Callable[..., Tensor]) -> Tensor:
    """All leading dimensions as the rows of one matrix."""
    shape = input._array.shape
    rows = input.reshape(math.prod(shape[:-1]), shape[-1])
    return UNSAFE_RESHAPE(product(rows, other), shape=shape[:-1] + other._array.shape[1:])


def _batched(input: Tensor, other: Tensor) -> Tensor:
    """The product with a batch on the right side."""
    if input._array.ndim == 1:
        # A vector from the left is the transposed matrices' product with it from the right.
        return _fold(other.transpose(-2, -1), input, mv)
    if input._array.ndim == 2 and input.requires_grad and local.state.grad_enabled:
        # As rows of one matrix, the left matrix's gradient is one product instead of a batch.
        return _fold(other.transpose(-2, -1), input.t(), mm).transpose(-2, -1).contiguous()
    first, second = input._array.shape, other._array.shape
    batch = _broadcast_batches(first[:-2], second[:-2])
    if first[-1] != second[-2]:
        count = math.prod(batch)
        raise RuntimeError(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{count}, {first[-1]}] but got: [{count}, {second[-2]}].\n  matmul got shapes "
            f"{errors.shape_list(first)} and {errors.shape_list(second)}" + errors.at_user_line()
        )
    require_same_scalar_type(input, other)
    refuse_bool("bmm", input._array, other._array)
    return UNSAFE_RESHAPE(BMM(input, other), shape=(*batch, first[-2], second[-1]))


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
    return NotImplemented


def _reflected_matmul(self: Tensor, other: Any) -> Any:
    if isinstance(other, np.ndarray):
        return matmul(wrap(other), self)
    return NotImplemented


FUNCTIONS.update({each.__name__: out_form(each, EXACT_OUT) for each in (mm, bmm, matmul)})
FUNCTIONS["mv"] = out_form(
    mv,
    "addmv input tensors must have the same dtype, but got {found}, {expected}, and {expected}",
)
for _each in (dot, vdot):
    FUNCTIONS[_each.__name__] = out_form(
        _each, "result dtype {found} does not match input dtype {expected}"
    )
methods(__matmul__=_matmul_operator, __rmatmul__=_reflected_matmul)
