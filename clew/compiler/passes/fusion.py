"""Fusion: neighbouring elementwise operations of one shape become one kernel.

A cluster stays open while elementwise operations that use its values, or its operands, follow; it
is emitted as one instruction before the first other instruction that needs one of its values, or
that writes to memory which it reads. Values that only a later cluster needs are computed again in
there where that reads no more memory than loading them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from clew.compiler.expressions import MASKED, expression
from clew.compiler.fused_kernels import FusedKernel, operations
from clew.compiler.graph import (
    CALL,
    COMPUTE,
    COMPUTED,
    FUSED,
    Graph,
    Instruction,
    Value,
    is_barrier,
)
from clew.core.op import Op

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_BOOL = np.dtype(np.bool_)
# A ufunc takes so many operands, and LLVM's time grows with the size of a kernel.
MOST_OPERANDS = 24
MOST_MEMBERS = 48
# Operations of the kernel IR that take no longer than a load.
MOST_RECOMPUTED = 8


class Cluster:
    """Elementwise instructions that will be one kernel."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.shape = shape
        self.dtype = dtype
        self.members: list[Instruction] = []
        self.made: set[Value] = set()
        self.is_open = True
        # Values of other clusters that are computed here once more, for this kernel alone.
        self.copied: set[Value] = set()
        self.instruction: Instruction | None = None

    def add(self, instruction: Instruction) -> None:
        self.members.append(instruction)
        self.made.update(out for out in instruction.outputs if out is not None)

    def inputs(self) -> list[Value]:
        """What it reads that it does not compute, in order of use."""
        found: dict[Value, None] = {}
        for member in self.members:
            for value in member.reads():
                if value not in self.made:
                    found[value] = None
        return list(found)


class _Fusion:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.done: list[Instruction] = []
        self.owner: dict[Value, Cluster] = {}
        self.open: list[Cluster] = []
        self.clusters: list[Cluster] = []

    def run(self) -> None:
        for instruction in self.graph.instructions:
            dtype = fusible(instruction)
            if dtype is None:
                self._other(instruction)
            else:
                self._elementwise(instruction, dtype)
        self._close(list(self.open))
        inline(self.graph, self.clusters)
        self.graph.instructions = self.done
        self._make_kernels()

    def _elementwise(self, instruction: Instruction, dtype: np.dtype) -> None:
        (out,) = instruction.outputs
        assert out is not None
        producers = self._producers(instruction.reads())
        fitting = [c for c in producers if c.shape == out.shape and c.dtype is dtype]
        self._close([c for c in producers if c not in fitting])
        if not fitting:
            fitting = [c for c in self.open if c.shape == out.shape and c.dtype is dtype]
            reads = set(instruction.reads())
            fitting = [c for c in fitting if reads & {*c.inputs(), *c.made}][:1]
        cluster = self._merged(fitting, instruction) if fitting else None
        if cluster is None:
            self._close(fitting)
            cluster = Cluster(out.shape, dtype)
            self.open.append(cluster)
            self.clusters.append(cluster)
        cluster.add(instruction)
        self.owner[out] = cluster

    def _merged(self, clusters: list[Cluster], instruction: Instruction) -> Cluster | None:
        """One cluster of several that the instruction joins; None if it would grow too large."""
        members = sum(len(each.members) for each in clusters)
        operands = {v for each in clusters for v in (*each.inputs(), *each.made)}
        if members >= MOST_MEMBERS or len(operands | set(instruction.reads())) > MOST_MEMBERS:
            return None
        first = clusters[0]
        for other in clusters[1:]:
            for member in other.members:
                first.add(member)
            for value in other.made:
                self.owner[value] = first
            self.open.remove(other)
            self.clusters.remove(other)
        return first

    def _other(self, instruction: Instruction) -> None:
        if instruction.kind == CALL:
            self._close(list(self.open))
        self._close(self._producers(instruction.reads()))
        written = {value.alias for value in instruction.writes()}
        if written:
            self._close([
                each for each in self.open
                if any(value.alias in written for value in each.inputs())
            ])  # fmt: skip
        self.done.append(instruction)

    def _producers(self, values: Iterable[Value]) -> list[Cluster]:
        found: dict[Cluster, None] = {}
        for value in values:
            cluster = self.owner.get(value)
            if cluster is not None and cluster.is_open:
                found[cluster] = None
        return list(found)

    def _close(self, clusters: list[Cluster]) -> None:
        for cluster in clusters:
            cluster.is_open = False
            self.open.remove(cluster)
            cluster.instruction = Instruction(FUSED, "", cluster, (), {}, ())
            self.done.append(cluster.instruction)

    def _make_kernels(self) -> None:
        """The final instructions, now that it is known which values others need."""
        needed = set(self.graph.results)
        for instruction in self.done:
            if instruction.kind != FUSED:
                needed.update(instruction.reads())
        for cluster in self.clusters:
            needed.update(cluster.inputs())
        kept = []
        for instruction in self.done:
            if instruction.kind == FUSED:
                cluster = instruction.detail
                wanted = needed - cluster.copied
                outputs = [v for m in cluster.members for v in m.outputs if v in wanted]
                if not outputs:
                    continue
                fill(instruction, cluster, outputs)
            kept.append(instruction)
        self.graph.instructions = kept


def fill(instruction: Instruction, cluster: Cluster, outputs: list[Any]) -> None:
    """Make an instruction that of a cluster's kernel."""
    inputs = cluster.inputs()
    kernel = FusedKernel(cluster.members, inputs, outputs)
    instruction.detail = kernel
    instruction.name = kernel.name
    instruction.inputs = tuple(inputs)
    instruction.outputs = tuple(outputs)
    instruction.where = cluster.members[0].where


def fuse(graph: Graph) -> None:
    """Replace elementwise instructions by fused kernels."""
    _Fusion(graph).run()


def fusible(instruction: Instruction, is_alone: bool = False) -> np.dtype | None:
    """The float type that an elementwise instruction computes in, or None if it is not fused.

    With `is_alone` it is a kernel of its own, whatever the order of its operands in memory.
    """
    if instruction.kind != COMPUTE or instruction.is_random or len(instruction.outputs) != 1:
        return None
    op, out = instruction.detail, instruction.outputs[0]
    if not isinstance(op, Op) or expression(op) is None or out is None:
        return None
    if not out.size or not _is_row_major(out) or out.dtype not in (*_FLOATS, _BOOL):
        return None
    dtype: np.dtype | None = None
    for operand in instruction.inputs:
        if isinstance(operand, Value):
            if operand.dtype is _BOOL:
                continue
            if operand.dtype not in _FLOATS or (dtype is not None and dtype != operand.dtype):
                return None
            dtype = operand.dtype
        elif operand is not None and type(operand) not in (bool, int, float):
            return None
    if dtype is None or (out.dtype is not _BOOL and out.dtype is not dtype):
        return None
    if op.name in MASKED and not is_alone and not all(map(_is_row_major, instruction.reads())):
        # The result has an order of its own in memory.
        return None
    numbers = (bool, int, float, str, type(None))
    return dtype if all(isinstance(each, numbers) for each in instruction.params.values()) else None


def _is_row_major(value: Value) -> bool:
    expected = value.dtype.itemsize
    for length, stride in zip(reversed(value.shape), reversed(value.strides), strict=True):
        if length != 1 and stride != expected:
            return False
        expected *= length
    return True


def inline(graph: Graph, clusters: list[Cluster]) -> None:
    """Compute cheap values of earlier clusters again where that reads no more memory than loading.

    Dear ones (exponentials, say) are loaded: computing them takes longer. So are those whose
    operands would have to be kept for it, while they are kept themselves.
    """
    inlining = _Inlining(graph, clusters)
    for cluster in clusters:
        inlining.extend(cluster)


class _Inlining:
    def __init__(self, graph: Graph, clusters: list[Cluster]) -> None:
        self.written = {v.alias for each in graph.instructions for v in each.writes()}
        places = list(enumerate(graph.instructions))
        self.calls = [place for place, each in places if is_barrier(each)]
        self.place_of = {out: place for place, each in places for out in each.outputs}
        self.maker = {
            out: member
            for cluster in clusters
            for member in cluster.members
            for out in member.outputs
            if out is not None
        }
        # Who reads each memory last: a cluster, or an instruction, and at which place.
        self.readers: dict[Value, dict[object, int]] = {}
        owner = {member: cluster for cluster in clusters for member in cluster.members}
        for place, each in places:
            self._read(owner.get(each, each), each.reads(), place)

    def _read(self, reader: object, values: Iterable[Value], place: int) -> None:
        for value in values:
            self.readers.setdefault(value.alias, {})[reader] = place

    def extend(self, cluster: Cluster) -> None:
        """Put copies of instructions before those of a cluster, instead of loads."""
        last = max(self._place(member) for member in cluster.members)
        copies: list[Instruction] = []
        loads = {value for value in cluster.inputs() if value.shape == cluster.shape}
        while len(copies) + len(cluster.members) < MOST_MEMBERS:
            value = self._replaceable(cluster, loads, last)
            if value is None:
                break
            copies.append(self.maker[value])
            self.readers[value.alias].pop(cluster)
            self._read(cluster, self.maker[value].reads(), last)
            loads = _without(loads, value, self.maker[value], cluster)
        if copies:
            members, cluster.members = cluster.members, []
            for member in (*sorted(copies, key=self._place), *members):
                cluster.add(member)
            cluster.copied = {out for each in copies for out in each.outputs if out is not None}

    def _place(self, member: Instruction) -> int:
        return self.place_of[member.outputs[0]]

    def _replaceable(self, cluster: Cluster, loads: set[Value], last: int) -> Value | None:
        """A value that is as well computed as loaded, the latest first."""
        made = (loads & self.maker.keys()) - cluster.made
        for value in sorted(made, key=self.place_of.__getitem__, reverse=True):
            member = self.maker[value]
            if (
                fusible(member) is cluster.dtype
                and len(_without(loads, value, member, cluster)) <= len(loads)
                and operations(member) <= MOST_RECOMPUTED
                and value.alias not in self.written
                and self._is_safe(member, last)
                and self._kept_longer(member.reads(), cluster, last)
                <= self._kept_longer([value], cluster, last)
            ):
                return value
        return None

    def _kept_longer(self, values: Iterable[Value], cluster: Cluster, last: int) -> int:
        """How much memory is kept how long for a cluster alone: bytes times instructions."""
        total = 0
        for root in {value.alias for value in values if value.alias.kind == COMPUTED}:
            others = [at for reader, at in self.readers[root].items() if reader is not cluster]
            until = max(others, default=self.place_of.get(root, last))
            total += root.size * root.dtype.itemsize * max(0, last - until)
        return total

    def _is_safe(self, member: Instruction, last: int) -> bool:
        """Whether the operands of an instruction are still the same at a later place."""
        # A call of Python may write to state.
        has_calls = any(self._place(member) < call < last for call in self.calls)
        return all(
            value.alias not in self.written and not (has_calls and _is_state(value))
            for value in member.reads()
        )


def _without(loads: set[Value], value: Value, member: Instruction, cluster: Cluster) -> set[Value]:
    """What is loaded instead, where a value is computed."""
    return (loads - {value}) | {each for each in member.reads() if each.shape == cluster.shape}


def _is_state(value: Value) -> bool:
    return value.alias.kind in ("state", "grad", "input")
