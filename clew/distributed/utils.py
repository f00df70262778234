"""Helpers of modules over several processes that need only one."""

from __future__ import annotations

from typing import Any

from clew.core.tensor import Tensor
from clew.utils._pytree import tree_map

__all__ = [
    "_replace_by_prefix", "_sync_params_and_buffers", "_to_kwargs",
    "_verify_param_shape_across_processes",
]  # fmt: skip


def _to_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_device: Any, *rest: Any
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """The arguments on a device, once for each: there is one."""
    moved = tree_map(
        lambda value: value.to(target_device) if isinstance(value, Tensor) else value,
        (inputs, kwargs or {}),
    )
    return (moved[0],), (moved[1],)


def _sync_params_and_buffers(process_group: Any, module_states: Any, *args: Any, **kw: Any) -> None:
    """Give all processes the same parameters: there is one."""


def _verify_param_shape_across_processes(
    process_group: Any, tensors: Any, logger: Any = None
) -> None:
    """Compare shapes between processes: there is one."""


def _replace_by_prefix(state_dict: dict[str, Any], old_prefix: str, new_prefix: str) -> None:
    """Rename, in place, the keys that begin with a prefix."""
    if old_prefix == new_prefix:
        return
    for key in list(state_dict):
        if key.startswith(old_prefix):
            state_dict[new_prefix + key[len(old_prefix) :]] = state_dict.pop(key)
