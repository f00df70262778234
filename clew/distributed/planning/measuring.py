"""One step of a program on the meta device: its model needs no memory, however large it is.

Parameters and buffers go to the meta device when they are registered, before they are initialized.
Data stay what they are; where they meet the model, their shapes go on. Numbers that the program
reads from results do not exist: they are 1.0, 0 or False, and finite.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from clew import errors
from clew.autograd.graph import saved_tensors_hooks
from clew.backend.dtypes import bool_
from clew.core.storage import Storage
from clew.core.tensor import Tensor
from clew.distributed.planning.program import Program
from clew.nn.modules.hooks import (
    register_module_buffer_registration_hook,
    register_module_parameter_registration_hook,
)
from clew.nn.modules.module import Module
from clew.nn.parameter import Parameter
from clew.observer import Observer, observing
from clew.ops.create.from_data import as_tensor
from clew.overrides import TorchFunctionMode
from clew.utils._pytree import tree_leaves, tree_map
from clew.utils.checkpoint_plan import units_of
from clew.utils.flop_counter import FlopCounterMode

_MOVES = ("to", "cuda", "cpu")
_TESTS = {"isfinite": True, "isnan": False, "isinf": False}


class _Measured(BaseException):
    """Ends the program after its first step."""


class NoStep(Exception):
    """The program ended, or did not get far, without a step of an optimizer."""


class _OnMeta(TorchFunctionMode):
    """Lets tensors of the CPU meet those of the meta device, as shapes."""

    # What a float is that the program reads; 0.0 where a scaler looks for infinities.
    real = 1.0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not any(_is_meta(each) for each in tree_leaves((args, kwargs))):
            return func(*args, **kwargs)
        name = func.__name__
        if name in _MOVES:
            args = tuple(each for each in args if not _names_device(each))
            kwargs = {key: value for key, value in kwargs.items() if key != "device"}
            if name != "to" or len(args) + len(kwargs) == 1:
                return args[0]
        elif name in ("item", "__float__", "__int__", "__bool__"):
            return self._number(name, args[0].dtype)
        elif name in _TESTS:
            return as_tensor(_TESTS[name]).expand(args[0].shape)
        args, kwargs = tree_map(_as_shape, (args, kwargs))
        return func(*args, **kwargs)

    def _number(self, name: str, dtype: Any) -> Any:
        if name == "__bool__" or (name == "item" and dtype is bool_):
            return False
        if name == "__int__" or (name == "item" and not dtype.is_floating_point):
            return 0j if dtype.is_complex else 0
        return self.real


def _is_meta(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_meta


def _names_device(value: Any) -> bool:
    return type(value).__name__ == "device" or isinstance(value, str)


def _as_shape(value: Any) -> Any:
    if isinstance(value, Tensor) and not value.is_meta and value.ndim:
        return value.detach().to("meta").requires_grad_(value.requires_grad)
    return value


class _Meter(Observer):
    """What the first step of a program does."""

    def __init__(self, counter: FlopCounterMode, mode: _OnMeta) -> None:
        self.counter, self.mode = counter, mode
        # Modules that no other module calls; steps are counted by calls of the first.
        self.roots: list[Module] = []
        self.units: set[Module] = set()
        self.stack: list[Module] = []
        self.samples = 0
        self.outputs: dict[Module, int] = {}
        # Bytes kept for backward by block (None: by the rest), a storage counted once.
        self.kept: dict[Storage, tuple[Module | None, int]] = {}
        self.forward = self.backward = self.counted = 0
        self.optimizer: Any = None

    # -- forward -----------------------------------------------------------------------------------

    def module_entered(self, module: Any, args: tuple[Any, ...]) -> None:
        if not self.stack:
            if module not in self.roots:
                self.roots.append(module)
                self.units.update(units_of(module))
            if module is self.roots[0]:
                shapes = [each.shape for each in tree_leaves(args) if isinstance(each, Tensor)]
                self.samples += shapes[0][0] if shapes and shapes[0] else 1
        self.stack.append(module)

    def module_left(self, module: Any, output: Any) -> None:
        self.stack.pop()
        if module in self.units:
            tensors = [each for each in tree_leaves(output) if isinstance(each, Tensor)]
            self.outputs[module] = sum(each.numel() * each.element_size() for each in tensors[:1])

    def save(self, tensor: Tensor) -> Tensor:
        block = next((each for each in self.stack if each in self.units), None)
        storage = tensor._storage
        nbytes = tensor.untyped_storage().nbytes()
        self.kept.setdefault(storage, (block, nbytes))
        return tensor

    # -- backward and step -------------------------------------------------------------------------

    def _since(self) -> int:
        total = self.counter.get_total_flops()
        new, self.counted = total - self.counted, total
        return new

    def backward_begins(self, run: Any, roots: Any, outputs: Any) -> None:
        self.forward += self._since()

    def backward_ends(self, run: Any, completed: bool) -> None:
        self.backward += self._since()

    def scaler_steps(self, scaler: Any, optimizer: Any) -> None:
        self.mode.real = 0.0

    def step_ends(self, optimizer: Any) -> None:
        self.optimizer = optimizer
        raise _Measured

    # -- what was seen -----------------------------------------------------------------------------

    def program(self) -> Program:
        optimizer = self.optimizer
        if optimizer is None:
            raise NoStep("the program ended before a step of an optimizer")
        trained = [each for group in optimizer.param_groups for each in group["params"]]
        owned = [each for root in self.roots for each in root.parameters()]
        parameters = {id(each): each for each in (*owned, *trained)}
        samples = max(1, self.samples)
        buffers = [each for root in self.roots for each in root.buffers()]
        own = {each._storage for each in (*parameters.values(), *buffers)}
        kept = [each for storage, each in self.kept.items() if storage not in own]
        sides = [_sides(each) for each in parameters.values() if each.ndim > 1]
        width = max((min(each) for each in sides), default=1)
        return Program(
            parameters=sum(each.numel() for each in parameters.values()),
            layers=max(1, len(self.outputs)),
            heads=math.gcd(*(side for each in sides for side in each if side >= width)) or 1,
            width=width,
            per_parameter=_bytes_each(list(parameters.values()), trained, optimizer),
            forward_flops=self.forward / samples,
            backward_flops=self.backward / samples,
            boundary=max(self.outputs.values(), default=0) / samples,
            kept_by_layers=sum(n for block, n in kept if block is not None) / samples,
            kept_besides=sum(n for block, n in kept if block is None) / samples,
            batch=samples,
        )


def _sides(weight: Tensor) -> tuple[int, int]:
    return weight.shape[0], weight.numel() // max(1, weight.shape[0])


def _bytes_each(
    parameters: Sequence[Tensor], trained: Sequence[Tensor], optimizer: Any
) -> tuple[float, float, float]:
    """Bytes of a parameter, of its gradient, and of what the optimizer keeps, on average."""

    def size(tensors: Any) -> int:
        return sum(each.numel() * each.element_size() for each in tensors)

    count = max(1, sum(each.numel() for each in parameters))
    grads = [each.grad for each in trained if each.grad is not None]
    state = [each for each in tree_leaves(list(optimizer.state.values())) if _is_meta(each)]
    return size(parameters) / count, size(grads) / count, size(state) / count


@contextlib.contextmanager
def _models_on_meta() -> Iterator[None]:
    def parameter(module: Any, name: str, given: Any) -> Any:
        return _moved(given) if given is not None and not given.is_meta else None

    def buffer(module: Any, name: str, given: Any) -> Any:
        return given.to("meta") if given is not None and not given.is_meta else None

    hooks = [
        register_module_parameter_registration_hook(parameter),
        register_module_buffer_registration_hook(buffer),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _moved(given: Parameter) -> Parameter:
    return Parameter(given.detach().to("meta"), requires_grad=given.requires_grad)


def measure(run: Callable[[], Any]) -> Program:
    """Run a program up to the end of its first optimizer step, and say what that needs.

    Raises:
        NoStep: there was none
    """
    counter = FlopCounterMode(display=False)
    mode = _OnMeta()
    meter = _Meter(counter, mode)
    try:
        with (
            _models_on_meta(), mode, counter, observing(meter),
            saved_tensors_hooks(meter.save, lambda tensor: tensor),
        ):  # fmt: skip
            run()
    except _Measured:
        pass
    except RuntimeError as error:
        if "meta tensor" not in str(error):
            raise
        raise NoStep(
            f"the program needs values before its first step, and there are none: {error}"
            + ("" if errors.AT in str(error) else errors.at_user_line())
        ) from error
    return meter.program()
