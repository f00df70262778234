"""What instructions cost: the time of each, and the memory that it needs besides its results.

Both are measured twice. While a call is captured, every operation runs under a meter. That says too
much where kernels are compiled meanwhile; so what may run at any time (it computes, and writes
nothing) runs once more by itself afterwards, on numbers of no meaning where its operands are gone.
"""

from __future__ import annotations

import contextlib
import tracemalloc
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from clew.compiler.graph import (
    BACKWARD,
    COMPUTE,
    COMPUTED,
    CONSTANT,
    FUSED,
    INPUT,
    STATE,
    Graph,
    Instruction,
    Value,
    mapped,
)
from clew.compiler.program import Program
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.interrupts import is_from_handler
from clew.kernels.gemm.products import finish

# An instruction runs so often, unless it takes longer than this.
_RUNS, _LONG = 5, 0.02


@contextlib.contextmanager
def counted_memory() -> Iterator[None]:
    """Have Python count the memory of arrays."""
    if tracemalloc.is_tracing():
        yield
        return
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


class Meter:
    """Time and memory from `begin` to `end`."""

    def begin(self) -> None:
        tracemalloc.reset_peak()
        self.before = tracemalloc.get_traced_memory()[0]
        self.began = perf_counter()

    def end(self, instruction: Instruction) -> None:
        """Note the costs of an instruction that has just run."""
        instruction.seconds = perf_counter() - self.began
        made = sum(out.nbytes for out in instruction.outputs if out is not None and _is_new(out))
        instruction.scratch = max(0, tracemalloc.get_traced_memory()[1] - self.before - made)


def _is_new(value: Value) -> bool:
    return value.alias is value and value.kind == COMPUTED


def measure(graph: Graph, tensors: Sequence[Tensor]) -> None:
    """Measure the instructions of a graph that can be run by themselves."""
    known: dict[Any, tuple[float, int]] = {}
    for instruction in graph.instructions:
        if instruction.kind not in (COMPUTE, FUSED, BACKWARD) or instruction.has_effect:
            continue
        key = _likeness(instruction)
        if key not in known:
            try:
                known[key] = _alone(instruction, tensors)
            except Exception as error:
                if is_from_handler(error):
                    raise
                # Its operands mean something: what the meter has found stays.
                known[key] = instruction.seconds, instruction.scratch
        instruction.seconds, instruction.scratch = known[key]


def _likeness(instruction: Instruction) -> tuple[Any, ...]:
    """Instructions for which this is equal cost the same."""
    detail = instruction.detail
    what = detail.kernel if instruction.kind == FUSED else detail
    if instruction.kind == BACKWARD:
        what = detail[0], tuple(index for index, _, _ in detail[1])

    def like(leaf: Any) -> str:
        return str((leaf.shape, leaf.dtype, leaf.strides)) if isinstance(leaf, Value) else str(leaf)

    operands = mapped((instruction.inputs, list(instruction.params.values())), like)
    return instruction.kind, id(what) if instruction.kind != BACKWARD else what, str(operands)


def _alone(instruction: Instruction, tensors: Sequence[Tensor]) -> tuple[float, int]:
    """The seconds and the scratch memory of an instruction, run by itself."""
    program = _program(instruction)
    reads = list(dict.fromkeys(instruction.reads()))
    arrays = [_operand(value, tensors) for value in reads]
    state = local.state
    grad_enabled, state.grad_enabled = state.grad_enabled, False
    try:
        program.run(arrays, ())
        with counted_memory():
            meter = Meter()
            meter.begin()
            program.run(arrays, ())
            meter.end(instruction)
        # Counting takes time itself.
        best = float("inf")
        for _ in range(_RUNS if instruction.seconds < _LONG else 1):
            program.run(arrays, ())
            best = min(best, program.seconds[0])
    finally:
        state.grad_enabled = grad_enabled
        finish(state.pending_products)
    return best, instruction.scratch


def _program(instruction: Instruction) -> Program:
    """A program of one instruction, whose operands are its arguments."""
    graph = Graph()
    given: dict[Value, Value] = {}
    for place, value in enumerate(dict.fromkeys(instruction.reads())):
        given[value] = graph.copy_value(value)
        given[value].kind, given[value].source = INPUT, place

    def change(leaf: Any) -> Any:
        return given[leaf] if isinstance(leaf, Value) else leaf

    inputs, params = mapped((instruction.inputs, instruction.params), change)
    outputs = tuple(None if out is None else graph.copy_value(out) for out in instruction.outputs)
    copy = Instruction(
        instruction.kind, instruction.name, instruction.detail, inputs, params, outputs
    )
    copy.grad_enabled = instruction.grad_enabled
    graph.instructions = [copy]
    return Program(graph, timed=True)


def _operand(value: Value, tensors: Sequence[Tensor]) -> np.ndarray:
    if value.kind == STATE:
        state: np.ndarray = value.source._array
        return state
    if value.kind == INPUT:
        return tensors[value.source]._array
    if value.kind == CONSTANT:
        constant: np.ndarray = value.source
        return constant
    return _numbers(value)


def _numbers(value: Value) -> np.ndarray:
    """Numbers of no meaning, in memory as a value has it: zeros where they may be indices."""
    sides = zip(value.shape, value.strides, strict=True)
    spans = [(length - 1) * stride for length, stride in sides]
    count = (sum(map(abs, spans)) // value.dtype.itemsize + 1) if value.size else 0
    memory = np.zeros(count, value.dtype)
    if value.dtype.kind in "fc":
        memory[...] = np.resize(np.linspace(-1.0, 1.0, 1021), count)
    start = -sum(span for span in spans if span < 0)
    return np.ndarray(value.shape, value.dtype, memory.view(np.uint8), start, value.strides)
