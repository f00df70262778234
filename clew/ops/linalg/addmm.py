"""Products added to a tensor: addmm, addmv, addr, addbmm, baddbmm.

Each is `beta * input + alpha * product` in one operation: one output array, one rounding; only
addr and addbmm round halves after each step, as PyTorch does. When beta is 0, the input is not read
at all, so that its infinities and NaNs do not spread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.casting import LOWER, casts
from clew.core.elementwise import F32, F64, NO_PARAMS
from clew.core.op import Op
from clew.core.public import FUNCTIONS, public
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.kernels.gemm.products import affine, batch_product, product
from clew.kernels.numpy.arrays import rounded, widened
from clew.kernels.numpy.conversion import converted
from clew.ops.define.deprecated_forms import number_first
from clew.ops.define.out_checks import EXACT_OUT
from clew.ops.define.rows import out_form, require_tensors
from clew.ops.linalg.matmul import (
    Array,
    async_of_right,
    batch_times,
    of_right,
    times,
    transposed,
)
from clew.ops.linalg.product_checks import (
    check_batches,
    check_matrices,
    check_mv,
    refuse_bool,
    require_batch,
    require_same_scalar_type,
)
from clew.ops.pointwise.arithmetic import conj
from clew.ops.shape.views import expanded_shape
from clew.ops.tensor.copying import overflow

Number = int | float | complex


def _combined(self: Array, product: Array, beta: Number, alpha: Number) -> Array:
    """`beta * self + alpha * product`, written over the product."""
    if self.dtype.kind in "iu":
        beta, alpha = int(beta), int(alpha)  # type: ignore[arg-type]  # complex was refused
    elif self.dtype.kind == "b":
        # Only where there is nothing to add up.
        beta, alpha = bool(beta), bool(alpha)
    if alpha != 1:
        product *= alpha
    if beta == 1:
        product += widened(self)
    elif beta != 0:
        product += widened(self) * beta
    return product.astype(self.dtype, copy=False)


def _scaled(g: Any, factor: Number) -> Any:
    return g if factor == 1 else g * conj(factor)


def _matrix_product(a: Array, b: Array) -> Array:
    a, b = widened(a), widened(b)
    return product(a, b) if a.dtype.kind in "fc" else np.asarray(np.matmul(a, b))


def _batch_product(a: Array, b: Array) -> Array:
    return np.asarray(batch_product(widened(a), widened(b)))


def _addmm(self: Array, mat1: Array, mat2: Array) -> Array:
    dtype = self.dtype
    if self.shape == mat2.shape[1:] and (dtype is F32 or dtype is F64):
        # As in the short path, so that the bits are the same.
        return affine(mat1, mat2, self)
    return _combined(self, _matrix_product(mat1, mat2), 1, 1)


def _addmm_scaled(self: Array, mat1: Array, mat2: Array, *, beta: Number, alpha: Number) -> Array:
    return _combined(self, _matrix_product(mat1, mat2), beta, alpha)


def _addr(self: Array, vec1: Array, vec2: Array, *, beta: Number, alpha: Number) -> Array:
    if self.dtype.kind == "b":
        return (self & bool(beta)) | (np.logical_and.outer(vec1, vec2) & bool(alpha))
    dtype = self.dtype
    if dtype not in dtypes.LOW_PRECISION:
        return _combined(self, np.multiply.outer(vec1, vec2), beta, alpha)
    beta, alpha = (float(np.asarray(factor).astype(dtype)) for factor in (beta, alpha))
    scaled = rounded(widened(vec1) * np.float32(alpha), dtype)
    product = rounded(np.multiply.outer(scaled, widened(vec2)), dtype)
    if beta == 0:
        return converted(product, dtype)
    return converted(rounded(widened(self) * np.float32(beta), dtype) + product, dtype)


def _addbmm(self: Array, batch1: Array, batch2: Array, *, beta: Number, alpha: Number) -> Array:
    batches, rows, inner = batch1.shape
    if batches and self.dtype in dtypes.LOW_PRECISION:
        for first, second in zip(batch1, batch2, strict=True):
            self, beta = _combined(self, _matrix_product(first, second), beta, alpha), 1
        return self
    # The sum over batches is one product of the matrices laid side by side.
    side_by_side = batch1.transpose(1, 0, 2).reshape(rows, batches * inner)
    stacked = batch2.reshape(batches * inner, batch2.shape[2])
    return _combined(self, _matrix_product(side_by_side, stacked), beta, alpha)


def _baddbmm(self: Array, batch1: Array, batch2: Array, *, beta: Number, alpha: Number) -> Array:
    return _combined(self, _batch_product(batch1, batch2), beta, alpha)


ADDMM = Op(
    "addmm", _addmm, bare=True, affine="self",
    grads={
        "self": lambda g: g,
        "mat1": lambda g, mat2: times(g, conj(mat2).T),
        "mat2": lambda g, mat1, mat2_transposed: of_right(g, mat1, mat2_transposed),
    },
    deferred=("mat2", "mat1", async_of_right),
)  # fmt: skip
ADDMM_SCALED = Op(
    "addmm.scaled", _addmm_scaled, node="AddmmBackward0", bare=True, affine="self",
    grads={
        "self": lambda g, beta: _scaled(g, beta),
        "mat1": lambda g, mat2, alpha: _scaled(times(g, conj(mat2).T), alpha),
        "mat2": lambda g, mat1, mat2_transposed, alpha: _scaled(
            of_right(g, mat1, mat2_transposed), alpha
        ),
    },
)  # fmt: skip
ADDMV = Op(
    "addmv",
    lambda self, mat, vec, *, beta, alpha: _combined(self, _matrix_product(mat, vec), beta, alpha),
    bare=True,
    affine="self",
    grads={
        "self": lambda g, beta: _scaled(g, beta),
        "mat": lambda g, vec, alpha: _scaled(g[:, None] * conj(vec), alpha),
        "vec": lambda g, mat, alpha: _scaled(times(conj(mat).T, g), alpha),
    },
)
ADDR = Op(
    "addr", _addr, bare=True, affine="self",
    grads={
        "self": lambda g, beta: _scaled(g, beta),
        "vec1": lambda g, vec2, alpha: _scaled(times(g, conj(vec2)), alpha),
        "vec2": lambda g, vec1, alpha: _scaled(times(g.T, conj(vec1)), alpha),
    },
)  # fmt: skip
_BATCH_GRADS: dict[str, Callable[..., Any]] = {
    "self": lambda g, beta: _scaled(g, beta),
    "batch1": lambda g, batch2, alpha: _scaled(batch_times(g, transposed(batch2)), alpha),
    "batch2": lambda g, batch1, alpha: _scaled(batch_times(transposed(batch1), g), alpha),
}
ADDBMM = Op("addbmm", _addbmm, bare=True, affine="self", grads=_BATCH_GRADS)
BADDBMM = Op("baddbmm", _baddbmm, bare=True, affine="self", grads=_BATCH_GRADS)

# -- checks ------------------------------------------------------------------------------------


def _check_factors(dtype: dtypes.dtype, beta: Any, alpha: Any) -> None:
    if not dtype.is_complex and (isinstance(beta, complex) or isinstance(alpha, complex)):
        raise overflow(dtype.np)


def _check_sums(torch_kernel: str, a: Tensor, b: Tensor, beta: Number) -> None:
    """Bools have no sums; with nothing to add up, PyTorch stumbles over other kinds of `beta`."""
    refuse_bool(torch_kernel, a._array, b._array)
    has_result = 0 not in (a._array.shape[-2], b._array.shape[-1])
    if a.dtype is dtypes.bool_ and has_result and beta:
        of_floats = isinstance(beta, float)
        kind = dtypes.get_default_dtype() if of_floats else dtypes.int64
        raise errors.in_place_dtype(kind.scalar_name, "Bool")
    is_empty_sum = has_result and not a._array.shape[-1]
    if is_empty_sum and isinstance(beta, float) and beta and a._array.dtype.kind in "iu":
        raise errors.in_place_dtype(dtypes.get_default_dtype().scalar_name, a.dtype.scalar_name)


def _check_expands(self: Tensor, shape: tuple[int, ...]) -> None:
    if self._array.shape != shape:
        expanded_shape(self, shape)


def _require_one_dtype(first: str, a: Tensor, b: Tensor) -> None:
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"{first} and mat2 must have the same dtype, but got {a.dtype.scalar_name} and "
            f"{b.dtype.scalar_name}\n  Products do not convert: write x.to(y.dtype)"
            + errors.at_user_line()
        )


def _check_addmm(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Number) -> None:
    require_tensors("addmm", input=self, mat1=mat1, mat2=mat2)
    _require_one_dtype("self", self, mat2)
    _require_one_dtype("mat1", mat1, mat2)
    for name, matrix in (("mat1", mat1), ("mat2", mat2)):
        if matrix._array.ndim != 2:
            raise RuntimeError(
                f"{name} must be a matrix, got {matrix._array.ndim}-D tensor"
                + errors.at_user_line()
            )
    check_matrices(mat1, mat2)
    _check_expands(self, (mat1._array.shape[0], mat2._array.shape[1]))
    _check_sums("addmm_impl_cpu_", mat1, mat2, beta)


def _fits_in_place(args: tuple[Any, ...], kwargs: dict[str, Any], out: Tensor) -> None:
    """A product that is added in place must have the shape of what it is added to."""
    first, second = (*args, *[kwargs.get(name) for name in _OPERANDS if name in kwargs])[-2:]
    if not isinstance(first, Tensor) or not isinstance(second, Tensor):
        return
    a, b, have = first._array.shape, second._array.shape, out._array.shape
    if len(a) != len(b) or len(a) < 2 or a[-1] != b[-2] or first.dtype is not second.dtype:
        return
    wanted = (*a[:-1], b[-1])
    if have != wanted:
        raise RuntimeError(
            f"Bad in-place call: input tensor size {errors.shape_list(have)} and output tensor "
            f"size {errors.shape_list(wanted)} should match" + errors.at_user_line()
        )


_OPERANDS = ("mat1", "mat2", "batch1", "batch2")

# -- public functions ------------------------------------------------------------------------


def plain_addmm(input: Any, mat1: Any, mat2: Any) -> Tensor | None:
    """The short path for floats that fit each other; None where there is more to look at."""
    if not (isinstance(input, Tensor) and isinstance(mat1, Tensor) and isinstance(mat2, Tensor)):
        return None
    state = local.state
    added, a, b = input._array, mat1._array, mat2._array
    dtype = a.dtype
    if (
        state.intercept is not None
        or state.autocast is not None
        or dtype is not b.dtype
        or dtype is not added.dtype
        or (dtype is not F32 and dtype is not F64)
        or a.ndim != 2
        or b.ndim != 2
        or added.ndim > 2
        or a.shape[1] != b.shape[0]
    ):
        return None
    if added.shape == b.shape[1:]:
        return ADDMM.output(state, (input, mat1, mat2), NO_PARAMS, affine(a, b, added))
    total = product(a, b)
    try:
        total += added
    except ValueError:
        return None
    return ADDMM.output(state, (input, mat1, mat2), NO_PARAMS, total)


@public(inplace=_fits_in_place)
@number_first("beta", "alpha")
def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)`.

    Args:
        input: what the product is added to; broadcasts to its shape
        mat1: (n, m)
        mat2: (m, p)
        beta: a factor for `input`; with 0, NaN in `input` does not matter
        alpha: a factor for the product

    Example:
        >>> bias, x, weight = clew.tensor([1., 2.]), clew.ones(2, 3), clew.ones(3, 2)
        >>> clew.addmm(bias, x, weight)
        tensor([[4., 5.],
                [4., 5.]])
    """
    if beta == 1 and alpha == 1:
        quick = plain_addmm(input, mat1, mat2)
        if quick is not None:
            return quick
    autocast = local.state.autocast
    if autocast is not None:
        product: Tensor = autocast(LOWER, addmm, input, mat1, mat2, beta=beta, alpha=alpha)
        return product
    _check_addmm(input, mat1, mat2, beta)
    if beta == 1 and alpha == 1:
        return ADDMM(input, mat1, mat2)
    _check_factors(input.dtype, beta, alpha)
    return ADDMM_SCALED(input, mat1, mat2, beta=beta, alpha=alpha)


@public(inplace=True)
@number_first("beta", "alpha")
def addmv(
    input: Tensor, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    """`beta * input + alpha * (mat @ vec)`.

    Args:
        input: what the product is added to; broadcasts to its shape
        mat: (n, m)
        vec: (m,)
        beta: a factor for `input`; with 0, NaN in `input` does not matter
        alpha: a factor for the product

    Example:
        >>> clew.addmv(clew.tensor([1., 2.]), clew.ones(2, 3), clew.ones(3), alpha=10)
        tensor([31., 32.])
    """
    require_tensors("addmv", input=input, mat=mat, vec=vec)
    check_mv(input._array.shape, mat, vec)
    if input.dtype is not mat.dtype or input.dtype is not vec.dtype:
        raise RuntimeError(
            "addmv input tensors must have the same dtype, but got "
            f"{input.dtype.scalar_name}, {mat.dtype.scalar_name}, and {vec.dtype.scalar_name}"
            + errors.at_user_line()
        )
    refuse_bool("addmv_impl_cpu", mat._array, vec._array)
    _check_factors(input.dtype, beta, alpha)
    return ADDMV(input, mat, vec, beta=beta, alpha=alpha)


@public(inplace=True)
@number_first("beta", "alpha")
def addr(
    input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`.

    Args:
        input: what the product is added to; broadcasts to its shape
        vec1: (n,)
        vec2: (m,)
        beta: a factor for `input`; with 0, NaN in `input` does not matter
        alpha: a factor for the product

    Example:
        >>> clew.addr(clew.zeros(2, 2), clew.tensor([1., 2.]), clew.tensor([3., 4.]))
        tensor([[3., 4.],
                [6., 8.]])
    """
    require_tensors("addr", input=input, vec1=vec1, vec2=vec2)
    for name, vector in (("vec1", vec1), ("vec2", vec2)):
        if vector._array.ndim != 1:
            raise RuntimeError(
                f"addr: Expected 1-D argument {name}, but got {vector._array.ndim}-D"
                + errors.at_user_line()
            )
    _check_expands(input, (vec1._array.size, vec2._array.size))
    dtype = dtypes.promote_types(dtypes.promote_types(input.dtype, vec1.dtype), vec2.dtype)
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if isinstance(factor, bool) and dtype is not dtypes.bool_:
            raise RuntimeError(
                f"Boolean {name} only supported for Boolean results." + errors.at_user_line()
            )
        if isinstance(factor, float) and dtype.category < dtypes.FLOAT:
            raise RuntimeError(
                f"For integral input tensors, argument {name} must not be a floating point number."
                + errors.at_user_line()
            )
    _check_factors(dtype, beta, alpha)
    same = (value if value.dtype is dtype else value.to(dtype) for value in (input, vec1, vec2))
    return ADDR(*same, beta=beta, alpha=alpha)


@public(inplace=True)
@number_first("beta", "alpha")
@casts(LOWER)
def addbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    """`beta * input` plus `alpha` times the sum of the products of two batches' matrices.

    Args:
        input: what the sum is added to; broadcasts to (n, p)
        batch1: (b, n, m)
        batch2: (b, m, p)
        beta: a factor for `input`; with 0, NaN in `input` does not matter
        alpha: a factor for the sum

    Example:
        >>> clew.addbmm(clew.zeros(2, 2), clew.ones(5, 2, 3), clew.ones(5, 3, 2))
        tensor([[15., 15.],
                [15., 15.]])
    """
    require_tensors("addbmm", input=input, batch1=batch1, batch2=batch2)
    require_batch("batch1", batch1)
    require_batch("batch2", batch2)
    first, second = batch1._array.shape, batch2._array.shape
    if first[0] != second[0]:
        raise RuntimeError(
            f"batch1 and batch2 must have same number of batches, got {first[0]} and {second[0]}"
            + errors.at_user_line()
        )
    _check_expands(input, (first[1], second[2]))
    if first[2] != second[1]:
        raise RuntimeError(
            f"Incompatible matrix sizes for bmm ({first[1]}x{first[2]} and "
            f"{second[1]}x{second[2]})" + errors.at_user_line()
        )
    _require_one_dtype("mat1", batch1, batch2)
    _require_one_dtype("self", input, batch2)
    _check_sums("addmm_impl_cpu_", batch1, batch2, beta)
    _check_factors(input.dtype, beta, alpha)
    return ADDBMM(input, batch1, batch2, beta=beta, alpha=alpha)


@public(inplace=_fits_in_place)
@number_first("beta", "alpha")
@casts(LOWER)
def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    """`beta * input + alpha * (batch1 @ batch2)` for batches of matrices.

    Args:
        input: what the products are added to; broadcasts to (b, n, p)
        batch1: (b, n, m)
        batch2: (b, m, p)
        beta: a factor for `input`; with 0, NaN in `input` does not matter
        alpha: a factor for the products

    Example:
        >>> clew.baddbmm(clew.zeros(1, 2, 2), clew.ones(1, 2, 3), clew.ones(1, 3, 2), alpha=2)
        tensor([[[6., 6.],
                 [6., 6.]]])
    """
    require_tensors("baddbmm", input=input, batch1=batch1, batch2=batch2)
    require_batch("batch1", batch1)
    require_batch("batch2", batch2)
    shape = (*batch1._array.shape[:2], batch2._array.shape[2])
    _check_expands(input, shape)
    check_batches(batch1, batch2)
    if input.dtype is not batch1.dtype:
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {input.dtype.c_name}, batch1: "
            f"{batch1.dtype.c_name}, batch2: {batch2.dtype.c_name}" + errors.at_user_line()
        )
    require_same_scalar_type(batch1, batch2)
    _check_sums("baddbmm", batch1, batch2, beta)
    _check_factors(input.dtype, beta, alpha)
    return BADDBMM(input, batch1, batch2, beta=beta, alpha=alpha)


FUNCTIONS["addbmm"] = out_form(
    addbmm,
    "self and mat2 must have the same dtype, but got {found} and {expected}",
    elementwise=False,
    warns=False,
)
FUNCTIONS.update(
    {
        each.__name__: out_form(each, EXACT_OUT, elementwise=False)
        for each in (addmm, addmv, baddbmm)
    }
)
