"""Capture: a call runs eagerly, and every operation in it becomes an instruction of a graph.

The call is an ordinary one; its result is the eager result. Arrays are followed by identity: each
operand must come from an argument, from state that was there before (parameters, buffers), from a
constant, or from an instruction. What cannot be followed ends the capture, with the reason, and
never the call.
"""

from __future__ import annotations

import threading
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
    GRAD,
    INPUT,
    STATE,
    STORE,
    VIEW,
    WRITE,
    Graph,
    Instruction,
    Value,
    mapped,
)
from clew.compiler.side_effects import Clear, Written, random_position, strided_view
from clew.core.inplace import apply_inplace
from clew.core.interception import Interceptor
from clew.core.node import AccumulateGrad
from clew.core.op import Op
from clew.core.recording import OpNode
from clew.core.state import local
from clew.core.storage import Storage
from clew.core.tensor import Tensor, tangents_of
from clew.source import Place, describe, user_where


class Refused(Exception):
    """Something cannot be captured; the text says what, and where."""


class Capture(Interceptor):
    """The interceptor that writes down what runs."""

    captures = True

    def __init__(self) -> None:
        self.graph = Graph()
        self.problem: str | None = None
        self.thread = threading.get_ident()
        # Arrays by identity, which are kept so that no other gets their place.
        self.values: dict[int, Value] = {}
        self.arrays: list[Any] = []
        self.storages: dict[int, Written] = {}
        # The version that each storage had before the call, for those that were there.
        self.before: dict[int, Written] = {}
        # The tensors that were made in this call: none may outlive it unnoticed.
        self.made: list[weakref.ref[Tensor]] = []
        # Leaves whose gradient was given or taken.
        self.leaves: dict[int, Tensor] = {}
        # For leaves that get a gradient: whether they had one before. None: it is cleared first.
        self.grad_before: dict[int, bool | None] = {}
        self.state_tensors: dict[int, Tensor] = {}
        # Values on which a decision was captured.
        self.decided: set[Value | None] = set()
        # Inside of an optimizer's step, and the versions of all storages when it began.
        self.depth = 0
        self.versions: dict[int, int] = {}

    # -- what is there before the call ---------------------------------------------------------

    def given(self, tensors: Sequence[Tensor]) -> None:
        """The tensors among the arguments."""
        for place, tensor in enumerate(tensors):
            self.know(tensor, INPUT, place)

    def known_before(self, tensor: Tensor) -> None:
        """A tensor that the function can reach: a parameter, a buffer, a global."""
        self.know(tensor, STATE, tensor)

    def know(self, tensor: Tensor, kind: str, source: Any) -> None:
        array = tensor._array
        if id(array) not in self.values:
            alias = self._overlapping(array)
            self.put(array, self.graph.new_value(array, kind, source, alias))
        if kind == STATE:
            self.state_tensors[id(tensor)] = tensor
        self.follow(tensor._storage, before=True)
        grad = tensor._grad
        if grad is not None and id(grad._array) not in self.values:
            holder = tensor
            self.put(grad._array, self.graph.new_value(grad._array, GRAD, holder))
            self.follow(grad._storage, before=True)

    def _overlapping(self, array: np.ndarray) -> Value | None:
        """A value that lies in the same memory, if there is one: tied weights, views as state."""
        if array.base is None and array.flags.owndata:
            return None
        for other in self.arrays:
            if np.may_share_memory(array, other):
                return self.values[id(other)]
        return None

    def put(self, array: np.ndarray, value: Value) -> Value:
        self.values[id(array)] = value
        self.arrays.append(array)
        return value

    def follow(self, storage: Storage, before: bool = False) -> None:
        if id(storage) not in self.storages:
            self.storages[id(storage)] = Written(storage)
            if before:
                self.before[id(storage)] = Written(storage)

    # -- refusing --------------------------------------------------------------------------------

    def refuse(self, reason: str, where: Place | None = None) -> None:
        """End the capture; the first reason counts."""
        if self.problem is None:
            self.problem = f"{reason} at {describe(where or user_where())}"

    # -- operands --------------------------------------------------------------------------------

    def operand(self, leaf: Any) -> Any:
        """A leaf of an operation's arguments as the graph has it."""
        if isinstance(leaf, Tensor):
            if leaf._is_lifted or tangents_of(leaf):
                raise Refused("a tensor of a function transform")
            self.follow(leaf._storage)
            return self.value_of(leaf._array)
        if isinstance(leaf, np.ndarray):
            return self.value_of(leaf)
        return leaf

    def value_of(self, array: np.ndarray) -> Value:
        value = self.values.get(id(array))
        if value is not None:
            return value
        source: Any = array
        while type(source.base) is np.ndarray:
            source = source.base
            known = self.values.get(id(source))
            if known is not None and source.dtype == array.dtype:
                return self._view_by_address(known, source, array)
        raise Refused(f"an array {array.dtype}{list(array.shape)} whose origin is not known")

    def _view_by_address(self, known: Value, source: np.ndarray, array: np.ndarray) -> Value:
        """A view that no operation made: its place in the memory of a value that is known."""
        offset = (array.ctypes.data - source.ctypes.data) // array.itemsize
        value = self.put(array, self.graph.new_value(array, COMPUTED, alias=known))
        self.graph.instructions.append(
            Instruction(
                VIEW, "as_strided", strided_view, (known,),
                {"shape": array.shape, "strides": array.strides, "offset": offset}, (value,),
                user_where(),
            )
        )  # fmt: skip
        return value

    def results(self, outs: Sequence[Any], operands: Sequence[Any]) -> tuple[Value | None, ...]:
        """The values of what an operation returned."""
        values: list[Value | None] = []
        for out in outs:
            if out is None:
                values.append(None)
                continue
            array = out._array
            have = self.values.get(id(array))
            if have is not None:
                values.append(have)
                continue
            alias = None
            for other in operands:
                if isinstance(other, np.ndarray) and np.may_share_memory(array, other):
                    alias = self.values.get(id(other))
                    break
            for earlier, before in zip(outs, values, strict=False):
                if before is not None and np.may_share_memory(array, earlier._array):
                    alias = before
            values.append(self.put(array, self.graph.new_value(array, COMPUTED, alias=alias)))
            self.follow(out._storage)
            self.made.append(weakref.ref(out))
        return tuple(values)

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
            try:
                operands = mapped((inputs, params), self.operand)
            except Refused as refused:
                self.refuse(f"{op.name} takes {refused}")
        before = self.version_of(inputs[0]) if inplace else 0
        drawn = random_position()
        state.intercept = outer
        try:
            result = apply_inplace(op, *inputs, **params) if inplace else op(*inputs, **params)
        finally:
            state.intercept = self
        if self.problem is None and operands is not None:
            is_random = random_position() != drawn
            self.record_op(op, inputs, params, operands, result, inplace, before, is_random)
        return result

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

    def wrote(self, storage: Storage, before: int) -> None:
        """A captured write: its part in the storage's version is explained."""
        record = self.storages.get(id(storage))
        if record is not None:
            record.version += storage.version - before
            record.captured += storage.version - before

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

    def read(self, tensor: Tensor, how: str) -> None:
        """Values leave for Python."""
        if self.problem is not None:
            return
        where = user_where()
        if how == "memory":
            self.refuse("memory of a tensor is given to NumPy", where)
            return
        try:
            value = self.operand(tensor)
        except Refused as refused:
            self.refuse(f"a value is read of {refused}", where)
            return
        expected = tensor._array.tobytes()
        self.graph.instructions.append(
            Instruction(CHECK, how, (np.ndarray.tobytes, expected), (value,), {}, (), where)
        )

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
        state.intercept = self.outer
        try:
            result = super().draw(shape, make)
        finally:
            state.intercept = self
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
        return result

    # -- backward --------------------------------------------------------------------------------

    def run_node(self, node: Any, grads: tuple[Any, ...]) -> Sequence[Any]:
        if self.problem is not None:
            return super().run_node(node, grads)
        if isinstance(node, AccumulateGrad):
            return self._accumulate(node, grads)
        if not isinstance(node, OpNode) or local.state.grad_enabled:
            return super().run_node(node, grads)
        results = self._expanded(node, grads) if is_expanded(node.op) else None
        return self._run_formulas(node, grads) if results is None else results

    def _expanded(self, node: OpNode, grads: tuple[Any, ...]) -> Sequence[Any] | None:
        """The formulas of a node, operation by operation; None if they look at more than those."""
        count = len(self.graph.instructions)
        results = super().run_node(node, grads)
        if self.problem is None:
            return results
        self.problem = None
        del self.graph.instructions[count:]
        return None

    def _run_formulas(self, node: OpNode, grads: tuple[Any, ...]) -> Sequence[Any]:
        """One instruction for all formulas of a node, which may use kernels of their own."""
        state = local.state
        pool: list[Any] = node.unpacked() if node.plan.captures else []
        try:
            operands: Any = mapped((tuple(grads), list(pool)), self.operand)
        except Refused as refused:
            self.refuse(f"the gradient of {node.op.name} takes {refused}", node._where)
            return super().run_node(node, grads)
        drawn = random_position()
        state.intercept = self.outer
        try:
            results = node.apply_tensors(grads)
        finally:
            state.intercept = self
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
        self.leaves[id(leaf)] = leaf
        self.grad_before.setdefault(id(leaf), have is not None)
        if have is not None and new is have:
            self.wrote(have._storage, version)
            outputs: tuple[Value | None, ...] = ()
        else:
            outputs = self.results((new,), ())
            total = None
        self.graph.instructions.append(
            Instruction(ACCUMULATE, "grad", leaf, (g, total), {}, outputs, where)
        )
        return result

    def cleared(self, leaves: list[Tensor]) -> None:
        """The gradients of these leaves are dropped."""
        if self.problem is not None:
            return
        for leaf in leaves:
            self.leaves[id(leaf)] = leaf
            self.grad_before.setdefault(id(leaf), None)
        self.graph.instructions.append(
            Instruction(CALL, "zero_grad", Clear(leaves), (), {}, (), user_where())
        )

    # -- what runs as it is ----------------------------------------------------------------------

    def suspend(self) -> None:
        """Let what an optimizer's step does run without being captured."""
        self.depth += 1
        if self.depth == 1:
            self.versions = {key: each.storage.version for key, each in self.storages.items()}
            local.state.intercept = self.outer

    def resume(self, name: str, function: Callable[[], Any]) -> None:
        """Go on; all that was written meanwhile is the work of this function."""
        self.depth -= 1
        if self.depth:
            return
        local.state.intercept = self
        for key, version in self.versions.items():
            record = self.storages[key]
            record.version += record.storage.version - version
        self.graph.instructions.append(Instruction(CALL, name, function, (), {}, (), user_where()))

    # -- the end ---------------------------------------------------------------------------------

    def unexplained(self) -> str | None:
        """The write that was not captured, if there is one."""
        for record in self.storages.values():
            storage = record.storage
            if storage.version != record.version or storage.untracked is not record.untracked:
                writer = storage.writer or "a write that is not tracked"
                return f"{writer} at {describe(storage.written_at)} was not captured"
        return None
