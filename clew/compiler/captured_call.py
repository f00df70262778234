"""Capturing one call: it runs eagerly under observation, and becomes a trace if it can be one."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any

from clew import observer
from clew.compiler.capture import Capture
from clew.compiler.code_names import Executed
from clew.compiler.instruction_costs import Meter
from clew.compiler.joint import Joint, backward_of
from clew.compiler.library_events import LibraryEvents
from clew.compiler.reachable import Reached, TooMuch, require_strides
from clew.compiler.read_numbers import GivenNumbers, noticing, plain
from clew.compiler.results import Output, escaped, is_made_by_call, is_same_tree, outputs_of
from clew.compiler.side_effects import changed_outside, outside_state, root_of
from clew.compiler.trace import Trace
from clew.compiler.watch import Watch
from clew.core import interception
from clew.core.storage import next_sequence_number
from clew.core.tensor import Tensor
from clew.interrupts import is_from_handler, run_to_end
from clew.memory import MemoryBudgetError, counted_memory
from clew.nn.parameter import Parameter
from clew.utils._pytree import tree_flatten, tree_map


def capture_call(
    function: Callable[..., Any],
    roots: Sequence[Any],
    tensors: list[Tensor],
    args: Any,
    kwargs: Any,
    numbers: tuple[float, ...] = (),
    memory: int | None = None,
    background: bool = False,
) -> tuple[Any, Trace | None, str | None]:
    """Run a call and compile it: its result, and a trace or the reason why there is none.

    `memory` are the bytes that replays may use. With `background` the trace is still to be
    compiled.
    """
    try:
        reached = _walked(function, roots)
        require_strides((*tensors, *reached.tensors.values()))
    except TooMuch as too_much:
        return function(*args, **kwargs), None, str(too_much)
    capture = Capture(None if memory is None else Meter())
    capture.given(tensors, GivenNumbers(numbers))
    try:
        return _captured(
            function, roots, capture, reached, tensors, args, kwargs, memory, background
        )
    finally:
        for given in (capture.readings.given, capture.numbers.given):
            given.end(reached.containers())


def _captured(
    function: Callable[..., Any],
    roots: Sequence[Any],
    capture: Capture,
    reached: Reached,
    tensors: list[Tensor],
    args: Any,
    kwargs: Any,
    memory: int | None,
    background: bool,
) -> tuple[Any, Trace | None, str | None]:
    """What `capture_call` returns."""
    given = capture.numbers
    for tensor in reached.tensors.values():
        capture.known_before(tensor)
    known = [each._array for tensor in reached.tensors.values() for each in (tensor, tensor._grad)
             if each is not None]  # fmt: skip
    if not {root_of(each._array) for each in tensors}.isdisjoint(map(root_of, known)):
        capture.refuse("an argument shares memory with state of the function")
    if any(type(each) not in (Tensor, Parameter) for each in tensors):
        capture.refuse("an argument is of a subclass of Tensor")
    outside = outside_state()
    start = next_sequence_number()
    events = LibraryEvents(capture)
    before = tree_flatten((args, kwargs))
    given_args = (args, kwargs) if reached.may_look else noticing(given, args, kwargs)
    watch = Watch(capture, reached)
    collects = gc.isenabled()
    try:
        # What the collector calls, at any moment, is no part of the call.
        gc.disable()
        observer.install(events)
        interception.install(capture)
        watch.start()
        with nullcontext() if memory is None else counted_memory():
            result = function(*given_args[0], **given_args[1])
    finally:
        # Each also where a signal interrupts the one before it.
        try:
            watch.stop()
        finally:
            try:
                interception.remove(capture)
                run_to_end(functools.partial(observer.remove, events))
            finally:
                if collects:
                    gc.enable()
    if not is_same_tree(before, tree_flatten((args, kwargs))):
        capture.refuse("the call changes a container that it is given")
    if not is_made_by_call((args, kwargs), result, reached):
        capture.refuse("a container that was there before the call is returned")
    try:
        outputs, spec, joint, problem = _outputs(capture, reached, result, tensors, start, outside)
        trace = None
        if problem is None:
            guards = reached
            if not reached.has_caches:
                # What it has not looked at may be another in a replay.
                watch.executed.looks_at_all |= reached.looks_at_all
                guards = _walked(function, roots, watch.executed, reached.names_asked)
            trace = Trace(function, guards, capture, outputs, spec, joint, tensors, memory)
        if trace is not None and not background:
            problem = trace.compile(tensors)
            trace = None if problem else trace
    except Exception as error:
        if is_from_handler(error) or isinstance(error, MemoryBudgetError):
            raise
        # The call itself is done, and its result is right: it is only not compiled. (Such is the
        # backward of an operation that has none.)
        trace = None
        problem = f"compiling it raises {type(error).__name__}: {first_line(error)}"
    is_noticing = capture.readings.all or given.numbers
    return (tree_map(plain, result) if is_noticing else result), trace, problem


def first_line(error: Exception) -> str:
    """The first line of an error's text."""
    return next(iter(str(error).splitlines()), "")


def _outputs(
    capture: Capture, reached: Reached, result: Any, tensors: list[Tensor], start: int, outside: Any
) -> tuple[list[Output], Any, Joint | None, str | None]:
    """What a call returns, in which containers, with its backward; or why it cannot be captured."""
    leaves, spec = tree_flatten(result)
    problem = capture.problem or capture.unexplained() or changed_outside(outside)
    changed = None if problem else reached.changed_by_call()
    if changed is not None:
        problem = f"the call changes {changed}, which a compiled call would not"
    if problem is None:
        problem = escaped(capture, leaves, tensors)
    outputs: list[Output] = []
    if problem is None:
        outputs, problem = outputs_of(capture, leaves, tensors, reached)
    joint = None
    if problem is None:
        attached = [leaf for leaf, out in zip(leaves, outputs, strict=True) if out.number >= 0]
        joint = backward_of(capture, attached, tensors, start)
        problem = capture.problem
    return outputs, spec, joint, problem


def _walked(
    function: Callable[..., Any],
    roots: Sequence[Any],
    executed: Executed | None = None,
    names_asked: Sequence[Iterable[str]] = (),
) -> Reached:
    reached = Reached(executed)
    reached.walk(function, getattr(function, "__name__", "the function"))
    for root in roots:
        reached.walk(root, "an argument")
    for names in names_asked:
        reached.read_optimizers(names)
    return reached
