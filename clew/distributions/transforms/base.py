"""The base class of transforms, and the inverse that each of them has."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.distributions.constraints import Constraint

Shape = Sequence[int]


class Transform:
    """A differentiable function of tensors with an inverse, `t.inv`.

    Subclasses define `domain`, `codomain`, `_call`, `_inverse` and `log_abs_det_jacobian`.

    Args:
        cache_size: 1 keeps the last input and output, so that the inverse of a value that was just
            computed is exact and free; 0 does not

    Example:
        >>> from clew.distributions import ExpTransform
        >>> t, x = ExpTransform(), clew.tensor(2.)
        >>> t(x), t.inv(t(x)), t.log_abs_det_jacobian(x, t(x))
        (tensor(7.3891), tensor(2.), tensor(2.))
    """

    bijective: Any = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1" + errors.at_user_line())
        self._cache_size = cache_size
        self._inv: Any = None
        self._cached_x_y: tuple[Any, Any] = (None, None)
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state["_inv"] = None  # a weak reference, which cannot be pickled
        return state

    @property
    def event_dim(self) -> int:
        """The dimensions of one event, where input and output have the same."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The inverse, whose inverse is this transform."""
        inverse = self._inv() if self._inv is not None else None
        if inverse is None:
            inverse = self._make_inverse()
            # Weak, because the inverse refers to this transform.
            self._inv = weakref.ref(inverse)
        return inverse

    def _make_inverse(self) -> Transform:
        return _InverseTransform(self)

    @property
    def sign(self) -> Any:
        """1 where the transform grows, -1 where it falls; for functions of one number only."""
        raise self._lacks("sign")

    def _lacks(self, what: str) -> NotImplementedError:
        """Not every transform has everything: the error for what a subclass leaves out."""
        return NotImplementedError(f"{type(self)} has no {what}: a subclass may define it")

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same transform with another size of cache."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented: define it there")

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = None  # type: ignore[assignment]  # equal transforms need not be the same object

    def __call__(self, x: Tensor) -> Tensor:
        """The transformed value."""
        if self._cache_size == 0:
            return self._call(x)
        x_old, y_old = self._cached_x_y
        if x is x_old:
            return y_old
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._inverse(y)
        x_old, y_old = self._cached_x_y
        if y is y_old:
            return x_old
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise self._lacks("forward")

    def _inverse(self, y: Tensor) -> Tensor:
        raise self._lacks("inverse")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |det dy/dx|, one number per event."""
        raise self._lacks("log_abs_det_jacobian")

    def __repr__(self) -> str:
        return self.__class__.__name__ + "()"

    def forward_shape(self, shape: Shape) -> Shape:
        """The shape of the output for a shape of the input."""
        return shape

    def inverse_shape(self, shape: Shape) -> Shape:
        """The shape of the input for a shape of the output."""
        return shape


class _EqualByType(Transform):
    """A transform without parameters: all of one class are equal."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    __hash__ = None


class _InverseTransform(Transform):
    """The inverse of a transform, made by `Transform.inv`."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._forward = transform

    @property
    def domain(self) -> Constraint:
        return self._forward.codomain

    @property
    def codomain(self) -> Constraint:
        return self._forward.domain

    @property
    def bijective(self) -> bool:
        return self._forward.bijective

    @property
    def sign(self) -> Any:
        return self._forward.sign

    @property
    def inv(self) -> Transform:
        return self._forward

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._forward.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._forward == other._forward

    __hash__ = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._forward!r})"

    def __call__(self, x: Tensor) -> Tensor:
        return self._forward._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._forward.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Shape) -> Shape:
        return self._forward.inverse_shape(shape)

    def inverse_shape(self, shape: Shape) -> Shape:
        return self._forward.forward_shape(shape)
