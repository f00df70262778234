"""The catalogue of errors, continued: checkpointed blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from clew import errors

if TYPE_CHECKING:
    from clew.utils.checkpoint_frames import Frame


class CheckpointError(RuntimeError):
    """The second run of a checkpointed block differs from the first.

    Example:
        >>> from clew.utils.checkpoint import checkpoint
        >>> layers = [nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2), nn.Tanh())]
        >>> x = clew.ones(1, 2, requires_grad=True)
        >>> y = checkpoint(lambda x: layers.pop()(x), x, use_reentrant=False)
        >>> y.sum().backward()
        Traceback (most recent call last):
        ...
        clew.utils.checkpoint.CheckpointError: torch.utils.checkpoint: A different number ...
    """

    __module__ = "clew.utils.checkpoint"  # where programs find it


class SavedNote(NamedTuple):
    """What is remembered of a saved tensor to compare it with its second coming."""

    op: str
    where: Any
    shape: tuple[int, ...]
    dtype: Any

    def is_like(self, other: SavedNote) -> bool:
        return self.op == other.op and self.shape == other.shape and self.dtype is other.dtype

    def metadata(self) -> str:
        shape = f"torch.Size({errors.shape_list(self.shape)})"
        return f"{{'shape': {shape}, 'dtype': {self.dtype}, 'device': device(type='cpu')}}"

    def __str__(self) -> str:
        shape = errors.shape_list(self.shape)
        return f"{self.dtype} {shape}, saved by `{self.op}` at {errors.describe(self.where)}"


def _advice(frame: Frame) -> str:
    return (
        f"  The block was checkpointed at {errors.describe(frame.where)}. It must do the same when "
        "it runs again in backward: look for a branch on state that has changed since (train/eval "
        "mode, a counter), random numbers with preserve_rng_state=False, or another autocast mode."
    )


def different_metadata(
    frame: Frame, differences: Sequence[tuple[int, SavedNote]]
) -> CheckpointError:
    text = "".join(
        f"tensor at position {index}:\n"
        f"saved metadata: {frame.notes[index].metadata()}\n"
        f"recomputed metadata: {note.metadata()}\n"
        for index, note in differences
    )
    index, note = differences[0]
    return CheckpointError(
        "torch.utils.checkpoint: Recomputed values for the following tensors have different "
        f"metadata than during the forward pass.\n{text}.\n"
        f"  The first of them in the first run:  {frame.notes[index]}\n"
        f"  The first of them in the second run: {note}\n" + _advice(frame)
    )


def different_number(frame: Frame, count: int) -> CheckpointError:
    return CheckpointError(
        "torch.utils.checkpoint: A different number of tensors was saved during the original "
        "forward and recomputation.\n"
        f"Number of tensors saved during forward: {len(frame.notes)}\n"
        f"Number of tensors saved during recomputation: {count}.\n"
        f"  The first that did not come again: {frame.notes[count]}\n" + _advice(frame)
    )


def more_saved(frame: Frame, extra: SavedNote) -> CheckpointError:
    return CheckpointError(
        "torch.utils.checkpoint: trying to save more tensors during recomputation than during the "
        "original forward pass.\n"
        f"  In the first run there were {len(frame.notes)}. The first that was not there before: "
        f"{extra}\n" + _advice(frame)
    )


def with_log(
    error: CheckpointError, first: Sequence[SavedNote], second: Sequence[SavedNote]
) -> CheckpointError:
    """The error of a block that was checkpointed with `debug=True`."""

    def listed(log: Sequence[SavedNote]) -> str:
        lines = [
            f"  {number} of {len(log)}: `{note.op}` gave {note.dtype} "
            f"{errors.shape_list(note.shape)} at {errors.describe(note.where)}\n"
            for number, note in enumerate(log, 1)
        ]
        return "".join(lines)

    return CheckpointError(
        " An error happened while unpacking tensors; dumping logs of latest computation\n"
        "because you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.\n\n"
        f"1. The operators that ran in the original forward:\n{listed(first)}\n"
        f"2. The operators that ran during recomputation:\n{listed(second)}\n"
        "3. You are seeing this error because you passed `debug=True` to checkpoint and tensors to "
        "be saved during the original forward and recomputation differ:\n\n" + str(error)
    )


def already_unpacked(in_group: bool) -> CheckpointError:
    overlap = (
        "Performing two backward calls that overlap (i.e. require the same saved activation in "
        "order to compute gradients) is not allowed while under the "
        "torch.utils.checkpoint.GraphExecGroup context. "
    )
    return CheckpointError(
        "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked "
        f"once. {overlap if in_group else ''}If you are calling ctx.saved_tensors in backward, "
        "make sure to do so only once." + errors.at_user_line()
    )


def suppressed() -> RuntimeError:
    return RuntimeError(
        "torch.utils.checkpoint: the forward context provided by context_fn suppressed an "
        "exception raised during the checkpointed forward. This is not supported because "
        "checkpoint cannot return a value for a failed forward." + errors.at_user_line()
    )
