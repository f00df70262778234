"""Counting values: histc, histogram, bincount."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.op import Op
from clew.core.public import public
from clew.core.recording import NOT_IMPLEMENTED
from clew.core.tensor import Tensor, of_values, wrap
from clew.ops import define
from clew.ops.define import out_checks


def is_of_examples(tensor: Tensor) -> bool:
    """Whether a tensor has values of its own for each example of a vmap."""
    return bool(tensor._is_lifted)


# -- bincount --------------------------------------------------------------------------------------


def _bincount(self: np.ndarray, weights: np.ndarray | None, *, minlength: int) -> np.ndarray:
    if weights is None:
        return np.bincount(self, minlength=minlength).astype(np.int64, copy=False)
    counts = np.bincount(self, weights=weights, minlength=minlength)
    return counts.astype(np.float32 if weights.dtype == np.float32 else np.float64, copy=False)


BINCOUNT = Op("bincount", _bincount, non_differentiable="a count of integers")


@public(out=False)
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each non-negative integer occurs, or the sum of its weights.

    Args:
        input: a vector of integers, none negative
        weights: one for each element; its weights are added up instead of counted
        minlength: the least length of the result

    Example:
        >>> clew.bincount(clew.tensor([0, 2, 2, 3]), minlength=5)
        tensor([1, 0, 2, 1, 0])
        >>> clew.bincount(clew.tensor([0, 1, 1]), clew.tensor([0.5, 1., 2.]))
        tensor([0.5000, 3.0000])
    """
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0" + errors.at_user_line())
    if input.dtype.category != dtypes.INTEGER:
        raise errors.no_kernel("bincount_cpu", input.dtype, "It counts integers: x.long()")
    for source in (input, weights):
        if source is not None and is_of_examples(source):
            counted: Tensor = source.each_example(
                lambda x, weights: bincount(x, weights, minlength), input, weights
            )
            return counted
    if input._array.ndim != 1 or (input._array.size and input._array.min() < 0):
        raise RuntimeError(
            "bincount only supports 1-d non-negative integral inputs." + errors.at_user_line()
        )
    if weights is not None and weights._array.shape != input._array.shape:
        raise RuntimeError(
            "weights should be 1-d and have the same length as input" + errors.at_user_line()
        )
    return BINCOUNT(input, weights, minlength=minlength)


# -- histogram -------------------------------------------------------------------------------------


def _binned(
    self: np.ndarray, weight: np.ndarray | None, *, edges: np.ndarray, density: bool
) -> np.ndarray:
    """Weighted counts between the edges; the last bin holds its right edge too."""
    values = self.reshape(-1)
    inside = (values >= edges[0]) & (values <= edges[-1])
    places = np.searchsorted(edges, values[inside], side="right") - 1
    places = np.minimum(places, len(edges) - 2)
    weights = None if weight is None else weight.reshape(-1)[inside]
    counts = np.bincount(places, weights=weights, minlength=len(edges) - 1)
    counts = counts.astype(self.dtype)
    if density:
        counts = counts / (counts.sum() * np.diff(edges))
    return counts.astype(self.dtype, copy=False)


def _no_gradient(g: Any) -> Tensor:
    raise errors.not_differentiable("histogram", "self", "counts are piecewise constant")


HISTOGRAM = Op("histogram", _binned, grads={"self": _no_gradient}, node=NOT_IMPLEMENTED)


def _evenly_binned(self: np.ndarray, *, bins: int, low: float, high: float) -> np.ndarray:
    """Counts in equal intervals; each element's place is computed in the input's own dtype."""
    values, kind = self.reshape(-1), self.dtype.type
    inside = values[(values >= kind(low)) & (values <= kind(high))]
    width = kind(high) - kind(low)
    if width:
        places = (inside - kind(low)) * kind(bins) / width
    else:
        # Numbers so large that there is none between the ends.
        places = np.where(inside > 0, bins - 1, 0)
    counts = np.bincount(np.minimum(places.astype(np.int64), bins - 1), minlength=bins)
    return counts.astype(self.dtype)


HISTC = Op("histc", _evenly_binned, non_differentiable="counts are piecewise constant")


def _outer_edges(name: str, input: Tensor, low: float, high: float) -> tuple[float, float]:
    """The range given, or else that of the data; never of width zero."""
    array = input._array
    if low == high and array.size:
        low, high = of_values(lambda values: (float(values.min()), float(values.max())), input)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(
            f"torch.{name}: range of [{low:g}, {high:g}] is not finite" + errors.at_user_line()
        )
    return (low - 1, high + 1) if low == high else (low, high)


def _check_bins(bins: int, axis: int = 0) -> None:
    if bins <= 0:
        raise RuntimeError(
            f"torch.histogram(): bins must be > 0, but got {bins} for dimension {axis}"
            + errors.at_user_line()
        )


@public(accept=out_checks.of_result_dtype(out_checks.histogram_words("hist")), differentiable=False)
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """Counts of elements in `bins` equal intervals between `min` and `max`.

    Args:
        input: floating point; elements outside the range are not counted
        bins: how many intervals
        min: the lower end; where both ends are 0, the smallest and the largest element are taken
        max: the upper end, inclusive

    Example:
        >>> clew.histc(clew.tensor([1., 2., 1., 4.]), bins=4, min=0, max=4)
        tensor([0., 2., 1., 1.])
    """
    _check_bins(bins)
    if min == max and is_of_examples(input):
        counts: Tensor = input.each_example(lambda x: histc(x, bins, min, max), input)
        return counts
    low, high = _outer_edges("histc", input, float(min), float(max))
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min" + errors.at_user_line())
    if input.dtype.category != dtypes.FLOAT:
        raise errors.no_kernel("histogram_cpu", input.dtype)
    return HISTC(input, bins=bins, low=low, high=high)


def require_dtype_of_weight(input: Tensor, weight: Tensor | None) -> None:
    if weight is not None and weight.dtype is not input.dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor "
            f"should have the same dtype, but got input({input.dtype.c_name}), and weight"
            f"({weight.dtype.c_name})" + errors.at_user_line()
        )


def _even_edges(low: float, high: float, bins: int, input: Tensor) -> np.ndarray:
    return np.linspace(low, high, bins + 1).astype(input._array.dtype)


@public(accept=out_checks.histogram_pair, differentiable=None)
def histogram(
    input: Tensor,
    bins: int | Tensor = 100,
    *,
    range: tuple[float, float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> define.return_types.histogram:
    """Counts (or densities) of elements between edges, and the edges.

    Args:
        input: floating point
        bins: how many equal intervals, or a rising vector of edges
        range: the lower and the upper end, where `bins` is a number; by default what `input` spans
        weight: a weight for each element
        density: divide so that the integral over the range is 1

    Example:
        >>> counts, edges = clew.histogram(clew.tensor([1., 2., 1., 4.]), bins=2, range=(0., 4.))
        >>> counts, edges
        (tensor([2., 2.]), tensor([0., 2., 4.]))
    """
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise errors.no_kernel("histogramdd", input.dtype)
    if isinstance(bins, Tensor) and range is not None:
        raise TypeError(
            "histogram() received an invalid combination of arguments: with edges there is no "
            "range" + errors.at_user_line()
        )
    require_dtype_of_weight(input, weight)
    if weight is not None and weight._array.shape != input._array.shape:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the "
            "input tensor excluding its innermost dimension, but got input with shape "
            f"[{input._array.size}, 1] and weight with shape "
            f"{errors.shape_list(weight._array.shape)}" + errors.at_user_line()
        )
    source = bins if isinstance(bins, Tensor) else input
    if (source is bins or range is None) and is_of_examples(source):
        # Each example has edges of its own.
        counted: define.return_types.histogram = source.each_example(
            lambda x, bins, weight: histogram(
                x, bins, range=range, weight=weight, density=density
            ),
            input, bins, weight,
        )  # fmt: skip
        return counted
    edges = edges_of(input, bins, range)
    counts = HISTOGRAM(input, weight, edges=edges._array, density=density)
    return define.return_types.histogram(counts, edges)


def edges_of(
    input: Tensor, bins: int | Tensor, range: tuple[float, float] | None, axis: int = 0
) -> Tensor:
    """The edges of bins along an axis: given, or evenly spaced between the ends of a range."""
    if isinstance(bins, Tensor):
        if bins.dtype is not input.dtype:
            raise RuntimeError(
                "torch.histogramdd: input tensor and bins tensors should have the same dtype, but "
                f"got input with dtype {input.dtype.c_name} and bins for dimension {axis} "
                f"with dtype {bins.dtype.c_name}" + errors.at_user_line()
            )
        if bins._array.ndim != 1:
            raise RuntimeError(
                "torch.histogramdd: bins tensor should have one dimension, but got "
                f"{bins._array.ndim} dimensions in the bins tensor for dimension {axis}"
                + errors.at_user_line()
            )
        if not bins._array.size:
            raise RuntimeError(
                "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements "
                f"in the bins tensor for dimension {axis}" + errors.at_user_line()
            )
        return bins.detach().clone()
    _check_bins(bins, axis)
    if range is None:
        low, high = _data_range(input, axis)
    else:
        low, high = range
        if low > high:
            raise RuntimeError(
                f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} "
                f"for dimension {axis}" + errors.at_user_line()
            )
    if low == high:
        low, high = low - 0.5, high + 0.5
    return wrap(_even_edges(low, high, bins, input))


def _data_range(input: Tensor, axis: int) -> tuple[float, float]:
    array = input._array
    if not array.size:
        return 0.0, 1.0
    low, high = of_values(lambda values: (float(values.min()), float(values.max())), input)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(
            f"torch.histogramdd: dimension {axis}'s range [{low:g}, {high:g}] is not finite"
            + errors.at_user_line()
        )
    return low, high
