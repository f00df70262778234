"""The order in which stages compute micro-batches: GPipe, one forward one backward, interleaved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from clew import errors
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.distributed.pipelining.stage import PipelineStage
from clew.ops.shape.joining import cat
from clew.utils._pytree import tree_map

__all__ = [
    "PipelineScheduleMulti", "PipelineScheduleSingle", "Schedule1F1B", "ScheduleGPipe",
    "ScheduleInterleaved1F1B", "ScheduleLoopedBFS", "get_schedule_class",
]  # fmt: skip

# What is computed: forward or backward, of which of this rank's stages, and which micro-batch.
Order = Iterator[tuple[str, int, int]]


class _Schedule:
    """Cuts a batch, runs stages over its parts in some order, and puts results together."""

    _stages: list[PipelineStage]

    def _begin(
        self, n_microbatches: int, loss_fn: Callable[..., Tensor] | None, scale_grads: bool
    ) -> None:
        if n_microbatches < 1:
            raise ValueError(f"n_microbatches must be positive, not {n_microbatches}")
        self._count, self._loss_fn, self._scale = n_microbatches, loss_fn, scale_grads

    def _order(self) -> Order:
        raise NotImplementedError

    def step(
        self,
        *args: Any,
        target: Any = None,
        losses: list[Tensor] | None = None,
        return_outputs: bool = True,
        **kwargs: Any,
    ) -> Any:
        """Run one batch, forward and, where there is a loss, backward.

        Args:
            args: the batch, on the first stage
            target: what the loss is computed with, on the last stage
            losses: a list that gets the loss of each part, on the last stage
            return_outputs: whether the last stage returns its output for the whole batch
            kwargs: further inputs of this stage, cut like the batch
        """
        parts = self._cut((args, kwargs))
        targets = self._cut(target)
        trains = self._loss_fn is not None and local.state.grad_enabled
        outputs: list[Any] = [None] * self._count
        found: list[Any] = [None] * self._count
        try:
            for kind, place, number in self._order():
                stage = self._stages[place]
                if kind == "forward":
                    given, named = parts[number]
                    output = stage.forward_one(number, given, named)
                    if stage.is_last:
                        outputs[number] = output
                        if self._loss_fn is not None and target is not None:
                            found[number] = self._loss_fn(output, targets[number])
                elif trains:
                    loss = found[number] if stage.is_last else None
                    if loss is not None and self._scale:
                        loss = loss / self._count
                    stage.backward_one(number, loss)
        finally:
            for stage in self._stages:
                stage.forget()
        if losses is not None:
            losses[:] = [each.detach() for each in found if each is not None]
        if not return_outputs or not any(stage.is_last for stage in self._stages):
            return None
        return _joined(outputs)

    def eval(self, *args: Any, target: Any = None, losses: Any = None, **kwargs: Any) -> Any:
        """Run one batch forward."""
        before, local.state.grad_enabled = local.state.grad_enabled, False
        try:
            return self.step(*args, target=target, losses=losses, **kwargs)
        finally:
            local.state.grad_enabled = before

    def _cut(self, values: Any) -> list[Any]:
        """The micro-batches of all tensors in a structure."""

        def part(number: int) -> Any:
            return tree_map(lambda each: self._part(each, number), values)

        return [part(number) for number in range(self._count)]

    def _part(self, value: Any, number: int) -> Any:
        if not isinstance(value, Tensor):
            return value
        parts = value.chunk(self._count)
        if len(parts) != self._count:
            raise RuntimeError(
                f"a batch of {value.shape[0]} cannot be cut into {self._count} micro-batches"
                + errors.at_user_line()
            )
        return parts[number]


class PipelineScheduleSingle(_Schedule):
    """A schedule of one stage on each rank.

    Args:
        stage: this rank's stage
        n_microbatches: into how many parts a batch is cut, along its first dimension
        loss_fn: of an output and a target; needed to train
        args_chunk_spec, kwargs_chunk_spec, output_merge_spec: accepted if None
        scale_grads: divide gradients by the number of parts, as for the loss of the whole batch
    """

    def __init__(
        self,
        stage: PipelineStage,
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
    ) -> None:
        if stage.num_stages != stage.group.size():
            raise ValueError(
                f"{type(self).__name__} has one stage on each rank, and there are "
                f"{stage.num_stages} on {stage.group.size()}: use ScheduleInterleaved1F1B"
                + errors.at_user_line()
            )
        self._stages = [stage]
        self._begin(n_microbatches, loss_fn, scale_grads)


class ScheduleGPipe(PipelineScheduleSingle):
    """All micro-batches forward, then all backward."""

    def _order(self) -> Order:
        yield from (("forward", 0, number) for number in range(self._count))
        yield from (("backward", 0, number) for number in range(self._count))


class Schedule1F1B(PipelineScheduleSingle):
    """After a warm-up, a micro-batch forward and one backward by turns: fewer are kept."""

    def _order(self) -> Order:
        stage = self._stages[0]
        ahead = min(self._count, stage.num_stages - stage.stage_index)
        yield from (("forward", 0, number) for number in range(ahead))
        for number in range(self._count):
            yield "backward", 0, number
            if number + ahead < self._count:
                yield "forward", 0, number + ahead


class PipelineScheduleMulti(_Schedule):
    """A schedule of several stages on each rank: `i`, `i + size`, `i + 2 size` and so on.

    Args:
        stages: this rank's stages, in their order
        n_microbatches: into how many parts a batch is cut, along its first dimension
        loss_fn: of an output and a target; needed to train
        args_chunk_spec, kwargs_chunk_spec, output_merge_spec, use_full_backward: accepted if None
        scale_grads: divide gradients by the number of parts, as for the loss of the whole batch
    """

    def __init__(
        self,
        stages: list[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        use_full_backward: bool | None = None,
        scale_grads: bool = True,
        backward_requires_autograd: bool = True,
    ) -> None:
        self._stages = sorted(stages, key=lambda stage: stage.stage_index)
        size = self._stages[0].group.size()
        if len(stages) * size != self._stages[0].num_stages:
            raise ValueError(
                f"{type(self).__name__}: {self._stages[0].num_stages} stages on {size} ranks are "
                f"{self._stages[0].num_stages // size} on each, and {len(stages)} were given"
                + errors.at_user_line()
            )
        self._begin(n_microbatches, loss_fn, scale_grads)


class ScheduleLoopedBFS(PipelineScheduleMulti):
    """All micro-batches forward through one stage after the other, then all backward."""

    def _order(self) -> Order:
        places = range(len(self._stages))
        yield from (("forward", place, n) for place in places for n in range(self._count))
        yield from (
            ("backward", place, n) for place in reversed(places) for n in range(self._count)
        )


class ScheduleInterleaved1F1B(PipelineScheduleMulti):
    """One forward and one backward by turns, over several stages of each rank.

    The bubble is as many times smaller as a rank has stages (Narayanan et al. 2021). The number of
    micro-batches must be a multiple of the number of ranks.
    """

    def _begin(self, n_microbatches: int, loss_fn: Any, scale_grads: bool) -> None:
        super()._begin(n_microbatches, loss_fn, scale_grads)
        size = self._stages[0].group.size()
        if n_microbatches % size:
            raise ValueError(
                f"Interleaved 1F1B requires the number of microbatches ({n_microbatches}) to be a "
                f"multiple of the number of ranks ({size})." + errors.at_user_line()
            )

    def _order(self) -> Order:
        group = self._stages[0].group
        return interleaved(group.rank(), group.size(), len(self._stages), self._count)


def interleaved(rank: int, size: int, stages: int, count: int) -> Order:
    """What a rank of a pipeline computes, when each has several stages."""

    def step(number: int, backward: bool) -> tuple[str, int, int]:
        # As many micro-batches as there are ranks go through a stage before the next one's turn.
        turn, rest = divmod(number, size * stages)
        place, within = divmod(rest, size)
        place = stages - 1 - place if backward else place
        return "backward" if backward else "forward", place, turn * size + within

    total = count * stages
    ahead = min(total, 2 * (size - rank - 1) + (stages - 1) * size)
    yield from (step(number, False) for number in range(ahead))
    for number in range(total):
        if number + ahead < total:
            yield step(number + ahead, False)
        yield step(number, True)


_CLASSES: dict[str, type[_Schedule]] = {
    "1f1b": Schedule1F1B, "gpipe": ScheduleGPipe, "interleaved1f1b": ScheduleInterleaved1F1B,
    "loopedbfs": ScheduleLoopedBFS,
}  # fmt: skip


def get_schedule_class(schedule_name: str) -> type[_Schedule]:
    """The schedule of a name.

    Args:
        schedule_name: `1F1B`, `GPipe`, `Interleaved1F1B` or `LoopedBFS`, in any letters

    Example:
        >>> from clew.distributed.pipelining.schedules import get_schedule_class
        >>> get_schedule_class("gpipe").__name__
        'ScheduleGPipe'
    """
    found = _CLASSES.get(schedule_name.lower())
    if found is None:
        raise ValueError(
            f"Unknown schedule name '{schedule_name}'. The valid options are "
            f"{[each.__name__.removeprefix('Schedule') for each in _CLASSES.values()]}"
        )
    return found


def _joined(outputs: list[Any]) -> Any:
    """The outputs of all parts as one."""
    first = outputs[0]
    if isinstance(first, Tensor):
        return cat([each.detach() for each in outputs])
    return type(first)(_joined([each[place] for each in outputs]) for place in range(len(first)))
