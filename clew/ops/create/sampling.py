"""Filling tensors with random numbers, and drawing from distributions given by tensors.

Each in-place function is an operation whose result does not depend on what was there before, so
its gradient is zero; that is what PyTorch records, too. Numbers go into a tensor in the order of
its memory, as PyTorch walks it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.backend import random as streams
from clew.core.inplace import apply_inplace
from clew.core.interception import drawn
from clew.core.op import Op
from clew.core.public import deliver, methods, public, refuse_history
from clew.core.state import local
from clew.core.tensor import Tensor, every_value
from clew.ops.create.implicit_reparameterization import standard_gamma_grad
from clew.ops.create.random import Generator, refuse_out_in_vmap, stream_of
from clew.ops.define import memory_layout
from clew.ops.define.options import Options, made, read_dtype, read_size
from clew.ops.tensor.conversion import to_dtype

Stream = streams.Generator


def _zero(g: Tensor) -> Tensor:
    """No gradient, in a form that can itself be differentiated."""
    return ZERO(g)


ZERO = Op("_zero", lambda self: np.zeros_like(self), grads={"self": _zero}, linear=True)


def _laid_out(self: np.ndarray, draw: Callable[[tuple[int, ...]], np.ndarray]) -> np.ndarray:
    """What `draw` gives for a shape, arranged so that it fills `self` in memory order."""
    if self.flags.c_contiguous:
        return draw(self.shape)
    order = memory_layout.memory_order(self)
    drawn = draw(self.transpose(order).shape)
    return drawn.transpose(np.argsort(order))


def _fill_op(name: str, forward: Callable[..., np.ndarray], node: str | None = None) -> Op:
    return Op(name, forward, grads={"self": _zero}, node=node)


# -- in place --------------------------------------------------------------------------------


def _normal(self: np.ndarray, *, mean: float, std: float, stream: Stream) -> np.ndarray:
    contiguous = self.flags.c_contiguous
    return _laid_out(
        self,
        lambda shape: streams.normal(stream, shape, self.dtype, mean, std, contiguous=contiguous),
    )


def _uniform(self: np.ndarray, *, low: float, high: float, stream: Stream) -> np.ndarray:
    return _laid_out(self, lambda shape: streams.uniform(stream, shape, self.dtype, low, high))


def _log_normal(self: np.ndarray, *, mean: float, std: float, stream: Stream) -> np.ndarray:
    return _laid_out(self, lambda shape: streams.log_normal(stream, shape, self.dtype, mean, std))


def _cauchy(self: np.ndarray, *, median: float, sigma: float, stream: Stream) -> np.ndarray:
    return _laid_out(self, lambda shape: streams.cauchy(stream, shape, self.dtype, median, sigma))


def _exponential(self: np.ndarray, *, lambd: float, stream: Stream) -> np.ndarray:
    if dtypes.of_array(self).category < dtypes.FLOAT:
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a "
            f"floating point but you specified {dtypes.of_array(self).scalar_name}"
            + errors.at_user_line()
        )
    return _laid_out(self, lambda shape: streams.exponential(stream, shape, self.dtype, lambd))


def _geometric(self: np.ndarray, *, p: float, stream: Stream) -> np.ndarray:
    return _laid_out(self, lambda shape: streams.geometric(stream, shape, self.dtype, p))


def _random(self: np.ndarray, *, low: int | None, high: int | None, stream: Stream) -> np.ndarray:
    return _laid_out(self, lambda shape: streams.random_(stream, shape, self.dtype, low, high))


def _bernoulli_number(self: np.ndarray, *, p: float, stream: Stream) -> np.ndarray:
    return _laid_out(self, lambda shape: streams.bernoulli_scalar(stream, p, shape, self.dtype))


def _bernoulli_array(self: np.ndarray, p: np.ndarray, *, stream: Stream) -> np.ndarray:
    chances = np.broadcast_to(p, self.shape)
    order = memory_layout.memory_order(self)
    return _laid_out(
        self,
        lambda shape: streams.bernoulli_tensor(stream, chances.transpose(order), self.dtype),
    )


NORMAL = _fill_op("normal", _normal)
UNIFORM = _fill_op("uniform", _uniform)
LOG_NORMAL = _fill_op("log_normal", _log_normal)
CAUCHY = _fill_op("cauchy", _cauchy)
EXPONENTIAL = _fill_op("exponential", _exponential)
GEOMETRIC = _fill_op("geometric", _geometric)
RANDOM_RANGE = _fill_op("random", _random)
RANDOM_BELOW = _fill_op("random_below", _random, "RandomBackward1")
RANDOM_ANY = _fill_op("random_any", _random, "RandomBackward2")
BERNOULLI_ARRAY = Op(
    "bernoulli_tensor", _bernoulli_array, node="BernoulliBackward1",
    grads={"self": _zero, "p": _zero},
)  # fmt: skip
BERNOULLI_NUMBER = _fill_op("bernoulli_number", _bernoulli_number, "BernoulliBackward2")


def normal_(
    self: Tensor, mean: float = 0, std: float = 1, *, generator: Generator | None = None
) -> Tensor:
    """Fill with normal numbers."""
    return apply_inplace(
        NORMAL, self, mean=float(mean), std=float(std), stream=stream_of(generator)
    )


def uniform_(
    self: Tensor,
    from_: float = 0,
    to: float = 1,
    *,
    generator: Generator | None = None,
    **from_keyword: float,
) -> Tensor:
    """Fill with uniform numbers from [from, to)."""
    # `from` is a keyword of Python, so it can only arrive by name through a dictionary.
    low = from_keyword.pop("from", from_)
    _refuse_keywords("uniform_", from_keyword)
    return apply_inplace(UNIFORM, self, low=float(low), high=float(to), stream=stream_of(generator))


def _refuse_keywords(function: str, left: dict[str, Any]) -> None:
    if left:
        raise TypeError(
            f"{function}() got an unexpected keyword argument '{next(iter(left))}'"
            + errors.at_user_line()
        )


def log_normal_(
    self: Tensor, mean: float = 1, std: float = 2, *, generator: Generator | None = None
) -> Tensor:
    """Fill with numbers whose logarithm is normal."""
    return apply_inplace(
        LOG_NORMAL, self, mean=float(mean), std=float(std), stream=stream_of(generator)
    )


def cauchy_(
    self: Tensor, median: float = 0, sigma: float = 1, *, generator: Generator | None = None
) -> Tensor:
    """Fill with numbers from the Cauchy distribution."""
    return apply_inplace(
        CAUCHY, self, median=float(median), sigma=float(sigma), stream=stream_of(generator)
    )


def exponential_(self: Tensor, lambd: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers from the exponential distribution of rate `lambd`."""
    return apply_inplace(EXPONENTIAL, self, lambd=float(lambd), stream=stream_of(generator))


def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fill with the number of trials up to the first success."""
    return apply_inplace(GEOMETRIC, self, p=float(p), stream=stream_of(generator))


def random_(
    self: Tensor,
    *bounds: int | None,
    to: int | None = None,
    generator: Generator | None = None,
    **from_keyword: int,
) -> Tensor:
    """Fill with integers: `random_()`, `random_(to)` or `random_(from, to)`."""
    low: int | None = from_keyword.pop("from", None)
    _refuse_keywords("random_", from_keyword)
    if len(bounds) == 1 and (to is None and low is None):
        (to,) = bounds
    elif bounds:
        low, to = (*bounds, to)[:2]
    op = RANDOM_ANY if to is None and low is None else RANDOM_BELOW if low is None else RANDOM_RANGE
    return apply_inplace(op, self, low=low, high=to, stream=stream_of(generator))


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill with ones, with probability `p` each, and zeros."""
    stream = stream_of(generator)
    if isinstance(p, Tensor):
        mismatch = errors.broadcast_mismatch("bernoulli_", self._array.shape, p._array.shape)
        if mismatch is not None:
            raise mismatch
        return apply_inplace(BERNOULLI_ARRAY, self, p, stream=stream)
    return apply_inplace(BERNOULLI_NUMBER, self, p=float(p), stream=stream)


methods(
    normal_=normal_, uniform_=uniform_, log_normal_=log_normal_, cauchy_=cauchy_,
    exponential_=exponential_, geometric_=geometric_, random_=random_, bernoulli_=bernoulli_,
)  # fmt: skip


# -- out of place ----------------------------------------------------------------------------


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


BERNOULLI = Op("bernoulli", _bernoulli, grads={"self": _zero})


@public(out=False)
def bernoulli(
    input: Tensor,
    p: float | None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Ones with the probability that stands at each place of `input` (or `p`), and zeros."""
    if p is not None:
        return BERNOULLI_LIKE(input, p=float(p), stream=stream_of(generator))
    if out is None:
        return BERNOULLI(input, stream=stream_of(generator))
    refuse_out_in_vmap(out)
    refuse_history((input,), {}, out)
    result = BERNOULLI(input, stream=stream_of(generator))
    return deliver(to_dtype(result, out.dtype), out, "bernoulli")


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
    if std.dtype.kind == "c":
        raise RuntimeError(
            "normal expects standard deviation to be non-complex" + errors.at_user_line()
        )
    if not np.all(std >= 0):
        raise RuntimeError("normal expects all elements of std >= 0.0" + errors.at_user_line())


NORMAL_MEAN = Op("normal_mean", _normal_around, grads={"mean": _zero}, node="NormalBackward1")
NORMAL_STD = Op("normal_std", _normal_scaled, grads={"std": _zero}, node="NormalBackward2")
NORMAL_BOTH = Op(
    "normal_mean_std", _normal_both, grads={"mean": _zero, "std": _zero}, node="NormalBackward3"
)


@public(method=False, name="normal", out=lambda args, kwargs, out: refuse_out_in_vmap(out))
def normal(
    mean: Any,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: dtypes.dtype | None = None,
    **options: Any,
) -> Tensor:
    """Normal numbers, with tensors or numbers for mean and deviation."""
    stream = stream_of(generator)
    if size is not None:
        return _normal_of_size(float(mean), float(std), size, stream, dtype, options)
    if isinstance(std, Tensor):
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


POISSON = Op("poisson", _poisson, grads={"self": _zero})


@public(method=False, out=False)
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """A Poisson number for each rate."""
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
    """How many of `count` trials of probability `prob` succeed."""
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
    """Indices drawn from rows of weights."""
    refuse_out_in_vmap(out)
    if out is not None and out.dtype is not dtypes.int64:
        raise RuntimeError(
            f"multinomial expects Long tensor out, got: {out.dtype.scalar_name}"
            + errors.at_user_line()
        )
    result = MULTINOMIAL(
        input, num_samples=num_samples, replacement=replacement, stream=stream_of(generator)
    )
    return result if out is None else deliver(result, out, "multinomial")
