"""Arithmetic and functions of single elements that keep zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.inplace import note_write
from clew.core.state import local
from clew.core.tensor import Tensor, wrap
from clew.core.unstrided import LayoutOp, could_not_run
from clew.kernels import compiled
from clew.kernels.numpy.scatter import add_at
from clew.ops.sparse.conversion import as_coo, coalesce, dense, to_layout
from clew.ops.sparse.core_ops import SPARSE, VALUES, dense_array, picked, through_values
from clew.ops.sparse.inspection import check_target, write
from clew.ops.sparse.tensor import (
    COO,
    RULES,
    backend_of,
    coo,
    coordinates,
    flat_places,
    is_coo,
    is_sparse,
    like,
    merged,
    nnz,
    of_parts,
    rule,
    sparse_dims,
)

# Functions of one element that are zero at zero: they run on the values.
_KEEP_ZERO = (
    "abs", "absolute", "asin", "arcsin", "asinh", "arcsinh", "atan", "arctan", "atanh", "arctanh",
    "ceil", "floor", "round", "trunc", "fix", "sign", "sgn", "signbit", "sin", "sinh", "sqrt",
    "tan", "tanh", "expm1", "log1p", "erf", "erfinv", "deg2rad", "rad2deg", "frac", "relu", "isnan",
    "isinf", "isposinf", "isneginf", "angle", "nan_to_num", "conj", "conj_physical", "real", "imag",
    "square", "pow", "__pow__", "float_power", "positive", "__pos__", "__abs__",
)  # fmt: skip
_LINEAR = {"conj", "conj_physical", "real", "imag", "positive", "deg2rad", "rad2deg"}


def _on_values(name: str) -> Callable[..., Tensor]:
    def function(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
        if any(isinstance(each, Tensor) and each._layout.ndim for each in args):
            raise could_not_run(name.strip("_"), backend_of((input, *args)))
        source = input if name in _LINEAR or not is_coo(input) else coalesce(input)
        if kwargs.pop("inplace", False):
            return write(input, function(input, *args, **kwargs), f"{name}_")
        if name in ("real", "imag"):
            return through_values(source, lambda v: getattr(v, name))
        result = through_values(source, lambda v: getattr(v, name)(*args, **kwargs))
        return result if out is None else write(out, result, "out=")

    return function


def _in_place(name: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if not is_sparse(self):
            raise could_not_run(f"{name}_", backend_of((self, *args)))
        check_target(self, f"{name}_")
        return write(self, function(self, *args, **kwargs), f"{name}_")

    return method


for _name in _KEEP_ZERO:
    RULES[_name] = _on_values(_name)
    if not _name.startswith("_"):
        RULES[f"{_name}_"] = _in_place(_name, RULES[_name])


# -- sums ------------------------------------------------------------------------------------------


def _sum_of(self: Tensor, other: Tensor, *, alpha: Any) -> Tensor:
    if not is_sparse(self):
        total = self + wrap(np.zeros((), other._layout.dtype))
        array = total._array.copy()
        _add_into(array, other, alpha)
        return wrap(array)
    if not is_sparse(other):
        return _sum_of(other * alpha, self, alpha=1)
    common = dtypes.promote_types(self.dtype, other.dtype)
    listed = as_coo(self), as_coo(other)
    one, two = (like(each, each._parts[-1].to(common)) for each in listed)
    if alpha != 1:
        two = like(two, (two._parts[-1] * alpha).to(common))
    whole = all(each._parts[-1]._array.flags.c_contiguous for each in listed)
    total = _merge_of(one, two) if whole else _lists_of(one, two)
    return total if self._kind is COO else to_layout(merged(total), self._kind)


def _lists_of(one: Tensor, two: Tensor) -> Tensor:
    """The sum of two COO tensors whose values have gaps or repeat: one list after the other."""
    for each, missing in ((one, two), (two, one)):
        if not nnz(missing):
            return like(each, each._parts[1].clone())
    places, values = (
        np.concatenate([each._parts[part]._array for each in (one, two)], axis=1 - part)
        for part in (0, 1)
    )
    total = coo(places, wrap(values), one._layout.shape, False)
    if nnz(total) <= total.numel():
        return total
    total = merged(total)  # so that sums of sums do not grow without end
    return coo(total._parts[0]._array, total._parts[1], total._layout.shape, False)


def _merge_of(one: Tensor, two: Tensor) -> Tensor:
    """The sum of two COO tensors of one dtype as PyTorch walks through their lists.

    What stands first in both lists is added up, and of other indices the lesser goes first: each
    occurs once if both tensors are coalesced, and may occur more often than before if not.
    """
    for each, missing in ((one, two), (two, one)):
        if not nnz(missing):
            return like(each, each._parts[1].clone())
    shape = one._layout.shape
    lists = [tuple(each._parts[0]._array) for each in (one, two)]
    keys = [
        np.broadcast_to(flat_places(p, shape), nnz(t))
        for p, t in zip(lists, (one, two), strict=True)
    ]
    sources = compiled.merging.merge(*keys)
    count = len(sources[0])
    places = np.empty((len(lists[0]), count), np.int64)
    values = np.zeros((count, *one._parts[1]._array.shape[1:]), one._layout.dtype)
    for each, source in zip((one, two), sources, strict=True):
        is_there = source >= 0
        rows = source[is_there]
        places[:, is_there] = each._parts[0]._array[:, rows]
        values[is_there] += each._parts[1]._array[rows]
    return coo(places, wrap(values), shape, one._is_merged and two._is_merged)


def _add_into(array: np.ndarray, other: Tensor, alpha: Any) -> None:
    """Add a sparse tensor to a strided array."""
    values = other._parts[-1]._array
    if alpha != 1:
        values = (other._parts[-1] * alpha)._array
    places = coordinates(other)
    if not places:
        array += dense_array(other) * alpha
    elif array.dtype == bool:
        np.logical_or.at(array, tuple(np.broadcast_arrays(*places)), values)
    else:
        add_at(array, tuple(np.broadcast_arrays(*places)), values.astype(array.dtype, copy=False))


def _times(g: Tensor, alpha: Any) -> Tensor:
    return g if alpha == 1 else g * alpha


ADD = LayoutOp(
    "sparse_add", _sum_of, node="AddBackward0",
    grads={"self": lambda g: g, "other": lambda g, alpha: _times(g, alpha)},
)  # fmt: skip
SUB = LayoutOp(
    "sparse_sub", lambda self, other, *, alpha: _sum_of(self, other, alpha=-alpha),
    node="SubBackward0",
    grads={"self": lambda g: g, "other": lambda g, alpha: _times(g, -alpha)},
)  # fmt: skip


def _check_sum(input: Any, other: Any) -> None:
    if not isinstance(input, Tensor) or (is_coo(input) and not is_sparse(other)):
        raise RuntimeError(
            "add(sparse, dense) is not supported. Use add(dense, sparse) instead."
            + errors.at_user_line()
        )
    if not isinstance(other, Tensor):
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same size, but self has size [] while other "
            f"has size {errors.shape_list(input._layout.shape)} (FYI: op2-sparse addition does not "
            "currently support broadcasting)" + errors.at_user_line()
        )
    mine, wanted = input._layout.shape, other._layout.shape
    if mine == wanted:
        if is_coo(input) and is_coo(other) and nnz(input) and nnz(other):
            _check_density(input, other)
        return
    if is_sparse(input) and is_sparse(other):
        raise RuntimeError(
            f"add: expected sizes of 'self' and 'other' to match, but {errors.shape_list(mine)} != "
            f"{errors.shape_list(wanted)}" + errors.at_user_line()
        )
    raise RuntimeError(
        "add: expected 'self' and 'other' to have same size, but self has size "
        f"{errors.shape_list(mine)} while other has size {errors.shape_list(wanted)} (FYI: "
        "dense-sparse addition does not currently support broadcasting)" + errors.at_user_line()
    )


def _check_density(input: Tensor, other: Tensor) -> None:
    mine, wanted = len(input._parts[0]._array), len(other._parts[0]._array)
    if mine != wanted:
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same density, but 'self' has "
            f"{mine} sparse dimensions while 'other' has {wanted} sparse dimensions"
            + errors.at_user_line()
        )


@rule("add", "__add__")
def add(input: Any, other: Any, *, alpha: Any = 1, out: Tensor | None = None) -> Tensor:
    """Sums; of a strided and a sparse tensor the result is strided."""
    _check_sum(input, other)
    result: Tensor = ADD(input, other, alpha=alpha)
    return result if out is None else out.copy_(result)


@rule("sub", "__sub__", "subtract")
def sub(input: Any, other: Any, *, alpha: Any = 1, out: Tensor | None = None) -> Tensor:
    """Differences, as sums."""
    _check_sum(input, other)
    result: Tensor = SUB(input, other, alpha=alpha)
    return result if out is None else out.copy_(result)


@rule("add_", "__iadd__")
def add_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """A sum in place; into a strided tensor only listed elements are added."""
    check_target(self, "add_")
    if is_sparse(self):
        return write(self, add(self, other, alpha=alpha), "add_")
    _check_sum(self, other)
    needs_history = local.state.grad_enabled and (self.requires_grad or other.requires_grad)
    if needs_history or self._array.dtype != other._layout.dtype:
        result: Tensor = self.add_(dense(other), alpha=alpha)
        return result
    _add_into(self._array, other, alpha)
    note_write(self, "add_")
    return self


@rule("sub_", "__isub__")
def sub_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """A difference in place."""
    return add_(self, other, alpha=-alpha)


# -- products --------------------------------------------------------------------------------------


def _product(self: Any, other: Any) -> Tensor:
    if not is_sparse(self):
        return _product(other, self)
    if not is_sparse(other):
        return like(self, self._parts[-1] * _factor(self, other))
    if self._kind is not COO or other._kind is not COO:
        if self._kind is other._kind:
            result = _common(as_coo(self), as_coo(other))
            return to_layout(result, self._kind)
        return _product(self, wrap(dense_array(other)))
    if self.dtype is not other.dtype:
        # Equal indices are added up in the dtype of the result.
        wide = dtypes.promote_types(self.dtype, other.dtype)
        self, other = (like(each, each._parts[-1].to(wide)) for each in (self, other))
    return _common(merged(self), merged(other))


def _factor(sparse: Tensor, other: Any) -> Any:
    """What the values are multiplied by: a number, or a strided tensor's elements there."""
    if not isinstance(other, Tensor) or not other._layout.ndim:
        return other
    shape = sparse._layout.shape
    if other._layout.shape != shape:
        other = other.expand(shape)
    return picked(other, sparse)


def _common(one: Tensor, two: Tensor) -> Tensor:
    """The products at the places that both list."""
    shape, count = one._layout.shape, sparse_dims(one)
    keys = [flat_places(tuple(each._parts[0]._array), shape) for each in (one, two)]
    _, at_one, at_two = np.intersect1d(keys[0], keys[1], assume_unique=True, return_indices=True)
    if not count:
        at_one = at_two = np.arange(min(len(each._parts[1]._array) for each in (one, two)))
    places = one._parts[0]._array[:, at_one]
    values = wrap(one._parts[1]._array[at_one]) * wrap(two._parts[1]._array[at_two])
    return of_parts(COO, (wrap(places), values), shape, True)


def _gradient_of_factor(g: Tensor, factor: Any) -> Tensor:
    if isinstance(factor, Tensor):
        return g * (factor.conj() if factor.dtype.is_complex else factor)
    return g * (factor.conjugate() if isinstance(factor, complex) else factor)


MUL = LayoutOp(
    "sparse_mul", _product, node="MulBackward0",
    grads={
        "self": lambda g, other: _gradient_of_factor(g, other),
        "other": lambda g, self: _gradient_of_factor(g, self),
    },
)  # fmt: skip


@rule("mul", "__mul__", "multiply")
def mul(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """Products: sparse where one of the factors is."""
    if is_sparse(input) and is_sparse(other):
        mine, wanted = input._layout.shape, other._layout.shape
        if mine != wanted or sparse_dims(input) != sparse_dims(other):
            raise RuntimeError(
                "sparse_binary_op_intersection_cpu(): expects sparse inputs with equal "
                "dimensionality, number of sparse dimensions, and shape of sparse dimensions"
                + errors.at_user_line()
            )
    result: Tensor = MUL(input, other)
    return result if out is None else write(out, result, "out=")


@rule("neg", "__neg__", "negative")
def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The negative."""
    return mul(input, -1)


def _quotient(self: Tensor, other: Any, *, rounding_mode: str | None) -> Tensor:
    return like(self, self._parts[-1].div(other, rounding_mode=rounding_mode))


def _no_quotient(g: Tensor, self: Tensor, other: Any, rounding_mode: str | None) -> Tensor:
    return g * 0 if rounding_mode is not None else g * (-1 / (other * other)) * self


DIV = LayoutOp(
    "sparse_div", _quotient, node="DivBackward0",
    grads={
        "self": lambda g, other, rounding_mode: (
            g / other if rounding_mode is None else g * 0
        ),
        "other": _no_quotient,
    },
)  # fmt: skip


@rule("div", "__truediv__", "divide", "true_divide")
def div(
    input: Any, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None
) -> Tensor:
    """Quotients by a number, or a tensor without dimensions."""
    shape = other._layout.shape if isinstance(other, Tensor) else ()
    if shape or not is_sparse(input) or is_sparse(other):
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{errors.shape_list(shape)} for divisor)" + errors.at_user_line()
        )
    if rounding_mode is not None:
        input = coalesce(input) if is_coo(input) else input
    result: Tensor = DIV(input, other, rounding_mode=rounding_mode)
    return result if out is None else write(out, result, "out=")


@rule("floor_divide", "__floordiv__")
def floor_divide(input: Any, other: Any) -> Tensor:
    """Quotients, rounded down."""
    return div(input, other, rounding_mode="floor")


def _swapped(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda self, other: function(other, self)


for _name, _function in {
    "add": add, "sub": sub, "mul": mul, "truediv": div, "floordiv": floor_divide,
}.items():  # fmt: skip
    RULES[f"__r{_name}__"] = _swapped(_function)
RULES["rsub"] = _swapped(sub)
RULES["__rdiv__"] = _swapped(div)
_WRITING: dict[str, Callable[..., Tensor]] = {
    "mul": mul, "multiply": mul, "div": div, "divide": div, "true_divide": div, "neg": neg,
    "floor_divide": floor_divide,
}  # fmt: skip
for _name, _writing in _WRITING.items():
    RULES[f"{_name}_"] = _in_place(_name, _writing)
RULES["__imul__"], RULES["__itruediv__"] = RULES["mul_"], RULES["div_"]
for _name in ("is_conj", "is_neg"):
    RULES[_name] = lambda self: False
for _name in ("resolve_conj", "resolve_neg"):
    RULES[_name] = lambda self: self


def values_of(tensor: Tensor) -> Tensor:
    """The values with their history, whether indices repeat or not."""
    result: Tensor = VALUES(tensor)
    return result


def with_values(places: Tensor, values: Tensor) -> Tensor:
    """A sparse tensor of values at places."""
    result: Tensor = SPARSE(values, places=places)
    return result
