"""What the doctor replaces in the library: optimizers, modules, data, mixed precision, states."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from clew.amp import autocast_mode
from clew.amp.grad_scaler import GradScaler
from clew.autograd import tensor_methods
from clew.core.tensor import Tensor
from clew.nn import functional
from clew.nn.modules import distance as distance_layers
from clew.nn.modules.module import Module
from clew.nn.parameter import Parameter
from clew.nn.utils import clip_grad
from clew.optim import lr_scheduler
from clew.optim.optimizer import Optimizer, register_optimizer_step_post_hook
from clew.utils import checkpoint
from clew.utils.data.dataloader import DataLoader, _BaseDataLoaderIter
from clew.utils.data.dataset import Subset, TensorDataset

if TYPE_CHECKING:
    from clew.doctor.instrument import Instrument

# Functions that make tensors of the user's: their lines are remembered.
CREATORS = (
    "tensor", "as_tensor", "from_numpy", "zeros", "ones", "full", "empty", "rand", "randn",
    "randint", "arange", "linspace", "eye", "zeros_like", "ones_like", "rand_like", "randn_like",
    "full_like", "normal",
)  # fmt: skip


def optimizers(instrument: Instrument) -> None:
    session = instrument.session

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

    instrument.replace(Optimizer, "__init__", init)
    instrument.replace(Optimizer, "zero_grad", zero_grad)
    instrument.replace(Optimizer, "_run_pre_hooks", run_pre_hooks)
    instrument.hook = register_optimizer_step_post_hook(lambda opt, *_: session.step_ends(opt))
    base = lr_scheduler.LRScheduler
    instrument.replace(base, "__init__", scheduler_init)
    kinds = {base} | {
        kind
        for kind in vars(lr_scheduler).values()
        if isinstance(kind, type) and issubclass(kind, base) and "step" in kind.__dict__
    }
    for kind in kinds:
        instrument.replace(kind, "step", scheduler_step)

    def clipping(original: Any) -> Any:
        def watched(parameters: Any) -> Any:
            listed = [parameters] if isinstance(parameters, Tensor) else list(parameters)
            session.clipping(listed)
            return original(listed)

        return watched

    instrument.replace(clip_grad, "_gradients", clipping)


def modules(instrument: Instrument) -> None:
    session = instrument.session

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

    def set_attribute(original: Any) -> Any:
        def watched(self: Module, name: str, value: Any) -> None:
            original(self, name, value)
            if name == "requires_grad" and value is True:
                session.module_flagged(self)

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

    for owner in (functional, sys.modules["clew"], distance_layers):
        if "cosine_similarity" in owner.__dict__:
            instrument.replace(owner, "cosine_similarity", pair)
    instrument.replace(Module, "__init__", init)
    instrument.replace(Module, "__call__", call)
    instrument.replace(Module, "train", train)
    instrument.replace(Module, "zero_grad", zero_grad)
    instrument.replace(Module, "__setattr__", set_attribute)
    instrument.replace(Parameter, "__new__", new_parameter)


def mixed_precision(instrument: Instrument) -> None:
    session = instrument.session

    def told(event: Callable[..., None]) -> Callable[[Any], Any]:
        def make(original: Any) -> Any:
            def watched(self: GradScaler, *args: Any, **kwargs: Any) -> Any:
                event(self, *args)
                return original(self, *args, **kwargs)

            return watched

        return make

    instrument.replace(GradScaler, "scale", told(session.scaled))
    instrument.replace(GradScaler, "unscale_", told(session.unscaled))
    instrument.replace(GradScaler, "step", told(session.scaler_steps))

    def unscaling(original: Any) -> Any:
        def watched(self: GradScaler, *args: Any) -> Any:
            session.schedules.by_scaler = True
            try:
                return original(self, *args)
            finally:
                session.schedules.by_scaler = False

        return watched

    instrument.replace(GradScaler, "_unscale_grads_", unscaling)

    def entered(original: Any) -> Any:
        def watched(self: Any) -> Any:
            session.autocast_entered(self)
            return original(self)

        return watched

    instrument.replace(autocast_mode.autocast, "__enter__", entered)


def states(instrument: Instrument) -> None:
    session = instrument.session
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

    instrument.replace(owner, "load_state_dict", load_state_dict)
    instrument.replace(owner, "state_dict", state_dict)

    def aliases(original: Any) -> Any:
        def watched(tensor: Tensor, array: Any = None) -> Tensor:
            result: Tensor = original(tensor, array)
            session.alias_made(tensor, result)
            return result

        return watched

    instrument.replace(tensor_methods, "alias", aliases)


def creation(instrument: Instrument) -> None:
    session = instrument.session
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
            instrument.replace(package, name, made)


def data(instrument: Instrument) -> None:
    session = instrument.session

    def dataset(original: Any) -> Any:
        def watched(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            session.dataset_made(self)

        return watched

    def passes(original: Any) -> Any:
        def watched(self: DataLoader[Any]) -> Any:
            iterator = original(self)
            session.loader_begins(self, iterator)
            return iterator

        return watched

    def batches(original: Any) -> Any:
        def watched(self: Any) -> Any:
            batch = original(self)
            session.loader_gave(self, batch)
            return batch

        return watched

    for kind in (Subset, TensorDataset, DataLoader):
        instrument.replace(kind, "__init__", dataset)
    instrument.replace(DataLoader, "__iter__", passes)
    instrument.replace(_BaseDataLoaderIter, "__next__", batches)


def checkpoints(instrument: Instrument) -> None:
    session = instrument.session

    def note(original: Any) -> Any:
        def watched(self: Any, watch: Any, tensor: Tensor) -> Any:
            if watch.recomputing is None:
                session.checkpoint_saved(self, tensor)
            return original(self, watch, tensor)

        return watched

    def accept(original: Any) -> Any:
        def watched(self: Any, watch: Any, tensor: Tensor) -> Tensor:
            session.checkpoint_repeated(self.frame, self.count, tensor)
            result: Tensor = original(self, watch, tensor)
            return result

        return watched

    instrument.replace(checkpoint._Frame, "note", note)
    instrument.replace(checkpoint._Recomputation, "accept", accept)
