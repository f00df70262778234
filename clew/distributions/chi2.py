"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.distribution import Shape
from clew.distributions.gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The distribution of the sum of `df` squared standard normals.

    Args:
        df: degrees of freedom; positive, need not be whole
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import Chi2
        >>> d = Chi2(clew.tensor([1., 4.]))
        >>> d.mean, d.variance
        (tensor([1., 4.]), tensor([2., 8.]))
    """

    arg_constraints: ClassVar = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        return self._expand_parameters(self._blank(_instance), batch_shape, Gamma.arg_constraints)

    @property
    def df(self) -> Tensor:
        return self.concentration * 2
