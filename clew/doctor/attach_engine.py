"""What the doctor replaces in the engine: operations, histories, backward."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from clew import errors
from clew.autograd import mode
from clew.autograd.context import FunctionCtx
from clew.core import engine, inplace
from clew.core.op import Op, ViewOp
from clew.core.recording import OpNode
from clew.core.tensor import NoHistory, Tensor
from clew.doctor.places import function_place
from clew.ops import leaving
from clew.source import INTERNAL_PACKAGES

if TYPE_CHECKING:
    from clew.doctor.instrument import Instrument

# `clew.autograd.backward` is a function and hides the module of the same name.
_BACKWARD = sys.modules["clew.autograd.backward"]


def operations(instrument: Instrument) -> None:
    session = instrument.session

    def output(original: Any) -> Any:
        seen = session.op_ran

        def watched(
            self: Op, state: Any, inputs: tuple[Any, ...], params: Any, array: Any
        ) -> Tensor:
            out: Tensor = original(self, state, inputs, params, array)
            seen(self, state, inputs, params, out)
            return out

        return watched

    def finish_many(original: Any) -> Any:
        def watched(self: Op, state: Any, inputs: tuple[Any, ...], params: Any, outs: Any) -> Any:
            results = original(self, state, inputs, params, outs)
            for out in results:
                session.op_ran(self, state, inputs, params, out)
            return results

        return watched

    def share(original: Any) -> Any:
        def watched(self: ViewOp, source: Tensor, params: Any, array: Any) -> Tensor:
            out: Tensor = original(self, source, params, array)
            # Most views are a layer's own transposes, of which there is nothing to learn.
            if (
                self.name == "view"
                or out._node is None
                or session.partial.is_open
                or session.numbers.tainted
            ):
                session.view_made(self, source, params, out)
            return out

        return watched

    def run_inplace(original: Any) -> Any:
        def watched(state: Any, op: Op, inputs: tuple[Any, ...], params: Any) -> Tensor:
            out: Tensor = original(state, op, inputs, params)
            session.written(op, state, inputs, params, out)
            return out

        return watched

    instrument.replace(Op, "output", output)
    instrument.replace(Op, "finish_many", finish_many)
    instrument.replace(ViewOp, "share", share)
    instrument.replace(inplace, "run_inplace", run_inplace)


def histories(instrument: Instrument) -> None:
    session = instrument.session

    def cuts(original: Any) -> Any:
        def watched(self: NoHistory, node: Any) -> None:
            original(self, node)
            session.history_cut(self, node)

        return watched

    def note_exit(original: Any) -> Any:
        def watched(tensor: Tensor, how: str) -> None:
            original(tensor, how)
            session.value_left(tensor, how)

        return watched

    def enter(original: Any) -> Any:
        def watched(self: Any) -> Any:
            result = original(self)
            caller = sys._getframe(1)
            if caller.f_code.co_name == "wrapped" and "function" in caller.f_locals:
                # The mode belongs to a decorated function: that is the line to name.
                place = function_place(caller.f_locals["function"])
                session.mode_of_function(place)
            return result

        return watched

    def data_set(original: Any) -> Any:
        def set_data(self: Tensor, value: Tensor) -> None:
            session.data_replaced(self, value)
            original.fset(self, value)

        return property(original.fget, set_data)

    def grad_set(original: Any) -> Any:
        def set_grad(self: Tensor, value: Tensor | None) -> None:
            # What the library clears has been told as a whole, by `zero_grad`.
            if sys._getframe(1).f_globals.get("__package__") not in INTERNAL_PACKAGES:
                session.grad_set(self, value)
            original.fset(self, value)

        def get_grad(self: Tensor) -> Tensor | None:
            grad: Tensor | None = original.fget(self)
            package = sys._getframe(1).f_globals.get("__package__")
            if package not in INTERNAL_PACKAGES:
                session.grad_read(self, grad)
            return grad

        return property(get_grad, set_grad, original.fdel)

    def told(event: Callable[..., None]) -> Callable[[Any], Any]:
        def make(original: Any) -> Any:
            def watched(*args: Any) -> Any:
                event(*args)
                return original(*args)

            return watched

        return make

    def requires_grad_(original: Any) -> Any:
        def watched(self: Tensor, requires_grad: bool = True) -> Tensor:
            if requires_grad:
                session.asked_for_grad(self)
            result: Tensor = original(self, requires_grad)
            return result

        return watched

    instrument.replace(Tensor, "requires_grad_", requires_grad_)
    instrument.replace(NoHistory, "cuts", cuts)

    def expose(original: Any) -> Any:
        def watched(storage: Any, array: Any, how: str) -> Any:
            result = original(storage, array, how)
            session.memory_exposed(result)
            return result

        return watched

    instrument.replace(leaving, "expose", expose)
    instrument.replace(leaving, "_note_exit", note_exit)
    for kind in (mode._GradMode, mode.inference_mode, mode.set_grad_enabled):
        instrument.replace(kind, "__enter__", enter)
    instrument.replace(Tensor, "data", data_set)
    instrument.replace(Tensor, "grad", grad_set)
    instrument.replace(errors, "modified_in_place", told(session.saved_was_modified))
    instrument.replace(errors, "warn_untracked_write", told(session.saved_was_modified_unseen))
    instrument.replace(errors, "backward_twice", told(session.went_backward_twice))


def backward(instrument: Instrument) -> None:
    session = instrument.session

    def root_edges(original: Any) -> Any:
        def watched(roots: tuple[Any, ...], given: Any, create_graph: bool) -> Any:
            session.roots = roots
            return original(roots, given, create_graph)

        return watched

    def run_class(original: Any) -> Any:
        class WatchedRun(original):
            # The watch looks at every gradient as soon as it is there.
            allows_late = False

            def run(self, roots: Any, grads: Any, where: Any) -> None:
                begun = session.backward_begins(self, roots)
                super().run(roots, grads, where)
                session.backward_ends(self, begun)

        return WatchedRun

    def apply_bare(original: Any) -> Any:
        quiet = session.quiet_backward

        def watched(self: OpNode, g: Any, freed: Any) -> Any:
            results = original(self, g, freed)
            if self.op.name not in quiet:
                session.node_ran(self, (g,), results)
            if session.flow.is_open:
                session.flow.node_ran(self, g)
            return results

        return watched

    def apply(original: Any) -> Any:
        def watched(self: OpNode, grads: Any) -> Any:
            results = original(self, grads)
            if self.op.name not in session.quiet_backward:
                session.node_ran(self, grads, results)
            if session.flow.is_open:
                session.flow.node_ran(self, grads[0])
            return results

        return watched

    def custom(original: Any) -> Any:
        def watched(self: FunctionCtx, grads: Any) -> Any:
            session.numbers.in_custom += 1
            try:
                return original(self, grads)
            finally:
                session.numbers.in_custom -= 1

        return watched

    instrument.replace(FunctionCtx, "apply", custom)
    instrument.replace(_BACKWARD, "root_edges", root_edges)
    instrument.replace(engine, "Run", run_class)
    instrument.replace(OpNode, "apply_bare", apply_bare)
    instrument.replace(OpNode, "apply", apply)
