"""Differences and integrals of sampled functions: diff, trapezoid, gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clew import errors
from clew.backend import dtypes
from clew.core.public import public
from clew.core.tensor import Tensor
from clew.ops.define import out_checks
from clew.ops.define.dims import wrap_dim, wrap_dims
from clew.ops.pointwise.arithmetic import MUL_NUMBER
from clew.ops.shape.joining import cat

# -- diff ------------------------------------------------------------------------------------------


@public(checked=True, out=out_checks.diff_out)
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """The n-th differences of neighbours along a dimension.

    Args:
        input: at least one dimension
        n: how often to take differences; each time there is one element less
        dim: the dimension
        prepend: values to put before `input` first, along `dim`
        append: values to put after it

    Example:
        >>> clew.diff(clew.tensor([1, 3, 6, 10]))
        tensor([2, 3, 4])
        >>> clew.diff(clew.tensor([1, 3, 6, 10]), n=2)
        tensor([1, 1])
    """
    if not input._array.ndim:
        raise RuntimeError(
            "diff expects input to be at least one-dimensional" + errors.at_user_line()
        )
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}" + errors.at_user_line())
    if n == 0:
        return input.clone()
    dim = wrap_dim(dim, input._array.ndim)
    _check_ends(input, dim, prepend, append)
    parts = [part for part in (prepend, input, append) if part is not None]
    values = parts[0] if len(parts) == 1 else cat(parts, dim)
    for _ in range(min(n, values._array.shape[dim])):
        rest = values._array.shape[dim] - 1
        right, left = values.narrow(dim, 1, rest), values.narrow(dim, 0, rest)
        values = right.logical_xor(left) if values.dtype is dtypes.bool_ else right - left
    return values


def _check_ends(input: Tensor, dim: int, *ends: Tensor | None) -> None:
    shape = input._array.shape
    for end in ends:
        if end is None:
            continue
        if end._array.ndim != len(shape):
            raise RuntimeError(
                "diff expects prepend or append to be the same dimension as input"
                + errors.at_user_line()
            )
        for i, (have, wanted) in enumerate(zip(end._array.shape, shape, strict=True)):
            if i != dim and have != wanted:
                raise RuntimeError(
                    "diff expects the shape of tensor to prepend or append to match that of input "
                    f"except along the differencing dimension; input.size({i}) = {wanted}, but got "
                    f"tensor.size({i}) = {have}" + errors.at_user_line()
                )


# -- trapezoid -------------------------------------------------------------------------------------


def _spacing(name: str, y: Tensor, x: Tensor | None, dim: int) -> Tensor | None:
    """The distances between sample points, shaped to multiply the intervals of `y`."""
    if not y._array.ndim:
        raise IndexError(
            f"Dimension specified as {dim} but tensor has no dimensions" + errors.at_user_line()
        )
    for letter, values in (("y", y), ("x", x)):
        if values is not None and values.dtype is dtypes.bool_:
            raise RuntimeError(
                f"{name}: received a bool input for `{letter}`, but bool is not supported"
                + errors.at_user_line()
            )
    if x is None:
        return None
    ndim, length = y._array.ndim, y._array.shape[wrap_dim(dim, y._array.ndim)]
    if x._array.ndim == 1:
        if x._array.size != length:
            raise RuntimeError(
                f"{name}: There must be one `x` value for each sample point" + errors.at_user_line()
            )
        return diff(x).reshape((-1,) + (1,) * (ndim - wrap_dim(dim, ndim) - 1))
    if x._array.ndim < ndim:
        x = x.reshape((1,) * (ndim - x._array.ndim) + x._array.shape)
    return diff(x, dim=dim if dim < 0 else dim - ndim)


def _neighbours(y: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    rest = y._array.shape[dim] - 1
    return y.narrow(dim, 0, rest), y.narrow(dim, 1, rest)


def _one_spacing(name: str, x: Any, dx: Any) -> float:
    if dx is None:
        return 1
    if x is not None:
        raise TypeError(
            f"{name}() received an invalid combination of arguments: give either x or dx"
            + errors.at_user_line()
        )
    if isinstance(dx, complex):
        raise RuntimeError(
            f"{name}: Currently, we only support dx as a real number." + errors.at_user_line()
        )
    return dx


@public(checked=True, method=False, out=False, aliases=("trapz",))
def trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: complex | None = None, dim: int = -1
) -> Tensor:
    """The integral of sampled values by the trapezoidal rule.

    Args:
        y: the samples
        x: where they were taken; by default at equal distances
        dx: that distance; 1 unless given
        dim: the dimension to integrate over

    Example:
        >>> clew.trapezoid(clew.tensor([1., 5., 10.]))
        tensor(10.5000)
        >>> clew.trapezoid(clew.tensor([1., 5., 10.]), clew.tensor([1., 3., 6.]))
        tensor(28.5000)
    """
    step = _one_spacing("trapezoid", x, dx)
    if y._array.ndim and 0 in y._array.shape:
        place = wrap_dim(dim, y._array.ndim)
        if not y._array.shape[place]:
            # Of any dtype, and without a look at the places.
            return y.new_zeros(y._array.shape[:place] + y._array.shape[place + 1 :])
    spacing = _spacing("trapezoid", y, x, dim)
    dim = wrap_dim(dim, y._array.ndim)
    if spacing is None:
        length = y._array.shape[dim]
        ends = y.select(dim, 0) + y.select(dim, length - 1)
        return MUL_NUMBER(y.sum(dim) - MUL_NUMBER(ends, 0.5), step)
    left, right = _neighbours(y, dim)
    return ((left + right) * spacing).sum(dim - y._array.ndim) / 2.0


@public(method=False, out=False)
def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: complex | None = None, dim: int = -1
) -> Tensor:
    """Running integrals of sampled values by the trapezoidal rule, one fewer than samples.

    Args:
        y: the samples
        x: where they were taken; by default at equal distances
        dx: that distance; 1 unless given
        dim: the dimension to integrate over

    Example:
        >>> clew.cumulative_trapezoid(clew.tensor([1., 5., 10.]))
        tensor([ 3.0000, 10.5000])
    """
    step = _one_spacing("cumulative_trapezoid", x, dx)
    spacing = _spacing("cumulative_trapezoid", y, x, dim)
    dim = wrap_dim(dim, y._array.ndim)
    if y._array.ndim and not y._array.shape[dim]:
        return y.clone()
    left, right = _neighbours(y, dim)
    if spacing is None:
        return (step / 2.0 * (left + right)).cumsum(dim)
    return ((left + right) * spacing).cumsum(dim - y._array.ndim) / 2.0


# -- gradient --------------------------------------------------------------------------------------


@public(method=False, out=False)
def gradient(
    input: Tensor, *, spacing: Any = None, dim: Any = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """Estimated derivatives of sampled values along each dimension, by central differences.

    Returns a tuple with one tensor for each dimension.

    Args:
        input: the samples of a function on a grid
        spacing: the distance of samples, one for all dimensions or a list with one for each; or a
            list of vectors with the coordinates
        dim: the dimension, or several; by default all
        edge_order: 1 or 2: the order of the one-sided estimates at the edges

    Example:
        >>> clew.gradient(clew.tensor([0., 1., 4., 9.]))
        (tensor([1., 2., 4., 5.]),)
        >>> clew.gradient(clew.tensor([0., 1., 4., 9.]), spacing=0.5)
        (tensor([ 2.,  4.,  8., 10.]),)
    """
    dims = wrap_dims(dim, input._array.ndim)
    steps = _steps(input, spacing, dim, dims)
    _check_gradient(input, dims, edge_order)
    results = []
    for each, step in zip(dims, steps, strict=True):
        if isinstance(step, Tensor) and step._array.ndim:
            results.append(_uneven_gradient(input, each, step, edge_order))
        else:
            results.append(_even_gradient(input, each, step, edge_order))
    return tuple(results)


def _steps(input: Tensor, spacing: Any, dim: Any, dims: tuple[int, ...]) -> Sequence[Any]:
    if spacing is None:
        return [1] * len(dims)
    if not isinstance(spacing, (tuple, list)):
        return [spacing] * len(dims)
    if len(spacing) == len(dims):
        return spacing
    if dim is None:
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
            f"equal to 'self.dim() = {input._array.ndim}', since dim argument was not given, but "
            f"got a list of length {len(spacing)}" + errors.at_user_line()
        )
    raise RuntimeError(
        "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim "
        "arguments to have the same length, but got a spacing argument of length "
        f"{len(spacing)} and a dim argument of length {len(dims)}." + errors.at_user_line()
    )


def _check_gradient(input: Tensor, dims: tuple[int, ...], edge_order: int) -> None:
    if input.dtype is dtypes.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input." + errors.at_user_line())
    if edge_order not in (1, 2):
        raise RuntimeError(
            "torch.gradient only supports edge_order=1 and edge_order=2." + errors.at_user_line()
        )
    if any(input._array.shape[dim] <= edge_order for dim in dims):
        raise RuntimeError(
            "torch.gradient expected each dimension size to be at least edge_order+1"
            + errors.at_user_line()
        )


# Terms are made from the last to the first, which is the order in which PyTorch's backward, newest
# first, adds up their gradients.


def _even_gradient(f: Tensor, dim: int, step: Any, edge_order: int) -> Tensor:
    n = f._array.shape[dim]
    left, right = f.narrow(dim, 0, n - 2), f.narrow(dim, 2, n - 2)
    inner = (right - left) / step
    edges = []
    for start, weights in ((0, (-1.5, 2, -0.5)), (n - 1 - edge_order, (0.5, -2, 1.5))):
        if edge_order == 1:
            left, right = f.narrow(dim, start, 1), f.narrow(dim, start + 1, 1)
            edges.append((right - left) / step)
        else:
            edges.append(_weighted(f, dim, start, 1, weights) / step)
    return cat([edges[0], inner / 2, edges[1]], dim)


def _weighted(f: Tensor, dim: int, start: int, length: int, weights: Sequence[Any]) -> Tensor:
    """The sum of neighbouring parts of `f`, each times its weight."""
    terms = [weights[i] * f.narrow(dim, start + i, length) for i in (2, 1, 0)]
    return terms[2] + terms[1] + terms[0]


def _uneven_gradient(f: Tensor, dim: int, points: Tensor, edge_order: int) -> Tensor:
    n = f._array.shape[dim]
    steps = diff(points)
    before, after = steps.narrow(0, 0, n - 2), steps.narrow(0, 1, n - 2)
    both = before + after
    inner_weights = [
        weight.reshape((-1,) + (1,) * (f._array.ndim - dim - 1))
        for weight in (
            -after / (before * both),
            (after - before) / (before * after),
            before / (after * both),
        )
    ]
    inner = _weighted(f, dim, 0, n - 2, inner_weights)
    edges = []
    for start, nearest, next_one in ((0, 0, 1), (n - 1 - edge_order, -1, -2)):
        if edge_order == 1:
            left, right = f.narrow(dim, start, 1), f.narrow(dim, start + 1, 1)
            edges.append((right - left) / steps[nearest])
        else:
            weights = _edge_weights(steps[nearest], steps[next_one])
            if nearest == -1:
                weights = [-weight for weight in reversed(weights)]
            edges.append(_weighted(f, dim, start, 1, weights))
    return cat([edges[0], inner, edges[1]], dim)


def _edge_weights(near: Tensor, far: Tensor) -> list[Tensor]:
    """Of a first point and the next two, whose steps are given: the weights of its derivative."""
    both = near + far
    return [
        -(2.0 * near + far) / (near * both),
        both / (near * far),
        -near / (far * both),
    ]
