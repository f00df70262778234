"""Filling tensors with random numbers.

Each function is an operation whose result does not depend on what was there before, so its
gradient is zero; that is what PyTorch records, too. Numbers go into a tensor in the order of its
memory, as PyTorch walks it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.backend import random as streams
from clew.core.arguments import typed
from clew.core.inplace import apply_inplace
from clew.core.op import Op
from clew.core.public import methods
from clew.core.result_layout import memory_order
from clew.core.tensor import Tensor
from clew.ops.create.random import Generator, stream_of

Stream = streams.Generator


def zero(g: Tensor) -> Tensor:
    """No gradient, in a form that can itself be differentiated."""
    return ZERO(g)


ZERO = Op("_zero", lambda self: np.zeros_like(self), grads={"self": zero}, linear=True)


def _laid_out(self: np.ndarray, draw: Callable[[tuple[int, ...]], np.ndarray]) -> np.ndarray:
    """What `draw` gives for a shape, arranged so that it fills `self` in memory order."""
    if self.flags.c_contiguous:
        return draw(self.shape)
    order = memory_order(self)
    drawn = draw(self.transpose(order).shape)
    return drawn.transpose(np.argsort(order))


def _fill_op(name: str, forward: Callable[..., np.ndarray], node: str | None = None) -> Op:
    return Op(name, forward, grads={"self": zero}, node=node)


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
    order = memory_order(self)
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
    grads={"self": zero, "p": zero},
)  # fmt: skip
BERNOULLI_NUMBER = _fill_op("bernoulli_number", _bernoulli_number, "BernoulliBackward2")


@functools.partial(typed, first=0)
def normal_(
    self: Tensor, mean: float = 0, std: float = 1, *, generator: Generator | None = None
) -> Tensor:
    """Fill with normal numbers.

    Args:
        mean: the mean of the distribution
        std: its standard deviation
        generator: the stream to draw from; None is the one that `clew.manual_seed` seeds

    Example:
        >>> _ = clew.manual_seed(0)
        >>> clew.empty(3).normal_(mean=10, std=2)
        tensor([13.0820,  9.4131,  5.6424])
    """
    return apply_inplace(
        NORMAL, self, mean=float(mean), std=float(std), stream=stream_of(generator)
    )


@functools.partial(typed, first=0)
def uniform_(
    self: Tensor,
    from_: float = 0,
    to: float = 1,
    *,
    generator: Generator | None = None,
    **from_keyword: float,
) -> Tensor:
    """Fill with uniform numbers from [from, to).

    Args:
        from_: the lower bound
        to: the upper bound
        generator: the stream to draw from; None is the one that `clew.manual_seed` seeds
        from_keyword: `from` by name, as `**{"from": 0}`

    Example:
        >>> _ = clew.manual_seed(0)
        >>> clew.empty(3).uniform_(-1, 1)
        tensor([-0.0075,  0.5364, -0.8230])
    """
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


@functools.partial(typed, first=0)
def log_normal_(
    self: Tensor, mean: float = 1, std: float = 2, *, generator: Generator | None = None
) -> Tensor:
    """Fill with numbers whose logarithm is normal.

    Args:
        mean: the mean of the logarithm
        std: its standard deviation
        generator: the stream to draw from; None is the one that `clew.manual_seed` seeds

    Example:
        >>> _ = clew.manual_seed(0)
        >>> clew.empty(3).log_normal_(mean=0, std=1)
        tensor([4.6692, 0.7457, 0.1132])
    """
    return apply_inplace(
        LOG_NORMAL, self, mean=float(mean), std=float(std), stream=stream_of(generator)
    )


@functools.partial(typed, first=0)
def cauchy_(
    self: Tensor, median: float = 0, sigma: float = 1, *, generator: Generator | None = None
) -> Tensor:
    """Fill with numbers from the Cauchy distribution.

    Args:
        median: where the peak is
        sigma: half of its width at half of its height
        generator: the stream to draw from; None is the one that `clew.manual_seed` seeds

    Example:
        >>> _ = clew.manual_seed(0)
        >>> clew.empty(3).cauchy_()
        tensor([10.5977,  0.7648, -0.1283])
    """
    return apply_inplace(
        CAUCHY, self, median=float(median), sigma=float(sigma), stream=stream_of(generator)
    )


@functools.partial(typed, first=0)
def exponential_(self: Tensor, lambd: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers from the exponential distribution.

    Args:
        lambd: its rate: the mean is `1 / lambd`
        generator: the stream to draw from; None is the one that `clew.manual_seed` seeds

    Example:
        >>> _ = clew.manual_seed(0)
        >>> clew.empty(3).exponential_(lambd=2)
        tensor([1.7542, 0.6152, 0.3075])
    """
    return apply_inplace(EXPONENTIAL, self, lambd=float(lambd), stream=stream_of(generator))


@functools.partial(typed, first=0)
def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fill with the number of trials up to the first success: 1, 2, 3, …

    Args:
        p: the probability of a success
        generator: the stream to draw from; None is the one that `clew.manual_seed` seeds

    Example:
        >>> _ = clew.manual_seed(0)
        >>> clew.empty(5).geometric_(0.3)
        tensor([1., 1., 3., 1., 2.])
    """
    return apply_inplace(GEOMETRIC, self, p=float(p), stream=stream_of(generator))


def random_(
    self: Tensor,
    *bounds: int | None,
    to: int | None = None,
    generator: Generator | None = None,
    **from_keyword: int,
) -> Tensor:
    """Fill with uniform integers: `random_()`, `random_(to)` or `random_(from, to)`.

    Without bounds they go up to the largest integer that the dtype holds exactly.

    Args:
        bounds: `from` and `to` by position
        to: one above the highest
        generator: the stream to draw from; None is the one that `clew.manual_seed` seeds
        from_keyword: `from`, the lowest, by name, as `**{"from": 0}`

    Example:
        >>> _ = clew.manual_seed(0)
        >>> clew.empty(5).random_(1, 7)
        tensor([3., 4., 6., 1., 2.])
    """
    low: int | None = from_keyword.pop("from", None)
    _refuse_keywords("random_", from_keyword)
    if len(bounds) == 1 and (to is None and low is None):
        (to,) = bounds
    elif bounds:
        low, to = (*bounds, to)[:2]
    op = RANDOM_ANY if to is None and low is None else RANDOM_BELOW if low is None else RANDOM_RANGE
    return apply_inplace(op, self, low=low, high=to, stream=stream_of(generator))


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill with ones, with probability `p` each, and zeros.

    Args:
        p: the probability of a one: a number, or a tensor that broadcasts to this one
        generator: the stream to draw from; None is the one that `clew.manual_seed` seeds

    Example:
        >>> _ = clew.manual_seed(0)
        >>> clew.empty(5).bernoulli_(0.5)
        tensor([0., 0., 1., 0., 0.])
    """
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
