"""Checkpointing without reentrancy: placeholders for saved tensors, and the second run.

A checkpointed block runs as always, but what its nodes would save is replaced by placeholders. The
first placeholder that backward asks for runs the block once more, up to the point where the last
saved tensor exists. Each saved tensor is compared with the first run, so that a block that does not
repeat itself is reported with the operation and line that differ.

The tensors that a block is given are saved as a node saves its inputs: they must not be overwritten
meanwhile, and inside of another checkpointed block they are placeholders of that one.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

from clew import errors
from clew.amp.autocast_mode import autocast_as_it_is
from clew.autograd.grad_mode import enable_grad
from clew.autograd.graph import saved_tensors_hooks
from clew.backend.random import default_generator
from clew.core.inplace import apply_inplace
from clew.core.interception import Interceptor, install
from clew.core.node import Node
from clew.core.op import Op
from clew.core.recording import INPUT, grad_mask
from clew.core.saving import SavedObject, unpack
from clew.core.state import local
from clew.core.storage import next_sequence_number
from clew.core.tensor import Tensor, constant, tangents_of
from clew.interrupts import uninterrupted
from clew.observer import active
from clew.source import user_where
from clew.utils.checkpoint_errors import (
    CheckpointError,
    SavedNote,
    already_unpacked,
    different_metadata,
    different_number,
    more_saved,
    suppressed,
    with_log,
)


class _Hooks(saved_tensors_hooks):
    """What is computed again is part of the graph, inside of transforms as well."""

    suits_transforms = True


class StopRecomputation(Exception):
    """Everything that backward needs exists again."""


class GraphExecGroup:
    """Backward passes inside are parts of one: a block runs again once for all of them.

    Example:
        >>> from clew.utils.checkpoint import GraphExecGroup, checkpoint
        >>> x = clew.ones(2, requires_grad=True)
        >>> y = checkpoint(lambda x: x.sin() * x, x, use_reentrant=False)
        >>> with GraphExecGroup():
        ...     y.sum().backward()
        >>> x.grad
        tensor([1.3818, 1.3818])
    """

    _current: GraphExecGroup | None = None

    def __enter__(self) -> GraphExecGroup:
        if GraphExecGroup._current is not None:
            raise RuntimeError(
                "GraphExecGroup contexts cannot be nested. Already inside group "
                f"{GraphExecGroup._current}" + errors.at_user_line()
            )
        GraphExecGroup._current = self
        return self

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        GraphExecGroup._current = None


class Watch(Interceptor):
    """Knows which operation is running, so that a saved tensor can be traced to it."""

    def __init__(
        self, log: list[SavedNote] | None = None, recomputing: _Recomputation | None = None
    ) -> None:
        self.log = log
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
            result = apply_inplace(op, *inputs, **params) if inplace else op(*inputs, **params)
        finally:
            state.intercept = self
        if self.log is not None and isinstance(result, Tensor):
            self.log.append(self.note(result))
        return result

    def note(self, tensor: Tensor) -> SavedNote:
        return SavedNote(self.op, user_where(), tensor._array.shape, tensor.dtype)


class _Placeholder:
    """Stands for a saved tensor of a checkpointed block."""

    __slots__ = ("__weakref__", "frame", "index")

    def __init__(self, frame: Frame, index: int) -> None:
        self.frame = frame
        self.index = index


class _Inputs(Node):
    """The arguments of a block, tensors among them saved as a node saves its inputs."""

    __slots__ = ("others", "saved")

    def __init__(self, args: tuple[Any, ...], where: Any) -> None:
        self._edges = ()
        self._outputs = ()
        self._extras = None
        self._seq = next_sequence_number()
        self._where = where
        self.module_path = local.state.module_path
        self.others = [None if isinstance(value, Tensor) else value for value in args]
        state = local.state
        dual, state.dual = state.dual, True  # tangents are part of the arguments
        try:
            self.saved = {
                i: SavedObject(value) for i, value in enumerate(args) if isinstance(value, Tensor)
            }
        finally:
            state.dual = dual

    def _name(self) -> str:
        return "checkpoint"

    def unpacked(self) -> list[Any]:
        args = list(self.others)
        for place, saved in self.saved.items():
            args[place] = unpack(saved, self, f"args[{place}]")
        return args


class Frame:
    """One checkpointed call: how to run it again, and what its first run saved."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
        recompute_context: AbstractContextManager[Any], preserve_rng_state: bool,
        check: bool, debug: bool, early_stop: bool,
    ) -> None:  # fmt: skip
        self.function, self.kwargs = function, kwargs
        self.where = user_where()
        self.inputs = _Inputs(args, self.where)
        self.recompute_context = recompute_context
        self.rng_state = default_generator.get_state() if preserve_rng_state else None
        self.rng_mark = default_generator.mark()
        self.check = check
        self.log: list[SavedNote] | None = [] if debug else None
        self.early_stop = early_stop
        self.autocast = autocast_as_it_is()
        # Backward may run inside of a vmap that the block was not in, or the other way round.
        intercept = local.state.intercept
        self.transforms = intercept if _transforms(intercept) else None
        # Whether the first run has ended. A backward inside of the block asks before.
        self.is_complete = False
        self.notes: list[SavedNote] = []
        self.holders: list[weakref.ref[_Placeholder]] = []
        # Tensors that exist again, by backward run and index; None where they have been taken.
        self.found: weakref.WeakKeyDictionary[Any, dict[int, Tensor | None]] = (
            weakref.WeakKeyDictionary()
        )

    def run(self, args: tuple[Any, ...], forward_context: AbstractContextManager[Any]) -> Any:
        """The first run."""
        state = local.state
        watch = Watch(self.log)
        intercept = state.intercept
        results: list[Any] = []
        try:
            watch.take_over()
            with self.forward_hooks(watch), forward_context:
                results.append(self.function(*args, **self.kwargs))
        finally:
            state.intercept = intercept
        if not results:
            raise suppressed()
        self.is_complete = True
        if default_generator.mark() == self.rng_mark:
            # States of the stream matter only to a block that draws from it.
            self.rng_state = None
        return results[0]

    def forward_hooks(self, watch: Watch) -> saved_tensors_hooks:
        def pack(tensor: Tensor) -> _Placeholder:
            observer = active.observer
            if observer is not None:
                observer.checkpoint_saved(self, tensor)
            holder = _Placeholder(self, len(self.notes))
            self.notes.append(watch.note(tensor))
            self.holders.append(weakref.ref(holder))
            return holder

        # Not a bound method: the frame would keep itself alive.
        return _Hooks(pack, _recall)

    def recall(self, index: int) -> Tensor:
        """The tensor behind a placeholder, computed again if this run has not done so yet."""
        group, runs = GraphExecGroup._current, local.state.backward_runs
        if group is None and not runs:
            found = _Recomputation(self).run()
        else:
            run = runs[-1] if group is None else group
            found = self.found.get(run, {})
            if index not in found:
                found = self.found[run] = _Recomputation(self).run()
        tensor = found[index]
        if tensor is None:
            raise already_unpacked(in_group=group is not None)
        found[index] = None
        return tensor


def _recall(holder: _Placeholder) -> Tensor:
    return holder.frame.recall(holder.index)


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
        self.found: dict[int, Tensor | None] = {}
        self.count = 0
        # Whether more was saved than the first run, which goes on, has saved so far.
        self.is_ahead = False
        self.differences: list[tuple[int, SavedNote]] = []
        self.log: list[SavedNote] | None = None if frame.log is None else []
        # How many hooks are open where those of this run are the newest.
        self.depth = len(local.state.saved_hooks) + 1

    def run(self) -> dict[int, Tensor | None]:
        try:
            with suppress(StopRecomputation):
                self.run_again(self.frame.inputs.unpacked())
            if not self.is_ahead:
                self.compare()
        except CheckpointError as error:
            if self.frame.log is None or self.log is None:
                raise
            raise with_log(error, self.frame.log, self.log) from None
        return self.found

    def compare(self) -> None:
        if self.count != len(self.frame.notes):
            raise different_number(self.frame, self.count)
        if self.differences:
            raise different_metadata(self.frame, self.differences)

    def run_again(self, args: Sequence[Any]) -> None:
        frame, state = self.frame, local.state
        intercept = state.intercept
        watch = Watch(self.log, self)
        try:
            state.intercept = frame.transforms or (None if _transforms(intercept) else intercept)
            watch.take_over()
            with (
                stream_at(frame.rng_state), enable_grad(), frame.autocast, self.hooks(watch),
                frame.recompute_context,
            ):  # fmt: skip
                frame.function(*args, **frame.kwargs)
        finally:
            state.intercept = intercept

    def hooks(self, watch: Watch) -> saved_tensors_hooks:
        def pack(tensor: Tensor) -> Tensor:
            return self.accept(watch, tensor)

        return _Hooks(pack, lambda tensor: tensor)

    def accept(self, watch: Watch, tensor: Tensor) -> Tensor:
        frame, index = self.frame, self.count
        observer = active.observer
        if observer is not None:
            observer.checkpoint_recomputed(frame, index, tensor)
        self.count += 1
        kept = constant(tensor) if tensor._requires_grad else tensor
        if index >= len(frame.notes):
            if frame.is_complete:
                raise more_saved(frame, watch.note(tensor))
            self.is_ahead = True
            return kept
        if frame.holders[index]() is not None:
            self.found[index] = kept
            note = watch.note(tensor)
            if frame.check and not note.is_like(frame.notes[index]):
                self.differences.append((index, note))
        if frame.early_stop and self.count == len(frame.notes) and not tangents_of(tensor):
            # (In forward mode the last outputs still have to get their tangents.)
            raise StopRecomputation
        return kept

    def stop_before(self, op: Op, inputs: tuple[Any, ...]) -> None:
        """Skip the last operation if all that it would save are its inputs, which exist."""
        left = len(self.frame.notes) - self.count
        state = local.state
        if not self.frame.early_stop or not 0 < left <= 2:
            return
        if not state.grad_enabled or len(state.saved_hooks) != self.depth:
            return
        mask = grad_mask(inputs)
        plan = op.plan(mask) if mask and op.differentiable else None
        if plan is None or plan.saved_count != left:
            return
        if any(kind != INPUT for kind, _ in plan.captures[:left]):
            return
        values = [inputs[key] for _, key in plan.captures[:left]]
        if all(isinstance(value, Tensor) for value in values):
            watch = Watch()
            watch.op = op.name
            for value in values:
                self.accept(watch, value)
