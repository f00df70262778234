"""Exponential families, whose entropy follows from their log normalizer."""

from __future__ import annotations

from typing import Any

from clew.autograd.backward import grad
from clew.core.tensor import Tensor
from clew.distributions.distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Densities of the form exp(t(x)·θ - F(θ) + k(x)).

    Subclasses give the natural parameters θ, the log normalizer F and the mean of k; entropy and
    KL divergence within one class follow from them.

    Args:
        batch_shape: the shape of the batch
        event_shape: the shape of one event; () for numbers
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import ExponentialFamily, Normal, Uniform
        >>> issubclass(Normal, ExponentialFamily), issubclass(Uniform, ExponentialFamily)
        (True, False)
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    # Subclasses name the parameters they have: only such a signature allows for that.
    def _log_normalizer(self, *natural_params: Any, **named: Any) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        # Some families have no closed form of it: only `entropy` asks.
        raise self._lacks("entropy", "Estimate it: -log_prob(sample((n,))).mean(0)")

    def entropy(self) -> Tensor:
        """F(θ) - θ·∇F(θ) - E[k(x)]."""
        carrier = self._mean_carrier_measure
        params = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*params)
        gradients = grad(normalizer.sum(), params, create_graph=True)
        result = normalizer - carrier
        for param, gradient in zip(params, gradients):
            result = result - (param * gradient).reshape(self._batch_shape + (-1,)).sum(-1)
        return result
