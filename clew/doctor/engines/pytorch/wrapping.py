"""What has no hook: methods of PyTorch's classes, wrapped for the time of the watch.

Each wrapper tells what happens and calls the method; nothing else changes. Hooks are used where
PyTorch has them: for calls of modules and for steps of optimizers.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.modules import module as module_hooks
from torch.optim import lr_scheduler
from torch.optim import optimizer as optimizer_hooks
from torch.utils.data import DataLoader, Subset, TensorDataset
from torch.utils.data import dataloader as loading

from clew.doctor.engines.pytorch.passes import watch_backward, with_mode
from clew.doctor.engines.pytorch.seen import tensors_in
from clew.doctor.facts.places import here

if TYPE_CHECKING:
    from clew.doctor.engines.pytorch.hub import Hub

_Module = torch.nn.Module
_CALL = _Module._call_impl.__code__


def _in_module() -> bool:
    """Whether a module is being called: what it does without gradients is a part of that."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_code is _CALL:
            return True
        frame = frame.f_back
    return False


class Wrapping:
    """Installs hooks and wrappers, and takes them away again."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.handles: list[Any] = []
        self.module_handles: list[Any] = []
        self.replaced: list[tuple[Any, str, Any, Any]] = []
        self.depths: dict[str, int] = {}
        self.paths: dict[int, str] = {}
        self.stance = False

    # -- coming and going --------------------------------------------------------------------------

    def install(self) -> None:
        self.watch_modules()
        hooks = self.handles
        hooks.append(optimizer_hooks.register_optimizer_step_pre_hook(self._step_begins))
        hooks.append(optimizer_hooks.register_optimizer_step_post_hook(self._step_ends))
        self._wrap_modules()
        self._wrap_training()
        self._wrap_data()
        self._replace(torch.autograd, "backward", lambda old: watch_backward(self.hub, old))
        if hasattr(torch.autograd, "_engine_run_backward"):
            self._replace(
                torch.autograd, "_engine_run_backward", lambda old: with_mode(self.hub, old)
            )
        self._replace(torch, "compile", self._compiling)
        self._run_eagerly()

    def remove(self) -> None:
        self.leave_modules()
        for handle in self.handles:
            handle.remove()
        self.handles.clear()
        for owner, name, old, new in reversed(self.replaced):
            if vars(owner).get(name) is new:
                setattr(owner, name, old)
        self.replaced.clear()
        self.paths.clear()
        if self.stance:
            torch.compiler.set_stance("default")
            self.stance = False

    def watch_modules(self) -> None:
        """See calls of modules: of all of them, so only while somebody looks or will."""
        if not self.module_handles:
            register = module_hooks.register_module_forward_hook
            self.module_handles = [
                module_hooks.register_module_forward_pre_hook(self._entered),
                register(self._left, always_call=True),
            ]

    def leave_modules(self) -> None:
        for handle in self.module_handles:
            handle.remove()
        self.module_handles = []

    def _replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        old = vars(owner)[name]
        bare = old.__func__ if isinstance(old, staticmethod | classmethod) else old
        new = functools.wraps(bare)(make(bare))
        wrapped = type(old)(new) if isinstance(old, staticmethod | classmethod) else new
        setattr(owner, name, wrapped)
        self.replaced.append((owner, name, old, vars(owner)[name]))

    def _before(self, owner: Any, name: str, tell: Callable[..., None]) -> None:
        """Tell of a call before it is done; of one that is made inside of another, nothing."""
        self._around(owner, name, before=tell)

    def _after(self, owner: Any, name: str, tell: Callable[..., None]) -> None:
        """Tell of a call, and of its result, when it is done."""
        self._around(owner, name, after=tell)

    def _around(
        self, owner: Any, name: str, before: Any = None, after: Any = None, finally_: Any = None,
        always: bool = False,
    ) -> None:  # fmt: skip
        """Tell of a call; of one in a step that is not looked at, if it is told `always`."""
        depths, hub = self.depths, self.hub

        def make(old: Any) -> Any:
            def call(*args: Any, **kwargs: Any) -> Any:
                is_told = hub.is_open or (always and hub.sessions)
                if not is_told or hub.local.state.busy or depths.get(name):
                    return old(*args, **kwargs)
                depths[name] = 1
                try:
                    if before is not None:
                        hub.safely(before, *args, **kwargs)
                    result = old(*args, **kwargs)
                finally:
                    depths[name] = 0
                    if finally_ is not None:
                        hub.safely(finally_, *args, **kwargs)
                if after is not None:
                    hub.safely(after, result, *args, **kwargs)
                return result

            return call

        self._replace(owner, name, make)

    # -- modules -----------------------------------------------------------------------------------

    def _wrap_modules(self) -> None:
        tell, see = self.hub.tell, self.hub.world.tensor

        def made(old: Any) -> Any:
            def init(module: Any, *args: Any, **kwargs: Any) -> None:
                old(module, *args, **kwargs)
                if self.hub.sessions and not self.hub.local.state.busy:
                    tell("module_made", module)

            return init

        self._replace(_Module, "__init__", made)
        self._before(_Module, "train", lambda m, mode=True: tell("module_mode_set", m, bool(mode)))
        self._replace(_Module, "eval", self._evaluating)
        self._before(
            _Module, "zero_grad", lambda m, set_to_none=True: tell("zero_grad", m)
        )  # fmt: skip
        self._after(
            _Module, "state_dict", lambda r, m, *a, **k: tell("state_dict_taken", m, r)
        )  # fmt: skip
        self._before(
            _Module, "load_state_dict",
            lambda m, state_dict, *a, **k: tell("state_dict_loaded", m, state_dict),
        )  # fmt: skip

        def setting(old: Any) -> Any:
            def setattr_(module: Any, name: str, value: Any) -> None:
                if name == "requires_grad" and value and self._is_open():
                    tell("module_requires_grad_set", module)
                old(module, name, value)

            return setattr_

        self._replace(_Module, "__setattr__", setting)

        def parameter(old: Any) -> Any:
            def new(cls: Any, data: Any = None, requires_grad: bool = True) -> Any:
                made = old(cls, data, requires_grad)
                is_told = self.hub.sessions and not self.hub.local.state.busy
                if is_told and isinstance(made, torch.Tensor):
                    given = see(data) if isinstance(data, torch.Tensor) else None
                    tell("parameter_made", see(made), given)
                return made

            return new

        self._replace(torch.nn.Parameter, "__new__", parameter)

        def applied(old: Any) -> Any:
            def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
                result = old(cls, *args, **kwargs)
                if self._is_open():
                    self.hub.safely(self._function_ran, result)
                return result

            return apply

        self._replace(torch.autograd.Function, "apply", applied)

    def _function_ran(self, result: Any) -> None:
        self.hub.world.where = here()
        for each in tensors_in(result):
            if each.grad_fn is not None:
                self.hub.world.node(each.grad_fn)

    def _is_open(self) -> bool:
        return self.hub.is_open and not self.hub.local.state.busy

    def _seen(self, value: Any) -> Any:
        """Arguments or results with what is seen of their tensors."""
        if isinstance(value, torch.Tensor):
            return self.hub.world.tensor(value)
        if isinstance(value, tuple | list):
            return tuple(map(self._seen, value))
        if hasattr(value, "to_tuple"):  # the results of transformers' models
            return self._seen(value.to_tuple())
        return value

    def _entered(self, module: Any, args: Any) -> None:
        hub = self.hub
        state = hub.local.state
        if not hub.sessions or state.busy or state.backward_runs:
            return
        if not hub.sampling.is_open and state.model is None:
            if torch.is_grad_enabled() and module.training:
                state.model = id(module)
            elif hub.sampling.model_evaluated():
                self._resumes()
        if hub.sampling.is_open:
            hub.resume()
            hub.safely(self._tell_entered, module, args)

    def _tell_entered(self, module: Any, args: Any) -> None:
        hub = self.hub
        if id(module) not in self.paths:
            if len(self.paths) > 50_000:
                self.paths.clear()
            for path, each in module.named_modules():
                self.paths.setdefault(id(each), path)
        hub.world.path = self.paths.get(id(module))
        if type(module).__name__ == "OptimizedModule":
            hub.tell("compiled_function_called", type(module._orig_mod).__name__)
        hub.tell("module_entered", module, self._seen(args))

    def _left(self, module: Any, args: Any, output: Any) -> None:
        hub = self.hub
        state = hub.local.state
        if state.model == id(module):
            state.model = None
        if hub.is_open and not state.busy and not state.backward_runs:
            if all(len(session.stack) > 1 for session in hub.sessions):
                hub.tell("module_left", module, None)  # a part of a model: nobody asks for it
            else:
                hub.safely(lambda: hub.tell("module_left", module, self._seen(output)))

    # -- optimizers, schedulers, scalers -----------------------------------------------------------

    def _wrap_training(self) -> None:
        tell = self.hub.tell
        Optimizer = torch.optim.Optimizer
        self._around(
            Optimizer, "__init__", after=lambda r, o, *a, **k: tell("optimizer_made", o),
            always=True,
        )  # fmt: skip
        self._before(Optimizer, "zero_grad", lambda o, *a, **k: tell("zero_grad", o))
        self._around(
            lr_scheduler.LRScheduler, "__init__",
            before=lambda s, *a, **k: tell("scheduler_made", s), always=True,
        )  # fmt: skip
        for kind in list(vars(lr_scheduler).values()):
            if isinstance(kind, type) and "step" in vars(kind) and hasattr(kind, "state_dict"):
                self._around(kind, "step", before=self._scheduled, always=True)
        Scaler = torch.amp.GradScaler
        self._before(Scaler, "scale", lambda s, *a, **k: tell("loss_scaled", s))
        self._around(
            Scaler, "unscale_",
            before=lambda s, optimizer: tell("unscale_begins", s, optimizer),
            finally_=lambda s, optimizer: tell("unscale_ends", s, optimizer),
        )  # fmt: skip
        self._before(
            Scaler, "step", lambda s, optimizer, *a, **k: tell("scaler_steps", s, optimizer)
        )
        self._before(
            torch.amp.autocast_mode.autocast, "__enter__", lambda r: tell("autocast_entered", r)
        )
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            self._replace(torch.nn.utils.clip_grad, name, self._clipping)
            clipping = vars(torch.nn.utils.clip_grad)[name]
            self.replaced.append((torch.nn.utils, name, vars(torch.nn.utils)[name], clipping))
            setattr(torch.nn.utils, name, clipping)
        self._replace(torch.inference_mode, "__enter__", self._switching)
        self._replace(torch.inference_mode, "__exit__", self._switching)
        for kind in (torch.inference_mode, torch.no_grad):
            self._replace(kind, "__enter__", self._evaluating)
        self._replace(torch.set_grad_enabled, "__init__", self._evaluating)

    def _resumes(self) -> None:
        if torch.is_grad_enabled():
            self.hub.local.state.no_grad_reason = None  # if there was one, it is over
        self.hub.tell("watch_resumes")

    def _evaluating(self, old: Any) -> Any:
        """What may be the beginning of an evaluation, while no step is looked at."""

        def begin(*args: Any, **kwargs: Any) -> Any:
            hub = self.hub
            state = hub.local.state
            if hub.sampling.is_open or not hub.sessions or state.busy or state.in_step:
                return old(*args, **kwargs)
            if not (self.module_handles or state.backward_runs or _in_module()):
                self.watch_modules()
            was = torch.is_grad_enabled()
            result = old(*args, **kwargs)
            if was != torch.is_grad_enabled():
                state.grad_mode_set(not was, was)
            return result

        return begin

    def _switching(self, old: Any) -> Any:
        def switch(*args: Any, **kwargs: Any) -> Any:
            was = torch.is_grad_enabled()
            result = old(*args, **kwargs)
            state = self.hub.local.state
            if self.hub.sessions and not state.busy:
                state.grad_mode_set(torch.is_grad_enabled(), was, "inference_mode")
            return result

        return switch

    def _scheduled(self, scheduler: Any, *args: Any, **kwargs: Any) -> None:
        # The first step is a part of the making, in which the frame of `__init__` is below.
        if not getattr(scheduler, "_is_initial", False) and not self.depths.get("__init__"):
            has_figure = isinstance(scheduler, lr_scheduler.ReduceLROnPlateau)
            metrics = kwargs.get("metrics", args[0] if args else None)
            self.hub.tell("scheduler_steps", scheduler, metrics if has_figure else None)

    def _clipping(self, old: Any) -> Any:
        def clip(parameters: Any, *args: Any, **kwargs: Any) -> Any:
            if self._is_open():
                if not isinstance(parameters, torch.Tensor):
                    parameters = list(parameters)  # a generator can be asked only once
                self.hub.safely(self._tell_clipping, parameters)
            return old(parameters, *args, **kwargs)

        return clip

    def _tell_clipping(self, parameters: Any) -> None:
        self.hub.tell("clipping", [self.hub.world.tensor(p) for p in tensors_in(parameters)])

    def _step_begins(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        has_closure = any(callable(each) for each in (*args[1:], *kwargs.values()))
        if self._is_open():
            self.hub.tell("step_begins", optimizer, has_closure)
            if not has_closure:
                self.hub.pause()
        self.hub.local.state.in_step = not has_closure

    def _step_ends(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        hub = self.hub
        hub.local.state.in_step = False
        if not hub.sessions or hub.local.state.busy:
            return
        if hub.sampling.is_open:
            hub.safely(self._tell_step_ends, optimizer)
        else:
            hub.tell("step_passed", optimizer)
        was_open = hub.sampling.is_open
        hub.sampling.step_ended(max(len(each.recorder.optimizers) for each in hub.sessions))
        if hub.sampling.is_open:
            if not was_open:
                self._resumes()
            self.watch_modules()
            hub.resume()
        else:
            self.leave_modules()
            hub.pause()

    def _tell_step_ends(self, optimizer: Any) -> None:
        place = here()
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                storage = self.hub.world.tensor(parameter)._storage
                storage.writer, storage.written_at = "optimizer.step", place
        self.hub.last_write = place
        self.hub.tell("step_ends", optimizer)

    # -- data --------------------------------------------------------------------------------------

    def _wrap_data(self) -> None:
        tell = self.hub.tell
        for kind in (TensorDataset, Subset, DataLoader):
            self._after(kind, "__init__", lambda r, d, *a, **k: tell("dataset_made", d))
        self._after(DataLoader, "__iter__", lambda r, loader: tell("loader_begins", loader, r))
        self._after(
            loading._BaseDataLoaderIter, "__next__",
            lambda batch, i: tell("batch_loaded", i, self._seen(batch)),
        )  # fmt: skip

        def from_numpy(old: Any) -> Any:
            def make(array: Any) -> Any:
                result = old(array)
                if self._is_open():
                    calls, state = self.hub.calls, self.hub.local.state
                    self.hub.safely(calls._made_from, state, "from_numpy()", array, result)
                return result

            return make

        self._replace(torch, "from_numpy", from_numpy)

    # -- compiled functions ------------------------------------------------------------------------

    def _compiling(self, old: Any) -> Any:
        def compile_(model: Any = None, *args: Any, **kwargs: Any) -> Any:
            result = old(model, *args, **kwargs)
            if model is not None and self._is_open():
                name = getattr(model, "__name__", type(model).__name__)
                self.hub.tell("compiled_function_called", name)
            self._run_eagerly()
            return result

        return compile_

    def _run_eagerly(self) -> None:
        """Compiled functions run as they are written, so that their operations can be seen."""
        if "torch._dynamo" in sys.modules and not self.stance:
            torch.compiler.set_stance("force_eager")
            self.stance = True
