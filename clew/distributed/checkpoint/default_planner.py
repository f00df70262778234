"""Planners: what is saved and loaded beside the names of a state dict."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from clew import errors

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner"]


class DefaultSavePlanner:
    """Who writes what: nested states flattened, what several ranks have by one of them.

    Args:
        flatten_state_dict: True
        flatten_sharded_tensors, dedup_replicated_tensors, dedup_save_to_lowest_rank,
            enable_plan_caching: accepted
    """

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:
        _must_flatten(flatten_state_dict)


class DefaultLoadPlanner:
    """Who reads what: each rank what it needs.

    Args:
        flatten_state_dict: True
        flatten_sharded_tensors: accepted
        allow_partial_load: leave values as they are that the checkpoint does not have
    """

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ) -> None:
        _must_flatten(flatten_state_dict)
        self.allow_partial_load = allow_partial_load


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Fills an empty state dict with all that the checkpoint has, or with some of it.

    Args:
        keys: the first steps of paths, or their beginnings with dots, that are wanted
    """

    def __init__(self, keys: set[str] | None = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.keys = keys

    def wants(self, path: tuple[str | int, ...]) -> bool:
        """Whether the value of a path is wanted."""
        starts = (".".join(map(str, path[:end])) for end in range(1, len(path) + 1))
        return self.keys is None or not self.keys.isdisjoint(starts)


def _must_flatten(flatten: bool) -> None:
    if not flatten:
        raise NotImplementedError(
            "planners of clew flatten state dicts: leave flatten_state_dict=False out"
            + errors.at_user_line()
        )


def known(planner: Any, kind: type) -> None:
    """Raise for planners of one's own, and for methods of theirs, which would not be asked."""
    if planner is None:
        return
    methods = [
        name
        for each in type(planner).__mro__
        if each is not object and each.__module__ != __name__
        for name, value in vars(each).items()
        if isinstance(value, FunctionType) and not name.startswith("__")
    ]
    if methods or not isinstance(planner, kind):
        named = f", whose {', '.join(sorted(set(methods)))} it would not call" if methods else ""
        raise NotImplementedError(
            f"clew does not ask planners of one's own ({type(planner).__name__}{named}): change "
            f"the state dict before it is saved or after it is loaded, and use {kind.__name__}"
            + errors.at_user_line()
        )
