"""Training on uneven inputs: ranks that have no more take part with nothing until all are done."""

from __future__ import annotations

from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from clew import distributed as dist
from clew import errors
from clew.core.tensor import wrap
from clew.distributed.runtime.work import Work

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """What a rank does after its inputs have ended."""

    def main_hook(self) -> None:
        """Called once for each step that other ranks still take."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called when no rank has inputs left; says whether this one was among the last."""


class _JoinConfig(NamedTuple):
    enable: bool
    throw_on_early_termination: bool
    is_first_joinable: bool


class Joinable:
    """Base of what can take part in a `Join`: it communicates in each step."""

    def __init__(self) -> None:
        self._join_config = _JoinConfig(False, False, False)

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a rank without inputs does."""
        raise NotImplementedError

    @property
    def join_device(self) -> Any:
        """The device of the messages."""
        raise NotImplementedError

    @property
    def join_process_group(self) -> Any:
        """The ranks that join."""
        raise NotImplementedError


class Join:
    """A context in which ranks may have different numbers of inputs.

    Args:
        joinables: what communicates in each step, in the order in which it does
        enable: whether it does anything
        throw_on_early_termination: raise on all ranks when the first has no more inputs
        kwargs: what the `join_hook` of each is given
    """

    def __init__(
        self,
        joinables: list[Joinable],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables, self._enable = joinables, enable
        self._throws = throw_on_early_termination
        self._hooks = [each.join_hook(**kwargs) for each in joinables]
        self._group = joinables[0].join_process_group
        for place, each in enumerate(joinables):
            each._join_config = _JoinConfig(enable, throw_on_early_termination, place == 0)

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for each in self._joinables:
            each._join_config = _JoinConfig(False, False, False)
        if not self._enable or kind is not None:
            return
        is_last = True
        while _active_ranks(self._group, False).wait() and self._others_go_on():
            is_last = False
            for hook in self._hooks:
                hook.main_hook()
        for hook in self._hooks:
            hook.post_hook(is_last)

    def _others_go_on(self) -> bool:
        count = _LAST[self._group.name]._array[0]
        if count and self._throws:
            raise RuntimeError(
                f"Rank {self._group.rank()} exhausted all inputs." + errors.at_user_line()
            )
        return bool(count)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Work | None:
        """Tell ranks without inputs that this one takes a step; the result counts those that do."""
        config = joinable._join_config
        if not config.is_first_joinable or not config.enable:
            return None
        group = joinable.join_process_group
        work = _active_ranks(group, True)
        if config.throw_on_early_termination:
            work.wait()
            if work.result()[0].item() < group.size():
                raise RuntimeError(
                    "Detected at least one rank that exhausted inputs. Throwing across all ranks."
                    + errors.at_user_line()
                )
        return work

    @staticmethod
    def last_rank(is_candidate: bool, group: Any) -> int:
        """The highest rank, counted in the group, among those that say so."""
        rank = wrap(np.array([group.rank() if is_candidate else -1], np.int64))
        dist.all_reduce(rank, op=dist.ReduceOp.MAX, group=group)
        return int(rank._array[0])


# The last count of ranks with inputs, by the name of the group.
_LAST: dict[str, Any] = {}


def _active_ranks(group: Any, is_active: bool) -> Work:
    count = _LAST[group.name] = wrap(np.array([float(is_active)], np.float32))
    work = dist.all_reduce(count, group=group, async_op=True)
    assert work is not None
    return work
