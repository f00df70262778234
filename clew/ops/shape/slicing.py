"""Views of a part of a tensor: select, slice, diagonal; and the same parts written into a copy.

Such a view comes with two relatives: its gradient, which puts a part into zeros, and the scatter
operation, which puts a part into a copy. `PartialView` makes all three from one function.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor
from clew.core.view_op import ViewOp
from clew.kernels.numpy.strides import restride
from clew.ops.define import out_checks
from clew.ops.define.dims import refuse_flag, wrap_dim
from clew.ops.define.rows import refuse_complex_history
from clew.ops.tensor.copying import convert, zeros

Shape = tuple[int, ...]
Part = Callable[..., np.ndarray]


def formula(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare what a formula over a variable list of names needs."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [inspect.Parameter(name, kind) for name in ("g", *names)]
        # `inspect` reads this attribute, which mypy does not know of.
        function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return function

    return declare


class PartialView:
    """A view of a part, its gradient, and the operation that writes the part into a copy."""

    def __init__(self, name: str, part: Part) -> None:
        signature = inspect.signature(part).parameters.values()
        params = [p for p in signature if p.kind is p.KEYWORD_ONLY]
        names = tuple(p.name for p in params)

        @formula("self_shape", *names)
        def whole(g: Any, shape: Shape, *values: Any) -> Any:
            kept = dict(zip(names, values, strict=True))
            return self.backward.over(g, input_sizes=shape, **kept)

        @formula(*names)
        def taken(g: Tensor, *values: Any) -> Tensor:
            return self.view(g, **dict(zip(names, values, strict=True)))

        @formula("src_shape", *names)
        def rest(g: Tensor, shape: Shape, *values: Any) -> Tensor:
            kept = dict(zip(names, values, strict=True))
            return self.scatter(g, zeros(self.view(g, **kept)), **kept)

        def placed(grad_output: np.ndarray, *, input_sizes: Shape, **kept: Any) -> np.ndarray:
            out = np.zeros(input_sizes, grad_output.dtype)
            part(out, **kept)[...] = grad_output
            return out

        def written(self: np.ndarray, src: np.ndarray, **kept: Any) -> np.ndarray:
            out = self.copy()
            part(out, **kept)[...] = convert(src, self.dtype)
            return out

        _with_parameters(placed, params)
        _with_parameters(written, params)
        self.view = ViewOp(name, part, grads={"self": whole}, linear=True, bare=True)
        self.backward = Op(name + "_backward", placed, grads={"grad_output": taken}, linear=True)
        self.scatter = Op(
            name + "_scatter", written, grads={"self": rest, "src": taken}, linear=True
        )


def _with_parameters(forward: Callable[..., Any], params: list[inspect.Parameter]) -> None:
    """Show the keyword parameters that a forward passes on."""
    own = inspect.signature(forward)
    listed = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    forward.__signature__ = own.replace(  # type: ignore[attr-defined]  # as above
        parameters=[*listed, *params]
    )


def _selected(self: np.ndarray, *, dim: int, index: int) -> np.ndarray:
    # The ellipsis makes NumPy return an array, not a number, for the last dimension.
    return self[(slice(None),) * dim + (index, ...)]


def _sliced(self: np.ndarray, *, dim: int, start: int, end: int, step: int) -> np.ndarray:
    return self[(slice(None),) * dim + (slice(start, end, step),)]


def _diagonal(self: np.ndarray, *, offset: int, dim1: int, dim2: int) -> np.ndarray:
    rows, columns = self.shape[dim1], self.shape[dim2]
    length = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    rest = [i for i in range(self.ndim) if i not in (dim1, dim2)]
    shape = tuple(self.shape[i] for i in rest) + (length,)
    strides = tuple(self.strides[i] for i in rest) + (self.strides[dim1] + self.strides[dim2],)
    corner = max(-offset, 0) * self.strides[dim1] + max(offset, 0) * self.strides[dim2]
    return restride(self, shape, strides, corner if 0 not in shape else 0)


SELECT = PartialView("select", _selected)
SLICE = PartialView("slice", _sliced)
DIAGONAL = PartialView("diagonal", _diagonal)
DIAGONAL.scatter.keeps_complex = True


@public(out=False)
def select(input: Tensor, dim: int, index: Any) -> Tensor:
    """A view at one index of a dimension, which is removed.

    Args:
        input: at least one dimension
        dim: the dimension to index
        index: the position in it; negative ones count from the end

    Example:
        >>> clew.select(clew.tensor([[1, 2], [3, 4]]), dim=1, index=0)
        tensor([1, 3])
    """
    refuse_flag("index", index)
    dim, index = _select_place(input, dim, index, "select")
    return SELECT.view(input, dim=dim, index=index)


def _select_place(input: Tensor, dim: int, index: Any, name: str) -> tuple[int, int]:
    shape = input._array.shape
    if not shape:
        raise IndexError(f"{name}() cannot be applied to a 0-dim tensor." + errors.at_user_line())
    dim = wrap_dim(dim, len(shape))
    n = shape[dim]
    position = index if type(index) is int else _select_index(index)
    if not -n <= position < n:
        raise IndexError(
            f"{name}(): index {position} out of range for tensor of size "
            f"{errors.shape_list(shape)} at dimension {dim}" + errors.at_user_line()
        )
    return dim, position % n


def _select_index(index: Any) -> int:
    return int(index) if isinstance(index, Tensor) else operator.index(index)


def slice_bounds(n: int, start: int | None, end: int | None, step: int) -> tuple[int, int]:
    """Where a slice of a dimension of size `n` begins and ends, as PyTorch clamps it."""
    if step <= 0:
        raise RuntimeError("slice step must be positive" + errors.at_user_line())
    first = 0 if start is None else start + n if start < 0 else start
    last = n if end is None else end + n if end < 0 else end
    first = min(max(first, 0), n)
    return first, min(max(last, first), n)


@public(out=False)
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """A view of `length` elements of a dimension, from `start` on.

    Args:
        input: at least one dimension
        dim: the dimension to narrow
        start: where it begins, a number or an integer tensor; negative ones count from the end
        length: how many elements

    Example:
        >>> clew.narrow(clew.tensor([1, 2, 3, 4]), dim=0, start=1, length=2)
        tensor([2, 3])
    """
    shape = input._array.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor." + errors.at_user_line())
    refuse_flag("start", start)
    refuse_flag("length", length)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative." + errors.at_user_line())
    dim = wrap_dim(dim, len(shape))
    n = shape[dim]
    if isinstance(start, Tensor):
        _check_start(start)
        start = start.item()
    start, length = operator.index(start), operator.index(length)
    if not -n <= start <= n:
        raise IndexError(
            f"start out of range (expected to be in range of [-{n}, {n}], but got {start})"
            + errors.at_user_line()
        )
    first = start + n if start < 0 else start
    if first > n - length:
        raise RuntimeError(
            f"start ({first}) + length ({length}) exceeds dimension size ({n})."
            + errors.at_user_line()
        )
    return SLICE.view(input, dim=dim, start=first, end=first + length, step=1)


def _check_start(start: Tensor) -> None:
    if start._array.ndim or start._array.dtype.kind not in "iu":
        raise RuntimeError("start must be an 0-dim integral Tensor." + errors.at_user_line())


@public(accept=out_checks.exact, warns=False)
def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A copy of `length` elements of a dimension, from `start` on.

    Args:
        input: at least one dimension
        dim: the dimension to narrow
        start: where the part begins; negative ones count from the end
        length: how many elements

    Example:
        >>> clew.narrow_copy(clew.tensor([1, 2, 3, 4]), dim=0, start=1, length=2)
        tensor([2, 3])
    """
    shape = input._array.shape
    if shape and dim >= len(shape):
        raise RuntimeError(
            "Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false. "
            f"(dim is {dim}, and the tensor has {len(shape)} dimensions)" + errors.at_user_line()
        )
    if shape and length < 0:
        raise RuntimeError(
            f"start ({start}) + length ({length}) exceeds dimension size ({shape[dim]})."
            + errors.at_user_line()
        )
    return narrow(input, dim, start, length).clone()


@public(out=False, checked=True)
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of two dimensions, as the last dimension of a view.

    Args:
        input: at least two dimensions
        offset: which diagonal: 0 is the main one, positive ones lie above it
        dim1: the dimension that is the rows
        dim2: the dimension that is the columns

    Example:
        >>> clew.diagonal(clew.tensor([[1, 2, 3], [4, 5, 6]]), offset=1)
        tensor([2, 6])
    """
    return DIAGONAL.view(input, **_diagonal_place(input, offset, dim1, dim2))


def _diagonal_place(input: Tensor, offset: int, dim1: int, dim2: int) -> dict[str, int]:
    ndim = input._array.ndim
    first, second = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(
            f"diagonal dimensions cannot be identical {dim1}, {dim2}" + errors.at_user_line()
        )
    return {"offset": offset, "dim1": first, "dim2": second}


# -- a part written into a copy ------------------------------------------------------------


@public(checked=True)
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy with `src` at one index of a dimension: what writing to `select` gives.

    Args:
        input: what to copy
        src: what to write, of the shape that `select` returns
        dim: the dimension to index
        index: the position in it

    Example:
        >>> clew.select_scatter(clew.zeros(2, 2), clew.ones(2), dim=0, index=1)
        tensor([[0., 0.],
                [1., 1.]])
    """
    dim, index = _select_place(input, dim, index, "select")
    _check_part(input, src, SELECT.view.forward(input._array, dim=dim, index=index).shape)
    _refuse_complex_history("select_scatter", input, src)
    return SELECT.scatter(input, src, dim=dim, index=index)


@public(checked=True, out=out_checks.input_dtype(), differentiable=None)
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None,
    step: int = 1,
) -> Tensor:  # fmt: skip
    """A copy with `src` in a slice of a dimension: what writing to the slice gives.

    Args:
        input: what to copy
        src: what to write, of the slice's shape
        dim: the dimension to slice
        start: where the slice begins; by default at the first index
        end: where it ends, exclusive; by default at the last index
        step: the distance of its indices

    Example:
        >>> clew.slice_scatter(clew.zeros(4), clew.ones(2), start=1, end=3)
        tensor([0., 1., 1., 0.])
    """
    dim = wrap_dim(dim, input._array.ndim)
    if not input._array.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor." + errors.at_user_line())
    first, last = slice_bounds(input._array.shape[dim], start, end, step)
    place = {"dim": dim, "start": first, "end": last, "step": step}
    _check_part(input, src, SLICE.view.forward(input._array, **place).shape)
    _refuse_complex_history("slice_scatter", input, src)
    return SLICE.scatter(input, src, **place)


@public(checked=True)
def diagonal_scatter(
    input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    """A copy with `src` on a diagonal: what writing to `diagonal` gives.

    Args:
        input: what to copy
        src: what to write, of the shape that `diagonal` returns
        offset: which diagonal: 0 is the main one, positive ones lie above it
        dim1: the dimension that is the rows
        dim2: the dimension that is the columns

    Example:
        >>> clew.diagonal_scatter(clew.zeros(2, 2), clew.tensor([1., 2.]))
        tensor([[1., 0.],
                [0., 2.]])
    """
    place = _diagonal_place(input, offset, dim1, dim2)
    _check_part(input, src, DIAGONAL.view.forward(input._array, **place).shape)
    return DIAGONAL.scatter(input, src, **place)


def _refuse_complex_history(name: str, input: Tensor, src: Tensor) -> None:
    if input.dtype.is_complex:
        refuse_complex_history(name, input, src)


def _check_part(input: Tensor, src: Tensor, shape: Shape) -> None:
    if src._array.shape != shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = "
            f"{errors.shape_list(src._array.shape)}, slice size = {errors.shape_list(shape)}"
            + errors.at_user_line()
        )
