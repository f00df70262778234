"""Modules as functions of their state, as `functorch` made them before `functional_call`."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.func import functional_call
from clew.nn.modules.module import Module
from clew.nn.parameter import Parameter
from clew.ops.shape.joining import stack

__all__ = [
    "FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble",
    "make_functional", "make_functional_with_buffers",
]  # fmt: skip

Tensors = tuple[Tensor, ...]


class _Stateless(Module):
    """Holds a copy of the model whose tensors are replaced at every call."""

    def __init__(self, model: Module) -> None:
        super().__init__()
        self.stateless_model = copy.deepcopy(model)
        self.param_names = tuple(name for name, _ in model.named_parameters())
        self.buffer_names = tuple(name for name, _ in model.named_buffers())

    def _call(self, state: dict[str, Tensor], args: Any, kwargs: Any) -> Any:
        return functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModule(_Stateless):
    """What `make_functional` returns: called with the parameters, then the model's arguments."""

    def forward(  # type: ignore[override]  # the parameters come first
        self, params: Iterable[Tensor], *args: Any, **kwargs: Any
    ) -> Any:
        """The model with these parameters."""
        return self._call(dict(zip(self.param_names, params, strict=True)), args, kwargs)


class FunctionalModuleWithBuffers(_Stateless):
    """What `make_functional_with_buffers` returns: called with parameters, buffers, arguments."""

    def forward(  # type: ignore[override]  # the parameters and buffers come first
        self, params: Iterable[Tensor], buffers: Iterable[Tensor], *args: Any, **kwargs: Any
    ) -> Any:
        """The model with these parameters and buffers."""
        state = dict(zip(self.param_names, params, strict=True))
        state.update(zip(self.buffer_names, buffers, strict=True))
        return self._call(state, args, kwargs)


def _parameters(model: Module, disable_autograd_tracking: bool) -> Tensors:
    """Copies that are related to nothing: training them leaves the model alone."""
    return tuple(
        Parameter(each.detach().clone(), each.requires_grad and not disable_autograd_tracking)
        for each in model.parameters()
    )


def make_functional(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, Tensors]:
    """A function of a module's parameters, and those parameters."""
    if any(True for _ in model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use "
            "make_functional_with_buffers(model) instead." + errors.at_user_line()
        )
    return FunctionalModule(model), _parameters(model, disable_autograd_tracking)


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
    """A function of a module's parameters and buffers, and both."""
    buffers = tuple(each.detach().clone() for each in model.buffers())
    params = _parameters(model, disable_autograd_tracking)
    return FunctionalModuleWithBuffers(model), params, buffers


def combine_state_for_ensemble(
    models: Sequence[Module],
) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
    """One function for modules of one class, and their parameters and buffers, stacked."""
    problem = None
    if not models:
        problem = "at least one model, got 0."
    elif len({model.training for model in models}) > 1:
        problem = "all models to have the same training/eval mode."
    elif len({type(model) for model in models}) > 1:
        problem = "all models to be of the same class."
    if problem is not None:
        raise RuntimeError(
            f"combine_state_for_ensemble: Expected {problem}" + errors.at_user_line()
        )
    made = [make_functional_with_buffers(model) for model in models]
    params = tuple(stack(each).detach() for each in zip(*(one[1] for one in made), strict=True))
    buffers = tuple(stack(each) for each in zip(*(one[2] for one in made), strict=True))
    return made[0][0], params, buffers
