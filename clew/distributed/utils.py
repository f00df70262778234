"""Helpers of modules over several processes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from clew.core.tensor import Tensor
from clew.distributed.data_parallel.states import broadcast_all, compare_shapes
from clew.nn.modules.module import Module
from clew.utils._pytree import tree_map

__all__ = [
    "_replace_by_prefix", "_sync_module_states", "_sync_params_and_buffers", "_to_kwargs",
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


def _sync_params_and_buffers(
    process_group: Any, module_states: Iterable[Tensor], broadcast_bucket_size: int, src: int
) -> None:
    """Give all ranks the tensors of one, counted in the group."""
    broadcast_all(module_states, src, process_group)


def _sync_module_states(
    module: Module,
    process_group: Any,
    broadcast_bucket_size: int,
    src: int,
    params_and_buffers_to_ignore: Collection[str] = (),
    broadcast_buffers: bool = True,
) -> None:
    """Give all ranks the parameters, and buffers, of the module of one."""
    named = [*module.named_parameters(), *(module.named_buffers() if broadcast_buffers else ())]
    states = [each for name, each in named if name not in params_and_buffers_to_ignore]
    _sync_params_and_buffers(process_group, states, broadcast_bucket_size, src)


def _verify_param_shape_across_processes(
    process_group: Any, tensors: Iterable[Tensor], logger: Any = None
) -> None:
    """Raise, on all ranks, if shapes or dtypes differ between them."""
    named = [(str(place), each) for place, each in enumerate(tensors)]
    compare_shapes(named, process_group, "_verify_param_shape_across_processes")


def _replace_by_prefix(state_dict: dict[str, Any], old_prefix: str, new_prefix: str) -> None:
    """Rename, in place, the keys that begin with a prefix."""
    if old_prefix == new_prefix:
        return
    for key in list(state_dict):
        if key.startswith(old_prefix):
            state_dict[new_prefix + key[len(old_prefix) :]] = state_dict.pop(key)
