"""Which instructions become segments: as many neighbours as have a native form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from clew.compiler.graph import ACCUMULATE, CALL, GRAD, STATE, VIEW, Graph, Instruction, Value
from clew.compiler.native.calls import Calls
from clew.compiler.native.layouts import Declined, Layout, Roots, memory_order, row_major
from clew.compiler.native.lowering import lowered
from clew.compiler.native.optimizer_steps import is_step
from clew.compiler.native.segments import Check, Segment
from clew.compiler.passes.overlap import finish_products, start_product
from clew.kernels.runtime.command_interpreter import MOST_ARGUMENTS, MOST_POINTERS

# A segment of fewer calls is not worth its own.
_FEWEST_CALLS = 2

Item = Instruction | Segment | Check


def segmented(
    graph: Graph,
    taken: Collection[Instruction] = (),
    cuts: Collection[Instruction] = (),
    with_steps: bool = False,
) -> list[Item]:
    """The instructions of a graph, with segments where several in a row have a native form.

    `taken` are those that give a leaf the memory of a gradient. What a segment is given and makes
    takes memory as long as it runs: it ends before each of `cuts`. With `with_steps`, steps of
    optimizers that are ready are parts of segments.
    """
    segmentation = _Segmentation(graph, taken)
    for instruction in graph.instructions:
        if with_steps and is_step(instruction):
            segmentation.step(instruction)
        else:
            segmentation.next(instruction, instruction in cuts)
    segmentation.close()
    _finish(graph, segmentation.items, segmentation.roots)
    flat: list[Item] = []
    for item in segmentation.items:
        flat.append(item)
        if isinstance(item, Segment):
            flat += item.after
    return flat


class _Segmentation:
    """The items so far, and the segment that is open."""

    def __init__(self, graph: Graph, taken: Collection[Instruction]) -> None:
        self.graph, self.taken = graph, taken
        self.roots = Roots(graph)
        self.items: list[Instruction | Segment] = []
        self.segment = Segment(0)
        # Whether Python has started products since it last waited.
        self.is_pending = False
        # Memory that segments have made: it lies as it was captured.
        self.made: set[Value] = set()

    def close(self) -> None:
        """End the segment."""
        segment = self.segment
        self._wait()
        if len(segment.calls) >= _FEWEST_CALLS or segment.steps:
            self.items.append(segment)
            self.made.update(_in_order(segment))
        else:
            self.items.extend(segment.members)
            self.items.extend(each for each in segment.after if isinstance(each, Instruction))
            self.is_pending |= any(each.detail is start_product for each in segment.members)
        self.segment = Segment(len(self.items))

    def _wait(self) -> None:
        """Let the segment wait for the products that it has started."""
        if self.segment.has_pending:
            instruction = Instruction(CALL, "wait", finish_products, (), {}, ())
            self.segment.add(instruction, lowered(instruction, self.roots))
            self.segment.has_pending = False

    def step(self, instruction: Instruction) -> None:
        """A step of an optimizer that is ready."""
        if not self.segment.add_step(instruction, self.roots):
            self.close()
            if not self.segment.add_step(instruction, self.roots):
                self.items.append(instruction)

    def next(self, instruction: Instruction, is_cut: bool) -> None:
        """The next instruction."""
        if instruction.detail is finish_products and not self.is_pending:
            self._wait()
            return
        is_full = self.segment.pointers > MOST_POINTERS - 2 * MOST_ARGUMENTS
        if is_full or is_cut or self._comes_after(instruction):
            self.close()
        segment = self.segment
        if instruction.kind == VIEW:
            segment.members.append(instruction)
        elif instruction.kind == ACCUMULATE and instruction.outputs and segment.calls:
            segment.defer(instruction, self._place(instruction))
        elif (made := self._native(instruction)) is not None:
            is_late = self._writes_outside(instruction) and segment.stopped < len(segment.checks)
            if made.may_stop or is_late:
                # Where the commands end, nobody else would wait for them.
                self._wait()
            if is_late:
                segment.stop()
            segment.add(instruction, made)
        else:
            self.close()
            self.items.append(instruction)
            self.is_pending |= instruction.detail is start_product
            self.is_pending &= instruction.detail is not finish_products

    def _comes_after(self, instruction: Instruction) -> bool:
        """Whether an instruction must come after those that the segment has deferred."""
        segment = self.segment
        late = [v.alias for v in instruction.reads() if v.alias in segment.written_after]
        if not late:
            return any(value.alias in segment.read_after for value in instruction.writes())
        # Kernels find a gradient where it lies before its leaf gets it; what is checked when the
        # segment has run does not.
        gives = instruction.kind == ACCUMULATE and instruction.outputs
        if instruction.kind == VIEW or gives or not all(v in segment.given for v in late):
            return True
        made = self._native(instruction)
        return made is None or bool(made.checks) or not made.calls

    def _place(self, instruction: Instruction) -> Layout | None:
        """Where a gradient lies in memory of the segment, which its leaf takes as it is."""
        g, out = instruction.inputs[0], instruction.outputs[0]
        if instruction not in self.taken or out is None or out is g:
            return None
        is_own = any(g in each.outputs for each in self.segment.members)
        is_same = (out.shape, out.strides, out.dtype) == (g.shape, g.strides, g.dtype)
        return self.roots.layout(g) if is_own and is_same else None

    def _native(self, instruction: Instruction) -> Calls | None:
        for value in instruction.writes():
            root = self.roots[value]
            if root not in self.made and not self.segment.owns(root):
                return None
        if instruction not in self.graph.lowered:
            self.graph.lowered[instruction] = _lowered(instruction, self.roots)
        found: Calls | None = self.graph.lowered[instruction]
        return found

    def _writes_outside(self, instruction: Instruction) -> bool:
        """Whether it writes to memory that is there when the segment has failed."""
        written = [self.roots[value] for value in instruction.writes()]
        return any(root.kind in (STATE, GRAD) or root in self.made for root in written)


def _in_order(segment: Segment) -> list[Value]:
    """The memory that a segment makes, or gives to leaves, where its elements are in order.

    Other memory may be copied for those that read it.
    """
    made = [out for each in segment.members if each.kind != VIEW for out in each.outputs]
    return [
        each
        for each in (*made, *segment.given)
        if each is not None and each.strides == row_major(each.shape, each.dtype.itemsize)
    ]


def _lowered(instruction: Instruction, roots: Roots) -> Calls | None:
    if instruction.kind == CALL:
        return None
    try:
        made = lowered(instruction, roots)
    except Declined:
        return None
    for out in instruction.outputs:
        # Some operations give back what they are given.
        if out is not None and (out.alias is not out or out in instruction.reads()):
            return None
        if out is not None and memory_order(out) is None:
            return None
    if any(len(each.operands) > MOST_ARGUMENTS for each in made.calls):
        return None
    # In Python it needs about as much.
    instruction.scratch = max(instruction.scratch, made.scratch)
    return made


def _finish(graph: Graph, items: Sequence[Instruction | Segment], roots: Roots) -> None:
    """Tell every segment what others read of its values, the last first: views that one makes for
    others may be views of what an earlier one made."""
    # For each value, how many read it: segments, results, and what comes after a segment.
    readers: Counter[Value] = Counter(graph.results)
    inside: dict[Segment, set[Value]] = {}
    for item in items:
        if isinstance(item, Segment):
            # It needs the memory; views it knows by their layout.
            inside[item] = {roots[v] for each in item.members for v in each.reads()}
            readers.update(inside[item])
            readers.update(_read_after(item))
        else:
            readers.update(item.reads())
    for item in reversed(items):
        if isinstance(item, Segment):
            made = [out for each in item.members for out in each.outputs if out is not None]
            known = {value for out in made for value in (out, roots[out])}
            needed = {v for v in known if readers[v] > (v in inside[item])}
            before = set(item.after)
            item.finish(roots.with_memory(needed), roots)
            added = [each for each in item.after if each not in before]
            readers.update(v for each in added for v in each.reads())


def _read_after(segment: Segment) -> set[Value]:
    """What is read of a segment's values when it has run."""
    found = {v for each in segment.after for v in each.reads()}
    arguments = (each for _, _, given in segment.checks for each in given)
    found.update(
        each.value for each in arguments if isinstance(each, Layout) and each.value is not None
    )
    return found
