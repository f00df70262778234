"""Parameters, buffers and submodules exchanged by name, without the checks of `setattr`."""

from __future__ import annotations

from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.nn.modules.module import Module

__all__ = ["set_tensor", "swap_submodule", "swap_tensor"]


def set_tensor(module: Module, name: str, tensor: Tensor | None) -> None:
    """Put a tensor where a parameter or buffer of this name is, or a new attribute."""
    if "." in name:
        raise KeyError('tensor name can\'t contain "."' + errors.at_user_line())
    for registry in (module._parameters, module._buffers):
        if name in registry:
            registry[name] = tensor  # type: ignore[assignment]  # any tensor stands in
            return
    setattr(module, name, tensor)


def swap_tensor(
    module: Module, name: str, tensor: Tensor | None, allow_missing: bool = False
) -> Any:
    """Put a tensor where a parameter or buffer is, and return what was there."""
    if "." in name:
        raise KeyError('tensor name can\'t contain "."' + errors.at_user_line())
    before: Any = None
    for registry in (module._parameters, module._buffers):
        if name in registry:
            before = registry[name]
            if tensor is None:
                del registry[name]
            else:
                registry[name] = tensor  # type: ignore[assignment]  # any tensor stands in
            return before
    if not hasattr(module, name):
        if not allow_missing:
            raise AttributeError(
                f"{module._get_name()} has no attribute `{name}`" + errors.at_user_line()
            )
    else:
        before = getattr(module, name)
        if not isinstance(before, Tensor):
            raise TypeError(f"{name}: {before} is not an instance of torch.Tensor")
    if tensor is not None:
        setattr(module, name, tensor)
    elif before is not None:
        delattr(module, name)
    return before


def swap_submodule(module: Module, name: str, submodule: Module) -> Module:
    """Put a module where a submodule is, and return what was there."""
    before = module._modules.get(name)
    if before is None:
        raise KeyError(f"{name} is not a valid submodule" + errors.at_user_line())
    module._modules[name] = submodule
    return before
