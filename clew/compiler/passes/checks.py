"""Checks of values that Python has read move up to where the values are computed.

The sooner a replay notices that it must be another trace, the less there is to undo.
"""

from __future__ import annotations

from clew.compiler.graph import CALL, CHECK, COMPUTED, Graph, Instruction


def hoist_checks(graph: Graph) -> None:
    """Put each check behind the last instruction that makes or writes its value."""
    result: list[Instruction] = []
    for instruction in graph.instructions:
        if instruction.kind != CHECK:
            result.append(instruction)
            continue
        values = set(instruction.reads())
        memory = {value.alias for value in values}
        place = len(result)
        while place > 0:
            before = result[place - 1]
            if before.kind == CALL and any(value.kind != COMPUTED for value in memory):
                break
            if not values.isdisjoint(before.outputs):
                break
            if any(written.alias in memory for written in before.writes()):
                break
            place -= 1
        result.insert(place, instruction)
    graph.instructions = result
