"""The base class of all distributions."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from clew import errors
from clew.aliasing import own_name
from clew.autograd.grad_mode import no_grad
from clew.core.tensor import Size, Tensor
from clew.distributions import constraints
from clew.distributions.utils import lazy_property

__all__ = ["Distribution"]

Self = TypeVar("Self", bound="Distribution")
Shape = Sequence[int]
_PACKAGE = __name__.rpartition(".")[0] + "."


class Distribution:
    """A batch of probability distributions over events of one shape; the base of all others.

    A sample has the shape `sample_shape + batch_shape + event_shape`: the distributions of the
    batch are independent of each other, the elements of an event belong together. Subclasses
    define `arg_constraints`, `support`, `log_prob` and `sample` or `rsample`. Samples of
    `rsample` pass gradients to the parameters.

    Args:
        batch_shape: the shape of the batch
        event_shape: the shape of one event; () for numbers
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import Normal
        >>> d = Normal(clew.zeros(2), clew.ones(2))
        >>> d.batch_shape, d.event_shape, d.sample((5,)).shape
        (torch.Size([2]), torch.Size([]), torch.Size([5, 2]))
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args: bool = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Turn the checks of parameters and values on or off for all distributions."""
        if value not in [True, False]:
            raise ValueError
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Shape = (),
        event_shape: Shape = (),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            for name, constraint in self._constraints_to_check().items():
                self._check_parameter(name, constraint)
        super().__init__()

    def _constraints_to_check(self) -> Mapping[str, constraints.Constraint]:
        try:
            return self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints "
                "= {}` or initialize the distribution with `validate_args=False` to turn off "
                "validation.",
                stacklevel=3,
            )
            return {}

    def _check_parameter(self, name: str, constraint: constraints.Constraint) -> None:
        if constraints.is_dependent(constraint):
            return
        if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
            return  # it will be computed from a parameter that is checked
        value = getattr(self, name)
        if not constraint.check_all(value):
            raise self._invalid_parameter(name, f"satisfy the constraint {constraint!r},", value)

    def _invalid_parameter(self, name: str, demand: str, found: Tensor) -> ValueError:
        value = getattr(self, name)
        return ValueError(
            f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of "
            f"distribution {self!r} to {demand} but found invalid values:\n{found}"
            + errors.at_user_line()
        )

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        """The same distribution with a larger batch shape; nothing is copied."""
        raise self._lacks("expand", "A subclass defines it")

    def _lacks(self, what: str, advice: str) -> NotImplementedError:
        """Not every distribution has everything: the error for what a subclass leaves out."""
        return NotImplementedError(
            f"{self.__class__} does not implement {what}\n  {advice}" + errors.at_user_line()
        )

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one event."""
        return self._event_shape

    @property
    def arg_constraints(self) -> Any:
        """Which set each parameter must lie in."""
        raise self._lacks("arg_constraints", "A subclass defines it")

    @property
    def support(self) -> Any:
        """The set of the distribution's values."""
        raise self._lacks("support", "A subclass defines it")

    @property
    def mean(self) -> Tensor:
        """The mean, with the shape `batch_shape + event_shape`."""
        raise self._lacks("mean", "Estimate it from samples: sample((n,)).mean(0)")

    @property
    def mode(self) -> Tensor:
        """The value of the highest density or probability."""
        raise self._lacks("mode", "Search for it: the largest log_prob(sample((n,)))")

    @property
    def variance(self) -> Tensor:
        """The variance, with the shape `batch_shape + event_shape`."""
        raise self._lacks("variance", "Estimate it from samples: sample((n,)).var(0)")

    @property
    def stddev(self) -> Tensor:
        """The square root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Values of shape `sample_shape + batch_shape + event_shape`, without a history."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Values through which gradients flow to the parameters."""
        raise self._lacks("rsample", "Values without gradients come from sample()")

    def sample_n(self, n: int) -> Tensor:
        """n values; deprecated in favour of `sample((n,))`."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.",
            FutureWarning,
            stacklevel=2,
        )
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density or probability at `value`."""
        raise self._lacks("log_prob", "A subclass defines it")

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to `value`."""
        raise self._lacks("cdf", "Estimate it: (sample((n,)) <= value).float().mean(0)")

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of `cdf`."""
        raise self._lacks("icdf", "Estimate it from samples: sample((n,)).quantile(q, 0)")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, along a new first dimension."""
        raise self._lacks("enumerate_support", "Only finitely many values can be listed")

    def entropy(self) -> Tensor:
        """The entropy in nats, one number per distribution of the batch."""
        raise self._lacks("entropy", "Estimate it: -log_prob(sample((n,))).mean(0)")

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Shape = ()) -> Size:
        return Size(tuple(sample_shape) + self._batch_shape + self._event_shape)

    def _validate_sample(self, value: Tensor) -> None:
        """Raise if `value` has a shape or numbers that cannot have come from here."""
        if not isinstance(value, Tensor):
            raise ValueError(
                "The value argument to log_prob must be a Tensor"
                f" (given: {type(value).__name__})" + errors.at_user_line()
            )
        self._check_value_shape(value)
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable sample validation. Please "
                "initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if not support.check_all(value):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) "
                f"to be within the support ({support!r}) of the distribution {self!r}, but found "
                f"invalid values:\n{value}" + errors.at_user_line()
            )

    def _check_value_shape(self, value: Tensor) -> None:
        # Plain tuples: parts of them are made more quickly.
        shape, batch = tuple(value.shape), tuple(self._batch_shape)
        if shape == (*batch, *self._event_shape):
            return
        event = shape[len(shape) - len(self._event_shape) :]
        if event != self._event_shape:
            raise ValueError(
                "The right-most size of value must match event_shape: "
                f"{value.shape} vs {self._event_shape}." + errors.at_user_line()
            )
        expected = self._extended_shape()
        for have, want in zip(reversed(shape), reversed(expected)):
            if have != 1 and want != 1 and have != want:
                raise ValueError(
                    "Value is not broadcastable with batch_shape+event_shape: "
                    f"{value.shape} vs {expected}." + errors.at_user_line()
                )

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """An empty object for `expand` of the class `cls` to fill."""
        if _instance is not None:
            return _instance
        # mypy forbids this, as subclasses may have other constructors: that is the question.
        if type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ "
                "method must also define a custom .expand() method."
            )
        return self.__new__(type(self))

    def _blank(self, _instance: Any) -> Any:
        """An empty object for an `expand` that holds for all classes of this package."""
        own = (
            each for each in type(self).__mro__ if own_name(each.__module__).startswith(_PACKAGE)
        )
        return self._get_checked_instance(next(own), _instance)

    def _finish_expanded(
        self: Self, new: Self, batch_shape: Shape, event_shape: Shape | None = None
    ) -> Self:
        """Give the object that `expand` has filled its shapes; parameters were checked before."""
        events = self._event_shape if event_shape is None else event_shape
        Distribution.__init__(new, batch_shape, events, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def __repr__(self) -> str:
        known = {n: self.__dict__[n] for n in self.arg_constraints if n in self.__dict__}
        shown = [f"{n}: {v if v.numel() == 1 else v.size()}" for n, v in known.items()]
        return f"{self.__class__.__name__}({', '.join(shown)})"
