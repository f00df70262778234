"""A weight split into lengths and directions (Salimans and Kingma, 2016), by a forward hook.

`clew.nn.utils.parametrizations.weight_norm` is the newer form.
"""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

from clew import errors
from clew.core.tensor import Tensor
from clew.linalg import vector_norm
from clew.nn.modules.module import Module
from clew.nn.parameter import Parameter, is_lazy

__all__ = ["WeightNorm", "weight_norm", "remove_weight_norm"]

M = TypeVar("M", bound=Module)


def norm_except_dim(weight: Tensor, dim: int) -> Tensor:
    """The lengths of the slices along `dim`, in a shape that broadcasts; -1: of the whole."""
    if dim == -1:
        return vector_norm(weight)
    along = weight.movedim(dim, 0)
    lengths = vector_norm(along.reshape(along.shape[0], -1), dim=1)
    shape = [1] * weight.dim()
    shape[dim] = -1
    return lengths.reshape(shape)


def normalized_weight(direction: Tensor, length: Tensor, dim: int) -> Tensor:
    """The weight with these directions and lengths along `dim`."""
    return direction * (length / norm_except_dim(direction, dim))


class WeightNorm:
    """A forward pre-hook that computes a weight from its lengths and directions."""

    name: str
    dim: int

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Tensor:
        """The weight of the module's present parameters."""
        length = getattr(module, self.name + "_g")
        return normalized_weight(getattr(module, self.name + "_v"), length, self.dim)

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        """Replace a parameter by `name_g` and `name_v`, and compute it before every forward."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(
                    f"Cannot register two weight_norm hooks on the same parameter {name}"
                    + errors.at_user_line()
                )
        hook = WeightNorm(name, dim)
        weight = getattr(module, name)
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure "
                "to run the dummy forward before applying weight normalization"
                + errors.at_user_line()
            )
        if not isinstance(weight, Tensor):
            raise TypeError(
                f"norm_except_dim(): argument 'v' (position 1) must be Tensor, not "
                f"{type(weight).__name__}\n  It is `{name}` of {module}" + errors.at_user_line()
            )
        lengths = norm_except_dim(weight.detach(), hook.dim)
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(lengths))
        module.register_parameter(name + "_v", Parameter(weight.detach()))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Module) -> None:
        """Make the weight an ordinary parameter again."""
        weight = self.compute_weight(module).detach()
        delattr(module, self.name)
        del module._parameters[self.name + "_g"]
        del module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Train a weight's lengths along `dim` and its directions separately.

    `nn.utils.parametrizations.weight_norm` is the newer form.

    Args:
        module: the module, which is returned
        name: the weight's name
        dim: the dimension whose every index has a length of its own; None: one length for all

    Example:
        >>> layer = nn.utils.weight_norm(nn.Linear(3, 4))
        >>> layer.weight_g.shape, layer.weight_v.shape
        (torch.Size([4, 1]), torch.Size([4, 3]))
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of "
        "`torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Undo `weight_norm`, keeping the weight's value.

    Args:
        module: the module, which is returned
        name: the weight's name

    Example:
        >>> layer = nn.utils.remove_weight_norm(nn.utils.weight_norm(nn.Linear(3, 4)))
        >>> sorted(layer.state_dict())
        ['bias', 'weight']
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}" + errors.at_user_line())
