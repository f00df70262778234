"""Layers made one: a convolution or linear layer takes over the batch norm behind it."""

from __future__ import annotations

import copy
from typing import Any

from clew.nn.modules.activation import ReLU
from clew.nn.modules.batchnorm import _BatchNorm
from clew.nn.modules.container import Sequential
from clew.nn.modules.linear import Identity, Linear
from clew.nn.modules.module import Module
from clew.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

__all__ = ["fuse_modules", "fuse_modules_qat"]


def _fused(modules: list[Module], is_qat: bool) -> list[Module]:
    """The modules that take the places of those given."""
    first, *rest = modules
    if rest and isinstance(rest[0], _BatchNorm):
        if is_qat:
            # In training a batch norm has statistics of its own, so both stay, as one.
            first = Sequential(first, rest[0])
        else:
            fuse = fuse_linear_bn_eval if isinstance(first, Linear) else fuse_conv_bn_eval
            first = fuse(first, rest[0])  # type: ignore[type-var]  # a layer with weights
        rest = rest[1:]
    if rest and isinstance(rest[0], ReLU):
        first = Sequential(first, rest[0])
    return [first, *[Identity() for _ in modules[1:]]]


def fuse_modules(
    model: Module,
    modules_to_fuse: Any,
    inplace: bool = False,
    fuser_func: Any = None,
    fuse_custom_config_dict: Any = None,
    _is_qat: bool = False,
) -> Module:
    """A model in which some layers that follow each other are one.

    Args:
        model: the model
        modules_to_fuse: the names of the layers, or lists of names
        inplace: whether the model itself is changed
        fuser_func, fuse_custom_config_dict: accepted
    """
    model = model if inplace else copy.deepcopy(model)
    groups = [modules_to_fuse] if isinstance(modules_to_fuse[0], str) else modules_to_fuse
    for names in groups:
        found = [model.get_submodule(name) for name in names]
        for name, module in zip(names, _fused(found, _is_qat)):
            parent, _, last = name.rpartition(".")
            setattr(model.get_submodule(parent), last, module)
    return model


def fuse_modules_qat(
    model: Module, modules_to_fuse: Any, inplace: bool = False, **kwargs: Any
) -> Module:
    """The same for training: a batch norm stays."""
    return fuse_modules(model, modules_to_fuse, inplace, _is_qat=True)
