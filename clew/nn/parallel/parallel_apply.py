"""A module's calls on several devices, of which there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clew.nn.modules.module import Module

__all__ = ["get_a_var", "parallel_apply"]


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> list[Any]:
    """Call each module with its inputs, one after the other.

    Args:
        modules: the modules
        inputs: the positional arguments of each: a tuple, or the only one
        kwargs_tup: the keyword arguments of each
        devices: ignored: there is one
    """
    if len(modules) != len(inputs):
        raise AssertionError(
            f"The number of modules {len(modules)} is not equal to the number of inputs "
            f"{len(inputs)}"
        )
    named = kwargs_tup if kwargs_tup is not None else [{}] * len(modules)
    calls = zip(modules, inputs, named, strict=True)
    return [
        module(*(given if isinstance(given, (list, tuple)) else (given,)), **more)
        for module, given, more in calls
    ]


def get_a_var(obj: Any) -> Any:
    """The first tensor of a nested structure, or None."""
    if isinstance(obj, (list, tuple)):
        parts: Any = obj
    elif isinstance(obj, dict):
        parts = obj.items()
    else:
        return obj if hasattr(obj, "requires_grad") else None
    found = (get_a_var(each) for each in parts)
    return next((each for each in found if each is not None), None)
