"""Op: one differentiable operation, defined once.

A definition says: the forward over arrays, and for each differentiable input a formula for its
gradient, written in tensor operations. The names of a formula's parameters say what it needs:

    g            the gradient of the output (for several outputs: a tuple, None where absent)
    self, other  a tensor input of that name: it is saved for backward
    out          the output: it is saved for backward (a tuple when there are several)
    out0, out1   one of several outputs: only that one is saved
    dim, ...     a parameter of the forward: kept as it is
    self_shape, self_dtype    only the shape or dtype of an input: no memory is held
    input_shapes, input_dtypes, needs    for all inputs: shapes, dtypes, which gradients are wanted

So what an operation saves is never written down twice, and an input that does not require grad
saves nothing for its sake. Summing a gradient down to the shape that was broadcast from, and
converting it to the input's dtype, happen once, in the engine.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.node import (
    OWN,
    Edge,
    Node,
    Nowhere,
    Packed,
    SavedDual,
    edge_of,
    next_sequence_number,
    restore,
    save,
    unpack,
)
from clew.core.state import State, local
from clew.core.storage import INFERENCE, Storage
from clew.core.tensor import NoHistory, Tensor, View, _new, sync, wrap
from clew.source import INTERNAL_PACKAGES, _getframe, user_where

Formula = Callable[..., Any]

INPUT, OUTPUT, PARAM, SHAPE, DTYPE, SHAPES, DTYPES, NEEDS = range(8)

# Every operation by name: the table that tests, documentation and the compiler read.
OPS: dict[str, Op] = {}


def camel(name: str) -> str:
    """`log_softmax` -> `LogSoftmax`, as PyTorch names its nodes."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


class Plan:
    """For one set of inputs that require grad: what to save and which formulas to run."""

    __slots__ = ("active", "captures", "names", "saved_count", "saves_input")

    def __init__(self, op: Op, mask: int) -> None:
        formulas = op.active_formulas(mask)
        names: list[str] = []
        for _, formula in formulas:
            for name in op.formula_names[formula]:
                if name not in names:
                    names.append(name)
        captures = [(op.capture(name), name) for name in names]
        captures.sort(key=lambda item: item[0][0] > OUTPUT)
        self.captures = tuple(capture for capture, _ in captures)
        self.names = tuple(name for _, name in captures)
        self.saved_count = sum(kind <= OUTPUT for kind, _ in self.captures)
        self.saves_input = tuple(index for kind, index in self.captures if kind == INPUT)
        place = {name: index for index, name in enumerate(self.names)}
        self.active = tuple(
            (index, formula, tuple(place[name] for name in op.formula_names[formula]))
            for index, formula in formulas
        )


class OpNode(Node):
    """The node of an `Op`; each op has its own subclass, so that its type has PyTorch's name."""

    __slots__ = ("kept", "plan", "saved")

    op: Op
    plan: Plan
    saved: Any
    kept: tuple[Any, ...]

    def unpacked(self) -> list[Any]:
        """Everything that the formulas may ask for, in the order of `plan.names`."""
        saved = self.saved
        if type(saved) is errors.Freed:
            raise errors.backward_twice(self, saved)
        names = self.plan.names
        pool: list[Any] = []
        attached = local.state.grad_enabled
        for index, value in enumerate(saved):
            if type(value) is tuple and not attached:
                # Without a graph of the gradient, a bare tensor around the memory will do.
                array, storage, version, _, _ = value
                if storage.version != version:
                    raise errors.modified_in_place(self, names[index], array, storage, version)
                pool.append(restore(array, storage, None, 0))
            elif type(value) is SavedMany:
                pool.append(tuple(unpack(each, self, "out") for each in value))
            else:
                pool.append(unpack(value, self, names[index]))
        if self.kept:
            pool.extend(self.kept)
        return pool

    def apply(self, grads: tuple[Tensor | None, ...]) -> Sequence[Tensor | None]:
        op = self.op
        g: Any = grads[0]
        if op.outputs != 1:
            if all(grad is None for grad in grads):
                return (None,) * len(self.edges)
            g = grads
        elif g is None:
            return (None,) * len(self.edges)
        if op.bare:
            state = local.state
            if not state.grad_enabled and state.intercept is None:
                return self.apply_bare(g)
        pool = self.unpacked() if self.plan.captures else []
        if op.joint is not None:
            _, formula, slots = self.plan.active[0]
            return tuple(formula(g, *[pool[slot] for slot in slots]))
        results: list[Tensor | None] = [None] * len(self.edges)
        for index, formula, slots in self.plan.active:
            count = len(slots)
            if count == 1:
                results[index] = formula(g, pool[slots[0]])
            elif count == 0:
                results[index] = formula(g)
            else:
                results[index] = formula(g, *[pool[slot] for slot in slots])
        return results

    def apply_bare(self, g: Tensor) -> Sequence[Tensor | None]:
        """The same formulas over bare arrays: no graph of the gradient is asked for."""
        saved = self.saved
        if type(saved) is errors.Freed:
            raise errors.backward_twice(self, saved)
        pool: list[Any] = []
        for index, value in enumerate(saved):
            if type(value) is tuple:
                array, storage, version, _, _ = value
                if storage.version != version:
                    name = self.plan.names[index]
                    raise errors.modified_in_place(self, name, array, storage, version)
                pool.append(array)
            elif type(value) is Packed or type(value) is SavedDual:
                pool.append(unpack(value, self, self.plan.names[index])._array)
            else:
                pool.append(value)
        if self.kept:
            pool.extend(self.kept)
        incoming = g._array
        results: list[Tensor | None] = [None] * len(self.edges)
        for index, formula, slots in self.plan.active:
            array = formula(incoming, *[pool[slot] for slot in slots])
            results[index] = g if array is incoming else wrap(array)
        return results

    def release(self, freed: errors.Freed) -> None:
        if self.plan.saved_count:
            self.saved = freed

    def name(self) -> str:
        return self.op.node_name


def saved_properties(op: Op) -> dict[str, Any]:
    """`_saved_self`, `_saved_result`, `_saved_dim`, ...: what PyTorch's nodes show."""

    def reader(name: str) -> property:
        def read(node: OpNode) -> Any:
            if name not in node.plan.names:
                return None
            return node.unpacked()[node.plan.names.index(name)]

        return property(read)

    shown = {"out": "result", "self_shape": "self_sym_sizes"}
    shown |= {f"out{number}": f"result{number}" for number in range(4)}
    names = {name for formula in op.formula_names.values() for name in formula}
    return {
        f"{prefix}{shown.get(name, name)}": reader(name)
        for name in names
        for prefix in ("_saved_", "_raw_saved_")
    }


class Op:
    """One operation: forward over arrays, gradients in tensor operations."""

    is_view = False

    def __init__(
        self,
        name: str,
        forward: Callable[..., Any],
        *,
        grads: Mapping[str, Formula] | None = None,
        joint: Formula | None = None,
        inputs: tuple[str, ...] | None = None,
        outputs: int = 1,
        node: str | None = None,
        linear: bool = False,
        multilinear: bool = False,
        jvp: Formula | None = None,
        bare: bool = False,
        uniform: bool = False,
        kinks: str = "",
        non_differentiable: str = "",
    ) -> None:
        self.name = name
        self.forward = forward
        self.grads = dict(grads or {})
        self.joint = joint
        self.outputs = outputs  # the number of outputs; 0 when it depends on the input
        self.linear = linear
        self.multilinear = multilinear
        self.jvp = jvp
        # The formulas use nothing but operators, so they hold for bare arrays as they stand.
        self.bare = bare
        # All elements of the result are equal, so it may be written to memory that overlaps.
        self.uniform = uniform
        self.kinks = kinks
        self.non_differentiable = non_differentiable
        self.variadic = False
        self.inputs, self.param_defaults = self._signature(inputs)
        self.formula_names = {
            formula: tuple(inspect.signature(formula).parameters)[1:]
            for formula in [*self.grads.values(), *([joint] if joint else [])]
        }
        self.differentiable = bool(self.formula_names)
        self.node_name = node or f"{camel(name)}Backward0"
        members = {"__slots__": (), "op": self, **saved_properties(self)}
        self.node_class = type(self.node_name, (OpNode,), members)
        self.plans: dict[int, Plan] = {}
        self._check_formulas()
        if name in OPS:
            raise ValueError(f"the operation {name!r} is defined twice")
        OPS[name] = self

    def _signature(self, inputs: tuple[str, ...] | None) -> tuple[tuple[str, ...], set[str]]:
        if inputs is not None and isinstance(self.forward, np.ufunc):
            return inputs, set()
        parameters = inspect.signature(self.forward).parameters.values()
        self.variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        positional = tuple(p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD)
        keywords = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
        return inputs or positional, keywords

    def _check_formulas(self) -> None:
        for name in self.grads:
            if name not in self.inputs:
                raise ValueError(f"{self.name}: a gradient for {name!r}, which is not an input")
        for names in self.formula_names.values():
            for name in names:
                self.capture(name)

    def capture(self, name: str) -> tuple[int, Any]:
        """How a name in a formula is obtained when the operation is recorded."""
        if name in self.inputs:
            return INPUT, self.inputs.index(name)
        if name == "out":
            return OUTPUT, None
        if name[:3] == "out" and name[3:].isdigit():
            return OUTPUT, int(name[3:])
        if name in self.param_defaults:
            return PARAM, name
        stem, _, what = name.rpartition("_")
        if what == "shape" and stem in self.inputs:
            return SHAPE, self.inputs.index(stem)
        if what == "dtype" and stem in self.inputs:
            return DTYPE, self.inputs.index(stem)
        special = {"input_shapes": SHAPES, "input_dtypes": DTYPES, "needs": NEEDS}
        if name in special:
            return special[name], None
        raise ValueError(f"{self.name}: a formula asks for {name!r}, which is not known")

    def active_formulas(self, mask: int) -> list[tuple[int, Formula]]:
        if self.joint is not None:
            return [(0, self.joint)]
        return [
            (self.inputs.index(name), formula)
            for name, formula in self.grads.items()
            if mask >> self.inputs.index(name) & 1
        ]

    def plan(self, mask: int) -> Plan:
        plan = self.plans.get(mask)
        if plan is None:
            plan = self.plans[mask] = Plan(self, mask)
        return plan

    # -- running ---------------------------------------------------------------------------

    def __call__(self, *inputs: Any, **params: Any) -> Any:
        state = local.state
        if state.intercept is not None:
            return state.intercept(self, inputs, params)
        result = self.compute(inputs, params)
        if type(result) is tuple or type(result) is list:
            return self.finish_many(state, inputs, params, result)
        return self.finish(state, inputs, params, wrap(result))

    def compute(self, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """The forward over arrays, with errors that name the operation and the user's line."""
        return self.forward(
            *[value._array if isinstance(value, Tensor) else value for value in inputs], **params
        )

    def finish(
        self, state: State, inputs: tuple[Any, ...], params: dict[str, Any], out: Tensor
    ) -> Tensor:
        """Give a computed output its history, or the reason why it has none."""
        mask = grad_mask(inputs)
        if mask and state.grad_enabled and self.can_differentiate(out):
            plan = self.plan(mask)
            if plan.active:
                self.attach(state, plan, inputs, params, (out,))
                return out
        out._reason = self.reason(state, mask, inputs)
        return out

    def finish_many(
        self, state: State, inputs: tuple[Any, ...], params: dict[str, Any], arrays: Any
    ) -> tuple[Tensor, ...]:
        outs = tuple(wrap(array) for array in arrays)
        mask = grad_mask(inputs)
        if mask and state.grad_enabled:
            differentiable = tuple(out for out in outs if self.can_differentiate(out))
            plan = self.plan(mask)
            if differentiable and plan.active:
                self.attach(state, plan, inputs, params, outs)
                return outs
        reason = self.reason(state, mask, inputs)
        for out in outs:
            out._reason = reason
        return outs

    def can_differentiate(self, out: Tensor) -> bool:
        return self.differentiable and dtypes.BY_NUMPY[out._array.dtype].category >= dtypes.FLOAT

    def reason(self, state: State, mask: int, inputs: tuple[Any, ...]) -> NoHistory | None:
        """Why an output has no history: cut here, or inherited from an input."""
        if mask:
            if not state.grad_enabled:
                return state.no_grad_reason
            ancestor = next(
                t._node for t in inputs if isinstance(t, Tensor) and t._requires_grad
            )
            return NoHistory("not differentiable", self.name, user_where(), ancestor)
        for value in inputs:
            if isinstance(value, Tensor) and value._reason is not None:
                return value._reason
        return None

    def attach(
        self,
        state: State,
        plan: Plan,
        inputs: tuple[Any, ...],
        params: dict[str, Any],
        outs: tuple[Tensor, ...],
    ) -> OpNode:
        """Make the node of this call and make it the history of its outputs."""
        node: OpNode = _new(self.node_class)
        node.meta = tuple((out._array.shape, out._array.dtype) for out in outs)
        for number, out in enumerate(outs):
            if self.can_differentiate(out):
                out._requires_grad = True
                out._node = node
                out._output_nr = number
        fill_node(node, state, plan, inputs, params, outs)
        return node

    def __repr__(self) -> str:
        return f"<op {self.name}>"


def grad_mask(inputs: tuple[Any, ...]) -> int:
    """A bit for each input that requires grad, after bringing views up to date."""
    mask = 0
    for index, value in enumerate(inputs):
        if isinstance(value, Tensor):
            if value._view is not None:
                sync(value)
            if value._requires_grad:
                mask |= 1 << index
    return mask


def input_edges(inputs: tuple[Any, ...]) -> tuple[Edge | None, ...]:
    return tuple(
        edge_of(value) if isinstance(value, Tensor) and value._requires_grad else None
        for value in inputs
    )


def fill_node(
    node: OpNode,
    state: State,
    plan: Plan,
    inputs: tuple[Any, ...],
    params: dict[str, Any],
    outs: tuple[Tensor, ...],
) -> None:
    """Everything a node knows besides its outputs' shapes."""
    node.plan = plan
    node.extras = None
    node.edges = input_edges(inputs)
    node.seq = next_sequence_number()
    node.module_path = state.module_path
    frame = _getframe(1)
    while frame is not None and frame.f_globals.get("__package__") in INTERNAL_PACKAGES:
        frame = frame.f_back  # type: ignore[assignment]  # the outermost frame has none
    node.where = None if frame is None else (frame.f_code, frame.f_lasti)
    count = plan.saved_count
    values = [capture_value(capture, inputs, params, outs) for capture in plan.captures]
    node.saved = tuple(values[:count])
    node.kept = tuple(values[count:])


def record(
    state: State,
    plan: Plan,
    node_class: type[OpNode],
    inputs: tuple[Any, ...],
    out: Tensor,
    frame: FrameType | None,
) -> None:
    """The short way to give one output its history, for operations without parameters."""
    node: OpNode = _new(node_class)
    out._node = node
    array = out._array
    node.meta = ((array.shape, array.dtype),)
    node.plan = plan
    node.extras = None
    node.kept = ()
    node.seq = next_sequence_number()
    node.module_path = state.module_path
    while frame is not None and frame.f_globals.get("__package__") in INTERNAL_PACKAGES:
        frame = frame.f_back
    node.where = None if frame is None else (frame.f_code, frame.f_lasti)
    edges: list[Edge | None] = []
    for value in inputs:
        if isinstance(value, Tensor) and value._requires_grad:
            source = value._node
            edges.append(
                (source, value._output_nr) if source is not None else edge_of(value)
            )
        else:
            edges.append(None)
    node.edges = tuple(edges)
    saved: list[Any] = []
    for kind, key in plan.captures:
        value = out if kind else inputs[key]
        if not isinstance(value, Tensor):
            saved.append(value)
            continue
        storage = value._storage
        if state.saved_hooks or storage is INFERENCE:
            saved.append(save(value, output_of=kind == OUTPUT))
        elif kind:
            saved.append((array, storage, storage.version, OWN, 0))
        else:
            edge = edges[key]
            source, number = edge if edge is not None else (None, 0)
            saved.append((value._array, storage, storage.version, source, number))
    node.saved = tuple(saved)


def capture_value(
    capture: tuple[int, Any], inputs: tuple[Any, ...], params: dict[str, Any], outs: Any
) -> Any:
    kind, key = capture
    if kind == INPUT:
        value = inputs[key]
        return save(value) if isinstance(value, Tensor) else value
    if kind == OUTPUT:
        if key is not None:
            return save(outs[key], output_of=outs[key]._requires_grad)
        if len(outs) == 1:
            return save(outs[0], output_of=True)
        return SavedMany([save(out, output_of=out._requires_grad) for out in outs])
    if kind == PARAM:
        return params.get(key)
    if kind == SHAPE:
        value = inputs[key]
        return value._array.shape if isinstance(value, Tensor) else ()
    if kind == DTYPE:
        value = inputs[key]
        return value.dtype if isinstance(value, Tensor) else None
    if kind == SHAPES:
        return tuple(v._array.shape if isinstance(v, Tensor) else None for v in inputs)
    if kind == DTYPES:
        return tuple(v.dtype if isinstance(v, Tensor) else None for v in inputs)
    return tuple(isinstance(v, Tensor) and v._requires_grad for v in inputs)


class SavedMany(list[Any]):
    """The saved outputs of an operation with several."""


class ViewOp(Op):
    """An operation whose output shares memory with its first input."""

    is_view = True

    def __call__(self, *inputs: Any, **params: Any) -> Any:
        state = local.state
        if state.intercept is not None:
            return state.intercept(self, inputs, params)
        source: Tensor = inputs[0]
        array = self.forward(source._array, **params)
        if type(array) is list:
            return self._finish_views(state, source, params, array)
        out = self.finish(state, inputs, params, view_of(state, source, array, self, params))
        if source._requires_grad and not state.grad_enabled and self.can_differentiate(out):
            # PyTorch's answer for a view made under no_grad: it says that it requires grad, like
            # its base, but gradients for it go nowhere.
            out._requires_grad, out._node = True, Nowhere(out)
        return out

    def _finish_views(
        self, state: State, source: Tensor, params: dict[str, Any], arrays: list[np.ndarray]
    ) -> tuple[Tensor, ...]:
        outs = tuple(
            view_of(state, source, array, self, params, index)
            for index, array in enumerate(arrays)
        )
        mask = grad_mask((source,))
        if mask and state.grad_enabled and outs and self.can_differentiate(outs[0]):
            self.attach(state, self.plan(mask), (source,), params, outs)
        else:
            reason = self.reason(state, mask, (source,))
            for out in outs:
                out._reason = reason
        return outs


def view_of(
    state: State,
    source: Tensor,
    array: np.ndarray,
    op: Op,
    params: dict[str, Any],
    index: int | None = None,
) -> Tensor:
    """A tensor over part of another's memory, which knows how it came to be."""
    out: Tensor = _new(Tensor)
    out._array = array
    out._storage = storage = source._storage
    out._requires_grad = False
    out._node = None
    out._output_nr = 0
    out._reason = None
    out._grad = None
    if storage is INFERENCE:
        out._view = None
    else:
        kind = "multi" if index is not None else None
        if not state.grad_enabled and kind is None:
            kind = "inference" if state.inference else "no_grad"
        out._view = View(source, op, params, index, kind)
    return out


__all__ = ["OPS", "Op", "OpNode", "Storage", "ViewOp", "grad_mask", "view_of"]
