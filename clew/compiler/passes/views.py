"""Views that show the same elements in the same order are one value: transposed twice is itself."""

from __future__ import annotations

from clew.compiler.graph import VIEW, Graph, Value


def merge_views(graph: Graph) -> None:
    """Replace each view by a value that lies in the same memory in the same way."""
    known: dict[tuple[object, ...], Value] = {}
    same: dict[Value, Value] = {}
    for value in graph.values:
        if value.alias is value:
            known[_place(value)] = value
    kept = []
    for instruction in graph.instructions:
        if instruction.kind == VIEW and not instruction.is_random:
            outs = [out for out in instruction.outputs if out is not None]
            for out in outs:
                other = known.setdefault(_place(out), out)
                if other is not out:
                    same[out] = other
            if all(out in same for out in outs):
                continue
        kept.append(instruction)
    graph.instructions = kept
    graph.replace(same)


def _place(value: Value) -> tuple[object, ...]:
    strides = tuple(
        step for step, length in zip(value.strides, value.shape, strict=True) if length != 1
    )
    return value.alias, value.address, value.dtype, value.shape, strides
