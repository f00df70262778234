"""Sets of values: what parameters must lie in, and the supports of distributions.

`constraint.check(value)` is a boolean tensor with one entry per event: the last `event_dim`
dimensions of `value` form one event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clew import errors
from clew.backend import dtypes as _dtypes
from clew.core.tensor import Tensor
from clew.ops.linalg.decompositions import eigvalsh as _eigvalsh
from clew.ops.linalg.solve import cholesky_ex as _cholesky_ex
from clew.ops.shape.joining import cat as _join
from clew.ops.shape.joining import stack as _pile

__all__ = [
    "Constraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property",
    "greater_than", "greater_than_eq", "independent", "integer_interval", "interval",
    "half_open_interval", "is_dependent", "less_than", "lower_cholesky", "lower_triangular",
    "MixtureSameFamilyConstraint", "multinomial", "nonnegative", "nonnegative_integer", "one_hot",
    "positive", "positive_semidefinite", "positive_definite", "positive_integer", "real",
    "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip


class Constraint:
    """A set of values."""

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Tensor) -> Tensor:
        """Whether each event of `value` belongs to the set."""
        raise NotImplementedError

    def check_all(self, value: Tensor) -> bool:
        """Whether all events do."""
        return bool(self.check(value).all())

    def __repr__(self) -> str:
        return type(self).__name__.removeprefix("_") + "()"


# -- what is known only from other parameters ------------------------------------------------


class _Dependent(Constraint):
    """A set that depends on other parameters, so that it cannot be checked by itself."""

    def __init__(
        self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        return self._known("is_discrete", self._is_discrete)

    @property
    def event_dim(self) -> int:
        return self._known("event_dim", self._event_dim)

    def _known(self, name: str, value: Any) -> Any:
        if value is NotImplemented:
            raise NotImplementedError(
                f".{name} cannot be determined statically\n  Ask the support of an instance"
            )
        return value

    def __call__(
        self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> _Dependent:
        """The same set with more known of it."""
        if is_discrete is NotImplemented:
            is_discrete = self._is_discrete
        if event_dim is NotImplemented:
            event_dim = self._event_dim
        return _Dependent(is_discrete=is_discrete, event_dim=event_dim)

    def check(self, x: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint depends on other parameters."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property that, on the class, is the constraint `dependent`.

    As a decorator: `@dependent_property` or `@dependent_property(is_discrete=..., event_dim=...)`.
    """

    def __init__(
        self,
        fn: Callable[..., Any] | None = None,
        *,
        is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:
        property.__init__(self, fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    # A dependent set takes its facts here, a property the method that it decorates.
    def __call__(self, fn: Callable[..., Any]) -> _DependentProperty:  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


# -- sets made from sets ---------------------------------------------------------------------


class _OfAnother(Constraint):
    """A set that is made from another one."""

    def __init__(self, base_constraint: Any) -> None:
        if not isinstance(base_constraint, Constraint):
            kind = type(base_constraint).__name__
            raise AssertionError(f"base_constraint must be a Constraint, got {kind}")
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:
        return self.base_constraint.is_discrete


class _IndependentConstraint(_OfAnother):
    """Events of more dimensions, each part of which lies in a set."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: Any) -> None:
        super().__init__(base_constraint)
        if not isinstance(reinterpreted_batch_ndims, int):
            kind = type(reinterpreted_batch_ndims).__name__
            raise AssertionError(f"reinterpreted_batch_ndims must be an int, got {kind}")
        given: int = reinterpreted_batch_ndims
        if given < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be >= 0, got {given}")
        self.reinterpreted_batch_ndims = given

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value)
        batch_ndims = self.reinterpreted_batch_ndims
        if result.dim() < batch_ndims:
            expected = self.base_constraint.event_dim + batch_ndims
            raise ValueError(
                f"Expected value.dim() >= {expected} but got {value.dim()}" + errors.at_user_line()
            )
        kept = result.shape[: result.dim() - batch_ndims]
        return (result if batch_ndims == 1 else result.reshape(kept + (-1,))).all(-1)

    def check_all(self, value: Tensor) -> bool:
        few = value.dim() < self.event_dim  # as `check` says
        return super().check_all(value) if few else self.base_constraint.check_all(value)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-2]}({self.base_constraint!r}, " + (
            f"{self.reinterpreted_batch_ndims})"
        )


class MixtureSameFamilyConstraint(_OfAnother):
    """The set of a mixture's values: those that lie in the set of every component."""

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        kept = value.dim() - self.event_dim
        return result.reshape(result.shape[:kept] + (-1,)).all(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


class _Parts(Constraint):
    """Sets for the parts of a tensor along one dimension."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        if not all(isinstance(each, Constraint) for each in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq = list(cseq)
        self.dim = dim

    @property
    def is_discrete(self) -> bool:
        return any(each.is_discrete for each in self.cseq)

    def _check_dim(self, value: Tensor) -> None:
        if not -value.dim() <= self.dim < value.dim():
            ndim = value.dim()
            raise AssertionError(f"dim {self.dim} out of range for value with {ndim} dimensions")


class _Cat(_Parts):
    """One set for each of several consecutive slices."""

    def __init__(
        self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None
    ) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            given, wanted = len(self.lengths), len(self.cseq)
            raise AssertionError(f"lengths ({given}) must match cseq ({wanted})")

    @property
    def event_dim(self) -> int:
        return max(each.event_dim for each in self.cseq)

    def check(self, value: Tensor) -> Tensor:
        self._check_dim(value)
        checks, start = [], 0
        for constraint, length in zip(self.cseq, self.lengths):
            checks.append(constraint.check(value.narrow(self.dim, start, length)))
            start += length
        return _join(checks, self.dim)


class _Stack(_Parts):
    """One set for each place along a dimension."""

    @property
    def event_dim(self) -> int:
        largest = max(each.event_dim for each in self.cseq)
        return largest + 1 if self.dim + largest < 0 else largest

    def check(self, value: Tensor) -> Tensor:
        self._check_dim(value)
        slices = [value.select(self.dim, i) for i in range(value.size(self.dim))]
        return _pile([c.check(part) for c, part in zip(self.cseq, slices)], self.dim)


# -- numbers ---------------------------------------------------------------------------------


class _Boolean(Constraint):
    """0 or 1."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _Real(Constraint):
    """Any number but nan."""

    def check(self, value: Tensor) -> Tensor:
        return value == value


class _Bounded(Constraint):
    """Numbers with bounds, which the representation shows."""

    def __repr__(self) -> str:
        bounds = ", ".join(f"{name}={bound}" for name, bound in vars(self).items())
        return f"{super().__repr__()[:-2]}({bounds})"


class _Below(_Bounded):
    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound


class _Above(_Bounded):
    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound


class _Between(_Bounded):
    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound


def _whole(within: Tensor, value: Tensor) -> Tensor:
    """Where numbers within bounds are whole as well; of integers nobody has to ask."""
    return within if value.dtype.category <= _dtypes.INTEGER else (value % 1 == 0) & within


class _IntegerInterval(_Between):
    """Integers from `lower_bound` to `upper_bound`, both included."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return _whole((self.lower_bound <= value) & (value <= self.upper_bound), value)


class _IntegerLessThan(_Below):
    """Integers up to `upper_bound`, included."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return _whole(value <= self.upper_bound, value)


class _IntegerGreaterThan(_Above):
    """Integers from `lower_bound` on, included."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return _whole(value >= self.lower_bound, value)


class _GreaterThan(_Above):
    """Numbers above `lower_bound`."""

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound < value


class _GreaterThanEq(_Above):
    """Numbers from `lower_bound` on."""

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound <= value


class _LessThan(_Below):
    """Numbers below `upper_bound`."""

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _Interval(_Between):
    """Numbers from `lower_bound` to `upper_bound`, both included."""

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Between):
    """Numbers from `lower_bound`, included, to `upper_bound`, excluded."""

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)


# -- vectors ---------------------------------------------------------------------------------


class _OneHot(Constraint):
    """Vectors with one 1 and zeros."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        is_boolean = (value == 0) | (value == 1)
        return is_boolean.all(-1) & value.sum(-1).eq(1)


class _Simplex(Constraint):
    """Vectors of nonnegative numbers whose sum is 1."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(dim=-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Vectors of nonnegative integers whose sum is at most `upper_bound`."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: int) -> None:
        self.upper_bound = upper_bound

    def check(self, x: Tensor) -> Tensor:
        return (x >= 0).all(dim=-1) & (x.sum(dim=-1) <= self.upper_bound)


# -- matrices --------------------------------------------------------------------------------


class _Matrix(Constraint):
    event_dim = 2


def _is_lower(value: Tensor) -> Tensor:
    return (value.tril() == value).flatten(-2).all(-1)


def _positive_diagonal(value: Tensor) -> Tensor:
    return (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _LowerTriangular(_Matrix):
    """Matrices with zeros above the diagonal."""

    def check(self, value: Tensor) -> Tensor:
        return _is_lower(value)


class _LowerCholesky(_Matrix):
    """Lower triangular matrices with a positive diagonal."""

    def check(self, value: Tensor) -> Tensor:
        return _is_lower(value) & _positive_diagonal(value)


class _CorrCholesky(_Matrix):
    """Cholesky factors of correlation matrices: the rows have length 1."""

    def check(self, value: Tensor) -> Tensor:
        # A sum over a row of n squares is off by up to about n roundings, here with a margin of 10.
        tolerance = _dtypes.finfo(value.dtype).eps * value.size(-1) * 10
        length = value.detach().square().sum(dim=-1)
        unit_rows = (length - 1).abs().le(tolerance).all(dim=-1)
        return _is_lower(value) & _positive_diagonal(value) & unit_rows


class _Square(_Matrix):
    """Square matrices."""

    def check(self, value: Tensor) -> Tensor:
        is_square = value.shape[-2] == value.shape[-1]
        return value.new_full(value.shape[:-2], fill_value=is_square, dtype=_dtypes.bool_)


class _Symmetric(_Square):
    """Symmetric matrices."""

    def check(self, value: Tensor) -> Tensor:
        is_square = super().check(value)
        if not is_square.all():
            return is_square
        return value.isclose(value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        is_symmetric = super().check(value)
        if not is_symmetric.all():
            return is_symmetric
        return _eigvalsh(value).ge(0).all(-1)


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices whose eigenvalues are positive."""

    def check(self, value: Tensor) -> Tensor:
        is_symmetric = super().check(value)
        if not is_symmetric.all():
            return is_symmetric
        return _cholesky_ex(value).info.eq(0)


# -- public names ----------------------------------------------------------------------------

dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
