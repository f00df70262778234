"""Op: one differentiable operation, defined once.

A definition says: the forward over arrays, and for each differentiable input a formula for its
gradient, written in tensor operations. The names of a formula's parameters say what it needs:

    g            the gradient of the output (for several outputs: a tuple, None where absent)
    self, other  a tensor input of that name: it is saved for backward
    out          the output: it is saved for backward (a tuple when there are several)
    out0, out1   one of several outputs: only that one is saved
    dim, ...     a parameter of the forward
    self_shape, self_dtype    only the shape or dtype of an input: no memory is held
    self_transposed           whether a matrix is column-major
    input_shapes, input_dtypes, needs    for all inputs: shapes, dtypes, which gradients are wanted

So what an operation saves is never written down twice, and an input that does not require grad
saves nothing for its sake. Summing a gradient down to the shape that was broadcast from, and
converting it to the input's dtype, happen once, in the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.arguments import parameter_names
from clew.core.no_history import NoHistory, refuse_integers, stronger
from clew.core.node import Edge, Node, edge_of, recorded_edge
from clew.core.recording import (
    DTYPE,
    DTYPES,
    INPUT,
    NEEDS,
    NOT_IMPLEMENTED,
    OUTPUT,
    PARAM,
    SHAPE,
    SHAPES,
    TRANSPOSED,
    OpNode,
    Plan,
    RefusingNode,
    differentiable,
    edges_of,
    grad_mask,
    record,
    saved_properties,
)
from clew.core.state import State, local
from clew.core.storage import INFERENCE
from clew.core.tensor import Tensor, View, _ndarray, _new, sync, sync_unless_lost, wrap
from clew.forking import cached_property
from clew.observer import active
from clew.source import _getframe, user_where

Formula = Callable[..., Any]
F32 = np.dtype(np.float32)

# Every operation by name: the table that tests, documentation and the compiler read.
OPS: dict[str, Op] = {}


def camel(name: str) -> str:
    """`log_softmax` -> `LogSoftmax`, as PyTorch names its nodes."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


class Op:
    """One operation: forward over arrays, gradients in tensor operations."""

    is_view = False
    # Whether the gradient is a view of the incoming one, as that of a view mostly is.
    expands_grad = False
    # Whether in place PyTorch gives integers and bools a history, which nothing can be done with.
    marks_integers = False
    # Whether inputs and results may be sparse, or the like: forwards then take and give tensors.
    takes_layouts = False
    # Whether PyTorch's formula leaves the gradient of a real input complex where the result is, so
    # that backward refuses it; others take the real part.
    keeps_complex = False
    # Inputs that are always numbers. PyTorch saves them as such, not as tensors.
    numbers: tuple[str, ...] = ()

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
        affine: str | None = None,
        bare: bool = False,
        deferred: tuple[str, str, Formula] | None = None,
        grad_is_view: bool = False,
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
        # The input that is added to a map which is multilinear in all others.
        self.affine = affine
        # The formulas use nothing but operators, so they hold for bare arrays as they stand.
        self.bare = bare
        # (input, other input, formula): another formula for the input's gradient, for bare arrays.
        # It may return before the gradient is computed, by an asynchronous job; meanwhile backward
        # goes on with the gradient of the other input, which is as much work.
        self.deferred = deferred
        # The gradient is a view of the incoming one, with the axes permuted.
        self.grad_is_view = grad_is_view
        # All elements of the result are equal, so it may be written to memory that overlaps.
        self.uniform = uniform
        self.kinks = kinks
        self.non_differentiable = non_differentiable
        self.variadic = False
        self.inputs, self.param_defaults = self._signature(inputs)
        self.formula_names = {
            formula: parameter_names(formula)[0][1:]
            for formula in [*self.grads.values(), *([joint] if joint else [])]
        }
        self.differentiable = bool(self.formula_names)
        # What has no derivative does not ask where its operands come from.
        self.sync = sync if self.differentiable else sync_unless_lost
        # Whether the derivative is zero wherever there is one.
        self.is_step = not self.differentiable
        self.node_name = node or f"{camel(name)}Backward0"
        self.plans: dict[int, Plan] = {}
        self._check_formulas()
        if name in OPS:
            raise ValueError(f"the operation {name!r} is defined twice")
        OPS[name] = self

    def _signature(self, inputs: tuple[str, ...] | None) -> tuple[tuple[str, ...], set[str]]:
        if inputs is not None and isinstance(self.forward, np.ufunc):
            return inputs, set()
        positional, keywords, self.variadic = parameter_names(self.forward)
        return inputs or positional, set(keywords)

    @cached_property
    def node_class(self) -> type[OpNode]:
        """The class of this operation's nodes, made when the first one is needed."""
        members = {
            "__slots__": (),
            "op": self,
            # Several outputs: where the first alone has a gradient, for a formula that takes it so.
            "is_bare": self.bare and (self.outputs == 1 or self.joint is not None),
            "may_defer": self.deferred is not None,
            "grad_is_view": self.grad_is_view,
            "gives_view": self.is_view or self.expands_grad,
            **saved_properties(self),
        }
        base = RefusingNode if self.node_name == NOT_IMPLEMENTED else OpNode
        return type(self.node_name.rpartition("::")[2], (base,), members)

    def _check_formulas(self) -> None:
        for name in self.grads:
            if name not in self.inputs:
                raise ValueError(f"{self.name}: a gradient for {name!r}, which is not an input")
        for names in self.formula_names.values():
            for name in names:
                self.capture(name)

    @cached_property
    def always_saved(self) -> tuple[str, ...]:
        """What PyTorch saves whichever input requires grad: outputs, and inputs of two formulas.

        So it must not be overwritten, even where no formula that will run asks for it.
        """
        asked = [name for formula in self.grads.values() for name in self.formula_names[formula]]
        return tuple(
            name
            for name in dict.fromkeys(asked)
            if self.capture(name)[0] == OUTPUT
            or (self.capture(name)[0] == INPUT and asked.count(name) > 1)
        )

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
        if what == "transposed" and stem in self.inputs:
            return TRANSPOSED, self.inputs.index(stem)
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

    def plan_without(self, mask: int, nowhere: int) -> Plan:
        """The plan where some gradients go nowhere: what only these need is not saved.

        As in PyTorch it is where there is one input to differentiate by.
        """
        is_one = len(self.grads) < 2 or self.node_name.endswith("NotImplemented")
        return self.plan(mask if is_one else mask & ~nowhere)

    def plan_for_edges(self, plan: Plan, inputs: Any, edges: Sequence[Edge | None]) -> Plan:
        """The same for a plan that has been made, with edges that may be missing."""
        # Without a look at histories: a write may just have cost a view its own.
        mask = sum(getattr(each, "_requires_grad", 0) << index for index, each in enumerate(inputs))
        reached = sum((edge is not None) << index for index, edge in enumerate(edges))
        return plan if mask == reached else self.plan_without(mask, mask & ~reached)

    # -- running ---------------------------------------------------------------------------

    def __call__(self, *inputs: Any, **params: Any) -> Any:
        state = local.state
        if state.intercept is not None:
            return state.intercept(self, inputs, params)
        try:
            result = self.compute(inputs, params)
        except (RuntimeError, IndexError) as error:
            raise self.first_mistake(inputs) or error from None
        if type(result) is tuple or type(result) is list:
            return self.finish_many(state, inputs, params, tuple([wrap(each) for each in result]))
        return self.output(state, inputs, params, result)

    def over(self, first: Any, *others: Any, **params: Any) -> Any:
        """The operation, for formulas that are `bare`: of bare arrays, its forward alone."""
        if type(first) is _ndarray:
            return self.forward(first, *others, **params)
        return self(first, *others, **params)

    def first_mistake(self, inputs: tuple[Any, ...]) -> RuntimeError | None:
        """What PyTorch says before it computes: that a history is lost, or may not be saved."""
        is_asked = self.differentiable or self.name.startswith("bitwise_")
        if not is_asked or not local.state.grad_enabled:
            return None
        try:
            mask = grad_mask(inputs)
        except RuntimeError as error:
            return error
        if not mask or not self.differentiable:
            return None
        saved = [inputs[index] for index in self.plan(mask).saves_input]
        if any(isinstance(each, Tensor) and each._storage.is_inference for each in saved):
            return errors.inference_saved()
        return None

    def compute(self, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """The forward over arrays, with errors that name the operation and the user's line."""
        return self.forward(
            *[value._array if isinstance(value, Tensor) else value for value in inputs], **params
        )

    def write_into(
        self, target: np.ndarray, inputs: tuple[Any, ...], params: dict[str, Any]
    ) -> bool:
        """Compute straight into `target`'s memory, if this operation can; False if it did not."""
        return False

    def write_first_part(
        self, target: np.ndarray, inputs: tuple[Any, ...], params: dict[str, Any]
    ) -> None:
        """Write what PyTorch has written in place when it comes to the element it refuses."""

    def refuse_target(self, dtype: dtypes.dtype, inputs: tuple[Any, ...]) -> None:
        """Raise where the result, whose dtype is known before it is computed, cannot be stored."""

    def output(
        self,
        state: State,
        inputs: tuple[Any, ...],
        params: dict[str, Any],
        array: Any,
    ) -> Tensor:
        """The result as a tensor, with its history, or with the reason why it has none."""
        if type(array) is not _ndarray:
            array = np.asarray(array)
        out: Tensor = _new(Tensor)
        out._array = array
        out._requires_grad = False
        out._node = out._view = out._grad = out._reason = None
        out._output_nr = mask = nowhere = 0
        observer = active.observer
        if not state.grad_enabled:
            finish_without_history(state, inputs, out)
            if self.is_step:
                self.mark_step(out)
            if observer is not None:
                observer.op_ran(self.name, inputs, params, out)
            return out
        out._storage = INFERENCE if state.inference else state.new_storage()
        if len(inputs) == 1:
            # A single input is a tensor; to check it is faster than the loop.
            only = inputs[0]
            if only._view is not None:
                self.sync(only)
            if not only._requires_grad and only._reason is None:
                if observer is not None:
                    observer.op_ran(self.name, inputs, params, out)
                return out
        edges: list[Edge | None] = []
        bit = 1
        for value in inputs:
            if isinstance(value, Tensor):
                if value._view is not None:
                    self.sync(value)
                if value._requires_grad:
                    mask += bit
                    source = value._node
                    if source is None:
                        edge = recorded_edge(value)
                        edges.append(edge)
                        if edge is None:
                            nowhere += bit
                    else:
                        edges.append((source, value._output_nr))
                else:
                    edges.append(None)
                    if value._reason is not None:
                        out._reason = stronger(out._reason, value._reason)
            else:
                edges.append(None)
            bit += bit
        if not mask:
            if observer is not None:
                observer.op_ran(self.name, inputs, params, out)
            return out
        # A look at the dtype itself is faster than one at its kind.
        if self.differentiable and (array.dtype is F32 or array.dtype.kind in "fcVW"):
            plan = self.plans.get(mask) or self.plan(mask)
            if plan.active:
                if nowhere:
                    plan = self.plan_without(mask, nowhere)
                out._requires_grad = True
                out._reason = None
                # Two frames up is the user's line for a method, or a wrapper that `record` skips.
                out._node = record(
                    state, plan, self.node_class, inputs, params, (out,), edges, _getframe(2)
                )
                if observer is not None:
                    observer.op_ran(self.name, inputs, params, out)
                return out
        refuse_integers(self, inputs, array.dtype)
        out._reason = self.reason(state, mask, inputs)
        if observer is not None:
            observer.op_ran(self.name, inputs, params, out)
        return out

    def mark_step(self, out: Tensor) -> Tensor:
        """Note that a result without history is of a step function: its derivative is zero."""
        if out._reason is not None:
            out._reason = out._reason.of_step
        return out

    def finish_many(
        self,
        state: State,
        inputs: tuple[Any, ...],
        params: dict[str, Any],
        outs: tuple[Tensor, ...],
    ) -> tuple[Tensor, ...]:
        mask = grad_mask(inputs, self.sync)
        if mask and state.grad_enabled and self.differentiable and outs:
            plan = self.plan(mask)
            if plan.active and any([differentiable(out) for out in outs]):
                self.attach_many(state, plan, inputs, params, outs)
                return self.observed(inputs, params, outs)
            refuse_integers(self, inputs, outs[0]._layout.dtype)
        reason = self.reason(state, mask, inputs)
        for out in outs:
            out._reason = reason
        return self.observed(inputs, params, outs)

    def observed(
        self, inputs: tuple[Any, ...], params: dict[str, Any], outs: tuple[Tensor, ...]
    ) -> tuple[Tensor, ...]:
        """Several outputs, after the observer has seen them."""
        observer = active.observer
        if observer is not None:
            for out in outs:
                observer.op_ran(self.name, inputs, params, out)
        return outs

    def attach_many(
        self,
        state: State,
        plan: Plan,
        inputs: tuple[Any, ...],
        params: dict[str, Any],
        outs: tuple[Tensor, ...],
    ) -> None:
        for number, out in enumerate(outs):
            out._output_nr = number
        edges = edges_of(inputs)
        plan = self.plan_for_edges(plan, inputs, edges)
        node = record(state, plan, self.node_class, inputs, params, outs, edges, _getframe(1))
        for out in outs:
            if self.can_differentiate(out):
                out._requires_grad = True
                out._node = node
            else:
                out._output_nr = 0

    def can_differentiate(self, out: Tensor) -> bool:
        return self.differentiable and differentiable(out)

    def reason(self, state: State, mask: int, inputs: tuple[Any, ...]) -> NoHistory | None:
        """Why an output has no history: cut here, or inherited from an input."""
        if mask:
            reason = state.no_grad_reason
            if not state.grad_enabled and (reason is None or reason.ancestor is not None):
                return reason
            for value in inputs:
                if isinstance(value, Tensor) and value._requires_grad:
                    ancestor = edge_of(value)[0]
                    break
            if not state.grad_enabled:
                reason.cuts(ancestor)
                return reason
            return NoHistory("not differentiable", self.name, user_where(), ancestor)
        inherited: NoHistory | None = None
        for value in inputs:
            if isinstance(value, Tensor) and value._reason is not None:
                inherited = stronger(inherited, value._reason)
        return inherited

    def in_one_node(self, view: View, remade: Tensor) -> Node | None:
        """The history of a view that was made of its base once more; ViewOp has another."""
        return remade._node

    def __repr__(self) -> str:
        return f"<op {self.name}>"


def finish_without_history(state: State, inputs: tuple[Any, ...], out: Tensor) -> None:
    """Give a result for which nothing is recorded its storage and the reason."""
    reason = state.no_grad_reason
    if state.inference:
        out._storage = INFERENCE
        # One ancestor is enough for the message.
        if reason is not None and reason.ancestor is not None:
            out._reason = reason
            return
    else:
        out._storage = state.new_storage()
    for value in inputs:
        if isinstance(value, Tensor):
            if value._view is not None:
                sync(value)
            if value._requires_grad:
                if reason is not None and reason.ancestor is None:
                    reason.cuts(edge_of(value)[0])
                out._reason = reason
                return
            if value._reason is not None:
                out._reason = stronger(out._reason, value._reason)
