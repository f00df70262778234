"""Dead code: what nobody uses is left out, if it changes nothing and raises no error."""

from __future__ import annotations

from clew.compiler.graph import Graph, Value


def remove_dead_code(graph: Graph) -> None:
    """Keep what has an effect, what is returned, and what these need."""
    needed: set[Value] = set(graph.results)
    # A write is needed if somebody may see the memory: memory of this call alone, which is neither
    # read later nor returned, is seen by nobody.
    kept = []
    for instruction in reversed(graph.instructions):
        is_effect = instruction.has_effect or instruction.may_raise
        if is_effect or any(out in needed for out in instruction.outputs):
            kept.append(instruction)
            needed.update(instruction.reads())
    graph.instructions = kept[::-1]
