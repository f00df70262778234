"""The second run of a checkpointed block: what the first one saved, computed again.

The block runs as always, but what its nodes would save is replaced by placeholders. The first
placeholder that backward asks for runs the block once more, up to the point where the last saved
tensor exists. Each saved tensor is compared with the first run, so that a block that does not
repeat itself is reported with the operation and line that differ.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from clew import errors
from clew.amp.autocast_mode import autocast_as_it_is
from clew.autograd.graph import saved_tensors_hooks
from clew.autograd.mode import enable_grad
from clew.backend.random import default_generator
from clew.core.inplace import apply_inplace
from clew.core.interception import Interceptor, install
from clew.core.op import Op
from clew.core.recording import INPUT, grad_mask
from clew.core.state import local
from clew.core.tensor import Tensor, constant, tangents_of
from clew.interrupts import uninterrupted
from clew.observer import active
from clew.source import user_where


class _Hooks(saved_tensors_hooks):
    """What is computed again is part of the graph, inside of transforms as well."""

    suits_transforms = True


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


class _SavedNote(NamedTuple):
    """What is remembered of a saved tensor to compare it with its second coming."""

    op: str
    where: Any
    shape: tuple[int, ...]
    dtype: Any

    def __str__(self) -> str:
        shape = errors.shape_list(self.shape)
        return f"{self.dtype} {shape}, saved by `{self.op}` at {errors.describe(self.where)}"


class _StopRecomputation(Exception):
    """Everything that backward needs exists again."""


class Watch(Interceptor):
    """Knows which operation is running, so that a saved tensor can be traced to it."""

    def __init__(self, frame: Frame, recomputing: _Recomputation | None = None) -> None:
        self.frame = frame
        self.recomputing = recomputing
        self.op = ""

    def take_over(self) -> None:
        """Watch in place of the block around this one, which sees none of what is saved here."""
        install(self)
        if isinstance(self.outer, Watch):
            self.outer = self.outer.outer

    def __call__(
        self, op: Any, inputs: tuple[Any, ...], params: dict[str, Any], inplace: bool = False
    ) -> Any:
        state = local.state
        if not isinstance(op, Op):
            self.op = op.__name__
            return params["outputs"] if self.outer is None else self.outer(op, inputs, params)
        self.op = op.name
        state.intercept = self.outer
        try:
            if self.recomputing is not None:
                self.recomputing.stop_before(op, inputs)
            if inplace:
                return apply_inplace(op, *inputs, **params)
            return op(*inputs, **params)
        finally:
            state.intercept = self


class _Placeholder:
    """Stands for a saved tensor of a checkpointed block."""

    __slots__ = ("__weakref__", "frame", "index")

    def __init__(self, frame: Frame, index: int) -> None:
        self.frame = frame
        self.index = index


class Frame:
    """One checkpointed call: how to run it again, and what its first run saved."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
        recompute_context: AbstractContextManager[Any], preserve_rng_state: bool,
        determinism_check: str, early_stop: bool,
    ) -> None:  # fmt: skip
        self.function, self.args, self.kwargs = function, args, kwargs
        self.recompute_context = recompute_context
        self.rng_state = default_generator.get_state() if preserve_rng_state else None
        self.rng_mark = default_generator.mark()
        self.check = determinism_check == "default"
        self.early_stop = early_stop
        self.autocast = autocast_as_it_is()
        # Backward may run inside of a vmap that the block was not in, or the other way round.
        intercept = local.state.intercept
        self.transforms = intercept if _transforms(intercept) else None
        self.where = user_where()
        self.notes: list[_SavedNote] = []
        # Tensors that exist again, by backward run and index; a run takes each once.
        self.found: weakref.WeakKeyDictionary[Any, dict[int, Tensor]] = weakref.WeakKeyDictionary()

    def forget_unused_state(self) -> None:
        """After the first run: states of the stream matter only to a block that draws from it."""
        if default_generator.mark() == self.rng_mark:
            self.rng_state = None

    def note(self, watch: Watch, tensor: Tensor) -> _SavedNote:
        return _SavedNote(watch.op, user_where(), tensor._array.shape, tensor.dtype)

    def forward_hooks(self, watch: Watch) -> saved_tensors_hooks:
        def pack(tensor: Tensor) -> _Placeholder:
            observer = active.observer
            if observer is not None:
                observer.checkpoint_saved(self, tensor)
            self.notes.append(self.note(watch, tensor))
            return _Placeholder(self, len(self.notes) - 1)

        return _Hooks(pack, self.recall)

    def recall(self, placeholder: _Placeholder) -> Tensor:
        """The tensor behind a placeholder, computed again if this run has not done so yet."""
        runs = local.state.backward_runs
        run = runs[-1] if runs else self
        found = self.found.get(run)
        if found is None or placeholder.index not in found:
            found = self.found[run] = _Recomputation(self).run()
        return found.pop(placeholder.index)


def _transforms(intercept: Any) -> bool:
    """Whether a chain of interceptors does more than look on: vmap, or forward mode."""
    while intercept is not None:
        if intercept.has_examples or intercept.carries_tangents:
            return True
        intercept = intercept.outer
    return False


class stream_at:
    """A block in which the random stream goes on from a state; None leaves it alone."""

    def __init__(self, rng_state: Any) -> None:
        self.rng_state = rng_state
        self.forked = default_generator.forked()

    def __enter__(self) -> None:
        if self.rng_state is not None:
            self.forked.__enter__()
            try:
                default_generator.set_state(self.rng_state)
            except BaseException:
                self.forked.__exit__()
                raise

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        if self.rng_state is not None:
            self.forked.__exit__()


class _Recomputation:
    """The second run of a checkpointed block."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.found: dict[int, Tensor] = {}
        self.count = 0

    def run(self) -> dict[int, Tensor]:
        frame, state = self.frame, local.state
        intercept = state.intercept
        watch = Watch(frame, self)
        try:
            state.intercept = frame.transforms or (None if _transforms(intercept) else intercept)
            watch.take_over()
            with (
                stream_at(frame.rng_state), enable_grad(), frame.autocast,
                frame.recompute_context, self.hooks(watch),
            ):  # fmt: skip
                frame.function(*frame.args, **frame.kwargs)
        except _StopRecomputation:
            return self.found
        finally:
            state.intercept = intercept
        if self.count < len(frame.notes):
            raise self.different_number()
        return self.found

    def hooks(self, watch: Watch) -> saved_tensors_hooks:
        def pack(tensor: Tensor) -> Tensor:
            return self.accept(watch, tensor)

        return _Hooks(pack, lambda tensor: tensor)

    def accept(self, watch: Watch, tensor: Tensor) -> Tensor:
        index, notes = self.count, self.frame.notes
        observer = active.observer
        if observer is not None:
            observer.checkpoint_recomputed(self.frame, index, tensor)
        self.count += 1
        if index >= len(notes):
            raise self.different_number(self.frame.note(watch, tensor))
        if self.frame.check:
            self.compare(notes[index], self.frame.note(watch, tensor), index)
        kept = self.found[index] = constant(tensor)
        if self.frame.early_stop and self.count == len(notes) and not tangents_of(tensor):
            # (In forward mode the last outputs still have to get their tangents.)
            raise _StopRecomputation
        return kept

    def stop_before(self, op: Op, inputs: tuple[Any, ...]) -> None:
        """Skip the last operation if all that it would save are its inputs, which exist."""
        left = len(self.frame.notes) - self.count
        if not self.frame.early_stop or not 0 < left <= 2:
            return
        mask = grad_mask(inputs)
        plan = op.plan(mask) if mask and op.differentiable else None
        if plan is None or plan.saved_count != left:
            return
        if any(kind != INPUT for kind, _ in plan.captures[:left]):
            return
        values = [inputs[key] for _, key in plan.captures[:left]]
        if all(isinstance(value, Tensor) for value in values):
            watch = Watch(self.frame)
            watch.op = op.name
            for value in values:
                self.accept(watch, value)

    def compare(self, first: _SavedNote, second: _SavedNote, index: int) -> None:
        same_op = first.op == second.op
        if same_op and first.shape == second.shape and first.dtype is second.dtype:
            return
        raise CheckpointError(
            "torch.utils.checkpoint: Recomputed values for the following tensors have different "
            "metadata than during the forward pass.\n"
            f"tensor at position {index}:\n"
            f"  first run:  {first}\n"
            f"  second run: {second}\n" + self.advice()
        )

    def different_number(self, extra: _SavedNote | None = None) -> CheckpointError:
        notes = self.frame.notes
        first_missing = notes[self.count] if extra is None else None
        return CheckpointError(
            "torch.utils.checkpoint: A different number of tensors was saved during the original "
            "forward and recomputation.\n"
            f"Number of tensors saved during forward: {len(notes)}\n"
            f"Number of tensors saved during recomputation: {self.count}.\n"
            + (
                f"  The first that did not come again: {first_missing}\n"
                if first_missing is not None
                else f"  The first that was not there before: {extra}\n"
            )
            + self.advice()
        )

    def advice(self) -> str:
        return (
            f"  The block was checkpointed at {errors.describe(self.frame.where)}. It must do the "
            "same when it runs again in backward: look for a branch on state that has changed "
            "since (train/eval mode, a counter), random numbers with preserve_rng_state=False, or "
            "another autocast mode."
        )
