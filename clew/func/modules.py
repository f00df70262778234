"""Modules as functions: calling one with other parameters, and many of one kind at once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.func.captures import transforming
from clew.nn.modules.batchnorm import _BatchNorm
from clew.nn.modules.module import Module
from clew.nn.utils.stateless import _functional_call as functional_call
from clew.ops.shape.joining import stack

Tensors = dict[str, Tensor]
__all__ = [
    "functional_call",
    "functionalize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
]


def stack_module_state(models: Sequence[Module]) -> tuple[Tensors, Tensors]:
    """The parameters and the buffers of modules of one kind, each stacked into one tensor.

    With `functional_call` and `vmap` an ensemble runs as one module does.

    Args:
        models: the modules

    Example:
        >>> models = [nn.Linear(2, 1) for _ in range(3)]
        >>> state = clew.func.stack_module_state(models)
        >>> state[0]["weight"].shape
        torch.Size([3, 1, 2])
        >>> def run(params, buffers, x):
        ...     return clew.func.functional_call(models[0], (params, buffers), (x,))
        >>> clew.vmap(run, in_dims=(0, 0, None))(*state, clew.ones(5, 2)).shape
        torch.Size([3, 5, 1])
    """
    if not models:
        raise RuntimeError(
            "stack_module_state: Expected at least one model, got 0." + errors.at_user_line()
        )
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
    return (
        _stacked([dict(model.named_parameters()) for model in models]),
        _stacked([dict(model.named_buffers()) for model in models]),
    )


def _stacked(states: list[Tensors]) -> Tensors:
    return {name: _stacked_leaf(name, [state[name] for state in states]) for name in states[0]}


def _stacked_leaf(name: str, tensors: list[Tensor]) -> Tensor:
    """One leaf for many: what is trained is the whole ensemble."""
    wants = tensors[0].requires_grad
    if any(each.requires_grad != wants for each in tensors):
        raise RuntimeError(
            f"Expected {name} from each model to have the same .requires_grad\n  In some it is "
            "frozen." + errors.at_user_line()
        )
    stacked: Tensor = stack([each.detach() for each in tensors])
    return stacked.requires_grad_() if wants else stacked


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """`func` as if it were made of out-of-place operations.

    That is a promise to tracers, which see the operations. Here nothing but results can be seen,
    and those are the same with and without: the function runs as it is.

    Args:
        func: the function
        remove: "mutations" or "mutations_and_views"; both do the same

    Example:
        >>> clew.func.functionalize(lambda x: x.clone().add_(1))(clew.zeros(2))
        tensor([1., 1.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            "functionalize(f, remove='mutations'): received invalid argument for "
            f"remove={remove}. Valid options are: remove='mutations' and "
            "remove='mutations_and_views'." + errors.at_user_line()
        )

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with transforming():
            return func(*args, **kwargs)

    return wrapped


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Have the batch norms of a module forget their running statistics, which vmap cannot update.

    They then use the statistics of the batch, in evaluation as well.

    Args:
        root: the module, which is changed and returned

    Example:
        >>> model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
        >>> clew.func.replace_all_batch_norm_modules_(model)[1].track_running_stats
        False
    """
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
