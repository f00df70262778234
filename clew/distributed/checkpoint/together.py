"""What ranks do together while they save and load: gather, and learn of errors of any of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from clew import distributed as dist
from clew.distributed.checkpoint.api import CheckpointException

T = TypeVar("T")


class Together:
    """The ranks that save or load a checkpoint.

    Args:
        group: the ranks; None is all of them
        alone: this process by itself, whoever else there is
    """

    def __init__(self, group: Any = None, alone: bool = False) -> None:
        self._group = group
        alone = alone or not dist.is_initialized()
        self.rank, self.size = (
            (0, 1) if alone else (dist.get_rank(group), dist.get_world_size(group))
        )

    def gathered(self, value: T) -> list[T]:
        """What each rank gives, on all of them."""
        found: list[Any] = [value] * self.size
        if self.size > 1:
            dist.all_gather_object(found, value, self._group)
        return found

    def attempted(self, what: str, function: Callable[[], T], is_mine: bool = True) -> list[T]:
        """What a function returns on the ranks that call it; if it raises on one, all raise."""
        error: BaseException | None = None
        result: Any = None
        try:
            if is_mine:
                result = function()
        except Exception as raised:  # the other ranks would wait for this one
            error = raised
        said = None if error is None else (type(error).__name__, str(error))
        answers = self.gathered((result, said))
        failures: dict[int, BaseException] = {}
        for rank, (_, wrong) in enumerate(answers):
            if wrong is not None:
                failures[rank] = RuntimeError(f"{wrong[0]}: {wrong[1]}")
        if error is not None:
            failures[self.rank] = error
        if failures:
            raise CheckpointException(what, failures) from error
        return [each for each, _ in answers]

    def first(self, what: str, function: Callable[[], T]) -> T:
        """What a function returns that only the first rank calls, on all ranks."""
        return self.attempted(what, function, self.rank == 0)[0]
