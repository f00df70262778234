"""Constants that nobody writes to and nobody gets are used where they lie: they need no copy."""

from __future__ import annotations

import numpy as np

from clew.compiler.graph import COMPUTE, CONSTANT, Graph, Instruction, Value


def share_constants(graph: Graph) -> None:
    """Let values that are copies of constants be these, where their memory stays what it is."""
    changed = {value.alias for each in graph.instructions for value in each.writes()}
    # What is returned, or kept for a backward, is memory of the caller's.
    changed.update(value.alias for value in graph.results)
    kept = []
    for instruction in graph.instructions:
        value = _copied(instruction)
        if value is None or value.alias in changed:
            kept.append(instruction)
            continue
        value.kind, value.source = CONSTANT, instruction.inputs[0].source
    graph.instructions = kept


def _copied(instruction: Instruction) -> Value | None:
    """The value that an instruction makes of a constant, if it lies in memory as that does."""
    if instruction.kind != COMPUTE or instruction.detail is not np.copy:
        return None
    (source,), (value,) = instruction.inputs, instruction.outputs
    is_same = value is not None and source.kind == CONSTANT and source.strides == value.strides
    return value if is_same else None
