"""Reading and writing whole slices of one dimension by a list of indices: the `index_*` family."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.core.casting import WIDEST, casts
from clew.core.inplace import keep_apart, refuse_leaf, repeats_memory
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor, every_value, of_values
from clew.kernels import numpy as kernels
from clew.kernels.numpy.arrays import are_below
from clew.ops.define import out_checks
from clew.ops.define.deprecated_forms import number
from clew.ops.define.dims import numpy_names, wrap_dim
from clew.ops.index.gather_scatter import check_bounds
from clew.ops.index.reduce_gradients import Places, reduce_gradients
from clew.ops.index.reduced_rows import check_reduction, check_rows_of_unordered
from clew.ops.index.writing import Call, WritingOp, run, run_in_place
from clew.ops.tensor.copying import convert, fitting, scalar_as, zeros

Shape = tuple[int, ...]


# -- kernels over arrays: a 0-dim tensor counts as one slice -------------------------------


def _as_rows(self: np.ndarray) -> np.ndarray:
    return self if self.ndim else self.reshape(1)


def _selected(self: np.ndarray, index: np.ndarray, *, dim: int) -> np.ndarray:
    taken = _as_rows(self).take(index.reshape(-1), axis=dim)
    return taken if self.ndim else taken.reshape(())


def _unselected(
    grad_output: np.ndarray, index: np.ndarray, *, dim: int, input_sizes: Shape
) -> np.ndarray:
    out = np.zeros(input_sizes or (1,), grad_output.dtype)
    kernels.scatter.add_rows(out, index.reshape(-1), _as_rows(grad_output), dim, wide=out.ndim > 1)
    return out.reshape(input_sizes)


def _added(
    self: np.ndarray, index: np.ndarray, source: np.ndarray, *, dim: int, alpha: Any
) -> None:
    values = _as_rows(source) if alpha == 1 else _as_rows(source) * scalar_as(alpha, self.dtype)
    kernels.scatter.add_rows(_as_rows(self), index.reshape(-1), values, dim, wide=self.ndim > 1)


def _place(dim: int, index: np.ndarray) -> tuple[Any, ...]:
    return (slice(None),) * dim + (index.reshape(-1),)


def _copied(self: np.ndarray, index: np.ndarray, source: np.ndarray, *, dim: int) -> None:
    _as_rows(self)[_place(dim, index)] = _as_rows(source)


def _filled(self: np.ndarray, index: np.ndarray, *, dim: int, value: Any) -> None:
    _as_rows(self)[_place(dim, index)] = scalar_as(value, self.dtype)


def _filled_tensor(self: np.ndarray, index: np.ndarray, value: np.ndarray, *, dim: int) -> None:
    _filled(self, index, dim=dim, value=convert(value, self.dtype))


def _reduced(
    self: np.ndarray, index: np.ndarray, source: np.ndarray, *, dim: int, reduce: str,
    include_self: bool,
) -> np.ndarray:  # fmt: skip
    out = _as_rows(np.array(self, order="C"))
    given = out, index.reshape(-1), _as_rows(source), dim, reduce, include_self
    reduced = kernels.scatter.reduce_rows(*given)
    return reduced.reshape(self.shape)


# -- operations ----------------------------------------------------------------------------

INDEX_SELECT = Op(
    "index_select",
    _selected,
    grads={
        "self": lambda g, index, dim, self_shape: INDEX_SELECT_BACKWARD(
            g, index, dim=dim, input_sizes=self_shape
        )
    },
    linear=True,
)
INDEX_SELECT_BACKWARD: Op = Op(
    "index_select_backward",
    _unselected,
    grads={"grad_output": lambda g, index, dim: g.index_select(dim, index)},
    linear=True,
    node="IndexAddBackward0",
)


# As in PyTorch the sources are saved, although only their shapes are used.
def _added_source(g: Tensor, index: Tensor, source: Tensor, dim: int, alpha: Any) -> Tensor:
    picked = g.index_select(dim, index).expand(source._array.shape)
    return picked if alpha == 1 else picked * alpha


INDEX_ADD = WritingOp(
    "index_add", _added, grads={"self": lambda g: g, "source": _added_source}, linear=True
)
INDEX_COPY = WritingOp(
    "index_copy",
    _copied,
    grads={
        "self": lambda g, index, dim: g.index_fill(dim, index, 0),
        "source": lambda g, index, source, dim: g.index_select(dim, index).reshape(
            source._array.shape
        ),
    },
    linear=True,
)
INDEX_FILL = WritingOp(
    "index_fill",
    _filled,
    keeps_layout=True,
    grads={"self": lambda g, index, dim: g.index_fill(dim, index, 0)},
)
INDEX_FILL_TENSOR = WritingOp(
    "index_fill_tensor",
    _filled_tensor,
    keeps_layout=True,
    grads={
        "self": lambda g, index, dim: g.index_fill(dim, index, 0),
        "value": lambda g, index, dim: (g * zeros(g).index_fill(dim, index, 1)).sum(),
    },
    linear=True,
    node="IndexFillBackward1",
)
INDEX_FILL_TENSOR.keeps_complex = INDEX_FILL_TENSOR.marks_integers = True


def _reduce_gradients(
    g: Tensor, self: Tensor, index: Tensor, source: Tensor, out: Tensor, dim: int, reduce: str,
    include_self: bool,
) -> tuple[Tensor, None, Tensor]:  # fmt: skip
    places = Places(
        "index_reduce",
        "source",
        read=lambda x: x.index_select(dim, index),
        add=lambda x, y: x.index_add(dim, index, y),
        multiply=lambda x, y: x.index_reduce(dim, index, y, "prod", include_self=include_self),
        clear=lambda x: x.index_fill(dim, index, 0),
    )
    return reduce_gradients(g, self, source, out, reduce, include_self, places)


INDEX_REDUCE = Op(
    "index_reduce", _reduced, joint=_reduce_gradients,
    kinks="equal extremes share the gradient; a lone zero of prod gets the product of the others",
)  # fmt: skip


# -- public functions ----------------------------------------------------------------------


def _rows_of(self: Tensor, dim: int) -> int:
    return self._array.shape[dim] if self._array.ndim else 1


def _is_outside(index: Tensor, rows: int) -> bool:
    return bool(of_values(lambda values: not are_below(values, rows), index))


_same_dtype = out_checks.input_dtype(out_checks.same_scalar_type("index_select"))


def _select_out(args: tuple[Any, ...], kwargs: dict[str, Any], out: Tensor) -> None:
    _same_dtype(args, kwargs, out)
    # Also where it would be resized.
    if repeats_memory(out._array):
        raise errors.overlapping_write()


@public(out=_select_out)
@numpy_names
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """A copy of the slices of a dimension at the given indices.

    Args:
        input: where the slices come from
        dim: the dimension to select from
        index: a vector of int64 or int32; indices may repeat, negative ones are not allowed

    Example:
        >>> x = clew.tensor([[1, 2], [3, 4], [5, 6]])
        >>> clew.index_select(x, 0, clew.tensor([2, 0]))
        tensor([[5, 6],
                [1, 2]])
    """
    if not isinstance(index, Tensor):
        raise errors.wrong_argument("index_select", "index", 3, "Tensor", index)
    dim = wrap_dim(dim, input._array.ndim)
    places = index._array
    if places.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector" + errors.at_user_line())
    if places.dtype not in (np.int64, np.int32):
        raise RuntimeError(
            "index_select(): Expected dtype int32 or int64 for index" + errors.at_user_line()
        )
    if not input._array.ndim and places.size != 1:
        raise RuntimeError(
            "index_select(): Index to scalar can have only 1 value, got "
            f"{places.size} value(s)" + errors.at_user_line()
        )
    if _is_outside(index, _rows_of(input, dim)):
        raise _outside(input, dim, index)
    return INDEX_SELECT(input, index, dim=dim)


def _outside(input: Tensor, dim: int, index: Tensor) -> Exception:
    """PyTorch's error for an index that there is no row for: it has three."""
    n, where = _rows_of(input, dim), errors.at_user_line()
    if input._array.ndim > 1 and not n:
        return RuntimeError("index_select(): self indexing axis dim should be positive" + where)
    if input._array.ndim > 1 and (dim or not input._array.size):
        return errors.outside_data(every_value(index), n)
    return IndexError("index out of range in self" + where)


def _check_sources(name: str, self: Tensor, dim: int, index: Tensor, source: Tensor) -> None:
    """What index_add and index_reduce ask of their arguments."""
    if index._array.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector" + errors.at_user_line())
    if index._array.dtype not in (np.int64, np.int32):
        raise RuntimeError(
            f"{name}(): Expected dtype int32/int64 for index but got: {index.dtype.scalar_name}"
            + errors.at_user_line()
        )
    if self._array.dtype is not source._array.dtype:
        raise RuntimeError(
            f"{name}(): self ({self.dtype.scalar_name}) and source ({source.dtype.scalar_name}) "
            "must have the same scalar type" + errors.at_user_line()
        )
    if dim and dim >= source._array.ndim:
        raise RuntimeError(
            f"{name}(): Indexing dim {dim} is out of bounds of the source tensor with dim "
            f"{source._array.ndim}" + errors.at_user_line()
        )
    if index._array.size != _rows_of(source, dim):
        if not source._array.ndim:
            raise errors.no_dimensions(dim)
        raise RuntimeError(
            f"{name}(): Number of indices ({index._array.size}) should be equal to "
            f"source.size(dim): ({_rows_of(source, dim)}), for dim: {dim}" + errors.at_user_line()
        )
    own, other = self._array.shape, source._array.shape
    if own[:dim] + own[dim + 1 :] != other[:dim] + other[dim + 1 :] or len(own) != len(other):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {errors.shape_list(own)} source.shape = {errors.shape_list(other)}"
            + errors.at_user_line()
        )


def _index_add_call(
    input: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Any, in_place: bool = False
) -> Call:
    dim = wrap_dim(dim, input._array.ndim)
    alpha = number("index_add_" if in_place else "index_add", "alpha", alpha)
    _check_sources("index_add_", input, dim, index, source)
    if in_place:
        keep_apart(input, index, source)
    if _is_outside(index, _rows_of(input, dim)):
        check_bounds(every_value(index), dim, _rows_of(input, dim))
    return INDEX_ADD, (input, index, source), {"dim": dim, "alpha": alpha}


@public(checked=True, accept=out_checks.exact)
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """A copy with the slices of `alpha * source` added at the given indices of a dimension.

    Args:
        input: what to copy
        dim: the dimension that `index` counts in
        index: a vector of int64 or int32; slices of repeated indices are all added
        source: the slices to add, `len(index)` of them along `dim`
        alpha: a factor for `source`

    Example:
        >>> clew.zeros(3).index_add(0, clew.tensor([0, 2, 0]), clew.tensor([1., 2., 3.]))
        tensor([4., 0., 2.])
    """
    return run(_index_add_call(input, dim, index, source, alpha))


@public(function=False)
def index_add_(self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """In-place version of `index_add`: add the slices of `alpha * source`.

    Args:
        dim: the dimension that `index` counts in
        index: a vector of int64 or int32; slices of repeated indices are all added
        source: the slices to add, `len(index)` of them along `dim`
        alpha: a factor for `source`
    """
    refuse_leaf(self, "index_add_")
    return run_in_place(_index_add_call(self, dim, index, source, alpha, in_place=True))


@public(checked=True, inplace=True, accept=out_checks.exact)
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *,
    include_self: bool = True,
) -> Tensor:  # fmt: skip
    """A copy into which the slices of `source` are reduced at the given indices.

    Args:
        input: what to copy
        dim: the dimension that `index` counts in
        index: a vector of int64 or int32
        source: the slices to reduce, `len(index)` of them along `dim`
        reduce: "prod", "mean", "amax" or "amin"
        include_self: whether the elements of `input` take part

    Example:
        >>> index, source = clew.tensor([0, 1, 0]), clew.tensor([1., 5., 3.])
        >>> clew.index_reduce(clew.full((2,), 2.), 0, index, source, "amax")
        tensor([3., 5.])
    """
    check_reduction(reduce)
    dim = wrap_dim(dim, input._array.ndim)
    _check_sources("index_reduce_", input, dim, index, source)
    if input._array.dtype.kind in "bcW":
        check_rows_of_unordered(input, index, source, reduce, include_self)
    if _is_outside(index, _rows_of(input, dim)):
        raise IndexError("index out of range in self" + errors.at_user_line())
    return INDEX_REDUCE(input, index, source, dim=dim, reduce=reduce, include_self=include_self)


def _check_copy(self: Tensor, dim: int, index: Tensor, source: Tensor) -> None:
    own, other, count = self._array.shape, source._array.shape, index._array.size
    where = errors.at_user_line()
    if index._array.ndim > 1:
        raise IndexError(
            f"index_copy_(): Index should have dimension 1 or 0 (got {index._array.ndim})" + where
        )
    if not other and count != 1:
        raise IndexError(
            f"index_copy_(): When source is scalar, index should have one element (got {count})"
            + where
        )
    if own and other and len(own) != len(other):
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must "
            f"match. Source dimensionality ({len(other)}), destination dimensionality ({len(own)})"
            + where
        )
    if index._array.dtype != np.int64:
        raise RuntimeError(
            "index_copy_(): Expected a long tensor for index, but got "
            f"{index.dtype.scalar_name}" + where
        )
    if self._array.dtype is not source._array.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{self.dtype.scalar_name} and (source) {source.dtype.scalar_name}" + where
        )
    if own[:dim] + own[dim + 1 :] != other[:dim] + other[dim + 1 :]:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination "
            f"slice shape: {errors.shape_list(own[:dim] + own[dim + 1 :])} at dimension {dim} and "
            f"source slice shape: {errors.shape_list(other[:dim] + other[dim + 1 :])} at dimension "
            f"0." + where
        )
    if other and count != other[dim]:
        raise IndexError(
            f"index_copy_(): Number of indices ({count}) should be equal to source.size(dim) "
            f"({other[dim]})" + where
        )


def _index_copy_call(
    input: Tensor, dim: int, index: Tensor, source: Tensor, in_place: bool = False
) -> Call:
    dim = wrap_dim(dim, input._array.ndim)
    if in_place:
        keep_apart(input, index, source)
    _check_copy(input, dim, index, source)
    if _is_outside(index, _rows_of(input, dim)):
        try:
            check_bounds(every_value(index), dim, _rows_of(input, dim), IndexError)
        except IndexError as error:
            raise IndexError(f"index_copy_(): {error}") from None
    return INDEX_COPY, (input, index, source), {"dim": dim}


@public(checked=True, accept=out_checks.exact)
@casts(WIDEST)
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy with the slices of `source` at the given indices of a dimension.

    Args:
        input: what to copy
        dim: the dimension that `index` counts in
        index: a vector of int64
        source: the slices to write, `len(index)` of them along `dim`

    Example:
        >>> rows = clew.tensor([[1., 1.], [2., 2.]])
        >>> clew.index_copy(clew.zeros(3, 2), 0, clew.tensor([2, 0]), rows)
        tensor([[2., 2.],
                [0., 0.],
                [1., 1.]])
    """
    return run(_index_copy_call(input, dim, index, source))


@public(function=False)
def index_copy_(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """In-place version of `index_copy`: write the slices of `source`.

    Args:
        dim: the dimension that `index` counts in
        index: a vector of int64
        source: the slices to write, `len(index)` of them along `dim`
    """
    refuse_leaf(self, "index_copy_")
    return run_in_place(_index_copy_call(self, dim, index, source, in_place=True))


def _complex_fill() -> RuntimeError:
    return RuntimeError(
        "index_fill_(): Converting complex Scalar to non-complex type is not supported"
        + errors.at_user_line()
    )


def _index_fill_call(input: Tensor, dim: int, index: Tensor, value: Any) -> Call:
    places = index._array
    if places.dtype != np.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index." + errors.at_user_line())
    if isinstance(value, complex) and not input.dtype.is_complex:
        raise _complex_fill()
    dim = wrap_dim(dim, input._array.ndim)
    if places.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar" + errors.at_user_line())
    n = _rows_of(input, dim)
    if of_values(lambda given: bool(((given < -n) | (given >= n)).any()), index):
        given = every_value(index)
        wrong = given[(given < -n) | (given >= n)]
        raise IndexError(
            f"index {wrong.flat[0]} is out of bounds for dimension {dim} with size {n}"
            + errors.at_user_line()
        )
    if not isinstance(value, Tensor):
        return INDEX_FILL, (input, index), {"dim": dim, "value": value}
    if value._array.ndim:
        raise RuntimeError(
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value._array.ndim} dimension(s)." + errors.at_user_line()
        )
    if value.dtype.is_complex and not input.dtype.is_complex:
        raise _complex_fill()
    return INDEX_FILL_TENSOR, (input, index, fitting(value, input)), {"dim": dim}


@public(checked=True, out=False)
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy with one value in the slices at the given indices of a dimension.

    Args:
        input: what to copy
        dim: the dimension that `index` counts in
        index: a vector of int64
        value: a number, or a tensor of no dimensions

    Example:
        >>> clew.zeros(2, 3).index_fill(1, clew.tensor([0, 2]), 5.)
        tensor([[5., 0., 5.],
                [5., 0., 5.]])
    """
    return run(_index_fill_call(input, dim, index, value))


@public(function=False)
def index_fill_(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """In-place version of `index_fill`: write one value into slices.

    Args:
        dim: the dimension that `index` counts in
        index: a vector of int64
        value: a number, or a tensor of no dimensions
    """
    refuse_leaf(self, "index_fill_")
    return run_in_place(_index_fill_call(self, dim, index, value))
