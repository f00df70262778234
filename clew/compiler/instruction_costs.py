"""What instructions cost: the time of each, and the memory that it needs besides its results.

Both are measured twice. While a call is captured, every operation runs under a meter. That says too
much where kernels are compiled meanwhile; so what may run at any time (it computes, and writes
nothing) runs once more by itself afterwards, on numbers of no meaning where its operands are gone.
"""

from __future__ import annotations

import contextlib
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from clew.backend.allocation import trim_malloc
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
from clew.kernels.runtime.aligned_allocator import empty_cache
from clew.memory import counted_memory

# An instruction runs so often, unless it takes longer than this.
_RUNS, _LONG = 5, 0.02
# With more bytes than this, kernels have buffers that count, and pages are small beside them.
_LARGE = 2 << 20
_CLEAR_REFS, _STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


class Meter:
    """Time and memory from `begin` to `end`."""

    def begin(self) -> None:
        tracemalloc.reset_peak()
        self.before = tracemalloc.get_traced_memory()[0]
        self.began = perf_counter()

    def end(self, instruction: Instruction) -> None:
        """Note the costs of an instruction that has just run."""
        instruction.seconds = perf_counter() - self.began
        made = _made(instruction)
        now, peak = tracemalloc.get_traced_memory()
        # What stays is no scratch memory: results, and what an optimizer remembers from now on.
        instruction.scratch = max(0, peak - max(self.before + made, now))


def _made(instruction: Instruction) -> int:
    """The bytes of the arrays that an instruction makes."""
    return sum(
        out.nbytes
        for out in instruction.outputs
        if out is not None and out.alias is out and out.kind == COMPUTED
    )


class HighWaterMark:
    """How far the process's memory grows inside of a `with` block, as far as the system tells.

    Kernels have buffers of their own, which Python does not count. The mark of the whole process
    begins anew.
    """

    growth = 0

    def __enter__(self) -> HighWaterMark:
        self.before = 0
        with contextlib.suppress(OSError):  # not Linux, or not allowed
            empty_cache()
            trim_malloc()
            _CLEAR_REFS.write_text("5")
            self.before = self._mark()
        return self

    def __exit__(self, *exc: object) -> None:
        if self.before:
            self.growth = self._mark() - self.before

    def _mark(self) -> int:
        (line,) = [each for each in _STATUS.read_text().splitlines() if each.startswith("VmHWM")]
        return int(line.split()[1]) * 1024


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
        if _made(instruction) + sum(array.nbytes for array in arrays) > _LARGE:
            with HighWaterMark() as mark:
                program.run(arrays, ())
            instruction.scratch = max(instruction.scratch, mark.growth - _made(instruction))
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
    if value.kind == INPUT and value.source < len(tensors):
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
