"""Transforms made from transforms, and reshaping."""

from __future__ import annotations

import functools
import operator
import weakref
from collections.abc import Sequence
from typing import Any

from clew import errors
from clew.core.tensor import Size, Tensor
from clew.distributions import constraints
from clew.distributions.transforms.base import Shape, Transform
from clew.distributions.transforms.multivariate import require_dims
from clew.distributions.utils import _sum_rightmost
from clew.ops.create.constants import zeros_like
from clew.ops.shape.joining import cat, stack


class ComposeTransform(Transform):
    """Several transforms, one after the other: of [f, g], t(x) = g(f(x)).

    `identity_transform` is the composition of none.

    Args:
        parts: the transforms, the first one to apply first
        cache_size: 1 keeps the last input and output, so that `inv` of it is exact; 0 does not

    Example:
        >>> from clew.distributions import AffineTransform, ComposeTransform, ExpTransform
        >>> t = ComposeTransform([AffineTransform(1., 2.), ExpTransform()])
        >>> t(clew.tensor([0., -0.5]))
        tensor([2.7183, 1.0000])
        >>> t.inv(clew.tensor([1.]))
        tensor([-0.5000])
    """

    def __init__(self, parts: list[Transform], cache_size: int = 0) -> None:
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = None

    @property
    def domain(self) -> constraints.Constraint:
        if not self.parts:
            return constraints.real
        event_dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            event_dim += part.domain.event_dim - part.codomain.event_dim
            event_dim = max(event_dim, part.domain.event_dim)
        return _with_event_dim(self.parts[0].domain, event_dim)

    @property
    def codomain(self) -> constraints.Constraint:
        if not self.parts:
            return constraints.real
        event_dim = self.parts[0].domain.event_dim
        for part in self.parts:
            event_dim += part.codomain.event_dim - part.domain.event_dim
            event_dim = max(event_dim, part.codomain.event_dim)
        return _with_event_dim(self.parts[-1].codomain, event_dim)

    @property
    def bijective(self) -> bool:
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        sign: Any = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    def _make_inverse(self) -> Transform:
        inverse = ComposeTransform([part.inv for part in reversed(self.parts)])
        inverse._inv = weakref.ref(self)
        return inverse

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return zeros_like(x)
        points = [x]
        for part in self.parts[:-1]:
            points.append(part(points[-1]))
        points.append(y)
        terms = []
        event_dim = self.domain.event_dim
        for part, before, after in zip(self.parts, points[:-1], points[1:]):
            stretch = part.log_abs_det_jacobian(before, after)
            terms.append(_sum_rightmost(stretch, event_dim - part.domain.event_dim))
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape: Shape) -> Shape:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Shape) -> Shape:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        parts = ",\n    ".join(repr(part) for part in self.parts)
        return f"{type(self).__name__}(\n    {parts}\n)"


def _with_event_dim(constraint: constraints.Constraint, event_dim: int) -> constraints.Constraint:
    lacking = event_dim - constraint.event_dim
    return constraints.independent(constraint, lacking) if lacking > 0 else constraint


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last `reinterpreted_batch_ndims` dimensions belong to one event.

    `log_abs_det_jacobian` sums over them.

    Args:
        base_transform: the transform of the elements
        reinterpreted_batch_ndims: how many dimensions belong to one event
        cache_size: 1 keeps the last input and output, so that `inv` of it is exact; 0 does not

    Example:
        >>> from clew.distributions import ExpTransform, IndependentTransform
        >>> x = clew.tensor([1., 2.])
        >>> t = IndependentTransform(ExpTransform(), 1)
        >>> t.log_abs_det_jacobian(x, t(x))
        tensor(3.)
    """

    def __init__(
        self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(
            self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size
        )

    @property
    def domain(self) -> constraints.Constraint:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self) -> constraints.Constraint:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        require_dims(x.shape, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        require_dims(y.shape, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        stretch = self.base_transform.log_abs_det_jacobian(x, y)
        return _sum_rightmost(stretch, self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Shape) -> Shape:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Shape) -> Shape:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


def _exchanged(shape: Shape, old: Size, new: Size) -> Shape:
    """A shape whose last dimensions are `new` where they were `old`."""
    require_dims(shape, len(old))
    cut = len(shape) - len(old)
    if tuple(shape[cut:]) != old:
        raise ValueError(
            f"Shape mismatch: expected {shape[cut:]} but got {old}" + errors.at_user_line()
        )
    return tuple(shape[:cut]) + new


class ReshapeTransform(Transform):
    """The last dimensions in another shape.

    Args:
        in_shape: the shape of an event before
        out_shape: its shape after, with as many elements
        cache_size: 1 keeps the last input and output, so that `inv` of it is exact; 0 does not

    Example:
        >>> from clew.distributions import ReshapeTransform
        >>> ReshapeTransform((6,), (2, 3))(clew.zeros(4, 6)).shape
        torch.Size([4, 2, 3])
    """

    bijective = True

    def __init__(self, in_shape: Shape, out_shape: Shape, cache_size: int = 0) -> None:
        self.in_shape = Size(in_shape)
        self.out_shape = Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError(
                "in_shape, out_shape have different numbers of elements: "
                f"{tuple(in_shape)} and {tuple(out_shape)}" + errors.at_user_line()
            )
        super().__init__(cache_size=cache_size)

    @property
    def domain(self) -> constraints.Constraint:
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> constraints.Constraint:
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Shape) -> Shape:
        return _exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Shape) -> Shape:
        return _exchanged(shape, self.out_shape, self.in_shape)


class _PartsTransform(Transform):
    """One transform for each part of a tensor along a dimension."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        if not all(isinstance(each, Transform) for each in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) if cache_size else t for t in tseq]
        self.dim = dim

    @property
    def bijective(self) -> bool:
        return all(each.bijective for each in self.transforms)

    def _check_size(self, x: Tensor, size: int, text: str) -> None:
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(
                f"dim {self.dim} out of range for tensor with {x.dim()} dimensions"
            )
        if x.size(self.dim) != size:
            raise AssertionError(f"x.size({self.dim}) = {x.size(self.dim)} must equal {text}")


class CatTransform(_PartsTransform):
    """Transforms of consecutive slices of the given `lengths`.

    Args:
        tseq: the transforms, one for each slice
        dim: the dimension that is sliced
        lengths: the length of each slice; by default, 1
        cache_size: 1 keeps the last input and output, so that `inv` of it is exact; 0 does not

    Example:
        >>> from clew.distributions import CatTransform, ExpTransform, identity_transform
        >>> t = CatTransform([identity_transform, ExpTransform()], lengths=[1, 2])
        >>> t(clew.tensor([5., 0., 1.]))
        tensor([5.0000, 1.0000, 2.7183])
    """

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(
                f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})"
            )

    @property
    def event_dim(self) -> int:
        return max(each.event_dim for each in self.transforms)

    @property
    def length(self) -> int:
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _slices(self, x: Tensor) -> list[Tensor]:
        self._check_size(x, self.length, f"length {self.length}")
        starts = [sum(self.lengths[:i]) for i in range(len(self.lengths))]
        return [x.narrow(self.dim, *part) for part in zip(starts, self.lengths)]

    def _call(self, x: Tensor) -> Tensor:
        parts = zip(self.transforms, self._slices(x))
        return cat([each(part) for each, part in parts], dim=self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        parts = zip(self.transforms, self._slices(y))
        return cat([each.inv(part) for each, part in parts], dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        stretches = [
            _sum_rightmost(
                each.log_abs_det_jacobian(before, after), self.event_dim - each.event_dim
            )
            for each, before, after in zip(self.transforms, self._slices(x), self._slices(y))
        ]
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        # Slices along a dimension of the event contribute to one and the same determinant.
        return cat(stretches, dim=dim) if dim < 0 else functools.reduce(operator.add, stretches)

    @property
    def domain(self) -> constraints.Constraint:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> constraints.Constraint:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_PartsTransform):
    """One transform for each place along a dimension.

    Args:
        tseq: the transforms, as many as the dimension is long
        dim: the dimension
        cache_size: 1 keeps the last input and output, so that `inv` of it is exact; 0 does not

    Example:
        >>> from clew.distributions import ExpTransform, StackTransform, identity_transform
        >>> t = StackTransform([identity_transform, ExpTransform()], dim=1)
        >>> t(clew.tensor([[1., 1.], [2., 2.]]))
        tensor([[1.0000, 2.7183],
                [2.0000, 7.3891]])
    """

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return StackTransform(self.transforms, self.dim, cache_size)

    def _slice(self, z: Tensor) -> list[Tensor]:
        self._check_size(z, len(self.transforms), f"len(transforms) {len(self.transforms)}")
        return [z.select(self.dim, i) for i in range(z.size(self.dim))]

    def _stacked(self, results: Sequence[Tensor]) -> Tensor:
        return stack(list(results), dim=self.dim)

    def _call(self, x: Tensor) -> Tensor:
        return self._stacked([each(part) for each, part in zip(self.transforms, self._slice(x))])

    def _inverse(self, y: Tensor) -> Tensor:
        parts = zip(self.transforms, self._slice(y))
        return self._stacked([each.inv(part) for each, part in parts])

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        parts = zip(self.transforms, self._slice(x), self._slice(y))
        return self._stacked([each.log_abs_det_jacobian(a, b) for each, a, b in parts])

    @property
    def domain(self) -> constraints.Constraint:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @property
    def codomain(self) -> constraints.Constraint:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
