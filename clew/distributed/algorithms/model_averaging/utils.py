"""The mean of parameters over ranks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from clew import distributed as dist
from clew.core.inplace import bump_version
from clew.core.tensor import Tensor, wrap

__all__ = [
    "average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average",
]  # fmt: skip


def average_parameters(params: Iterable[Tensor], process_group: Any = None) -> None:
    """Replace parameters by their means over ranks.

    Args:
        params: the parameters
        process_group: the ranks; None is all of them
    """
    by_dtype: dict[Any, list[Tensor]] = {}
    for param in params:
        by_dtype.setdefault(param._array.dtype, []).append(param)
    for members in by_dtype.values():
        flat = wrap(np.concatenate([each._array.reshape(-1) for each in members]))
        dist.all_reduce(flat, dist.ReduceOp.AVG, process_group)
        at = 0
        for each in members:
            size = each._array.size
            each._array[...] = flat._array[at : at + size].reshape(each._array.shape)
            bump_version(each, "average_parameters")
            at += size


def get_params_to_average(params: Iterable[Any]) -> list[Tensor]:
    """The parameters that have gradients, of a list or of groups of an optimizer.

    Args:
        params: parameters, or dicts with `params`
    """
    found: list[Tensor] = []
    for each in params:
        members = each["params"] if isinstance(each, dict) else [each]
        found += [param for param in members if param.grad is not None]
    return found


def average_parameters_or_parameter_groups(params: Iterable[Any], process_group: Any) -> None:
    """Replace the parameters that have gradients by their means.

    Args:
        params: parameters, or dicts with `params`
        process_group: the ranks
    """
    average_parameters(get_params_to_average(params), process_group)
