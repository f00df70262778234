"""How the doctor attaches itself: a handful of functions are replaced while it watches.

The engine knows nothing of the doctor. While nobody watches, nothing is replaced and nothing is
asked; while somebody does, each replacement calls the original and then tells the session what it
saw. `tests/test_doctor_events.py` checks that every replacement is undone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from clew import errors
from clew.amp import autocast_mode
from clew.amp.grad_scaler import GradScaler
from clew.autograd import mode, tensor_methods
from clew.autograd.context import FunctionCtx
from clew.core import engine, inplace
from clew.core.op import Op, ViewOp
from clew.core.recording import OpNode
from clew.core.tensor import NoHistory, Tensor
from clew.doctor.places import function_place
from clew.nn import functional
from clew.nn.modules import distance as distance_layers
from clew.nn.modules.module import Module
from clew.nn.parameter import Parameter
from clew.nn.utils import clip_grad
from clew.ops import leaving
from clew.optim import lr_scheduler
from clew.optim.optimizer import Optimizer, register_optimizer_step_post_hook
from clew.source import INTERNAL_PACKAGES
from clew.utils.data.dataloader import DataLoader
from clew.utils.data.dataset import Subset, TensorDataset

# `clew.autograd.backward` is a function and hides the module of the same name.
_BACKWARD = sys.modules["clew.autograd.backward"]

# Functions that make tensors of the user's: their lines are remembered.
CREATORS = (
    "tensor", "as_tensor", "from_numpy", "zeros", "ones", "full", "empty", "rand", "randn",
    "randint", "arange", "linspace", "eye", "zeros_like", "ones_like", "rand_like", "randn_like",
    "full_like", "normal",
)  # fmt: skip


class Instrument:
    """The replacements of one session, and how to undo them."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self.undo: list[tuple[Any, str, Any]] = []

    def replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Put `make(original)` in the place of an attribute of a class or a module."""
        original = owner.__dict__[name]
        self.undo.append((owner, name, original))
        setattr(owner, name, make(original))

    def install(self) -> None:
        for part in (
            self._operations, self._histories, self._backward, self._optimizers, self._modules,
            self._mixed_precision, self._states, self._creation,
        ):  # fmt: skip
            part()

    def remove(self) -> None:
        self.hook.remove()
        while self.undo:
            owner, name, original = self.undo.pop()
            setattr(owner, name, original)

    # -- operations ----------------------------------------------------------------------------

    def _operations(self) -> None:
        session = self.session

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
            def watched(
                self: Op, state: Any, inputs: tuple[Any, ...], params: Any, outs: Any
            ) -> Any:
                results = original(self, state, inputs, params, outs)
                for out in results:
                    session.op_ran(self, state, inputs, params, out)
                return results

            return watched

        def share(original: Any) -> Any:
            def watched(self: ViewOp, source: Tensor, params: Any, array: Any) -> Tensor:
                out: Tensor = original(self, source, params, array)
                session.view_made(self, source, params, out)
                return out

            return watched

        def run_inplace(original: Any) -> Any:
            def watched(state: Any, op: Op, inputs: tuple[Any, ...], params: Any) -> Tensor:
                out: Tensor = original(state, op, inputs, params)
                session.written(op, state, inputs, params, out)
                return out

            return watched

        self.replace(Op, "output", output)
        self.replace(Op, "finish_many", finish_many)
        self.replace(ViewOp, "share", share)
        self.replace(inplace, "run_inplace", run_inplace)

    # -- histories -----------------------------------------------------------------------------

    def _histories(self) -> None:
        session = self.session

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
                session.grad_set(self, value)
                original.fset(self, value)

            def get_grad(self: Tensor) -> Tensor | None:
                grad: Tensor | None = original.fget(self)
                if grad is not None:
                    package = sys._getframe(1).f_globals.get("__package__")
                    if package not in INTERNAL_PACKAGES:
                        session.grad_read(self)
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

        self.replace(Tensor, "requires_grad_", requires_grad_)
        self.replace(NoHistory, "cuts", cuts)

        def expose(original: Any) -> Any:
            def watched(storage: Any, array: Any, how: str) -> Any:
                result = original(storage, array, how)
                session.memory_exposed(result)
                return result

            return watched

        self.replace(leaving, "expose", expose)
        self.replace(leaving, "_note_exit", note_exit)
        for kind in (mode._GradMode, mode.inference_mode, mode.set_grad_enabled):
            self.replace(kind, "__enter__", enter)
        self.replace(Tensor, "data", data_set)
        self.replace(Tensor, "grad", grad_set)
        self.replace(errors, "modified_in_place", told(session.saved_was_modified))
        self.replace(errors, "warn_untracked_write", told(session.saved_was_modified_unseen))
        self.replace(errors, "backward_twice", told(session.went_backward_twice))

    # -- backward ------------------------------------------------------------------------------

    def _backward(self) -> None:
        session = self.session

        def root_edges(original: Any) -> Any:
            def watched(roots: tuple[Any, ...], given: Any, create_graph: bool) -> Any:
                session.roots = roots
                return original(roots, given, create_graph)

            return watched

        def run_class(original: Any) -> Any:
            class WatchedRun(original):
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
                return results

            return watched

        def apply(original: Any) -> Any:
            def watched(self: OpNode, grads: Any) -> Any:
                results = original(self, grads)
                if self.op.name not in session.quiet_backward:
                    session.node_ran(self, grads, results)
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

        self.replace(FunctionCtx, "apply", custom)
        self.replace(_BACKWARD, "root_edges", root_edges)
        self.replace(engine, "Run", run_class)
        self.replace(OpNode, "apply_bare", apply_bare)
        self.replace(OpNode, "apply", apply)

    # -- optimizers and schedulers ---------------------------------------------------------------

    def _optimizers(self) -> None:
        session = self.session

        def init(original: Any) -> Any:
            def watched(self: Optimizer, *args: Any, **kwargs: Any) -> None:
                original(self, *args, **kwargs)
                session.optimizer_made(self)

            return watched

        def zero_grad(original: Any) -> Any:
            def watched(self: Any, set_to_none: bool = True) -> None:
                session.zero_grad(self)
                original(self, set_to_none)

            return watched

        def run_pre_hooks(original: Any) -> Any:
            def watched(self: Optimizer, step: Any, args: Any, kwargs: Any) -> Any:
                result = original(self, step, args, kwargs)
                closure = kwargs.get("closure", args[1] if len(args) > 1 else None)
                session.step_begins(self, callable(closure))
                return result

            return watched

        def scheduler_init(original: Any) -> Any:
            def watched(self: Any, *args: Any, **kwargs: Any) -> None:
                session.scheduler_made(self)
                original(self, *args, **kwargs)

            return watched

        def scheduler_step(original: Any) -> Any:
            def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
                session.scheduler_steps(self)
                return original(self, *args, **kwargs)

            return watched

        self.replace(Optimizer, "__init__", init)
        self.replace(Optimizer, "zero_grad", zero_grad)
        self.replace(Optimizer, "_run_pre_hooks", run_pre_hooks)
        self.hook = register_optimizer_step_post_hook(lambda opt, *_: session.step_ends(opt))
        base = lr_scheduler.LRScheduler
        self.replace(base, "__init__", scheduler_init)
        kinds = {base} | {
            kind
            for kind in vars(lr_scheduler).values()
            if isinstance(kind, type) and issubclass(kind, base) and "step" in kind.__dict__
        }
        for kind in kinds:
            self.replace(kind, "step", scheduler_step)
        self.replace(clip_grad, "_gradients", self._clipping)

    def _clipping(self, original: Any) -> Any:
        session = self.session

        def watched(parameters: Any) -> Any:
            listed = [parameters] if isinstance(parameters, Tensor) else list(parameters)
            session.clipping(listed)
            return original(listed)

        return watched

    # -- modules ---------------------------------------------------------------------------------

    def _modules(self) -> None:
        session = self.session

        def init(original: Any) -> Any:
            def watched(self: Module, *args: Any, **kwargs: Any) -> None:
                original(self, *args, **kwargs)
                session.module_made(self)

            return watched

        def call(original: Any) -> Any:
            def watched(self: Module, *args: Any, **kwargs: Any) -> Any:
                entered = session.module_entered(self, args, kwargs)
                try:
                    result = original(self, *args, **kwargs)
                finally:
                    session.stack.pop()
                if entered is not None:
                    session.module_left(self, entered, result)
                return result

            return watched

        def train(original: Any) -> Any:
            def watched(self: Module, mode: bool = True) -> Module:
                session.mode_set(self, mode)
                result: Module = original(self, mode)
                return result

            return watched

        def zero_grad(original: Any) -> Any:
            def watched(self: Module, set_to_none: bool = True) -> None:
                session.zero_grad(self)
                original(self, set_to_none)

            return watched

        def new_parameter(original: Any) -> Any:
            make = original.__func__

            def watched(cls: Any, data: Any = None, requires_grad: bool = True) -> Any:
                result = make(cls, data, requires_grad)
                session.parameter_made(result, data)
                return result

            return staticmethod(watched)

        def pair(original: Any) -> Any:
            def watched(x1: Tensor, x2: Tensor, *args: Any, **kwargs: Any) -> Any:
                result = original(x1, x2, *args, **kwargs)
                session.compared(x1, x2, result)
                return result

            return watched

        def dataset(original: Any) -> Any:
            def watched(self: Any, *args: Any, **kwargs: Any) -> None:
                original(self, *args, **kwargs)
                session.dataset_made(self)

            return watched

        for owner in (functional, sys.modules["clew"], distance_layers):
            if "cosine_similarity" in owner.__dict__:
                self.replace(owner, "cosine_similarity", pair)
        for kind in (Subset, TensorDataset, DataLoader):
            self.replace(kind, "__init__", dataset)
        self.replace(Module, "__init__", init)
        self.replace(Module, "__call__", call)
        self.replace(Module, "train", train)
        self.replace(Module, "zero_grad", zero_grad)
        self.replace(Parameter, "__new__", new_parameter)

    # -- mixed precision -------------------------------------------------------------------------

    def _mixed_precision(self) -> None:
        session = self.session

        def told(event: Callable[..., None]) -> Callable[[Any], Any]:
            def make(original: Any) -> Any:
                def watched(self: GradScaler, *args: Any, **kwargs: Any) -> Any:
                    event(self, *args)
                    return original(self, *args, **kwargs)

                return watched

            return make

        self.replace(GradScaler, "scale", told(session.scaled))
        self.replace(GradScaler, "unscale_", told(session.unscaled))
        self.replace(GradScaler, "step", told(session.scaler_steps))

        def unscaling(original: Any) -> Any:
            def watched(self: GradScaler, *args: Any) -> Any:
                session.schedules.by_scaler = True
                try:
                    return original(self, *args)
                finally:
                    session.schedules.by_scaler = False

            return watched

        self.replace(GradScaler, "_unscale_grads_", unscaling)

        def entered(original: Any) -> Any:
            def watched(self: Any) -> Any:
                session.autocast_entered(self)
                return original(self)

            return watched

        self.replace(autocast_mode.autocast, "__enter__", entered)

    # -- states ----------------------------------------------------------------------------------

    def _states(self) -> None:
        session = self.session
        owner = next(kind for kind in Module.__mro__ if "load_state_dict" in kind.__dict__)

        def load_state_dict(original: Any) -> Any:
            def watched(self: Module, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
                session.state_loaded(self, state_dict)
                return original(self, state_dict, *args, **kwargs)

            return watched

        def state_dict(original: Any) -> Any:
            def watched(self: Module, *args: Any, **kwargs: Any) -> Any:
                result = original(self, *args, **kwargs)
                if not args and not kwargs:
                    session.state_taken(self, result)
                return result

            return watched

        self.replace(owner, "load_state_dict", load_state_dict)
        self.replace(owner, "state_dict", state_dict)
        self.replace(tensor_methods, "alias", self._aliases)

    def _aliases(self, original: Any) -> Any:
        session = self.session

        def watched(tensor: Tensor, array: Any = None) -> Tensor:
            result: Tensor = original(tensor, array)
            session.alias_made(tensor, result)
            return result

        return watched

    # -- creation --------------------------------------------------------------------------------

    def _creation(self) -> None:
        session = self.session
        package = sys.modules.get("clew")

        def made(original: Any) -> Any:
            def watched(*args: Any, **kwargs: Any) -> Any:
                result = original(*args, **kwargs)
                if isinstance(result, Tensor):
                    session.tensor_made(result)
                return result

            watched.__name__ = getattr(original, "__name__", "create")
            watched.__doc__ = original.__doc__
            return watched

        for name in CREATORS:
            if package is not None and name in package.__dict__:
                self.replace(package, name, made)
