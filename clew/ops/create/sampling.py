"""Drawing from distributions whose parameters are tensors.

Where a drawn number does not move smoothly with a parameter, PyTorch records a gradient of zero, or
none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.backend import random as streams
from clew.core.interception import drawn
from clew.core.op import Op
from clew.core.public import deliver, public, refuse_history
from clew.core.state import local
from clew.core.tensor import Tensor, every_value, of_values
from clew.ops.create.implicit_reparameterization import standard_gamma_grad
from clew.ops.create.random import Generator, refuse_out_in_vmap, stream_of
from clew.ops.create.random_fills import zero
from clew.ops.define.options import Options, made, read_dtype, read_size
from clew.ops.tensor.conversion import to_dtype
from clew.overloads import no_overload

Stream = streams.Generator


def _no_derivative(operation: str, argument: str) -> Callable[[Tensor], Tensor]:
    def formula(g: Tensor) -> Tensor:
        raise errors.not_differentiable(
            operation, argument, "the drawn number does not move smoothly with it"
        )

    return formula


BERNOULLI_LIKE = Op(
    "bernoulli_like",
    lambda self, *, p, stream: streams.bernoulli_scalar(stream, p, self.shape, self.dtype),
    node="torch::autograd::NotImplemented",
    grads={"self": _no_derivative("bernoulli", "self")},
)


def _bernoulli(self: np.ndarray, *, stream: Stream) -> np.ndarray:
    return streams.bernoulli_tensor(stream, self) if self.size else self.copy()


BERNOULLI = Op("bernoulli", _bernoulli, grads={"self": zero})


@public(out=False)
def bernoulli(
    input: Tensor,
    p: float | None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Ones with the probability that stands at each place of `input`, and zeros.

    Args:
        input: a tensor of probabilities
        p: one probability for all places; `input` then gives shape and dtype only
        generator: the stream to draw from; None is the one that `clew.manual_seed` seeds
        out: the tensor to store the result in; None makes a new one

    Example:
        >>> clew.bernoulli(clew.tensor([0., 1., 1.]))
        tensor([0., 1., 1.])
    """
    if p is not None:
        return BERNOULLI_LIKE(input, p=float(p), stream=stream_of(generator))
    if out is None:
        return BERNOULLI(input, stream=stream_of(generator))
    refuse_out_in_vmap(out)
    refuse_history("bernoulli", (input,), {}, out)
    result = BERNOULLI(input, stream=stream_of(generator))
    return deliver(to_dtype(result, out.dtype), out, "bernoulli", warns=False)


def _normal_around(mean: np.ndarray, *, std: float, stream: Stream) -> np.ndarray:
    if not mean.size:
        return mean.copy()
    return streams.normal(stream, mean.shape, mean.dtype, 0.0, std) + mean


def _normal_scaled(std: np.ndarray, *, mean: float, stream: Stream) -> np.ndarray:
    drawn = streams.normal(stream, std.shape, std.dtype)
    return (drawn * std + mean).astype(std.dtype, copy=False)


def _normal_both(mean: np.ndarray, std: np.ndarray, *, stream: Stream) -> np.ndarray:
    shape = np.broadcast_shapes(mean.shape, std.shape)
    drawn = streams.normal(stream, shape, mean.dtype)
    return (drawn * std + mean).astype(mean.dtype, copy=False)


def _check_deviations(std: np.ndarray) -> None:
    if std.dtype.kind in "cW":
        raise RuntimeError(
            "normal expects standard deviation to be non-complex" + errors.at_user_line()
        )
    if not np.all(std >= 0):
        raise RuntimeError("normal expects all elements of std >= 0.0" + errors.at_user_line())


NORMAL_MEAN = Op("normal_mean", _normal_around, grads={"mean": zero}, node="NormalBackward1")
NORMAL_STD = Op("normal_std", _normal_scaled, grads={"std": zero}, node="NormalBackward2")
NORMAL_BOTH = Op(
    "normal_mean_std", _normal_both, grads={"mean": zero, "std": zero}, node="NormalBackward3"
)


def _normal_out(args: Any, kwargs: Any, out: Tensor) -> None:
    refuse_out_in_vmap(out)
    if out.dtype.category < dtypes.FLOAT:
        raise errors.no_kernel("normal_kernel_cpu", out.dtype)


@public(method=False, name="normal", out=_normal_out)
def normal(
    mean: Any,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: dtypes.dtype | None = None,
    **options: Any,
) -> Tensor:
    """Normal numbers, with tensors or numbers for mean and standard deviation.

    Args:
        mean: the mean of each number: a tensor, or a number
        std: the standard deviation: a tensor that broadcasts with `mean`, or a number
        size: the lengths of the dimensions, if both are numbers
        generator: the stream to draw from; None is the one that `clew.manual_seed` seeds
        dtype: the dtype of the elements, with `size`; None is the default float
        options: with `size`: `device`, `layout`, `pin_memory`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> _ = clew.manual_seed(0)
        >>> clew.normal(clew.tensor([0., 100., 1000.]), 1.0)
        tensor([  1.5410,  99.7066, 997.8212])
        >>> clew.normal(0.0, 1.0, (2,))
        tensor([ 0.5684, -1.0845])
    """
    stream = stream_of(generator)
    if size is not None and _is_number(mean) and _is_number(std):
        return _normal_of_size(float(mean), float(std), size, stream, dtype, options)
    if size is not None or dtype is not None or options:
        raise no_overload("normal", (mean, std), "no size or dtype beside a tensor")
    if isinstance(std, Tensor) and (
        std.dtype.is_complex or of_values(lambda values: not (values >= 0).all(), std)
    ):
        _check_deviations(every_value(std))
    if isinstance(mean, Tensor) and mean.dtype.is_complex and mean.requires_grad:
        raise RuntimeError(
            "normal does not support automatic differentiation for outputs with complex dtype."
            + errors.at_user_line()
        )
    if isinstance(mean, Tensor) and isinstance(std, Tensor):
        mismatch = errors.broadcast_mismatch("normal", mean._array.shape, std._array.shape)
        if mismatch is not None:
            raise mismatch
        return NORMAL_BOTH(mean, std, stream=stream)
    if isinstance(mean, Tensor):
        return NORMAL_MEAN(mean, std=float(std), stream=stream)
    if isinstance(std, Tensor):
        return NORMAL_STD(std, mean=float(mean), stream=stream)
    raise TypeError(
        f"normal() received an invalid combination of arguments - got ({type(mean).__name__}, "
        f"{type(std).__name__}), but expected a tensor among mean and std, or a size"
        + errors.at_user_line()
    )


def _is_number(value: Any) -> bool:
    """Tensors of one element and without dimensions are numbers where PyTorch asks for numbers."""
    return not isinstance(value, Tensor) or (not value._array.ndim and not value.requires_grad)


def _normal_of_size(
    mean: float, std: float, size: Any, stream: Stream, dtype: Any, options: Any
) -> Tensor:
    kind = read_dtype("normal", dtype) or dtypes.get_default_dtype()
    given: Options = options
    shape = read_size("normal", (), size)
    result: Tensor = drawn(
        shape,
        lambda wanted: made("normal", streams.normal(stream, wanted, kind.np, mean, std), given),
        local.state.intercept,
    )
    return result


def _floating(function: str, array: np.ndarray) -> None:
    kind = dtypes.of_array(array)
    if not kind.is_floating_point:
        raise errors.no_kernel(function, kind)


def _poisson(self: np.ndarray, *, stream: Stream) -> np.ndarray:
    _floating("poisson_cpu", self)
    return streams.poisson(stream, self)


POISSON = Op("poisson", _poisson, grads={"self": zero})


@public(method=False, out=False)
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """A number from the Poisson distribution for each rate.

    Args:
        input: a tensor of rates, none negative
        generator: the stream to draw from; None is the one that `clew.manual_seed` seeds

    Example:
        >>> _ = clew.manual_seed(0)
        >>> clew.poisson(clew.tensor([0., 5., 100.]))
        tensor([ 0.,  8., 94.])
    """
    return POISSON(input, stream=stream_of(generator))


BINOMIAL = Op(
    "binomial",
    lambda count, prob, *, stream: streams.binomial(stream, count, prob),
    node="torch::autograd::NotImplemented",
    grads={
        "count": _no_derivative("binomial", "count"), "prob": _no_derivative("binomial", "prob"),
    },
)  # fmt: skip
STANDARD_GAMMA = Op(
    "_standard_gamma",
    lambda self, *, stream: streams.standard_gamma(stream, self),
    node="StandardGammaBackward0",
    grads={"self": lambda g, self, out: g * standard_gamma_grad(self, out)},
)
DIRICHLET = Op(
    "_sample_dirichlet",
    lambda self, *, stream: streams.dirichlet(stream, self),
    node="torch::autograd::NotImplemented",
    grads={"self": _no_derivative("_sample_dirichlet", "self")},
)
MULTINOMIAL = Op(
    "multinomial",
    lambda self, *, num_samples, replacement, stream: streams.multinomial(
        stream, self, num_samples, replacement
    ),
    non_differentiable="integer output",
)


@public(method=False, out=False)
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """How many of `count` trials of probability `prob` succeed.

    Args:
        count: a tensor of numbers of trials
        prob: a tensor of probabilities; broadcasts with `count`
        generator: the stream to draw from; None is the one that `clew.manual_seed` seeds

    Example:
        >>> clew.binomial(clew.tensor([10., 10.]), clew.tensor([0., 1.]))
        tensor([ 0., 10.])
    """
    return BINOMIAL(count, prob, stream=stream_of(generator))


@public(method=False, out=False, name="_standard_gamma")
def standard_gamma(input: Tensor, generator: Generator | None = None) -> Tensor:
    """A gamma number of scale 1 for each shape parameter."""
    return STANDARD_GAMMA(input, stream=stream_of(generator))


@public(method=False, out=False, name="_sample_dirichlet")
def sample_dirichlet(input: Tensor, generator: Generator | None = None) -> Tensor:
    """A Dirichlet sample along the last dimension."""
    return DIRICHLET(input, stream=stream_of(generator))


@public(checked=True, out=False)
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Indices drawn with the probabilities that rows of weights give.

    Args:
        input: a vector of weights, or a matrix with one vector a row; they need not sum to 1
        num_samples: how many indices to draw from each row
        replacement: whether an index may be drawn twice
        generator: the stream to draw from; None is the one that `clew.manual_seed` seeds
        out: the tensor to store the result in; None makes a new one

    Example:
        >>> _ = clew.manual_seed(0)
        >>> clew.multinomial(clew.tensor([0., 1., 3.]), 5, replacement=True)
        tensor([2, 2, 2, 2, 2])
    """
    refuse_out_in_vmap(out)
    if out is not None and out.dtype is not dtypes.int64:
        raise RuntimeError(
            f"multinomial expects Long tensor out, got: {out.dtype.scalar_name}"
            + errors.at_user_line()
        )
    result = MULTINOMIAL(
        input, num_samples=num_samples, replacement=replacement, stream=stream_of(generator)
    )
    return result if out is None else deliver(result, out, "multinomial", warns=False)
