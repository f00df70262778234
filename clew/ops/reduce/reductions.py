"""Reductions that combine all elements: sum, mean, nansum, nanmean."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.elementwise import F32, F64, NO_PARAMS
from clew.core.no_history import no_integer_history
from clew.core.op import Op
from clew.core.public import public
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.kernels.codegen.ir import where
from clew.kernels.codegen.ufunc import elementwise
from clew.kernels.compiled.copies import copied
from clew.kernels.numpy import reduce
from clew.kernels.numpy.arrays import as_new, real_part, widened
from clew.kernels.numpy.conversion import converted
from clew.ops.define import out_checks
from clew.ops.define.dims import numpy_names, require_bool, shape_argument, wrap_dims
from clew.ops.shape.views import expanded

Dims = tuple[int, ...]
DimArgument = int | Dims | list[int] | None


def reduced_dims(dim: DimArgument, ndim: int, keepdim: Any = False) -> Dims:
    """The dimensions to reduce, counted from the front; a 0-dim tensor has none."""
    if keepdim is not False and keepdim is not True:
        require_bool("keepdim", keepdim)
    if type(dim) is int and -ndim <= dim < ndim:
        return (dim % ndim,)
    dims = wrap_dims(dim, ndim)
    return dims if ndim else ()


def restore_dims(g: Any, dims: Dims, keepdim: bool) -> Any:
    """A reduced tensor or array with the dimensions put back as size 1, where that matters."""
    if keepdim or dims == tuple(range(len(dims))):
        # Missing leading dimensions are broadcast anyway.
        return g
    shape = list((g if type(g) is np.ndarray else g._array).shape)
    for dim in sorted(dims):
        shape.insert(dim, 1)
    return g.reshape(shape)


def accumulator_dtype(dtype: np.dtype) -> np.dtype:
    """Low-precision floats are summed in float32."""
    return dtypes.COMPUTED_IN_NUMPY.get(dtype, dtype)


def convert(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The array in another dtype; complex numbers lose their imaginary part silently."""
    if array.dtype is dtype:
        return array
    if array.dtype.kind in "cW" and dtype.kind not in "cWb":
        array = real_part(array)
    return converted(array, dtype)


def fold(
    ufunc: Any, array: np.ndarray, dims: Dims | int | None, keepdim: bool, dtype: Any = None
) -> np.ndarray:
    """`ufunc.reduce`, always with an array as its result."""
    result = np.asarray(ufunc.reduce(array, axis=dims, keepdims=keepdim, dtype=dtype))
    return as_new(result) if result.ndim else result


# -- sum -----------------------------------------------------------------------------------

# The dtypes of which a few are added up in PyTorch's order.
_IN_ORDER = frozenset({F32, F64, *dtypes.HALVES})


def add_up(array: np.ndarray, dims: Dims, keepdim: bool) -> np.ndarray:
    """The sum over `dims` in the array's own dtype, with errors that do not grow with the size.

    Low-precision floats give a float32.
    """
    size, dtype = array.size, array.dtype
    if dims and size:
        is_whole = len(dims) == array.ndim and not keepdim and array.flags.c_contiguous
        if is_whole and (dtype is F32 or dtype is F64):
            return reduce.reduce_all(reduce.SUM, array)
        is_few = size <= reduce.FEW and dtype in _IN_ORDER
        total = reduce.sum_few(array, dims, keepdim) if is_few else None
        if total is None and size > reduce.LARGE:
            total = reduce.sum_over(array, dims, keepdim)
        if total is not None:
            return total
    return fold(np.add, array, dims, keepdim, accumulator_dtype(dtype))


def _summed(self: np.ndarray, dims: Dims, keepdim: bool, dtype: np.dtype) -> np.ndarray:
    """The sum of the numbers in `dtype`, in the one that is right for adding those up."""
    return add_up(convert(self, dtype), dims, keepdim)


def _sum(self: np.ndarray, *, dims: Dims, keepdim: bool, dtype: np.dtype) -> np.ndarray:
    total = _summed(self, dims, keepdim, dtype)
    return converted(total, dtype)


def _sum_all(self: np.ndarray, *, dtype: np.dtype) -> np.ndarray:
    return _sum(self, dims=tuple(range(self.ndim)), keepdim=False, dtype=dtype)


SUM = Op(
    "sum_dim",
    _sum,
    grads={
        "self": lambda g, dims, keepdim, self_shape: expanded(
            restore_dims(g, dims, keepdim), self_shape
        )
    },
    node="SumBackward1",
    linear=True,
    bare=True,
)
SUM_ALL = Op(
    "sum", _sum_all, grads={"self": lambda g, self_shape: expanded(g, self_shape)},
    linear=True, bare=True,
)  # fmt: skip
SUM.keeps_complex = SUM_ALL.keeps_complex = True
SUM.expands_grad = SUM_ALL.expands_grad = True


def sum_dtype(input: Tensor, dtype: dtypes.dtype | None) -> np.dtype:
    """Integers and bools are summed as int64 unless a dtype is asked for."""
    if dtype is not None:
        dtype = dtypes.of_python(dtype)
        if dtype.category < dtypes.FLOAT and local.state.grad_enabled and input.requires_grad:
            raise no_integer_history(dtype.np)
        return dtype.np
    have = input.dtype
    return dtypes.int64.np if have.category < dtypes.FLOAT else have.np


@public(out=out_checks.starts_from(0))
@numpy_names
def sum(
    input: Tensor,
    dim: DimArgument = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """The sum over some dimensions, or over all.

    Args:
        input: any tensor; bools and integers are summed as int64
        dim: the dimension, or several; by default all
        keepdim: keep reduced dimensions, with size 1
        dtype: what to convert to before summing

    Example:
        >>> x = clew.tensor([[1., 2.], [3., 4.]])
        >>> clew.sum(x)
        tensor(10.)
        >>> clew.sum(x, dim=1, keepdim=True)
        tensor([[3.],
                [7.]])
    """
    if dim is None and keepdim is False:
        if dtype is None:
            out = _total(input, SUM_ALL)
            if out is not None:
                return out
        return SUM_ALL(input, dtype=sum_dtype(input, dtype))
    dims = reduced_dims(dim, input._array.ndim, keepdim)
    if dtype is None and dims:
        out = _partial(input, SUM, dims, keepdim)
        if out is not None:
            return out
    return SUM(input, dims=dims, keepdim=keepdim, dtype=sum_dtype(input, dtype))


def _total(input: Tensor, op: Op) -> Tensor | None:
    """The sum or mean of all elements by a short path, for small tensors; None elsewhere."""
    state = local.state
    array = input._array
    dtype, size = array.dtype, array.size
    if (dtype is not F32 and dtype is not F64) or state.intercept is not None or not size:
        return None
    if array.flags.c_contiguous:
        total = reduce.reduce_all(reduce.SUM, array)
    else:
        total = add_up(array, tuple(range(array.ndim)), False)
    if op is not SUM_ALL:
        np.true_divide(total, dtypes.as_scalar(float(size), dtype), total)
    return op.output(state, (input,), NO_PARAMS, total)


def _partial(input: Tensor, op: Op, dims: Dims, keepdim: bool) -> Tensor | None:
    """The sum or mean over some dimensions by a short path; None where it does not apply."""
    state = local.state
    array = input._array
    dtype = array.dtype
    if (dtype is not F32 and dtype is not F64) or not array.size or state.intercept is not None:
        return None
    total = reduce.sum_floats(array, dims, keepdim)
    if op is not SUM:
        np.true_divide(total, array.size // total.size, total)
    params = {"dims": dims, "keepdim": keepdim, "dtype": dtype}
    return op.output(state, (input,), params, total)


# -- mean ----------------------------------------------------------------------------------


def _mean(self: np.ndarray, *, dims: Dims, keepdim: bool, dtype: np.dtype) -> np.ndarray:
    total = _summed(self, dims, keepdim, dtype)
    count = math.prod(self.shape[dim] for dim in dims)
    return np.asarray(total / total.dtype.type(count)).astype(dtype, copy=False)


def _mean_all(self: np.ndarray, *, dtype: np.dtype) -> np.ndarray:
    return _mean(self, dims=tuple(range(self.ndim)), keepdim=False, dtype=dtype)


def _divided(g: Any, count: int) -> Any:
    """A gradient divided by the number of elements that share it; a tensor or a bare array."""
    if not count:
        return g
    if type(g) is np.ndarray:
        return np.asarray(widened(g) / count).astype(g.dtype, copy=False)
    return g / count


def _mean_grad(g: Any, dims: Dims, keepdim: bool, self_shape: Dims) -> Any:
    count = math.prod([self_shape[dim] for dim in dims])
    g = restore_dims(g, dims, keepdim)
    if type(g) is np.ndarray:
        # Divided while it is small; then copied, because what follows is slow to read it repeated.
        return copied(expanded(_divided(g, count), self_shape))
    return _divided(expanded(g, self_shape), count)


def _mean_all_grad(g: Any, self_shape: Dims) -> Any:
    return expanded(_divided(g, math.prod(self_shape)), self_shape)


MEAN = Op(
    "mean_dim", _mean, grads={"self": _mean_grad}, node="MeanBackward1", linear=True, bare=True
)
MEAN_ALL = Op("mean", _mean_all, grads={"self": _mean_all_grad}, linear=True, bare=True)
MEAN.keeps_complex = MEAN_ALL.keeps_complex = True


def _mean_dtype(input: Tensor, dtype: dtypes.dtype | None) -> np.dtype:
    wanted = input.dtype if dtype is None else dtypes.of_python(dtype)
    if wanted.category < dtypes.FLOAT:
        whose = "Input" if dtype is None else "Optional"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {whose} dtype must be either a floating point "
            f"or complex dtype. Got: {wanted.scalar_name}\n  Convert first: x.float().mean(), or "
            "x.mean(dtype=torch.float32)" + errors.at_user_line()
        )
    return wanted.np


@public(out=out_checks.mean_out)
@numpy_names
def mean(
    input: Tensor,
    dim: DimArgument = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """The mean over some dimensions, or over all.

    Args:
        input: floating point or complex, unless `dtype` is
        dim: the dimension, or several; by default all
        keepdim: keep reduced dimensions, with size 1
        dtype: what to convert to before summing

    Example:
        >>> clew.mean(clew.tensor([[1., 2.], [3., 4.]]), dim=0)
        tensor([2., 3.])
    """
    if dim is None and keepdim is False:
        if dtype is None:
            out = _total(input, MEAN_ALL)
            if out is not None:
                return out
        return MEAN_ALL(input, dtype=_mean_dtype(input, dtype))
    if dtype is not None or input._array.dtype.kind in "biu":
        # A dtype without a mean is said before a wrong dimension.
        _mean_dtype(input, dtype)
    dims = reduced_dims(dim, input._array.ndim, keepdim)
    if dtype is None and dims:
        out = _partial(input, MEAN, dims, keepdim)
        if out is not None:
            return out
    return MEAN(input, dims=dims, keepdim=keepdim, dtype=_mean_dtype(input, dtype))


# -- ignoring NaN --------------------------------------------------------------------------


@elementwise("without_nan", 1, half=True)
def _WITHOUT_NAN_KERNEL(x: Any) -> Any:
    return where(x.ne(x), 0.0, x)


def _nansum(self: np.ndarray, *, dims: Dims, keepdim: bool, dtype: np.dtype) -> np.ndarray:
    if self.dtype.kind not in "biu":
        self = _WITHOUT_NAN_KERNEL.specialize(self)(self)
    return _sum(self, dims=dims, keepdim=keepdim, dtype=dtype)


NANSUM = Op(
    "nansum",
    _nansum,
    grads={
        "self": lambda g, self, dims, keepdim, self_shape: (
            restore_dims(g, dims, keepdim).expand(self_shape) * self.isnan().logical_not()
        )
    },
    kinks="0 at NaN",
)


@public(out=out_checks.nansum_out)
@numpy_names
def nansum(
    input: Tensor,
    dim: DimArgument = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """The sum of the elements that are not NaN.

    Args:
        input: a tensor that is not complex
        dim: the dimension, or several; by default all
        keepdim: keep reduced dimensions, with size 1
        dtype: what to convert to before summing

    Example:
        >>> clew.nansum(clew.tensor([1., float("nan"), 3.]))
        tensor(4.)
    """
    dims = reduced_dims(dim, input._array.ndim, keepdim)
    dtype = None if dtype is None else dtypes.of_python(dtype)
    if input.dtype.is_complex:
        raise RuntimeError("nansum on CPU does not support complex inputs" + errors.at_user_line())
    if dtype is not None and dtype.is_complex and input.dtype.is_floating_point:
        raise errors.no_kernel("nansum_cpu", dtype)
    return NANSUM(input, dims=dims, keepdim=keepdim, dtype=sum_dtype(input, dtype))


@public(out=out_checks.nansum_out)
@numpy_names
def nanmean(
    input: Tensor,
    dim: DimArgument = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """The mean of the elements that are not NaN; NaN where there is none.

    Args:
        input: floating point
        dim: the dimension, or several; by default all
        keepdim: keep reduced dimensions, with size 1
        dtype: what to convert to before summing

    Example:
        >>> clew.nanmean(clew.tensor([1., float("nan"), 3.]))
        tensor(2.)
    """
    if input.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{input.dtype.scalar_name}" + errors.at_user_line()
        )
    dtype = None if dtype is None else dtypes.of_python(dtype)
    if dtype is not None and dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            "nanmean(): could not infer output dtype. Optional dtype must be either a floating "
            f"point or complex dtype. Got: {dtype.scalar_name}" + errors.at_user_line()
        )
    count = input.detach().isnan().logical_not().sum(dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / count


# -- sum_to_size -----------------------------------------------------------------------------------


@public(function=False)
def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """Sum the dimensions away that broadcasting from `size` would have added or stretched.

    Args:
        size: the shape of the result, as arguments or one tuple; it must broadcast to this one

    Example:
        >>> clew.ones(2, 3).sum_to_size(1, 3)
        tensor([[2., 2., 2.]])
    """
    wanted, have = shape_argument(size, None, "sum_to_size", "size"), self._array.shape
    extra = len(have) - len(wanted)
    fits = extra >= 0 and builtins.all(
        n in (1, m) for n, m in zip(wanted, have[extra:], strict=True)
    )
    if not fits:
        raise RuntimeError(
            f"size {{{errors.shape_list(wanted)}}} is not expandable to size "
            f"{{{errors.shape_list(have)}}}." + errors.at_user_line()
        )
    if not wanted:
        return self.sum()
    stretched = [i for i in range(extra, len(have)) if wanted[i - extra] == 1 != have[i]]
    dims = (*range(extra), *stretched)
    if not dims:
        return self
    total = self.sum(dims, keepdim=True)
    return total.reshape(wanted) if extra else total
