"""`vmap` where it was before `torch.func`: packages take it from here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew.func import vmap

__all__ = ["_vmap", "vmap"]


def _vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    allow_none_pass_through: bool = False,
) -> Callable[..., Any]:
    """`vmap`, of a function that may return None.

    Args:
        func: what is called for all examples at once
        in_dims: which dimension of each argument counts them
        out_dims: which one of the results does
        allow_none_pass_through: whether None among the results is left as it is
    """
    if not allow_none_pass_through:
        return vmap(func, in_dims, out_dims)

    def wrapper(*args: Any) -> Any:
        single: list[bool] = []
        there: list[bool] = []

        def without_none(*given: Any) -> tuple[Any, ...]:
            results = func(*given)
            single[:] = [not isinstance(results, tuple)]
            results = (results,) if single[0] else results
            there[:] = [each is not None for each in results]
            return tuple(each for each in results if each is not None)

        found = iter(vmap(without_none, in_dims, out_dims)(*args))
        results = tuple(next(found) if each else None for each in there)
        return results[0] if single[0] else results

    return wrapper
