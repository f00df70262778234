"""Module: parameters, buffers and submodules by name, and a forward that calls run."""

from __future__ import annotations

import importlib
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from clew.core import module_changes
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.nn.modules import paths
from clew.nn.modules.conversion import ConversionMethods
from clew.nn.modules.hooks import (
    HookMethods,
    _global_backward_hooks,
    _global_backward_pre_hooks,
    _global_buffer_registration_hooks,
    _global_forward_hooks,
    _global_forward_pre_hooks,
    _global_module_registration_hooks,
    _global_parameter_registration_hooks,
    call_with_hooks,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
    seen_by_hooks,
)
from clew.nn.modules.search import SearchMethods
from clew.nn.modules.state import (
    _EXTRA_STATE_KEY_SUFFIX,  # noqa: F401  (programs import these two from here)
    StateMethods,
    _IncompatibleKeys,  # noqa: F401
)
from clew.nn.modules.untrained import warn_if_untrained
from clew.nn.parameter import Buffer, Parameter
from clew.observer import active

__all__ = [
    "register_module_forward_pre_hook",
    "register_module_forward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_backward_hook",
    "register_module_full_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
    "Module",
]

M = TypeVar("M", bound="Module")

_known_path = paths.known.get

# What every module has from the start: name in `__dict__`, and how it begins.
_BEGINNING: dict[str, Callable[[], Any]] = {
    "training": lambda: True,
    "_parameters": dict,
    "_buffers": dict,
    "_non_persistent_buffers_set": set,
    "_backward_pre_hooks": OrderedDict,
    "_backward_hooks": OrderedDict,
    "_is_full_backward_hook": lambda: None,
    "_forward_hooks": OrderedDict,
    "_forward_hooks_with_kwargs": OrderedDict,
    "_forward_hooks_always_called": OrderedDict,
    "_forward_pre_hooks": OrderedDict,
    "_forward_pre_hooks_with_kwargs": OrderedDict,
    "_state_dict_hooks": OrderedDict,
    "_state_dict_pre_hooks": OrderedDict,
    "_load_state_dict_pre_hooks": OrderedDict,
    "_load_state_dict_post_hooks": OrderedDict,
    "_modules": dict,
}
_REGISTRIES = ("_parameters", "_modules", "_buffers")
# What can be assigned to a name in each of them.
_ROLES = {
    "_parameters": "parameter '{}' (torch.nn.Parameter or None expected)",
    "_modules": "child module '{}' (torch.nn.Module or None expected)",
    "_buffers": "buffer '{}' (torch.nn.Buffer, torch.Tensor or None expected)",
}


class Module(HookMethods, StateMethods, ConversionMethods, SearchMethods):
    """Base of all layers and models.

    Assign parameters, buffers and other modules as attributes, and write `forward`.

    Example:
        >>> class Scale(nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.factor = nn.Parameter(clew.tensor(2.0))
        ...     def forward(self, x):
        ...         return self.factor * x
        >>> Scale()(clew.ones(2))
        tensor([2., 2.], grad_fn=<MulBackward0>)
    """

    dump_patches: bool = False
    # Whether `__init__` passes its arguments on to the next class in the inheritance order.
    call_super_init: bool = False
    _compiled_call_impl: Callable[..., Any] | None = None

    training: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            name = type(self).__name__
            if kwargs:
                raise TypeError(
                    f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
                )
            raise TypeError(
                f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given"
            )
        own = self.__dict__
        for name, begin in _BEGINNING.items():
            own[name] = begin()
        if self.call_super_init:
            super().__init__(*args, **kwargs)
        observer = active.observer
        if observer is not None:
            observer.module_made(self)

    # -- calling -------------------------------------------------------------------------------

    def forward(self, *input: Any) -> Any:
        """What a call computes: every subclass defines it."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        state = local.state
        if self._compiled_call_impl is not None and state.intercept is None:
            return self._compiled_call_impl(*args, **kwargs)
        outer = state.module_path
        state.module_path = _known_path(id(self)) or paths.path_of(self)
        observer = active.observer
        output: Any = None
        try:
            if observer is not None:
                observer.module_entered(self, args)
            if (
                self._forward_hooks
                or self._forward_pre_hooks
                or self._backward_hooks
                or self._backward_pre_hooks
                or _global_forward_hooks
                or _global_forward_pre_hooks
                or _global_backward_hooks
                or _global_backward_pre_hooks
            ):
                output = call_with_hooks(self, args, kwargs)
            else:
                output = self.forward(*args, **kwargs)
            return output
        except Exception as error:
            paths.tell_module(error, self, args, kwargs)
            raise
        finally:
            state.module_path = outer
            if observer is not None:
                observer.module_left(self, output)

    _wrapped_call_impl = _call_impl
    __call__ = _call_impl

    def _mismatch(self, *args: Any, **kwargs: Any) -> str:
        """After an error in this module: what is wrong with its arguments, if that is known."""
        return ""

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile calls of this module, in place; arguments as those of `clew.compile`."""
        # The compiler is above this layer, and is imported by those who ask for it.
        importlib.import_module("clew.compiler").compile_module(self, *args, **kwargs)

    # -- registering ---------------------------------------------------------------------------

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Make a tensor a parameter of this module."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        module_changes.note()
        _check_name(self, "parameter", name, self._parameters)
        if param is None:
            self._parameters[name] = None
            return
        if not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{_type_name(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        if param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                "created explicitly. To express '{name}' as a function of another Tensor, compute "
                "the value in the forward() method."
            )
        self._parameters[name] = seen_by_hooks(
            _global_parameter_registration_hooks, self, name, param
        )

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Make a tensor part of this module's state that is not trained."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        module_changes.note()
        _check_name(self, "buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{_type_name(tensor)}' object to buffer '{name}' (torch Tensor or "
                "None required)"
            )
        self._buffers[name] = seen_by_hooks(_global_buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Make a module part of this one."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{_type_name(module)} is not a Module subclass")
        _check_name(self, "module", name, self._modules)
        self._set_module(name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Another name for `add_module`."""
        self.add_module(name, module)

    def _set_module(self, name: str, module: Module | None) -> None:
        module_changes.note()
        module = seen_by_hooks(_global_module_registration_hooks, self, name, module)
        paths.release(self, self._modules.get(name))
        self._modules[name] = module
        if module is not None:
            paths.adopt(self, name, module)

    # -- attributes ----------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if "_parameters" in own:
            if name in own["_parameters"]:
                return own["_parameters"][name]
            if name in own["_buffers"]:
                return own["_buffers"][name]
            if name in own["_modules"]:
                return own["_modules"][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        module_changes.note()
        if isinstance(value, Tensor):
            self._set_tensor(name, value)
            return
        own = self.__dict__
        if isinstance(value, Module):
            self._require_free(name, value, ("_parameters",))
            if "_modules" not in own:
                raise AttributeError("cannot assign module before Module.__init__() call")
            _remove_elsewhere(self, name, "_modules")
            self._set_module(name, value)
        elif "_parameters" in own and (
            name in own["_parameters"] or name in own["_modules"] or name in own["_buffers"]
        ):
            self._require_free(name, value, _REGISTRIES)
            self._set_none(name)
        else:
            object.__setattr__(self, name, value)
            if name == "requires_grad" and value is True:
                observer = active.observer
                if observer is not None:
                    observer.module_requires_grad_set(self)

    def _require_free(self, name: str, value: Any, registries: Iterable[str]) -> None:
        """What is registered can be replaced by its like, or by None."""
        for registry in registries:
            if value is not None and name in self.__dict__.get(registry, ()):
                raise TypeError(
                    f"cannot assign '{_type_name(value)}' as {_ROLES[registry].format(name)}"
                )

    def _set_none(self, name: str) -> None:
        if name in self._parameters:
            self.register_parameter(name, None)
        elif name in self._modules:
            self._set_module(name, None)
        else:
            self._set_buffer(name, None)

    def _set_tensor(self, name: str, value: Tensor) -> None:
        """Assign a tensor: as a parameter, as a buffer, or as it is."""
        own = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" not in own:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            _remove_elsewhere(self, name, "_parameters")
            self.register_parameter(name, value)
            return
        self._require_free(name, value, ("_parameters", "_modules"))
        if isinstance(value, Buffer) or name in own.get("_buffers", ()):
            if "_buffers" not in own:
                raise AttributeError("cannot assign buffer before Module.__init__() call")
            self._set_buffer(name, value)
            return
        if value._requires_grad:
            warn_if_untrained(self, name, value)
        object.__setattr__(self, name, value)

    def _set_buffer(self, name: str, value: Tensor | None) -> None:
        """Assign to a buffer: a `Buffer` says itself whether it is saved."""
        if isinstance(value, Buffer):
            # A subclass may take no third argument, as long as none is needed.
            self.register_buffer(name, value, *(() if value.persistent else (False,)))
        else:
            self._buffers[name] = seen_by_hooks(
                _global_buffer_registration_hooks, self, name, value
            )

    def __delattr__(self, name: str) -> None:
        module_changes.note()
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            paths.release(self, self._modules.pop(name))
        else:
            object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__]
        for registry in _REGISTRIES:
            names += getattr(self, registry)
        return sorted(name for name in names if not name[0].isdigit())

    # -- states --------------------------------------------------------------------------------

    def apply(self: M, fn: Callable[[Module], None]) -> M:
        """Call `fn` on every module inside this one, then on this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self: M, mode: bool = True) -> M:
        """Switch this module and all inside it to training (or to evaluation)."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        observer = active.observer
        if observer is not None:
            observer.module_mode_set(self, mode)
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: M) -> M:
        """Switch to evaluation: `train(False)`."""
        return self.train(False)

    def requires_grad_(self: M, requires_grad: bool = True) -> M:
        """Ask for gradients of all parameters, or freeze them."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop all parameters' gradients, or set them to zero."""
        observer = active.observer
        if observer is not None:
            observer.zero_grad(self)
        for parameter in self.parameters():
            grad = parameter._grad
            if grad is None:
                continue
            if set_to_none:
                parameter._grad = None
            else:
                if grad.grad_fn is not None:
                    grad.detach_()
                else:
                    grad.requires_grad_(False)
                grad.zero_()

    # -- copying and printing ------------------------------------------------------------------

    def _replicate_for_data_parallel(self: M) -> M:
        """A module with the same parts and no parameters: whoever asks sets copies of them."""
        replica = type(self).__new__(type(self))
        replica.__dict__.update(self.__dict__)
        replica._parameters = {}
        replica._buffers = self._buffers.copy()
        replica._modules = self._modules.copy()
        return replica

    def __getstate__(self) -> Any:
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # Modules that were saved when there were fewer kinds of hooks.
        for name, begin in _BEGINNING.items():
            if name not in self.__dict__:
                self.__dict__[name] = begin()
        for name, module in self._modules.items():
            if module is not None and paths.owner_of(module) is None:
                paths.adopt(self, name, module)

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What `repr` shows of the module itself; override it."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        child_lines = [
            f"({name}): {_addindent(repr(module), 2)}" for name, module in self._modules.items()
        ]
        if len(extra_lines) == 1 and not child_lines:
            return f"{self._get_name()}({extra_lines[0]})"
        lines = extra_lines + child_lines
        inside = "\n  " + "\n  ".join(lines) + "\n" if lines else ""
        return f"{self._get_name()}({inside})"


def _addindent(text: str, spaces: int) -> str:
    """The text with all lines but the first indented."""
    return text.replace("\n", "\n" + " " * spaces)


def _type_name(value: Any) -> str:
    """The type's name as PyTorch's messages give it."""
    if isinstance(value, Tensor):
        return value.type()
    kind = type(value)
    name = kind.__qualname__
    return name if kind.__module__ == "builtins" else f"{kind.__module__}.{name}"


def _check_name(module: Module, kind: str, name: Any, registry: dict[str, Any]) -> None:
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {_type_name(name)}")
    if "." in name:
        raise KeyError(f'{kind} name can\'t contain ".", got: {name}')
    if name == "":
        raise KeyError(f'{kind} name can\'t be empty string ""')
    if hasattr(module, name) and name not in registry:
        raise KeyError(f"attribute '{name}' already exists")


def _remove_elsewhere(module: Module, name: str, keep: str) -> None:
    """An attribute lives in one place: take it out of all others."""
    own = module.__dict__
    own.pop(name, None)
    for registry in _REGISTRIES:
        if registry == keep or name not in own.get(registry, ()):
            continue
        removed = own[registry].pop(name)
        if registry == "_modules":
            paths.release(module, removed)
    if keep != "_buffers":
        own.get("_non_persistent_buffers_set", set()).discard(name)


# Where `typing.get_type_hints` looks for what annotations of the parts of Module call Module.
for _part in ("search", "state"):
    vars(sys.modules[f"clew.nn.modules.{_part}"])["Module"] = Module
