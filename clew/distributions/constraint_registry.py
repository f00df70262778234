"""From a constraint to a transform onto it: `transform_to` and `biject_to`.

`biject_to(constraint)` is bijective, for changes of variables; `transform_to(constraint)` need not
be, and is the better choice for optimizing over the set.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any

from clew import errors
from clew.distributions import constraints, transforms
from clew.distributions.transforms import Transform

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

Factory = Callable[[Any], Transform]


class ConstraintRegistry:
    """Which transform belongs to which class of constraints.

    `biject_to(constraint)` and `transform_to(constraint)` give a transform from all real numbers
    onto the set that `constraint` describes. `biject_to` gives a bijection, for changes of
    variables; `transform_to` the transform that is better to optimize through.

    Args:
        constraint: a constraint, such as `constraints.positive`

    Example:
        >>> from clew.distributions import biject_to, constraints, transform_to
        >>> biject_to(constraints.positive)(clew.tensor([-1., 0., 1.]))
        tensor([0.3679, 1.0000, 2.7183])
        >>> transform_to(constraints.simplex)
        SoftmaxTransform()
        >>> biject_to(constraints.simplex)
        StickBreakingTransform()
    """

    def __init__(self) -> None:
        self._registry: dict[type[constraints.Constraint], Factory] = {}

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Say how to make a transform onto constraints of a class; also usable as a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError(
                "Expected constraint to be either a Constraint subclass or instance, but got "
                f"{constraint}" + errors.at_user_line()
            )
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: constraints.Constraint) -> Transform:
        """The transform onto a constraint."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(
                f"Cannot transform {type(constraint).__name__} constraints\n"
                "  Say how with `register(constraint, factory)`." + errors.at_user_line()
            )
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _register_both(*kinds: Any) -> Callable[[Factory], Factory]:
    def register(factory: Factory) -> Factory:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return register


@_register_both(constraints.real)
def _onto_real(constraint: Any) -> Transform:
    return transforms.identity_transform


def _onto_parts(registry: ConstraintRegistry) -> None:
    """Constraints made from constraints: transforms made from transforms."""
    registry.register(
        constraints.independent,
        lambda constraint: transforms.IndependentTransform(
            registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims
        ),
    )
    registry.register(
        constraints.cat,
        lambda constraint: transforms.CatTransform(
            [registry(c) for c in constraint.cseq], constraint.dim, constraint.lengths
        ),
    )
    registry.register(
        constraints.stack,
        lambda constraint: transforms.StackTransform(
            [registry(c) for c in constraint.cseq], constraint.dim
        ),
    )


_onto_parts(biject_to)
_onto_parts(transform_to)


@_register_both(constraints.greater_than, constraints.greater_than_eq)
def _onto_above(constraint: Any) -> Transform:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)]
    )


@_register_both(constraints.less_than)
def _onto_below(constraint: Any) -> Transform:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)]
    )


@_register_both(constraints.interval, constraints.half_open_interval)
def _onto_interval(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if all(isinstance(bound, Number) for bound in (low, high)) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform(
        [transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)]
    )


@_register_both(constraints.corr_cholesky)
def _onto_corr_cholesky(constraint: Any) -> Transform:
    return transforms.CorrCholeskyTransform()


@biject_to.register(constraints.simplex)
def _bijection_onto_simplex(constraint: Any) -> Transform:
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _onto_simplex(constraint: Any) -> Transform:
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _onto_lower_cholesky(constraint: Any) -> Transform:
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)
def _onto_positive_definite(constraint: Any) -> Transform:
    return transforms.PositiveDefiniteTransform()


transform_to.register(constraints.positive_semidefinite, _onto_positive_definite)
