"""Which function computes the divergence of which pair of classes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from clew import errors
from clew.core.tensor import Tensor
from clew.distributions.distribution import Distribution

Divergence = Callable[[Any, Any], Tensor]
F = TypeVar("F", bound=Divergence)
Pair = tuple[type, type]

_KL_REGISTRY: dict[Pair, Divergence] = {}
# What the search below has found before, for pairs of classes that need not be registered.
_KL_MEMOIZE: dict[Pair, Divergence | None] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[F], F]:
    """Decorate the function `kl(p, q)` of a pair of classes, and of their subclasses.

    Args:
        type_p: the class of p
        type_q: the class of q

    Example:
        >>> from clew.distributions import Normal, kl_divergence, register_kl
        >>> class Fixed(Normal):
        ...     pass
        >>> @register_kl(Fixed, Fixed)
        ... def kl_fixed_fixed(p, q):
        ...     return (p.loc - q.loc).abs()
        >>> kl_divergence(Fixed(1., 1.), Fixed(3., 1.))
        tensor(2.)
    """
    for name, given in (("type_p", type_p), ("type_q", type_q)):
        # Any class: those of other packages are not always derived from Distribution.
        if not isinstance(given, type):
            raise TypeError(
                f"Expected {name} to be a Distribution subclass but got {given}"
                + errors.at_user_line()
            )

    def register(function: F) -> F:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return register


def _closest(pairs: list[Pair], first: int) -> Pair:
    """The pair that is most specific in one of its classes, then in the other."""
    best = pairs[0]
    for pair in pairs[1:]:
        if pair[first] is best[first]:
            if issubclass(pair[1 - first], best[1 - first]):
                best = pair
        elif issubclass(pair[first], best[first]):
            best = pair
    return best


def _search(type_p: type, type_q: type) -> Divergence | None:
    pairs = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not pairs:
        return None
    by_p, by_q = _closest(pairs, 0), _closest(pairs, 1)
    chosen = _KL_REGISTRY[by_p]
    if chosen is not _KL_REGISTRY[by_q]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please "
            f"register_kl({by_p[0].__name__}, {by_q[1].__name__})",
            RuntimeWarning,
            stacklevel=4,
        )
    return chosen


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The mean under p of log p(x) - log q(x), one number per distribution of the batch.

    It is at least 0, and not symmetric. Pairs of classes without a formula raise
    NotImplementedError; `register_kl` adds one.

    Args:
        p: the distribution of the mean
        q: the distribution it is compared with

    Example:
        >>> from clew.distributions import Normal, kl_divergence
        >>> p, q = Normal(0., 1.), Normal(0., 2.)
        >>> kl_divergence(p, q), kl_divergence(q, p)
        (tensor(0.3181), tensor(0.8069))
    """
    pair = type(p), type(q)
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _search(*pair)
    function = _KL_MEMOIZE[pair]
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {pair[0].__name__} and q type "
            f"{pair[1].__name__}\n  Write one with register_kl." + errors.at_user_line()
        )
    return function(p, q)
