"""Capture: a call runs eagerly, and every operation in it becomes an instruction of a graph.

The call is an ordinary one; its result is the eager result. Arrays are followed by identity: each
operand must come from an argument, from state that was there before (parameters, buffers), from a
constant, or from an instruction. What cannot be followed ends the capture, with the reason, and
never the call.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clew.compiler.formulas import is_expanded
from clew.compiler.graph import (
    ACCUMULATE,
    BACKWARD,
    CALL,
    CHECK,
    COMPUTE,
    COMPUTED,
    CONSTANT,
    DRAW,
    STORE,
    VIEW,
    WRITE,
    Instruction,
    Value,
    mapped,
)
from clew.compiler.instruction_costs import Meter
from clew.compiler.known_values import KnownValues, Refused
from clew.compiler.read_numbers import is_given
from clew.compiler.side_effects import (
    random_position,
)
from clew.core.inplace import apply_inplace
from clew.core.node import AccumulateGrad
from clew.core.op import OPS, Op
from clew.core.recording import OpNode
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.source import INTERNAL_PACKAGES, Place, user_where


class Capture(KnownValues):
    """The interceptor that writes down what runs."""

    captures = True

    def __init__(self, meter: Meter | None = None) -> None:
        super().__init__()
        self.meter = meter

    # -- operations ------------------------------------------------------------------------------

    def __call__(
        self, op: Any, inputs: tuple[Any, ...], params: dict[str, Any], inplace: bool = False
    ) -> Any:
        outer, state = self.outer, local.state
        if not isinstance(op, Op):
            # A custom function: what ran inside of it has been captured.
            return params["outputs"] if outer is None else outer(op, inputs, params)
        operands: Any = None
        if self.problem is None:
            dtype = self.numbers.dtype_for(op, inputs, params)
            if dtype is not None:
                inputs = tuple([
                    self.number(each, dtype) if is_given(each) else each for each in inputs
                ])  # fmt: skip
            try:
                operands = mapped((inputs, params), self.operand)
            except Refused as refused:
                self.refuse(f"{op.name} takes {refused}")
        before = self.version_of(inputs[0]) if inplace else 0
        drawn = random_position()
        state.intercept = outer
        self.begin()
        try:
            result = apply_inplace(op, *inputs, **params) if inplace else op(*inputs, **params)
        finally:
            state.intercept = self
        if self.problem is None and operands is not None:
            is_random = random_position() != drawn
            self.record_op(op, inputs, params, operands, result, inplace, before, is_random)
            self.end()
        return result

    def begin(self) -> None:
        """An instruction begins to run."""
        if self.meter is not None:
            self.meter.begin()

    def end(self) -> None:
        """It is done, and was written down."""
        if self.meter is not None and self.problem is None:
            self.meter.end(self.graph.instructions[-1])

    def version_of(self, tensor: Tensor) -> int:
        return tensor._storage.version

    def record_op(
        self,
        op: Op,
        inputs: Any,
        params: Any,
        operands: Any,
        result: Any,
        inplace: bool,
        before: int,
        is_random: bool,
    ) -> None:
        where = user_where()
        if inplace:
            target: Tensor = inputs[0]
            if self.values.get(id(target._array)) is not operands[0][0]:
                self.refuse(f"{op.name}_ changes the shape of a tensor in place", where)
                return
            self.wrote(target._storage, before)
            kind, outs = WRITE, ()
        else:
            outs = tuple(result) if isinstance(result, tuple | list) else (result,)
            kind = VIEW if op.is_view else COMPUTE
        arrays = [each._array for each in inputs if isinstance(each, Tensor)]
        values = self.results(outs, arrays)
        if kind == COMPUTE and any(v is not None and v.alias is not v for v in values):
            kind = VIEW
        self.graph.instructions.append(
            Instruction(kind, op.name, op, operands[0], operands[1], values, where, is_random)
        )

    # -- what happens without operations -----------------------------------------------------------

    def constant(self, tensor: Tensor) -> None:
        """A tensor was made of numbers."""
        if self.problem is None and id(tensor._array) not in self.values:
            array = tensor._array
            # Its memory may be written to later: the constant is a copy.
            value = self.put(array, self.graph.new_value(array, COMPUTED))
            self.follow(tensor._storage)
            self.made.append(weakref.ref(tensor))
            copy = array.copy()
            kept = self.graph.new_value(copy, CONSTANT, copy)
            self.graph.instructions.append(
                Instruction(COMPUTE, "constant", np.copy, (kept,), {}, (value,), user_where())
            )

    def read(self, tensor: Tensor, how: str, number: Any = None) -> Any:
        """Values leave for Python."""
        if self.problem is not None:
            return number
        where = user_where()
        if how == "memory":
            self.refuse("memory of a tensor is given to NumPy", where)
            return number
        try:
            value = self.operand(tensor)
        except Refused as refused:
            self.refuse(f"a value is read of {refused}", where)
            return number
        expected = tensor._array.tobytes()
        check = Instruction(CHECK, how, (np.ndarray.tobytes, expected), (value,), {}, (), where)
        self.graph.instructions.append(check)
        # Numbers that the library reads are used, one way or another.
        is_asked = sys._getframe(2).f_globals.get("__package__") not in INTERNAL_PACKAGES
        return self.readings.give(number, value, check) if is_asked else number

    def decide(self, function: Callable[..., Any], tensors: tuple[Any, ...]) -> Any:
        result = function(*[tensor._array for tensor in tensors])
        if self.problem is None:
            try:
                values = tuple([self.operand(tensor) for tensor in tensors])
            except Refused as refused:
                self.refuse(f"a decision on {refused}")
                return result
            self.decided.update(values)
            self.graph.instructions.append(
                Instruction(CHECK, "decision", (function, result), values, {}, (), user_where())
            )
        return result

    def looked_at(self, tensor: Tensor) -> None:
        """The library looks at values, and does not say what for."""
        if self.problem is None and self.values.get(id(tensor._array)) not in self.decided:
            self.refuse("the library looks at values of a tensor")

    def stored(self, target: Tensor, source: Any, version: int) -> None:
        """A result was copied into a tensor's memory, as in-place functions of several steps do."""
        if self.problem is not None:
            return
        try:
            operands = self.operand(target), self.operand(source)
        except Refused as refused:
            self.refuse(f"a write of {refused}")
            return
        self.wrote(target._storage, version)
        self.graph.instructions.append(
            Instruction(STORE, "copy", None, operands, {}, (), user_where())
        )

    def draw(self, shape: tuple[int, ...], make: Callable[[tuple[int, ...]], Any]) -> Any:
        state = local.state
        newest, state.intercept = state.intercept, self.outer
        self.begin()
        try:
            result = super().draw(shape, make)
        finally:
            state.intercept = newest
        if self.problem is None:
            if not isinstance(result, Tensor):
                self.refuse("random numbers that are not one tensor")
            elif id(result._array) in self.values:
                self.refuse("random numbers with out=")
            else:
                values = self.results((result,), ())
                self.graph.instructions.append(
                    Instruction(DRAW, "random", make, (shape,), {}, values, user_where(), True)
                )
                self.end()
        return result

    # -- backward --------------------------------------------------------------------------------

    def run_node(self, node: Any, grads: tuple[Any, ...]) -> Sequence[Any]:
        if self.problem is not None:
            return super().run_node(node, grads)
        if isinstance(node, AccumulateGrad):
            return self._accumulate(node, grads)
        if not isinstance(node, OpNode) or local.state.grad_enabled:
            return super().run_node(node, grads)
        if all(grad is None for grad in grads):
            return super().run_node(node, grads)
        # Once: what was saved through hooks (checkpoints) may be unpacked only once.
        pool: list[Any] = node.unpacked() if node.plan.captures else []
        g = grads[0] if node.op.outputs == 1 else grads
        is_lifted = any(isinstance(each, Tensor) and each._is_lifted for each in (*grads, *pool))
        if is_lifted or self._moves_tangents():
            # Inside vmap or forward mode: their rules run operations that are captured.
            return node.apply_formulas(g, pool)
        results = self._expanded(node, g, pool) if is_expanded(node.op) else None
        return self._run_formulas(node, grads, pool) if results is None else results

    def _moves_tangents(self) -> bool:
        """Whether operations of this thread go through a dual level before they come here."""
        link = local.state.intercept
        while link is not None and link is not self:
            if link.carries_tangents:
                return True
            link = link.outer
        return False

    def _expanded(self, node: OpNode, g: Any, pool: list[Any]) -> Sequence[Any] | None:
        """The formulas of a node, operation by operation; None if they look at more than those."""
        count = len(self.graph.instructions)
        results = node.apply_formulas(g, pool)
        if self.problem is None:
            return results
        self.problem = None
        del self.graph.instructions[count:]
        return None

    def _run_formulas(self, node: OpNode, grads: tuple[Any, ...], pool: list[Any]) -> Sequence[Any]:
        """One instruction for all formulas of a node, which may use kernels of their own."""
        state = local.state
        g = grads[0] if node.op.outputs == 1 else grads
        try:
            operands: Any = mapped((tuple(grads), list(pool)), self.operand)
        except Refused as refused:
            self.refuse(f"the gradient of {node.op.name} takes {refused}", node._where)
            return node.apply_formulas(g, pool)
        drawn = random_position()
        newest, state.intercept = state.intercept, self.outer
        self.begin()
        try:
            results = node.apply_formulas(g, pool)
        finally:
            state.intercept = newest
        wanted = [
            None if edge is None else out for edge, out in zip(node._edges, results, strict=False)
        ]
        arrays = [each._array for each in (*grads, *pool) if isinstance(each, Tensor)]
        values = self.results(wanted, arrays)
        self.graph.instructions.append(
            Instruction(
                BACKWARD, node.op.name, (node.op, node.plan.active, len(node._edges)), operands,
                {}, values, node._where, random_position() != drawn,
            )
        )  # fmt: skip
        self.end()
        return results

    def _accumulate(self, node: AccumulateGrad, grads: tuple[Any, ...]) -> Sequence[Any]:
        leaf = node._variable()
        where = user_where()
        if leaf is None or grads[0] is None:
            return super().run_node(node, grads)
        if node.post_accumulate_hooks:
            self.refuse("a hook on an accumulated gradient", where)
            return super().run_node(node, grads)
        if id(leaf._array) not in self.values:
            self.refuse("the gradient of a leaf that is not known", where)
            return super().run_node(node, grads)
        have = leaf._grad
        try:
            g = self.operand(grads[0])
            total = None if have is None else self.operand(have)
        except Refused as refused:
            self.refuse(f"a gradient is {refused}", where)
            return super().run_node(node, grads)
        version = 0 if have is None else have._storage.version
        # What is accumulated without a graph is no operation; with one it is an addition.
        result = super().run_node(node, grads)
        new = leaf._grad
        is_replaced = new is None or (have is not None and new is not have)
        if is_replaced and (new is None or id(new._array) not in self.values):
            self.refuse("a gradient with a graph of its own", where)
            return result
        if id(leaf) not in self.places and id(leaf) not in self.state_tensors:
            self._accumulate_inside(g, total, have, version, new, where)
            return result
        if id(leaf) in self.state_tensors:
            self.leaves[id(leaf)] = leaf
            self.grad_before.setdefault(id(leaf), have is not None)
        if have is not None and new is have:
            self.wrote(have._storage, version, counts_itself=True)
            outputs: tuple[Value | None, ...] = ()
        else:
            outputs = self.results((new,), ())
            total = None
        self.graph.instructions.append(
            Instruction(ACCUMULATE, "grad", self.holder(leaf), (g, total), {}, outputs, where)
        )
        return result

    def assigned(self, leaf: Tensor, grad: Tensor) -> None:
        """The program gives a leaf a tensor as its gradient."""
        if self.problem is not None:
            return
        value = self.values.get(id(grad._array))
        is_own = value is not None and value.alias.kind == COMPUTED and not grad._requires_grad
        if value is None or not is_own or value.alias in self.given_as_gradients:
            self.refuse(
                "a tensor that is not the call's own, or used twice, is assigned to `.grad`"
            )
            return
        if id(leaf) not in self.state_tensors and id(leaf) not in self.places:
            self.refuse("`.grad` of a tensor that the call makes is assigned")
            return
        # A replay may give it a copy, which nobody notices unless one of the two is written to.
        self.given_as_gradients[value.alias] = len(self.graph.instructions)
        if id(leaf) in self.state_tensors:
            self.leaves[id(leaf)] = leaf
            self.grad_before.setdefault(id(leaf), None)
        self.graph.instructions.append(
            Instruction(
                ACCUMULATE, "grad", self.holder(leaf), (value, None), {}, (value,), user_where()
            )
        )

    def _accumulate_inside(
        self, g: Value, total: Value | None, have: Any, version: int, new: Any, where: Place | None
    ) -> None:
        """The gradient of a leaf that the call has made itself: memory like any other."""
        if total is None:
            values = self.results((new,), ())
            made = Instruction(COMPUTE, "grad", np.copy, (g,), {}, values, where)
        elif new is have:
            self.wrote(new._storage, version)
            made = Instruction(WRITE, "add", OPS["add"], (total, g), {}, (), where)
        else:
            values = self.results((new,), ())
            made = Instruction(COMPUTE, "add", OPS["add"], (total, g), {}, values, where)
        self.graph.instructions.append(made)

    # -- what runs as it is ----------------------------------------------------------------------

    def suspend(self) -> None:
        """Let what an optimizer's step does run without being captured."""
        self.depth += 1
        if self.depth == 1:
            self.versions = {key: each.storage.version for key, each in self.storages.items()}
            local.state.intercept = self.outer
            self.begin()

    def resume(self, name: str, function: Callable[[], Any], reads: tuple[Value, ...]) -> None:
        """Go on; all that was written meanwhile is the work of this function."""
        self.depth -= 1
        if self.depth:
            return
        local.state.intercept = self
        for key, version in self.versions.items():
            record = self.storages[key]
            record.version += record.storage.version - version
        self.graph.instructions.append(
            Instruction(CALL, name, function, reads, {}, (), user_where())
        )
        self.end()
