"""Modules as functions: calling one with other parameters, and many of one kind at once."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from clew import errors
from clew.core.tensor import Tensor
from clew.nn.modules.module import Module
from clew.nn.utils.stateless import _functional_call as functional_call
from clew.ops.joining import stack

Tensors = dict[str, Tensor]
__all__ = ["functional_call", "functionalize", "stack_module_state"]


def stack_module_state(models: Sequence[Module]) -> tuple[Tensors, Tensors]:
    """The parameters and the buffers of modules of one kind, each stacked into one tensor.

    With `functional_call` and `vmap` an ensemble runs as one module does.
    """
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if any(model.training for model in models) and not all(model.training for model in models):
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
            + errors.at_user_line()
        )
    first = type(models[0])
    for model in models:
        if type(model) is not first:
            raise RuntimeError(
                "stack_module_state: Expected all models to be of the same class.\n"
                f"  There are {first.__name__} and {type(model).__name__}." + errors.at_user_line()
            )
    parameters = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    stacked = {name: _stacked_leaves([each[name] for each in parameters]) for name in parameters[0]}
    return stacked, {name: _stacked_leaves([each[name] for each in buffers]) for name in buffers[0]}


def _stacked_leaves(tensors: list[Any]) -> Tensor:
    """One leaf for many: what is trained is the whole ensemble."""
    if len({each.requires_grad for each in tensors}) > 1:
        raise RuntimeError(
            "stack_module_state: Expected the parameters of one name to agree in requires_grad: "
            "some are frozen and some are not." + errors.at_user_line()
        )
    wants_gradient = tensors[0].requires_grad
    return stack([each.detach() for each in tensors]).requires_grad_(wants_gradient)


class _Any(Protocol):
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> _Any:
    """`func` without effects on its arguments: what it writes to are copies of them.

    Writes to a copy inside of `func` are as good as none, so there is nothing else to remove.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            "functionalize(f, remove='mutations'): received invalid argument for remove=. Valid "
            "options are:\n     remove='mutations': all inplace and out= operators will be removed "
            "from the program, and replaced with their out-of-place equivalents.\n     "
            "remove='mutations_and_views': In addition to the above, all aliasing operators {view} "
            "will be replaced with their non-aliasing counterparts, {view}_copy.\n"
            + errors.at_user_line()
        )
    return func


_ = copy
