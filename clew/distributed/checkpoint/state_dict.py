"""State dicts of models and optimizers over ranks, by the names of parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clew import distributed as dist
from clew.core.state import local
from clew.core.tensor import Tensor, wrap
from clew.distributed.tensor.dtensor import DTensor, part_of, wrapped_like
from clew.nn.modules.module import Module
from clew.ops.create.constants import zeros_like

__all__ = [
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict",
    "set_model_state_dict", "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip

_DDP = "module."


@dataclass
class StateDictOptions:
    """How a state dict is made: whole or in parts, from rank 0 or from all."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False


# Wrappers whose names are no part of those of parameters.
_WRAPPERS = ("DistributedDataParallel", "FullyShardedDataParallel")


def _inner(model: Module) -> Module:
    """The module inside of DistributedDataParallel or FullyShardedDataParallel."""
    return model.module if type(model).__name__ in _WRAPPERS else model


def _wholly(value: Any, options: StateDictOptions | None) -> Any:
    if options is not None and options.full_state_dict and isinstance(value, DTensor):
        before, local.state.grad_enabled = local.state.grad_enabled, False
        try:
            return value.full_tensor()
        finally:
            local.state.grad_enabled = before
    return value


def get_model_state_dict(
    model: Module, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The state dict of a model; with `full_state_dict`, whole tensors on all ranks.

    Args:
        model: the model
        submodules: accepted if None
        options: its form
    """
    state = _inner(model).state_dict()
    return {name: _wholly(value, options) for name, value in state.items()}


def set_model_state_dict(
    model: Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Give a model a state, whole or in parts.

    Args:
        model: the model
        model_state_dict: the state
        options: its form; `broadcast_from_rank0` if only rank 0 has it
    """
    chosen = options or StateDictOptions()
    state = _from_rank0(model_state_dict) if chosen.broadcast_from_rank0 else model_state_dict
    return _inner(model).load_state_dict(state, strict=chosen.strict)


def _from_rank0(state: dict[str, Any]) -> dict[str, Any]:
    if not dist.is_initialized() or dist.get_world_size() == 1:
        return state
    box = [state if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(box, src=0)
    return box[0]  # type: ignore[return-value]  # rank 0 has one


def _names_of(model: Module) -> dict[int, str]:
    return {id(param): name for name, param in _inner(model).named_parameters()}


def get_optimizer_state_dict(
    model: Module,
    optimizers: Any,
    *,
    submodules: Any = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """The state of optimizers, by the names of parameters, so that any other ranks can take it.

    Args:
        model: the model
        optimizers: an optimizer, or several
        submodules: accepted if None
        options: its form
    """
    names = _names_of(model)
    state: dict[str, Any] = {}
    groups: list[dict[str, Any]] = []
    for optimizer in _listed(optimizers):
        _init_optim_state(optimizer)
        for group in optimizer.param_groups:
            members = [names[id(param)] for param in group["params"]]
            groups.append({**group, "params": members})
            for param, name in zip(group["params"], members):
                kept = optimizer.state.get(param, {})
                state[name] = {
                    key: _wholly(_like_param(value, param), options) for key, value in kept.items()
                }
    return {"state": state, "param_groups": groups}


def _listed(optimizers: Any) -> list[Any]:
    return list(optimizers) if isinstance(optimizers, (list, tuple)) else [optimizers]


def _init_optim_state(optim: Any) -> None:
    """Let an optimizer that has made no step make its state, by one that changes nothing.

    Without it there would be nothing in a state dict that a checkpoint could fill. An optimizer
    whose parameters have gradients is left alone: it is in the middle of a step.
    """
    params = [param for group in optim.param_groups for param in group["params"]]
    if optim.state or any(param.grad is not None for param in params):
        return
    rates = [(group, group["lr"]) for group in optim.param_groups if "lr" in group]
    for param in params:
        if param.requires_grad:
            param.grad = zeros_like(param)
    for group, rate in rates:
        group["lr"] = wrap(np.zeros(())) if isinstance(rate, Tensor) else 0.0
    try:
        optim.step(closure=None)
    finally:
        for group, rate in rates:
            group["lr"] = rate
        for param in params:
            param.grad = None


def _like_param(value: Any, param: Any) -> Any:
    """A state of a parameter's shape is in parts as the parameter is."""
    if (
        isinstance(param, DTensor)
        and isinstance(value, Tensor)
        and not isinstance(value, DTensor)
        and value._array.shape == param._array.shape
        and value.dim()
    ):
        return wrapped_like(value, param)
    return value


def set_optimizer_state_dict(
    model: Module,
    optimizers: Any,
    optim_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Give optimizers a state by the names of parameters.

    Args:
        model: the model
        optimizers: an optimizer, or several
        optim_state_dict: the state
        options: its form
    """
    chosen = options or StateDictOptions()
    given = _from_rank0(optim_state_dict) if chosen.broadcast_from_rank0 else optim_state_dict
    names = _names_of(model)
    groups = iter(given["param_groups"])
    for optimizer in _listed(optimizers):
        _init_optim_state(optimizer)
        for group, saved in zip(optimizer.param_groups, groups):
            group.update({key: value for key, value in saved.items() if key != "params"})
            for param in group["params"]:
                kept = given["state"].get(names[id(param)], {})
                if kept:
                    optimizer.state[param] = {
                        key: _own_part(value, param) for key, value in kept.items()
                    }


def positional_state(model: Module, optimizer: Any, given: dict[str, Any]) -> dict[str, Any]:
    """A state by the names of parameters as `load_state_dict` of an optimizer takes it."""
    names = _names_of(model)
    state: dict[int, Any] = {}
    groups = []
    for group, saved in zip(optimizer.param_groups, given["param_groups"]):
        places = []
        for param in group["params"]:
            place = len(state)
            kept = given["state"].get(names[id(param)], {})
            state[place] = {key: _own_part(value, param) for key, value in kept.items()}
            places.append(place)
        groups.append({**saved, "params": places})
    return {"state": state, "param_groups": groups}


def _own_part(value: Any, param: Any) -> Any:
    """What an optimizer keeps: a copy, of which each rank has its part as of the parameter."""
    if isinstance(value, DTensor):
        return _like_param(wrap(np.array(value._array)), param)
    if isinstance(value, Tensor):
        whole = isinstance(param, DTensor) and tuple(value.shape) == tuple(param.shape)
        part = part_of(value, param) if whole and value.dim() else wrap(np.array(value._array))
        return _like_param(part, param)
    return value


def get_state_dict(
    model: Module,
    optimizers: Any,
    *,
    submodules: Any = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The state dicts of a model and its optimizers.

    Args:
        model: the model
        optimizers: an optimizer, or several
        submodules: accepted if None
        options: their form
    """
    return (
        get_model_state_dict(model, options=options),
        get_optimizer_state_dict(model, optimizers, options=options),
    )


def set_state_dict(
    model: Module,
    optimizers: Any,
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Give a model and its optimizers a state.

    Args:
        model: the model
        optimizers: an optimizer, or several
        model_state_dict, optim_state_dict: the states
        options: their form
    """
    result = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return result
