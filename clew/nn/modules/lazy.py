"""Lazy layers: modules that learn the sizes of their parameters from their first input."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from clew.core.hooks import RemovableHandle
from clew.nn.parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Mixed into a module whose `initialize_parameters` gives its parameters their shapes.

    The first call initialises; afterwards the module is an ordinary one of `cls_to_become`.
    """

    cls_to_become: type[Any] | None = None

    if TYPE_CHECKING:
        _load_hook: RemovableHandle
        _initialize_hook: RemovableHandle
        _parameters: dict[str, Any]
        _buffers: dict[str, Any]
        register_forward_pre_hook: Any
        register_load_state_dict_pre_hook: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self.register_load_state_dict_pre_hook(_take_shapes)
        self._initialize_hook = self.register_forward_pre_hook(_infer_parameters, with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes, from the arguments of the first call."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer still waits for its shape."""
        return any(map(is_lazy, self._own_tensors()))

    def _own_tensors(self) -> Any:
        return itertools.chain(self._parameters.values(), self._buffers.values())

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, tensor in itertools.chain(self._parameters.items(), self._buffers.items()):
            if tensor is not None:
                keep = is_lazy(tensor) or keep_vars
                destination[prefix + name] = tensor if keep else tensor.detach()


def _take_shapes(module: Any, state_dict: Any, prefix: str, *unused: Any) -> None:
    """Before loading: what waits for its shape takes that of the tensor to load."""
    named = itertools.chain(module._parameters.items(), module._buffers.items())
    for name, tensor in named:
        loaded = state_dict.get(prefix + name)
        if loaded is not None and is_lazy(tensor) and not is_lazy(loaded):
            tensor.materialize(loaded.shape)


def _infer_parameters(module: Any, args: Any, kwargs: Any) -> None:
    """Before the first call: initialise, and become an ordinary module."""
    module.initialize_parameters(*args, **(kwargs or {}))
    if module.has_uninitialized_params():
        raise RuntimeError(
            f"module {module._get_name()} has not been fully initialized\n  initialize_parameters "
            "must materialize all of its parameters and buffers"
        )
    module._initialize_hook.remove()
    module._load_hook.remove()
    del module._initialize_hook, module._load_hook
    if module.cls_to_become is not None:
        module.__class__ = module.cls_to_become
