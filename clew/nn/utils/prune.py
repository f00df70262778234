"""Pruning: parameters multiplied by masks of zeros and ones.

Pruning `weight` moves it to the parameter `weight_orig`, keeps the mask as a buffer `weight_mask`,
and computes `weight` from both before every forward. Pruning again adds to what is pruned already.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.nn.modules.module import Module
from clew.nn.utils.prune_methods import (
    Amount,
    BasePruningMethod,
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    M,
    PruningContainer,
    RandomStructured,
    RandomUnstructured,
    _compute_nparams_toprune,  # noqa: F401  (programs import these three from here)
    _find_hook,
    _validate_pruning_amount,  # noqa: F401
    _validate_pruning_amount_init,  # noqa: F401
)
from clew.ops.create.constants import ones_like
from clew.ops.shape.joining import cat


def identity(module: M, name: str) -> M:
    """Make a parameter one that can be pruned, with a mask of ones.

    Args:
        module: the module, which is returned
        name: the parameter's name

    Example:
        >>> layer = nn.utils.prune.identity(nn.Linear(2, 3), "weight")
        >>> sorted(layer.state_dict())
        ['bias', 'weight_mask', 'weight_orig']
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: M, name: str, amount: Amount) -> M:
    """Prune elements at random: a number of them, or a part.

    Args:
        module: the module, which is returned
        name: the parameter's name
        amount: how many, if an integer; which part of all, if a number from 0 to 1

    Example:
        >>> layer = nn.utils.prune.random_unstructured(nn.Linear(5, 4), "weight", amount=0.25)
        >>> int((layer.weight == 0).sum())
        5
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: M, name: str, amount: Amount, importance_scores: Tensor | None = None
) -> M:
    """Prune the elements with the smallest absolute values.

    Args:
        module: the module, which is returned
        name: the parameter's name
        amount: how many, if an integer; which part of all, if a number from 0 to 1
        importance_scores: what is compared instead of the values, of the same shape

    Example:
        >>> layer = nn.Linear(2, 2)
        >>> _ = layer.weight.data.copy_(clew.tensor([[1.0, 2.0], [-3.0, 4.0]]))
        >>> nn.utils.prune.l1_unstructured(layer, "weight", amount=2).weight.tolist()
        [[0.0, 0.0], [-3.0, 4.0]]
    """
    L1Unstructured.apply(module, name, amount, importance_scores)
    return module


def random_structured(module: M, name: str, amount: Amount, dim: int) -> M:
    """Prune slices along `dim` at random.

    Args:
        module: the module, which is returned
        name: the parameter's name
        amount: how many, if an integer; which part of all, if a number from 0 to 1
        dim: the dimension that is pruned

    Example:
        >>> layer = nn.utils.prune.random_structured(nn.Linear(5, 4), "weight", amount=1, dim=0)
        >>> int((layer.weight == 0).all(dim=1).sum())
        1
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: M,
    name: str,
    amount: Amount,
    n: Any,
    dim: int,
    importance_scores: Tensor | None = None,
) -> M:
    """Prune the slices along `dim` with the smallest norms of order `n`.

    Args:
        module: the module, which is returned
        name: the parameter's name
        amount: how many, if an integer; which part of all, if a number from 0 to 1
        n: the order of the norm
        dim: the dimension that is pruned
        importance_scores: what is compared instead of the values, of the same shape

    Example:
        >>> layer = nn.Linear(2, 2)
        >>> _ = layer.weight.data.copy_(clew.tensor([[1.0, 2.0], [3.0, 4.0]]))
        >>> nn.utils.prune.ln_structured(layer, "weight", amount=1, n=2, dim=0).weight.tolist()
        [[0.0, 0.0], [3.0, 4.0]]
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores)
    return module


def custom_from_mask(module: M, name: str, mask: Tensor) -> M:
    """Prune where the mask is 0.

    Args:
        module: the module, which is returned
        name: the parameter's name
        mask: 0 where it prunes, 1 elsewhere

    Example:
        >>> layer = nn.Linear(2, 1)
        >>> layer = nn.utils.prune.custom_from_mask(layer, "weight", clew.tensor([[0, 1]]))
        >>> (layer.weight == 0).tolist()
        [[True, False]]
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune several parameters as if they were one: the amount is of all of them together.

    Args:
        parameters: pairs of a module and a parameter's name
        pruning_method: the class, such as `L1Unstructured`
        importance_scores: by such a pair, what is compared instead of the values
        kwargs: what the class takes

    Example:
        >>> first, second = nn.Linear(4, 4), nn.Linear(4, 4)
        >>> nn.utils.prune.global_unstructured(
        ...     [(first, "weight"), (second, "weight")], nn.utils.prune.L1Unstructured, amount=0.5
        ... )
        >>> int((first.weight == 0).sum() + (second.weight == 0).sum())
        16
    """
    given: Any = parameters
    if not isinstance(given, Iterable):
        text = "global_unstructured(): parameters is not an Iterable"
        raise TypeError(text + errors.at_user_line())
    scores: Any = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        text = "global_unstructured(): importance_scores must be of type dict"
        raise TypeError(text + errors.at_user_line())
    places = list(given)
    tensors = [getattr(module, name) for module, name in places]
    masks = [
        getattr(module, name + "_mask", ones_like(tensor))
        for (module, name), tensor in zip(places, tensors)
    ]
    measured = [scores.get(place, tensor) for place, tensor in zip(places, tensors)]
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}" + errors.at_user_line()
        )
    mask = PruningContainer._combined(method, _as_vector(measured), _as_vector(masks))
    start = 0
    for (module, name), tensor in zip(places, tensors):
        end = start + tensor.numel()
        custom_from_mask(module, name, mask=mask[start:end].view_as(tensor))
        start = end


def _as_vector(tensors: list[Tensor]) -> Tensor:
    return cat([tensor.reshape(-1) for tensor in tensors])


def remove(module: M, name: str) -> M:
    """Make a pruned parameter an ordinary one, with zeros where it is pruned.

    Args:
        module: the module, which is returned
        name: the parameter's name

    Example:
        >>> layer = nn.utils.prune.l1_unstructured(nn.Linear(2, 3), "weight", amount=1)
        >>> sorted(nn.utils.prune.remove(layer, "weight").state_dict())
        ['bias', 'weight']
    """
    found = _find_hook(module, name)
    if found is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
            + errors.at_user_line()
        )
    key, hook = found
    hook.remove(module)
    del module._forward_pre_hooks[key]
    return module


def is_pruned(module: Module) -> bool:
    """Whether a module, or one inside it, has a pruned parameter.

    Args:
        module: the module

    Example:
        >>> nn.utils.prune.is_pruned(nn.Linear(2, 3))
        False
        >>> nn.utils.prune.is_pruned(nn.utils.prune.identity(nn.Linear(2, 3), "weight"))
        True
    """
    return any(
        isinstance(hook, BasePruningMethod)
        for each in module.modules()
        for hook in each._forward_pre_hooks.values()
    )
