"""Lowering: a graph becomes one straight-line Python function over arrays.

Each instruction is one statement: a call of a kernel, of an operation's forward, or of NumPy. There
are no tensors, no graph and no checks between them; what a value no longer needs is freed at once.
The text of the function is part of `explain()`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from clew.backend import random as streams
from clew.compiler.formulas import run_formulas
from clew.compiler.graph import (
    ACCUMULATE,
    BACKWARD,
    CALL,
    CHECK,
    COMPUTE,
    COMPUTED,
    CONSTANT,
    DRAW,
    FUSED,
    GRAD,
    INPUT,
    STATE,
    STORE,
    VIEW,
    WRITE,
    Graph,
    Instruction,
    Value,
    values_in,
)
from clew.compiler.native.layouts import memory_order
from clew.compiler.native.optimizer_steps import run_with_steps
from clew.compiler.native.segmentation import Item, segmented
from clew.compiler.native.segments import Check, Segment
from clew.core.inplace import run_inplace
from clew.core.node import restore
from clew.core.op import Op
from clew.core.state import local
from clew.core.storage import Storage
from clew.core.tensor import Tensor, wrap
from clew.kernels.compiled.copies import copy_into
from clew.kernels.compiled.threaded_ufuncs import threaded
from clew.kernels.runtime import jit

_BYTES = np.dtype(np.uint8)
# Instructions that run code which may look at grad mode.
_IN_GRAD_MODE = frozenset({BACKWARD, CALL, COMPUTE, DRAW, WRITE})


class Mismatch(Exception):
    """What a replay computes is not what was captured: another branch, or another shape."""


class Program:
    """The function that replays a graph.

    `run(inputs, given)` gives the arrays of its results. `given` are the tensors whose arrays the
    inputs are: some of them get gradients. `cuts` are instructions before which native segments
    end; None: there are none. With `with_steps`, steps of optimizers are parts of segments: it may
    run only while they are ready.
    """

    def __init__(
        self,
        graph: Graph,
        timed: bool = False,
        cuts: Collection[Instruction] | None = (),
        with_steps: bool = False,
    ) -> None:
        self.graph = graph
        self.cuts = cuts
        # Seconds of each instruction, of the last run of a program that is timed.
        self.seconds = [0.0] * len(graph.instructions) if timed else []
        self.names: dict[str, Any] = {}
        self.lines: list[str] = []
        self._by_id: dict[int, str] = {}
        self._taken = taken_gradients(graph)
        # How often operations write to each memory.
        writing = [each for each in graph.instructions if each.kind in (STORE, WRITE)]
        self._writes = Counter(v.alias for each in writing for v in each.writes())
        # A clock needs instructions one by one.
        self.items: list[Item] = (
            list(graph.instructions)
            if timed or cuts is None
            else segmented(graph, self._taken, cuts, with_steps)
        )
        self._last_use = last_uses(self.items, graph.results)
        self._loaded: set[Value] = set()
        self._emit()
        self.source = "\n".join(self.lines)
        space = dict(self.names)
        exec(compile(self.source, "<clew.compile>", "exec"), space)
        self.run: Callable[[list[np.ndarray], Sequence[Tensor]], tuple[Any, ...]] = space["run"]

    # -- text ------------------------------------------------------------------------------------

    def name(self, value: Any, stem: str) -> str:
        """The name under which the text finds an object."""
        key = id(value)
        if key not in self._by_id:
            self._by_id[key] = f"{stem}{len(self._by_id)}"
            self.names[self._by_id[key]] = value
        return self._by_id[key]

    def _emit(self) -> None:
        self.lines.append("def run(inputs, given):")
        graph = self.graph
        grad_enabled = False
        for place, instruction in enumerate(self.items):
            if not (isinstance(instruction, Instruction) and instruction.kind == CALL):
                for value in instruction.reads():
                    self._load(value)
            if isinstance(instruction, Segment | Check):
                self._native(instruction)
                self._free(instruction, place)
                continue
            if instruction.kind in _IN_GRAD_MODE and instruction.grad_enabled != grad_enabled:
                grad_enabled = instruction.grad_enabled
                self._line(f"{self.name(local, 'local')}.state.grad_enabled = {grad_enabled}")
            if self.seconds:
                self._line(f"_began = {self.name(perf_counter, 'clock')}()")
            self._statement(instruction)
            if self.seconds:
                seconds, clock = (
                    self.name(self.seconds, "seconds"),
                    self.name(perf_counter, "clock"),
                )
                self._line(f"{seconds}[{place}] = {clock}() - _began")
            self._free(instruction, place)
        for value in graph.results:
            self._load(value)
        results = "".join(f"v{value.number}, " for value in graph.results)
        self._line(f"return ({results})")

    def _line(self, text: str) -> None:
        self.lines.append("    " + text)

    def _load(self, value: Value) -> None:
        """Before its first use: an argument, a tensor's memory as it is now, a constant."""
        if value.kind == COMPUTED or value in self._loaded:
            return
        self._loaded.add(value)
        if value.kind == INPUT:
            text = f"inputs[{value.source}]"
        elif value.kind == STATE:
            text = f"{self.name(value.source, 'state')}._array"
        elif value.kind == GRAD:
            text = f"{self._holder(value.source)}._grad._array"
        else:
            assert value.kind == CONSTANT
            text = self.name(value.source, "constant")
        self._line(f"v{value.number} = {text}")

    def _free(self, instruction: Item, place: int) -> None:
        done = {
            f"v{value.number}"
            for value in (*instruction.reads(), *[v for v in instruction.outputs if v is not None])
            if self._last_use.get(value, -1) <= place and value.kind == COMPUTED
        }
        if done:
            self._line(f"del {', '.join(sorted(done))}")

    def text(self, operand: Any) -> str:
        """An operand in the function's text."""
        if isinstance(operand, Value):
            return f"v{operand.number}"
        if operand is None or (isinstance(operand, bool | int) and type(operand) in (bool, int)):
            return repr(operand)
        if type(operand) is tuple:
            return "(" + "".join(f"{self.text(each)}, " for each in operand) + ")"
        if type(operand) is list:
            return "[" + ", ".join(self.text(each) for each in operand) + "]"
        if isinstance(operand, dict) and any(True for _ in values_in(operand)):
            items = [f"{key!r}: {self.text(each)}" for key, each in operand.items()]
            return "{" + ", ".join(items) + "}"
        return self.name(operand, "const")

    # -- instructions ----------------------------------------------------------------------------

    def _statement(self, instruction: Instruction) -> None:
        kind = instruction.kind
        if kind in (COMPUTE, VIEW):
            self._compute(instruction)
        elif kind == FUSED:
            self._fused(instruction)
        elif kind == BACKWARD:
            run = self.name(run_formulas, "run_formulas")
            detail = self.name(instruction.detail, "formulas")
            grads, pool = instruction.inputs
            self._assign(
                instruction, f"{run}({detail}, {self.text(grads)}, {self.text(pool)})", True
            )
            self._check_shapes(instruction)
        elif kind == WRITE:
            write = self.name(written, "write")
            op = self.name(instruction.detail, "op")
            params = self.text(instruction.params) if instruction.params else "{}"
            self._line(f"{write}({op}, {self.text(instruction.inputs)}, {params})")
        elif kind == STORE:
            target, source = map(self.text, instruction.inputs)
            self._line(f"{self.name(store_into, 'store')}({target}, {source})")
        elif kind == DRAW:
            make = self.name(instruction.detail, "draw")
            self._line(f"v{_only(instruction)} = {make}({self.text(instruction.inputs[0])})._array")
        elif kind == ACCUMULATE:
            self._accumulate(instruction)
        elif kind == CHECK:
            function, expected = instruction.detail
            check, mismatch = self.name(function, "check"), self.name(Mismatch, "Mismatch")
            arguments = ", ".join(self.text(each) for each in instruction.inputs)
            self._line(f"if {check}({arguments}) != {self.name(expected, 'expected')}:")
            self._line(f"    raise {mismatch}")
        else:
            assert kind == CALL
            self._line(f"{self.name(instruction.detail, 'call')}()")

    def _native(self, item: Segment | Check) -> None:
        """A call of a command list, with memory for its results; or what is checked after it."""
        if isinstance(item, Check):
            arguments = ", ".join(self.text(each) for each in item.arguments)
            self._line(f"if {item.wrong}: {self.name(item.function, 'check')}({arguments})")
            return
        empty, operands = self.name(np.empty, "empty"), [self._placed(v) for v in item.inputs]
        for out in item.outputs:
            order = memory_order(out)
            assert order is not None
            shape = tuple(out.shape[dim] for dim in order)
            made = f"{empty}({shape!r}, {self.name(out.dtype, 'dtype')})"
            if order != sorted(order):
                inverse = tuple(order.index(dim) for dim in range(len(order)))
                made += f".transpose({inverse!r})"
            self._line(f"v{out.number} = {made}")
            operands.append(f"v{out.number}")
        operands.append(f"{empty}({item.arena_size}, {self.name(_BYTES, 'dtype')})")
        operands += [self.name(each, "constant") for each in item.constants]
        for place, dtype in enumerate(item.wrong):
            self._line(f"wrong{item.number}_{place} = {empty}((), {self.name(dtype, 'dtype')})")
            operands.append(f"wrong{item.number}_{place}")
        pairs = []
        for step, stops in zip(item.steps, item.stops, strict=True):
            operands.append(f"*{self.name(step, 'step')}.begin()")
            wrong = _listed([f"wrong{item.number}_{place}" for place in range(stops)])
            pairs.append(f"({self.name(step, 'step')}, ({wrong}))")
        indent = ""
        if item.draws:
            stream = self.name(streams.default_generator, "stream")
            operands.append(f"{stream}.words()")
            self._line(f"with {stream}.lock:")
            indent = "    "
        if not item.steps:
            run = self.name(item.commands.run, "run")
            self._line(f"{indent}{run}(({_listed(operands)}))")
            return
        run = self.name(jit.machine().run_commands, "run")
        with_steps = self.name(run_with_steps, "run_with_steps")
        given = f"({_listed(operands)}), {item.commands.address}, ({_listed(pairs)})"
        self._line(f"{indent}{with_steps}({run}, {given})")

    def _placed(self, value: Value) -> str:
        """An operand of a segment, in memory as it was captured.

        Other values may lie in memory in another order: a gradient that comes from outside does.
        """
        name = f"v{value.number}"
        if value.kind not in (INPUT, COMPUTED) or not value.shape:
            return name
        strides, relaid = self.name(value.strides, "strides"), self.name(with_strides, "relaid")
        return f"({name} if {name}.strides == {strides} else {relaid}({name}, {strides}))"

    def _assign(self, instruction: Instruction, call: str, many: bool) -> None:
        outs = ["_" if out is None else f"v{out.number}" for out in instruction.outputs]
        if many:
            self._line(
                f"{', '.join(outs)}, = {call}" if len(outs) == 1 else f"{', '.join(outs)} = {call}"
            )
            if "_" in outs:
                self._line("del _")
        else:
            self._line(f"{outs[0]} = {call}")

    def _compute(self, instruction: Instruction) -> None:
        op = instruction.detail
        if not isinstance(op, Op):
            # A function over arrays that the capture itself has put there.
            call = self._call(self.name(op, "function"), instruction)
            self._assign(instruction, call, False)
            return
        many = len(instruction.outputs) != 1 or op.outputs != 1
        if type(op).compute is Op.compute:
            call = self._call(self.name(op.forward, f"{_word(op.name)}_"), instruction)
        else:
            compute = self.name(computed, "compute")
            params = self.text(instruction.params) if instruction.params else "{}"
            arguments = f"{self.name(op, 'op')}, {self.text(instruction.inputs)}, {params}"
            call = f"{compute}({arguments})"
        if many:
            self._assign(instruction, call, True)
        else:
            self._assign(instruction, f"{self.name(np.asarray, 'asarray')}({call})", False)
        if instruction.kind == COMPUTE:
            self._check_shapes(instruction)

    def _call(self, function: str, instruction: Instruction) -> str:
        arguments = [self.text(each) for each in instruction.inputs]
        arguments += [f"{key}={self.text(each)}" for key, each in instruction.params.items()]
        return f"{function}({', '.join(arguments)})"

    def _check_shapes(self, instruction: Instruction) -> None:
        """Operations whose result's shape depends on values have another one for others."""
        for out in instruction.outputs:
            if out is not None:
                shape, mismatch = self.name(out.shape, "shape"), self.name(Mismatch, "Mismatch")
                self._line(f"if v{out.number}.shape != {shape}: raise {mismatch}")

    def _fused(self, instruction: Instruction) -> None:
        kernel = self.name(instruction.detail.ufunc, "kernel")
        arguments = ", ".join(self.text(each) for each in instruction.inputs)
        self._assign(instruction, f"{kernel}({arguments})", len(instruction.outputs) > 1)
        for out in instruction.outputs:
            if out is not None and not out.shape:
                # NumPy gives numbers for what has no dimensions.
                self._line(f"v{out.number} = {self.name(np.asarray, 'asarray')}(v{out.number})")

    def _holder(self, holder: Tensor | int) -> str:
        """A tensor whose gradient is used: an argument by its place, or one that was there."""
        return f"given[{holder}]" if isinstance(holder, int) else self.name(holder, "state")

    def _accumulate(self, instruction: Instruction) -> None:
        holder = instruction.detail
        leaf = self._holder(holder)
        g, total = instruction.inputs
        if total is not None:
            add = self.name(add_gradient, "add_gradient")
            self._line(f"{add}({leaf}, v{g.number})")
            return
        (out,) = instruction.outputs
        assert out is not None
        take = take_gradient if instruction in self._taken else copy_gradient
        self._line(f"v{out.number} = {self.name(take, 'grad')}({leaf}, v{g.number})")
        if self._writes[out]:
            # What the call itself has written to it, or will.
            self._line(f"{leaf}._grad._storage.version = {self._writes[out]}")


def taken_gradients(graph: Graph) -> set[Instruction]:
    """The instructions that give a leaf the memory of a gradient, which nobody else uses."""
    users: dict[Value, int] = {}
    fresh: set[Value] = set()
    for each in graph.instructions:
        # A step of an optimizer reads the gradients that leaves have.
        for read in each.reads() if each.kind != CALL else ():
            users[read.alias] = users.get(read.alias, 0) + 1
        if each.kind in (COMPUTE, FUSED, BACKWARD):
            fresh.update(out for out in each.outputs if out is not None and out.alias is out)
    taken = set()
    for each in graph.instructions:
        if each.kind == ACCUMULATE and each.inputs[1] is None:
            g = each.inputs[0]
            is_used_once = users[g.alias] == 1 and g not in graph.results
            if (
                g in fresh
                and g.kind == COMPUTED
                and is_used_once
                and not (g.shape and not g.strides)
            ):
                taken.add(each)
    return taken


def _listed(texts: Sequence[str]) -> str:
    """The inside of a tuple."""
    return "".join(f"{each}, " for each in texts)


def _word(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name)


def _only(instruction: Instruction) -> int:
    (out,) = instruction.outputs
    assert out is not None
    return out.number


def last_uses(items: Sequence[Item], results: Sequence[Value]) -> dict[Value, int]:
    """The last instruction that needs each value's memory; results are needed for good."""
    last: dict[Value, int] = {}
    for place, item in enumerate(items):
        for value in item.reads():
            last[value] = place
    for value in results:
        last[value] = len(items)
    return last


# -- what the text calls ---------------------------------------------------------------------


def computed(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The forward of an operation that looks at its operands as tensors: type promotion."""
    tensors = tuple([wrap(each) if type(each) is np.ndarray else each for each in inputs])
    return op.compute(tensors, params)


def written(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> None:
    """The in-place form of an operation."""
    tensors = tuple([wrap(each) if type(each) is np.ndarray else each for each in inputs])
    run_inplace(local.state, op, tensors, params)


def with_strides(array: np.ndarray, strides: tuple[int, ...]) -> np.ndarray:
    """The same elements in memory with other strides: those of an array that was captured."""
    # As much memory as is between the first element and the last.
    spans = zip(array.shape, strides, strict=True)
    nbytes = array.itemsize + sum((length - 1) * stride for length, stride in spans)
    result = np.ndarray(array.shape, array.dtype, np.empty(nbytes, np.uint8), 0, strides)
    result[...] = array
    return result


def store_into(target: np.ndarray, source: np.ndarray) -> None:
    """Copy an array to the memory of another."""
    if source.dtype is target.dtype:
        copy_into(target, source)
    else:
        np.copyto(target, source, casting="unsafe")


def take_gradient(leaf: Tensor, g: np.ndarray) -> np.ndarray:
    """Let memory that nobody else uses be a leaf's gradient."""
    if g.strides != leaf._array.strides:
        return copy_gradient(leaf, g)
    leaf._grad = restore(g, Storage(), None, 0)
    return g


def copy_gradient(leaf: Tensor, g: np.ndarray) -> np.ndarray:
    """Give a leaf a gradient of its own."""
    array = leaf._array
    if g.shape == array.shape:
        own = np.empty_like(array, dtype=g.dtype)
        store_into(own, g)
    else:
        own = g.copy()
    leaf._grad = restore(own, Storage(), None, 0)
    return own


def add_gradient(leaf: Tensor, g: np.ndarray) -> None:
    """Add to a leaf's gradient in place."""
    grad = leaf._grad
    assert grad is not None
    total = grad._array
    grad._storage.bump("AccumulateGrad", None)
    if g.dtype is total.dtype:
        threaded(np.add, total, g, total)
    else:
        np.add(total, g, total, casting="unsafe")
