"""Masks: fill, select and scatter where a mask is true; where a tensor is not zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.core.inplace import refuse_leaf
from clew.core.interception import by_example
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor
from clew.kernels.numpy.arrays import as_new
from clew.ops.define import out_checks
from clew.ops.define.dims import is_int, require_bool, shape_argument
from clew.ops.define.rows import require_tensors
from clew.ops.index.writing import Call, run, run_in_place
from clew.ops.pointwise.clamping import chosen
from clew.ops.shape.joining import stack
from clew.ops.tensor.copying import convert, fitting, scalar_as, zeros

Shape = tuple[int, ...]


def _filled(self: np.ndarray, mask: np.ndarray, *, value: Any) -> np.ndarray:
    return as_new(chosen(mask, scalar_as(value, self.dtype), self))


def _filled_tensor(self: np.ndarray, mask: np.ndarray, value: np.ndarray) -> np.ndarray:
    return as_new(chosen(mask, convert(value, self.dtype), self))


def _chosen(self: np.ndarray, mask: np.ndarray) -> np.ndarray:
    if self.shape == mask.shape:
        return self[mask]
    values, where = np.broadcast_arrays(self, mask)
    return values[where]


def _unchosen(grad_output: np.ndarray, mask: np.ndarray, *, input_sizes: Shape) -> np.ndarray:
    shape = np.broadcast_shapes(mask.shape, input_sizes)
    out = np.zeros(shape, grad_output.dtype)
    out[np.broadcast_to(mask, shape)] = grad_output
    return out


def _masked_scattered(self: np.ndarray, mask: np.ndarray, source: np.ndarray) -> np.ndarray:
    shape = np.broadcast_shapes(self.shape, mask.shape)
    out = np.array(np.broadcast_to(self, shape), order="C")
    where = np.broadcast_to(mask, shape)
    count = int(np.count_nonzero(where))
    if count > source.size:
        raise RuntimeError(
            "Number of elements of source < number of ones in mask\n"
            f"  the mask has {count} ones, source has {source.size} elements"
            + errors.at_user_line()
        )
    out[where] = source.reshape(-1)[:count]
    return out


def _scattered_source(
    grad_output: np.ndarray, mask: np.ndarray, *, source_sizes: Shape
) -> np.ndarray:
    out = np.zeros(source_sizes, grad_output.dtype)
    chosen = grad_output[np.broadcast_to(mask, grad_output.shape)]
    out.reshape(-1)[: chosen.size] = chosen
    return out


class MaskedScatter(Op):
    """PyTorch writes until it comes to a place that there is no element of the source for."""

    def write_first_part(
        self, target: np.ndarray, inputs: tuple[Any, ...], params: dict[str, Any]
    ) -> None:
        mask, source = inputs[1]._array, inputs[2]._array
        where = np.nonzero(mask)
        target[tuple(places[: source.size] for places in where)] = source.reshape(-1)


class MaskedFill(Op):
    """Where the mask broadcasts to the tensor, the in-place form writes only what it covers."""

    def write_into(
        self, target: np.ndarray, inputs: tuple[Any, ...], params: dict[str, Any]
    ) -> bool:
        mask = inputs[1]._array
        if np.broadcast_shapes(mask.shape, target.shape) != target.shape:
            return False
        value = params["value"] if params else inputs[2]._array
        np.copyto(target, scalar_as(value, target.dtype), where=mask)
        return True


MASKED_FILL = MaskedFill(
    "masked_fill",
    _filled,
    uniform=True,
    grads={"self": lambda g, mask: g.masked_fill(mask, 0)},
)
MASKED_FILL_TENSOR = MaskedFill(
    "masked_fill_tensor",
    _filled_tensor,
    uniform=True,
    grads={
        "self": lambda g, mask: g.masked_fill(mask, 0),
        "value": lambda g, mask: g.masked_fill(~mask, 0).sum(),
    },
    linear=True,
    node="MaskedFillBackward1",
)
MASKED_FILL_TENSOR.keeps_complex = MASKED_FILL_TENSOR.marks_integers = True
MASKED_SELECT = Op(
    "masked_select",
    _chosen,
    grads={
        # Saved as PyTorch does, which makes zeros like it.
        "self": lambda g, self, mask: MASKED_SELECT_BACKWARD(g, mask, input_sizes=self._array.shape)
    },
    linear=True,
)
MASKED_SELECT_BACKWARD: Op = Op(
    "masked_select_backward",
    _unchosen,
    grads={"grad_output": lambda g, mask: g.masked_select(mask)},
    linear=True,
    node="MaskedScatterBackward0",
)
MASKED_SCATTER = MaskedScatter(
    "masked_scatter",
    _masked_scattered,
    grads={
        "self": lambda g, mask: g.masked_fill(mask, 0),
        "source": lambda g, mask, source_shape: MASKED_SCATTER_BACKWARD(
            g, mask, source_sizes=source_shape
        ),
    },
    linear=True,
)
MASKED_SCATTER_BACKWARD: Op = Op(
    "masked_scatter_backward",
    _scattered_source,
    grads={"grad_output": lambda g, mask, grad_output_shape: zeros(g, grad_output_shape)
           .masked_scatter(mask, g)},
    linear=True,
)  # fmt: skip
NONZERO = Op("nonzero", lambda self: np.argwhere(self), non_differentiable="integer output")


def _check_mask(name: str, mask: Tensor, words: str) -> None:
    if mask._array.dtype.kind != "b":
        raise RuntimeError(words + errors.at_user_line())


def _check_broadcast(name: str, self: Tensor, mask: Tensor) -> None:
    mismatch = errors.broadcast_mismatch(name, self._array.shape, mask._array.shape)
    if mismatch is not None:
        raise mismatch


def _masked_fill_call(input: Tensor, mask: Tensor, value: Any) -> Call:
    if not isinstance(mask, Tensor):
        raise errors.wrong_argument("masked_fill", "mask", 2, "Tensor", mask)
    if mask._array.dtype.kind != "b":
        raise RuntimeError(
            "masked_fill_ only supports boolean masks, but got mask with dtype "
            f"{mask.dtype.name}" + errors.at_user_line()
        )
    if mask._array.shape != input._array.shape:
        _check_broadcast("masked_fill", input, mask)
    if not isinstance(value, Tensor):
        return MASKED_FILL, (input, mask), {"value": value}
    if value._array.ndim:
        raise RuntimeError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value._array.ndim} dimension(s)." + errors.at_user_line()
        )
    return MASKED_FILL_TENSOR, (input, mask, fitting(value, input)), {}


@public(out=False)
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """A copy with one value wherever the mask is true.

    Args:
        input: what to copy
        mask: of bools; broadcasts with `input`
        value: a number, or a tensor of no dimensions

    Example:
        >>> scores, future = clew.zeros(2, 2), clew.tensor([[False, True], [False, False]])
        >>> scores.masked_fill(future, float("-inf")).softmax(1)
        tensor([[1.0000, 0.0000],
                [0.5000, 0.5000]])
    """
    return run(_masked_fill_call(input, mask, value))


@public(function=False)
def masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """In-place version of `masked_fill`: write one value wherever the mask is true.

    Args:
        mask: of bools; broadcasts to the tensor's shape
        value: a number, or a tensor of no dimensions
    """
    refuse_leaf(self, "masked_fill_")
    if isinstance(value, Tensor) and value._storage is self._storage:
        value = value.clone()
    return run_in_place(_masked_fill_call(self, mask, value), may_alias=True)


@public(checked=True, out=out_checks.input_dtype(out_checks.same_scalar_type("masked_select")))
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask is true, in one dimension: a copy.

    Args:
        input: where the elements come from
        mask: of bools; broadcasts with `input`

    Example:
        >>> x = clew.tensor([[1, 5], [7, 2]])
        >>> clew.masked_select(x, x > 3)
        tensor([5, 7])
    """
    _check_mask("masked_select", mask, "masked_select: expected BoolTensor for mask")
    _check_broadcast("masked_select", input, mask)
    return MASKED_SELECT(input, mask)


def _masked_scatter_call(input: Tensor, mask: Tensor, source: Tensor) -> Call:
    _check_mask(
        "masked_scatter", mask,
        "masked_scatter_ only supports boolean masks, but got mask with dtype "
        f"{mask.dtype.scalar_name}",
    )  # fmt: skip
    if source._array.dtype is not input._array.dtype:
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but got "
            f"{input.dtype.scalar_name} and {source.dtype.scalar_name}" + errors.at_user_line()
        )
    _check_broadcast("masked_scatter", input, mask)
    return MASKED_SCATTER, (input, mask, source), {}


@public(checked=True, out=False)
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy with the elements of `source`, in order, wherever the mask is true.

    Args:
        input: what to copy
        mask: of bools; broadcasts with `input`
        source: at least as many elements as the mask has true ones

    Example:
        >>> mask = clew.tensor([True, False, True])
        >>> clew.zeros(3).masked_scatter(mask, clew.tensor([1., 2., 3.]))
        tensor([1., 0., 2.])
    """
    return run(_masked_scatter_call(input, mask, source))


@public(checked=True, function=False)
def masked_scatter_(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """In-place version of `masked_scatter`: write elements of `source` wherever the mask is true.

    Args:
        mask: of bools; broadcasts to the tensor's shape
        source: at least as many elements as the mask has true ones
    """
    refuse_leaf(self, "masked_scatter_")
    if mask._array.dtype.kind == "b":
        mask = mask.expand(self._array.shape)
    if source._storage is self._storage:
        source = source.clone()
    return run_in_place(_masked_scatter_call(self, mask, source), may_alias=True)


def _nonzero_static(self: np.ndarray, *, size: int, fill_value: int) -> np.ndarray:
    found = np.argwhere(self)[:size]
    result = np.full((size, self.ndim), fill_value, np.int64)
    result[: len(found)] = found
    return result


NONZERO_STATIC = Op("nonzero_static", _nonzero_static, non_differentiable="integer output")


def _one_tensor(args: Any, kwargs: Any, out: Any) -> None:
    if not isinstance(out, Tensor):
        raise errors.wrong_argument("nonzero", "out", None, "Tensor", out)


@public(
    out=_one_tensor,
    accept=out_checks.of_result_dtype(out_checks.long_words("nonzero")),
    differentiable=False,
)
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not zero.

    Args:
        input: any tensor
        as_tuple: one index tensor per dimension, to index with; by default one row per element

    Example:
        >>> x = clew.tensor([[0, 3], [5, 0]])
        >>> clew.nonzero(x)
        tensor([[0, 1],
                [1, 0]])
        >>> x[clew.nonzero(x, as_tuple=True)]
        tensor([3, 5])
    """
    require_bool("as_tuple", as_tuple)
    require_tensors("nonzero", input=input)
    places = NONZERO(input)
    if not as_tuple:
        return places
    if not input._array.ndim:
        return NONZERO(input.unsqueeze(0)).unbind(1)
    return places.unbind(1)


@public(method=False, out=False)
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """The coordinates, one tensor per dimension, of flat positions in a row-major tensor.

    Args:
        indices: flat positions, of an integer dtype
        shape: the shape of the tensor that they are positions in

    Example:
        >>> clew.unravel_index(clew.tensor([0, 5]), (2, 3))
        (tensor([0, 1]), tensor([0, 2]))
    """
    if isinstance(shape, Tensor) or not isinstance(shape, (int, np.integer, Sequence)):
        raise TypeError(
            "expected 'shape' to be int or sequence of ints, but got "
            f"{type(shape).__name__}" + errors.at_user_line()
        )
    listed = shape if isinstance(shape, Sequence) else (shape,)
    for n in listed:
        if not is_int(n):
            raise TypeError(
                f"expected 'shape' sequence to only contain ints, but got {type(n).__name__}"
                + errors.at_user_line()
            )
    sizes = shape_argument((tuple(listed),))
    if indices._array.dtype.kind not in "iu":
        raise TypeError(
            "expected 'indices' to be integer dtype, but got torch."
            f"{indices.dtype.name}" + errors.at_user_line()
        )
    if any(n < 0 for n in sizes):
        raise ValueError(
            f"'shape' cannot have negative values, but got {sizes}" + errors.at_user_line()
        )
    coordinates = []
    rest = indices.long()
    for n in reversed(sizes):
        coordinates.append(rest % n)
        rest = rest // n
    # As in PyTorch, they lie next to each other in memory.
    return stack(coordinates[::-1], -1).unbind(-1) if coordinates else ()


@public(out=False)
@by_example
def argwhere(input: Tensor) -> Tensor:
    """The indices of the elements that are not zero, one row each.

    Args:
        input: any tensor

    Example:
        >>> clew.argwhere(clew.tensor([[0, 3], [5, 0]]))
        tensor([[0, 1],
                [1, 0]])
    """
    require_tensors("argwhere", input=input)
    return NONZERO(input)


@public(
    checked=True,
    accept=out_checks.of_result_dtype(out_checks.long_words("nonzero_static")),
    differentiable=False,
)
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The indices of elements that are not zero, in a result whose shape is known beforehand.

    Args:
        input: the tensor
        size: how many rows the result has: further elements are left out
        fill_value: what rows hold that no element is left for

    Example:
        >>> clew.nonzero_static(clew.tensor([0, 5, 0, 7]), size=3)
        tensor([[ 1],
                [ 3],
                [-1]])
    """
    require_tensors("nonzero_static", input=input)
    if size < 0:
        raise RuntimeError(
            "nonzero_static: 'size' must be an non-negative integer" + errors.at_user_line()
        )
    return NONZERO_STATIC(input, size=size, fill_value=fill_value)
