"""Dead code: instructions whose results nobody uses, and that change nothing, are left out."""

from __future__ import annotations

from clew.compiler.graph import Graph, Value


def remove_dead_code(graph: Graph) -> None:
    """Keep what has an effect, what is returned, and what these need."""
    needed: set[Value] = set(graph.results)
    # A write is needed if somebody may see the memory: memory of this call alone, which is neither
    # read later nor returned, is seen by nobody.
    kept = []
    for instruction in reversed(graph.instructions):
        if instruction.has_effect or any(out in needed for out in instruction.outputs):
            kept.append(instruction)
            needed.update(instruction.reads())
    graph.instructions = kept[::-1]
