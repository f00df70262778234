"""Activation checkpointing: keep the inputs of a block, and compute the rest again in backward.

Without reentrancy (the recommended form) the block runs as always, but what its nodes would save is
replaced by placeholders. The first placeholder that backward asks for runs the block once more, up
to the point where the last saved tensor exists. Each saved tensor is compared with the first run,
so that a block that does not repeat itself is reported with the operation and line that differ.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from clew import errors
from clew.amp.autocast_mode import autocast_as_it_is
from clew.autograd.backward import backward
from clew.autograd.function import Function
from clew.autograd.graph import saved_tensors_hooks
from clew.autograd.mode import _Mode, enable_grad, no_grad
from clew.backend.device import device, no_such_device
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

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]


class CheckpointError(RuntimeError):
    """The second run of a checkpointed block differs from the first."""


def noop_context_fn() -> Contexts:
    return nullcontext(), nullcontext()


_early_stop_enabled = True


class set_checkpoint_early_stop(_Mode):
    """Whether recomputation stops as soon as all saved tensors exist again."""

    def __init__(self, enable: bool) -> None:
        self.enable = enable
        self._before: Any = None

    def __enter__(self) -> None:
        global _early_stop_enabled
        self._before = _early_stop_enabled, self._before
        _early_stop_enabled = self.enable

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        global _early_stop_enabled
        _early_stop_enabled, self._before = self._before


class set_checkpoint_debug_enabled(_Mode):
    """Accepted for compatibility: reports always name the operation and the line."""

    def __init__(self, enabled: bool | None) -> None:
        self.enabled = enabled

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        return None


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


class _Watch(Interceptor):
    """Knows which operation is running, so that a saved tensor can be traced to it."""

    def __init__(self, frame: _Frame, recomputing: _Recomputation | None = None) -> None:
        self.frame = frame
        self.recomputing = recomputing
        self.op = ""

    def take_over(self) -> None:
        """Watch in place of the block around this one, which sees none of what is saved here."""
        install(self)
        if isinstance(self.outer, _Watch):
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

    def __init__(self, frame: _Frame, index: int) -> None:
        self.frame = frame
        self.index = index


class _Frame:
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

    def note(self, watch: _Watch, tensor: Tensor) -> _SavedNote:
        return _SavedNote(watch.op, user_where(), tensor._array.shape, tensor.dtype)

    def forward_hooks(self, watch: _Watch) -> saved_tensors_hooks:
        def pack(tensor: Tensor) -> _Placeholder:
            observer = active.observer
            if observer is not None:
                observer.checkpoint_saved(self, tensor)
            self.notes.append(self.note(watch, tensor))
            return _Placeholder(self, len(self.notes) - 1)

        return saved_tensors_hooks(pack, self.recall)

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


class _stream_at:
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

    def __init__(self, frame: _Frame) -> None:
        self.frame = frame
        self.found: dict[int, Tensor] = {}
        self.count = 0

    def run(self) -> dict[int, Tensor]:
        frame, state = self.frame, local.state
        intercept = state.intercept
        watch = _Watch(frame, self)
        try:
            state.intercept = frame.transforms or (None if _transforms(intercept) else intercept)
            watch.take_over()
            with (
                _stream_at(frame.rng_state), enable_grad(), frame.autocast,
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

    def hooks(self, watch: _Watch) -> saved_tensors_hooks:
        def pack(tensor: Tensor) -> Tensor:
            return self.accept(watch, tensor)

        return saved_tensors_hooks(pack, lambda tensor: tensor)

    def accept(self, watch: _Watch, tensor: Tensor) -> Tensor:
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
            watch = _Watch(self.frame)
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


def _checkpoint_without_reentrant(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
    preserve_rng_state: bool, context_fn: Callable[[], Contexts], determinism_check: str,
    early_stop: bool,
) -> Any:  # fmt: skip
    forward_context, recompute_context = context_fn()
    state = local.state
    if not state.grad_enabled:
        with forward_context:
            return function(*args, **kwargs)
    frame = _Frame(
        function, args, kwargs, recompute_context, preserve_rng_state, determinism_check,
        early_stop and _early_stop_enabled,
    )  # fmt: skip
    watch = _Watch(frame)
    intercept = state.intercept
    try:
        watch.take_over()
        with forward_context, frame.forward_hooks(watch):
            result = function(*args, **kwargs)
        frame.forget_unused_state()
        return result
    finally:
        state.intercept = intercept


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Leaves with the same values, which ask for gradients where the originals do."""
    detached = []
    for value in inputs:
        if isinstance(value, Tensor):
            leaf = value.detach()
            leaf.requires_grad = value.requires_grad
            value = leaf
        detached.append(value)
    return tuple(detached)


def check_backward_validity(inputs: Sequence[Any]) -> None:
    if not any(isinstance(value, Tensor) and value.requires_grad for value in inputs):
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None", stacklevel=3
        )


class CheckpointFunction(Function):
    """Checkpointing by a backward inside backward (use_reentrant=True)."""

    @staticmethod
    def forward(
        ctx: Any, function: Callable[..., Any], preserve_rng_state: bool, *args: Any
    ) -> Any:
        check_backward_validity(args)
        ctx.function = function
        ctx.autocast = autocast_as_it_is()
        ctx.rng_state = default_generator.get_state() if preserve_rng_state else None
        ctx.others = [None if isinstance(value, Tensor) else value for value in args]
        ctx.tensor_places = [i for i, value in enumerate(args) if isinstance(value, Tensor)]
        ctx.save_for_backward(*[args[i] for i in ctx.tensor_places])
        with no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if local.state.backward_runs[-1].needed is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                "passing an `inputs` parameter to .backward(). To resolve this error, you can "
                "either set use_reentrant=False, or call .backward() without passing the `inputs` "
                "argument."
            )
        inputs = list(ctx.others)
        for place, tensor in zip(ctx.tensor_places, ctx.saved_tensors, strict=True):
            inputs[place] = tensor
        leaves = detach_variable(tuple(inputs))
        outputs = CheckpointFunction._run_again(ctx, leaves)
        pairs = [
            (output, grad)
            for output, grad in zip(outputs, grads, strict=True)
            if isinstance(output, Tensor) and output.requires_grad
        ]
        if not pairs:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        backward([output for output, _ in pairs], [grad for _, grad in pairs])
        found = [leaf.grad if isinstance(leaf, Tensor) else None for leaf in leaves]
        return (None, None, *found)

    @staticmethod
    def _run_again(ctx: Any, leaves: tuple[Any, ...]) -> tuple[Any, ...]:
        with _stream_at(ctx.rng_state), enable_grad(), ctx.autocast:
            outputs = ctx.function(*leaves)
        return outputs if isinstance(outputs, tuple) else (outputs,)


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Run `function(*args)` without keeping its intermediate results for backward."""
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
            "use_reentrant=False is recommended; the default is still True.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve_rng_state = kwargs.pop("preserve_rng_state", True)
    if not use_reentrant:
        return _checkpoint_without_reentrant(
            function, args, kwargs, preserve_rng_state, context_fn, determinism_check, early_stop
        )
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError(
            "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
        )
    return CheckpointFunction.apply(function, preserve_rng_state, *args)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Run a sequence of functions in `segments` parts, each of them but the last checkpointed."""
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be "
            "passed explicitly. use_reentrant=False is recommended; the default is still True.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve_rng_state = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def run(start: int, end: int) -> Callable[[Any], Any]:
        def segment(value: Any) -> Any:
            for step in steps[start:end]:
                value = step(value)
            return value

        return segment

    size = len(steps) // segments
    start = 0
    for number in range(segments - 1):
        start, end = number * size, (number + 1) * size
        input = checkpoint(
            run(start, end), input, use_reentrant=use_reentrant,
            preserve_rng_state=preserve_rng_state,
        )  # fmt: skip
    return run(size * (segments - 1), len(steps))(input)


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The random states of the accelerators that the tensors are on: there are none."""
    return [], []


def set_device_states(
    devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None
) -> None:
    """Set the random states of accelerators, as `get_device_states` gave them."""
    if devices:
        raise no_such_device(device(device_type or "cuda"))
