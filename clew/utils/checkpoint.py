"""Activation checkpointing: keep the inputs of a block, and compute the rest again in backward.

Without reentrancy, the recommended form, is in checkpoint_frames.py.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from clew import errors
from clew.amp.autocast_mode import autocast_as_it_is
from clew.autograd import _is_checkpoint_valid
from clew.autograd.backward import backward
from clew.autograd.function import Function
from clew.autograd.grad_mode import _Mode, enable_grad, no_grad
from clew.backend.device import device, no_such_device
from clew.backend.random import default_generator
from clew.core.interception import is_capturing
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.interrupts import uninterrupted
from clew.memory import parsed_size
from clew.nn.modules.module import Module
from clew.utils.checkpoint_errors import CheckpointError
from clew.utils.checkpoint_frames import Frame, GraphExecGroup, stream_at
from clew.utils.checkpoint_plan import CheckpointPlan, planned
from clew.utils.selective_checkpoint import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "SAC_IGNORED_OPS",
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "GraphExecGroup",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]


def noop_context_fn() -> Contexts:
    return nullcontext(), nullcontext()


DETERMINISM_CHECKS = ["default", "none"]
# What the contexts below say for all calls of `checkpoint` inside, if one is open.
_early_stop: bool | None = None
_debug: bool | None = None


class set_checkpoint_early_stop(_Mode):
    """Whether recomputation stops as soon as all saved tensors exist again.

    A context for calls of `checkpoint`; it counts where they are made, not in backward.

    Args:
        enable: whether it stops

    Example:
        >>> from clew.utils.checkpoint import checkpoint, set_checkpoint_early_stop
        >>> x = clew.ones(1, requires_grad=True)
        >>> with set_checkpoint_early_stop(False):
        ...     y = checkpoint(clew.exp, x, use_reentrant=False)
        >>> y.backward()
        >>> x.grad
        tensor([2.7183])
    """

    def __init__(self, enable: bool) -> None:
        self.enable = enable
        self._before: Any = None

    def __enter__(self) -> None:
        global _early_stop
        self._before = _early_stop, self._before
        _early_stop = self.enable

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        global _early_stop
        _early_stop, self._before = self._before


class set_checkpoint_debug_enabled(_Mode):
    """Accepted for compatibility: reports always name the operation and the line.

    Args:
        enabled: accepted

    Example:
        >>> from clew.utils.checkpoint import set_checkpoint_debug_enabled
        >>> with set_checkpoint_debug_enabled(True):
        ...     pass
    """

    def __init__(self, enabled: bool | None) -> None:
        self.enabled = enabled
        self._before: Any = None

    def __enter__(self) -> None:
        global _debug
        self._before = _debug, self._before
        _debug = self.enabled

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        global _debug
        _debug, self._before = self._before


def _checkpoint_without_reentrant(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
    preserve_rng_state: bool, context_fn: Callable[[], Contexts], determinism_check: str,
    debug: bool, early_stop: bool,
) -> Any:  # fmt: skip
    if determinism_check not in DETERMINISM_CHECKS:
        raise ValueError(
            f"determinism_check should be one of {DETERMINISM_CHECKS}, but got {determinism_check}"
            + errors.at_user_line()
        )
    forward_context, recompute_context = context_fn()
    if not local.state.grad_enabled:
        return function(*args, **kwargs)
    frame = Frame(
        function, args, kwargs, recompute_context, preserve_rng_state,
        check=determinism_check == "default",
        debug=debug if _debug is None else _debug,
        early_stop=(early_stop if _early_stop is None else _early_stop) and not is_capturing(),
    )  # fmt: skip
    return frame.run(args, forward_context)


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
    """Checkpointing by a backward inside backward (use_reentrant=True).

    Example:
        >>> from clew.utils.checkpoint import CheckpointFunction
        >>> x = clew.ones(1, requires_grad=True)
        >>> CheckpointFunction.apply(clew.exp, True, x).backward()
        >>> x.grad
        tensor([2.7183])
    """

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
        if not _is_checkpoint_valid():
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
        with stream_at(ctx.rng_state), enable_grad(), ctx.autocast:
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
    """Run `function(*args)` without keeping its intermediate results for backward.

    Backward runs the function again. `preserve_rng_state=False` among `kwargs` lets the second run
    draw other random numbers.

    Args:
        function: the block
        args: its arguments
        use_reentrant: False is recommended; the default, with a warning, is True
        context_fn: gives two contexts, for the first run and for the second
        determinism_check: "default" compares the saved tensors of both runs, "none" does not
        debug: accepted; reports always name the operation and the line
        early_stop: stop the second run as soon as all saved tensors exist again
        kwargs: keyword arguments of the function

    Example:
        >>> from clew.utils.checkpoint import checkpoint
        >>> block = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
        >>> x = clew.ones(4, 2, requires_grad=True)
        >>> checkpoint(block, x, use_reentrant=False).sum().backward()
        >>> x.grad.shape
        torch.Size([4, 2])
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
            "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an "
            "exception. use_reentrant=False is recommended, but if you need to preserve the "
            "current default behavior, you can pass use_reentrant=True.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve_rng_state = kwargs.pop("preserve_rng_state", True)
    if not use_reentrant:
        return _checkpoint_without_reentrant(
            function, args, kwargs, preserve_rng_state, context_fn, determinism_check, debug,
            early_stop,
        )  # fmt: skip
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
    """Run a sequence of functions in `segments` parts, each of them but the last checkpointed.

    Args:
        functions: a Sequential, or a list of functions
        segments: the number of parts
        input: the argument of the first function
        use_reentrant: as in `checkpoint`
        kwargs: `preserve_rng_state`, as in `checkpoint`

    Example:
        >>> from clew.utils.checkpoint import checkpoint_sequential
        >>> model = nn.Sequential(*[nn.Linear(2, 2) for _ in range(6)])
        >>> x = clew.ones(1, 2, requires_grad=True)
        >>> checkpoint_sequential(model, 3, x, use_reentrant=False).shape
        torch.Size([1, 2])
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be "
            "passed explicitly. In version 2.9 we will raise an exception if use_reentrant is not "
            "passed. use_reentrant=False is recommended, but if you need to preserve the current "
            "default behavior, you can pass use_reentrant=True.",
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
    last = size * (segments - 1)
    for start in range(0, last, size):
        input = checkpoint(
            run(start, start + size), input, use_reentrant=use_reentrant,
            preserve_rng_state=preserve_rng_state,
        )  # fmt: skip
    return run(last, len(steps))(input)


def plan(
    model: Module,
    sample: Any,
    budget: int | float | str,
    *,
    loss: Callable[[Any], Tensor] | None = None,
) -> CheckpointPlan:
    """Choose the modules to checkpoint, so that forward and backward fit into a budget.

    The model runs on the sample a few times. The items of its Sequentials and ModuleLists (of a
    Sequential also several in a row as one) are checkpointed where that frees the most memory for
    the time that it costs, and the choice is measured. Gradients, buffers and the random stream are
    left as they were. A RuntimeError names the least memory where the budget is too small.

    Args:
        model: the model
        sample: its argument; a tuple of arguments, or a dict of keyword arguments
        budget: bytes, or a text such as "2 GiB": parameters, their gradients, the sample and all
            that a step computes, without the optimizer
        loss: gives the loss from the model's result; the sum of what it returns, if left out

    Example:
        >>> from clew.utils.checkpoint import plan
        >>> model = nn.Sequential(*[nn.Sequential(nn.Linear(8, 8), nn.Tanh()) for _ in range(3)])
        >>> found = plan(model, clew.ones(4, 8), "1 GiB")
        >>> with found:
        ...     model(clew.ones(4, 8)).sum().backward()
        >>> found.modules
        []
    """
    return planned(model, sample, parsed_size(budget), loss, checkpoint)


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The random states of the accelerators that the tensors are on: there are none."""
    return [], []


def set_device_states(
    devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None
) -> None:
    """Set the random states of accelerators, as `get_device_states` gave them.

    Args:
        devices: their numbers: none, here
        states: their states
        device_type: their kind

    Example:
        >>> from clew.utils.checkpoint import get_device_states, set_device_states
        >>> set_device_states(*get_device_states(clew.ones(1)))
    """
    if devices:
        raise no_such_device(device(device_type or "cuda"))


class DefaultDeviceType:
    """The accelerator whose random states matter when no tensor says which: there is none.

    Example:
        >>> clew.utils.checkpoint.DefaultDeviceType.get_device_type()
        'cpu'
    """

    _type = "cpu"

    @staticmethod
    def set_device_type(device: str = "cpu") -> None:
        DefaultDeviceType._type = device

    @staticmethod
    def get_device_type() -> str:
        return DefaultDeviceType._type
