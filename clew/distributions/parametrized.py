"""Distributions whose state is the parameters that `arg_constraints` names.

What they have in common follows from the names: broadcasting at construction, `expand`, and the
pair of parameters `probs` and `logits`, of which one is given and the other computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from clew import errors
from clew.backend import dtypes
from clew.core.tensor import Size, Tensor
from clew.distributions.constraints import Constraint
from clew.distributions.distribution import Distribution, Shape
from clew.distributions.utils import (
    broadcast_all,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)
from clew.ops.create.ranges import arange


class SymmetricAboutLoc(Distribution):
    """A distribution whose mean and mode are its parameter `loc`."""

    loc: Tensor

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc


class Parametrized(Distribution):
    """A distribution made of the tensors that `arg_constraints` names."""

    def _broadcast_parameters(self, validate_args: bool | None, **parameters: Any) -> None:
        """Set parameters of one number per distribution, and the batch shape they have together."""
        tensors = broadcast_all(*parameters.values())
        for name, value in zip(parameters, tensors):
            setattr(self, name, value)
        Distribution.__init__(self, tensors[0].shape, validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        return self._expand_parameters(self._blank(_instance), batch_shape, self.arg_constraints)

    def _expand_parameters(
        self, new: Any, batch_shape: Shape, parameters: Mapping[str, Constraint]
    ) -> Any:
        batch_shape = Size(batch_shape)
        for name, constraint in parameters.items():
            if name in self.__dict__:
                value = self.__dict__[name]
                event = value.shape[value.dim() - constraint.event_dim :]
                new.__dict__[name] = value.expand(batch_shape + event)
        return self._finish_expanded(new, batch_shape)


class ProbsOrLogits(Parametrized):
    """A distribution given by probabilities or by their logits; the other one is computed."""

    # Whether a probability belongs to one of two outcomes, or a vector of them to several.
    _is_binary: ClassVar[bool] = True

    def _set_probs_or_logits(self, probs: Any, logits: Any) -> None:
        """Keep the one that is given, as a tensor."""
        if (probs is None) == (logits is None):
            raise ValueError(
                "Either `probs` or `logits` must be specified, but not both."
                + errors.at_user_line()
            )
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        self.__dict__[name] = broadcast_all(given)[0]

    def _set_trials(self, total_count: Any, probs: Any, logits: Any) -> None:
        """The same for trials, of which each distribution of the batch may have its own number."""
        self._set_probs_or_logits(probs, logits)
        name = "probs" if logits is None else "logits"
        self.total_count, self.__dict__[name] = broadcast_all(total_count, self._param)
        self.total_count = self.total_count.type_as(self._param)

    def _all_below(self, count: int, dtype: dtypes.dtype, expand: bool) -> Tensor:
        """The integers from 0, for `enumerate_support`."""
        values = arange(count, dtype=dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + self._batch_shape) if expand else values

    @property
    def _param(self) -> Tensor:
        """The one that was given, or the logits if both are known by now."""
        known = self.__dict__
        return known["logits"] if "logits" in known else known["probs"]

    @property
    def param_shape(self) -> Size:
        """The shape of `probs` and `logits`."""
        return self._param.size()

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=self._is_binary)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, is_binary=self._is_binary)
