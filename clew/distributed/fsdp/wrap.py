"""Which parts of a module get their own wrapper: predicates over modules and their sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from clew.distributed.refusing import refused
from clew.nn.modules.module import Module

__all__ = [
    "CustomPolicy", "ModuleWrapPolicy", "_or_policy", "enable_wrap", "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy", "transformer_auto_wrap_policy", "wrap",
]  # fmt: skip


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Every module."""
    return True


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:
    """The modules that a function chooses."""
    return True if recurse else lambda_fn(module)


def transformer_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    transformer_layer_cls: Iterable[type[Module]],
) -> bool:
    """The modules of some classes."""
    return True if recurse else isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, min_num_params: int = 10**8, **kwargs: Any
) -> bool:
    """The modules with many parameters."""
    return nonwrapped_numel >= min_num_params


def _or_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, policies: Iterable[Any]
) -> bool:
    return any(
        policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel)
        for policy in policies
    )


class ModuleWrapPolicy:
    """The modules of some classes."""

    def __init__(self, module_classes: Iterable[type[Module]]) -> None:
        self._module_classes = set(module_classes)

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return recurse or isinstance(module, tuple(self._module_classes))


class CustomPolicy:
    """The modules that a function chooses, with their options."""

    def __init__(self, lambda_fn: Callable[[Module], Any]) -> None:
        self._lambda_fn = lambda_fn


enable_wrap, wrap = refused("enable_wrap"), refused("wrap")
