"""Reading and writing along a dimension with an index for every element: gather and scatter."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.core.inplace import refuse_leaf
from clew.core.op import Op
from clew.core.public import public
from clew.core.recording import NOT_IMPLEMENTED
from clew.core.tensor import Tensor
from clew.kernels import compiled
from clew.kernels import numpy as kernels
from clew.kernels.numpy.arrays import are_below
from clew.ops.define import out_checks
from clew.ops.define.dims import numpy_names, wrap_dim
from clew.ops.index.reduce_gradients import Places, reduce_gradients
from clew.ops.index.writing import Call, WritingOp, run, run_in_place
from clew.ops.tensor.copying import scalar_as, zeros

Shape = tuple[int, ...]


# -- kernels over arrays -------------------------------------------------------------------


def _at_least_1d(*arrays: np.ndarray) -> list[np.ndarray]:
    return [array.reshape(1) if not array.ndim else array for array in arrays]


def _leading_part(array: np.ndarray, shape: Shape) -> np.ndarray:
    """The part of an array that an index of that shape reaches."""
    if 0 in shape:
        return np.empty(shape, array.dtype)
    return array if array.shape == shape else array[tuple(slice(n) for n in shape)]


def check_bounds(index: np.ndarray, dim: int, n: int, kind: type[Exception] = RuntimeError) -> None:
    """Refuse indices outside 0..n-1; PyTorch takes no negative ones here."""
    if not are_below(index, n):
        wrong = index[(index < 0) | (index >= n)].flat[0]
        raise kind(
            f"index {wrong} is out of bounds for dimension {dim} with size {n}"
            + errors.at_user_line()
        )


def _gathered(self: np.ndarray, index: np.ndarray, *, dim: int) -> np.ndarray:
    if not index.size:
        return np.empty(index.shape, self.dtype)
    source, places = (self, index) if self.ndim and index.ndim else _at_least_1d(self, index)
    check_bounds(places, dim, source.shape[dim])
    few = kernels.scatter.take_few(source, places) if dim == source.ndim - 1 else None
    if few is not None:
        return few.reshape(index.shape)
    blocks = kernels.scatter.in_blocks(source, places, dim)
    if blocks is not None:
        return compiled.gather_scatter.gather(*blocks).reshape(index.shape)
    reach = places.shape[:dim] + (source.shape[dim],) + places.shape[dim + 1 :]
    taken = np.take_along_axis(_leading_part(source, reach), places, axis=dim)
    return taken.reshape(index.shape)


def _positions(target: np.ndarray, index: np.ndarray, dim: int) -> np.ndarray:
    if not index.size:
        return np.empty(index.shape, np.int64)
    check_bounds(index, dim, target.shape[dim])
    return kernels.scatter.positions_along(target.shape, dim, index)


def _ungathered(
    grad_output: np.ndarray, index: np.ndarray, *, dim: int, input_sizes: Shape
) -> np.ndarray:
    out = np.zeros(input_sizes, grad_output.dtype)
    if not index.size:
        return out
    target, places, values = _at_least_1d(out, index, grad_output)
    kernels.scatter.add_along(target, places, values, dim)
    return out


def _scattered(self: np.ndarray, index: np.ndarray, src: np.ndarray, *, dim: int) -> None:
    target, places, values = _at_least_1d(self, index, src)
    blocks = kernels.scatter.in_blocks(target, places, dim, values)
    if blocks is not None:
        check_bounds(places, dim, target.shape[dim])
        compiled.gather_scatter.scatter(*blocks)
        return
    positions = _positions(target, places, dim)
    kernels.scatter.put_flat(target, positions, _leading_part(values, places.shape))


def _scattered_value(self: np.ndarray, index: np.ndarray, *, dim: int, value: Any) -> None:
    target, places = _at_least_1d(self, index)
    if places.size:
        positions = _positions(target, places, dim)
        kernels.scatter.put_flat(target, positions, scalar_as(value, self.dtype))


def _scatter_added(self: np.ndarray, index: np.ndarray, src: np.ndarray, *, dim: int) -> None:
    target, places, values = _at_least_1d(self, index, src)
    if places.size:
        check_bounds(places, dim, target.shape[dim])
        kernels.scatter.add_along(target, places, _leading_part(values, places.shape), dim)


def _scatter_reduced(
    self: np.ndarray, index: np.ndarray, src: np.ndarray, *, dim: int, reduce: str,
    include_self: bool,
) -> np.ndarray:  # fmt: skip
    target, places, values = _at_least_1d(np.array(self, order="C"), index, src)
    if places.size:
        check_bounds(places, dim, target.shape[dim])
        values = _leading_part(values, places.shape)
        target = kernels.scatter.reduce_along(target, places, values, dim, reduce, include_self)
    return target.reshape(self.shape)


# -- operations ----------------------------------------------------------------------------

GATHER = Op(
    "gather",
    _gathered,
    grads={
        # Of the input only the shape is needed, but PyTorch saves it, and notices writes to it.
        "self": lambda g, self, index, dim: GATHER_BACKWARD.over(
            g, index, dim=dim, input_sizes=(self if type(g) is np.ndarray else self._array).shape
        )
    },
    linear=True,
    bare=True,
)
GATHER_BACKWARD: Op = Op(
    "gather_backward",
    _ungathered,
    grads={"grad_output": lambda g, index, dim: GATHER.over(g, index, dim=dim)},
    linear=True,
    bare=True,
    node="ScatterAddBackward0",
)
SCATTER = WritingOp(
    "scatter",
    _scattered,
    grads={
        "self": lambda g, index, dim: g.scatter(dim, index, 0),
        "src": lambda g, index, dim: g.gather(dim, index),
    },
    linear=True,
)
SCATTER_VALUE = WritingOp(
    "scatter_value",
    _scattered_value,
    grads={"self": lambda g, index, dim: g.scatter(dim, index, 0)},
    node="ScatterBackward1",
)
SCATTER_ADD = WritingOp(
    "scatter_add",
    _scatter_added,
    grads={"self": lambda g: g, "src": lambda g, index, dim: g.gather(dim, index)},
    linear=True,
)


def _no_gradient(g: Tensor) -> Tensor:
    raise NotImplementedError(
        "derivative for aten::scatter is not implemented: use scatter_add or scatter_reduce"
        + errors.at_user_line()
    )


SCATTER_INTO = Op(
    "scatter_into",
    _scatter_reduced,
    grads={"self": _no_gradient, "src": _no_gradient},
    node=NOT_IMPLEMENTED,
)


def _reduce_gradients(
    g: Tensor, self: Tensor, index: Tensor, src: Tensor, out: Tensor, dim: int, reduce: str,
    include_self: bool,
) -> tuple[Tensor, None, Tensor]:  # fmt: skip
    places = Places(
        "scatter_reduce",
        "src",
        read=lambda x: x.gather(dim, index),
        add=lambda x, y: x.scatter_add(dim, index, y),
        multiply=lambda x, y: x.scatter_reduce(dim, index, y, "prod", include_self=include_self),
        clear=lambda x: x.scatter(dim, index, 0),
    )
    return reduce_gradients(g, self, src, out, reduce, include_self, places)


SCATTER_REDUCE = Op(
    "scatter_reduce", _scatter_reduced, joint=_reduce_gradients,
    kinks="equal extremes share the gradient; a lone zero of prod gets the product of the others",
)  # fmt: skip


# -- public functions ----------------------------------------------------------------------


_INDEX_DTYPES = frozenset({np.dtype(np.int64), np.dtype(np.int32)})


def _check_index(name: str, input: Tensor, index: Tensor, dim: int) -> int:
    ndim = input._array.ndim
    dim = wrap_dim(dim, ndim)
    if index._array.size and index._array.dtype not in _INDEX_DTYPES:
        raise RuntimeError(
            f"{name}(): Expected dtype int32/int64 for index" + errors.at_user_line()
        )
    if index._array.size and max(index._array.ndim, 1) != max(ndim, 1):
        of = "input" if name == "gather" else "self"
        raise RuntimeError(
            f"Index tensor must have the same number of dimensions as {of} tensor"
            + errors.at_user_line()
        )
    return dim


def _sizes(tensor: Tensor) -> Shape:
    return tensor._array.shape or (1,)


@public(checked=True, out=out_checks.gather_out)
@numpy_names
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """Pick elements along a dimension: `out[i, j] = input[index[i, j], j]` (for `dim=0`).

    Args:
        input: where the elements come from
        dim: the dimension that `index` counts in
        index: int64 or int32, with as many dimensions as `input`; the result has its shape
        sparse_grad: ignored; the gradient is always dense

    Example:
        >>> scores = clew.tensor([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2]])
        >>> clew.gather(scores, 1, clew.tensor([[1], [0]]))  # the score of one class in each row
        tensor([[0.7000],
                [0.5000]])
    """
    dim = _check_index("gather", input, index, dim)
    reach, shape = index._array.shape, input._array.shape
    if not index._array.size or (dim == len(shape) - 1 and reach[:-1] == shape[:-1]):
        return GATHER(input, index, dim=dim)
    for i, (n, limit) in enumerate(zip(_sizes(index), _sizes(input), strict=True)):
        if i != dim and n > limit:
            raise RuntimeError(
                f"Size does not match at dimension {i} expected index "
                f"{errors.shape_list(index._array.shape)} to be no larger than self "
                f"{errors.shape_list(input._array.shape)} apart from dimension {dim}"
                + errors.at_user_line()
            )
    return GATHER(input, index, dim=dim)


def _is_larger(index: Tensor, dim: int, self: Tensor, src: Tensor) -> bool:
    sizes = enumerate(zip(_sizes(index), _sizes(self), strict=True))
    beyond_source = any(n > m for n, m in zip(_sizes(index), _sizes(src), strict=False))
    return beyond_source or any(i != dim and n > own for i, (n, own) in sizes)


def _check_scatter(self: Tensor, dim: int, index: Tensor, src: Tensor) -> int:
    dim = _check_index("scatter", self, index, dim)
    if src._array.dtype is not self._array.dtype:
        raise RuntimeError(
            "scatter(): Expected self.dtype to be equal to src.dtype" + errors.at_user_line()
        )
    if not index._array.size:
        return dim
    if max(src._array.ndim, 1) != max(index._array.ndim, 1):
        missing = src._array.ndim
        if 0 < missing < index._array.ndim and not _is_larger(index, dim, self, src):
            wrap_dim(missing, missing)  # said first where it has fewer and the others are enough
        raise RuntimeError(
            "Index tensor must have the same number of dimensions as src tensor"
            + errors.at_user_line()
        )
    if _is_larger(index, dim, self, src):
        raise RuntimeError(
            f"Expected index {errors.shape_list(index._array.shape)} to be no larger than self "
            f"{errors.shape_list(self._array.shape)} apart from dimension {dim} and to be no "
            f"larger size than src {errors.shape_list(src._array.shape)}" + errors.at_user_line()
        )
    return dim


def _scatter_call(input: Tensor, dim: int, index: Tensor, given: Any, reduce: str | None) -> Call:
    if reduce is not None:
        return _scatter_with(input, dim, index, given, reduce)
    if isinstance(given, Tensor):
        dim = _check_scatter(input, dim, index, given)
        return SCATTER, (input, index, given), {"dim": dim}
    dim = _check_index("scatter", input, index, dim)
    _check_within(input, dim, index)
    return SCATTER_VALUE, (input, index), {"dim": dim, "value": given}


@public(checked=True, accept=out_checks.exact)
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None,
    reduce: str | None = None,
) -> Tensor:  # fmt: skip
    """A copy with `out[index[i, j], j] = src[i, j]` (for `dim=0`), or with one value.

    Where several indices are equal, it is not defined whose value is written.

    Args:
        input: what to copy
        dim: the dimension that `index` counts in
        index: int64 or int32, with as many dimensions as `input`; at most as large as `src`
        src: the values to write, or one number
        value: one number for all indices, instead of `src`
        reduce: "add" or "multiply" with what is there; older form of `scatter_reduce`, no gradient

    Example:
        >>> labels = clew.tensor([[2], [0]])
        >>> clew.zeros(2, 3).scatter(1, labels, value=1.0)  # one-hot
        tensor([[0., 0., 1.],
                [1., 0., 0.]])
    """
    return run(_scatter_call(input, dim, index, src if value is None else value, reduce))


@public(function=False)
def scatter_(
    self: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None,
    reduce: str | None = None,
) -> Tensor:  # fmt: skip
    """In-place version of `scatter`: write `src`, or one value, at indices of a dimension.

    Args:
        dim: the dimension that `index` counts in
        index: int64 or int32, with as many dimensions as the tensor
        src: the values to write, or one number
        value: one number for all indices, instead of `src`
        reduce: "add" or "multiply" with what is there
    """
    refuse_leaf(self, "scatter_")
    return run_in_place(_scatter_call(self, dim, index, src if value is None else value, reduce))


def _check_within(self: Tensor, dim: int, index: Tensor) -> None:
    if not index._array.size:
        return
    pairs = enumerate(zip(_sizes(index), _sizes(self), strict=True))
    if any(i != dim and n > own for i, (n, own) in pairs):
        raise RuntimeError(
            f"Expected index {errors.shape_list(index._array.shape)} to be no larger than self "
            f"{errors.shape_list(self._array.shape)} apart from dimension {dim}"
            + errors.at_user_line()
        )


def _scatter_with(input: Tensor, dim: int, index: Tensor, given: Any, reduce: str) -> Call:
    """The older form of `scatter_reduce`: two reductions, no gradient."""
    if reduce not in ("add", "multiply"):
        raise RuntimeError(
            "reduce argument must be either add or multiply." + errors.at_user_line()
        )
    if not isinstance(given, Tensor):
        given = zeros(input, index._array.shape).fill_(given)
    dim = _check_scatter(input, dim, index, given)
    name = "sum" if reduce == "add" else "prod"
    params = {"dim": dim, "reduce": name, "include_self": True}
    return SCATTER_INTO, (input, index, given), params


@public(checked=True, accept=out_checks.exact)
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy with `out[index[i, j], j] += src[i, j]` (for `dim=0`).

    Where several indices are equal, all their values are added.

    Args:
        input: what to copy
        dim: the dimension that `index` counts in
        index: int64 or int32, with as many dimensions as `input`; at most as large as `src`
        src: the values to add

    Example:
        >>> groups = clew.tensor([0, 1, 0, 2])
        >>> clew.zeros(3).scatter_add(0, groups, clew.tensor([1., 2., 3., 4.]))
        tensor([4., 2., 4.])
    """
    return SCATTER_ADD(input, index, src, dim=_check_scatter(input, dim, index, src))


@public(function=False)
def scatter_add_(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """In-place version of `scatter_add`: add `src` at indices of a dimension.

    Args:
        dim: the dimension that `index` counts in
        index: int64 or int32, with as many dimensions as the tensor
        src: the values to add
    """
    refuse_leaf(self, "scatter_add_")
    dim = _check_scatter(self, dim, index, src)
    return run_in_place((SCATTER_ADD, (self, index, src), {"dim": dim}))


@public(checked=True, inplace=True, accept=out_checks.exact)
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """A copy into which `src` is reduced at indices of a dimension.

    Args:
        input: what to copy
        dim: the dimension that `index` counts in
        index: int64, with as many dimensions as `input`; at most as large as `src`
        src: the values to reduce
        reduce: "sum", "prod", "mean", "amax" or "amin"
        include_self: whether the elements of `input` take part; those not indexed stay in any case

    Example:
        >>> groups, values = clew.tensor([0, 1, 0]), clew.tensor([1., 2., 5.])
        >>> clew.ones(3).scatter_reduce(0, groups, values, "mean", include_self=False)
        tensor([3., 2., 1.])
    """
    dim = _check_scatter(input, dim, index, src)
    check_reduction(reduce)
    kind = input._array.dtype.kind
    if (kind == "b" and reduce == "mean") or (kind in "cW" and reduce in ("amax", "amin")):
        raise errors.no_kernel(f"scatter_gather_tensor_cpu_reduce_{reduce}", input.dtype)
    return SCATTER_REDUCE(input, index, src, dim=dim, reduce=reduce, include_self=include_self)


def check_reduction(reduce: object) -> None:
    if not isinstance(reduce, str):
        place = 4 + errors.is_function_call()
        raise errors.wrong_argument("scatter_reduce", "reduce", place, "str", reduce)
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
            + errors.at_user_line()
        )
