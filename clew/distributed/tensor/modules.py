"""Modules whose parameters lie in parts: `distribute_module`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew.distributed.device_mesh import DeviceMesh
from clew.distributed.tensor.dtensor import DTensor, distribute_tensor, mesh_or_default
from clew.distributed.tensor.placement_types import Replicate
from clew.nn.modules.module import Module
from clew.nn.parameter import Parameter

__all__ = ["distribute_module"]


def distribute_module(
    module: Module,
    device_mesh: DeviceMesh | None = None,
    partition_fn: Callable[[str, Module, DeviceMesh], None] | None = None,
    input_fn: Callable[[Module, Any, DeviceMesh], Any] | None = None,
    output_fn: Callable[[Module, Any, DeviceMesh], Any] | None = None,
) -> Module:
    """Let the parameters and buffers of a module be tensors in parts.

    Args:
        module: the module, which is changed
        device_mesh: the ranks; by default all of them
        partition_fn: is called with the name of each inner module, the module and the mesh, and
            registers parameters that it has cut; all others lie whole in each rank
        input_fn: changes the inputs of the module, e.g. to tensors in parts
        output_fn: changes its outputs

    Example:
        >>> import clew.distributed as dist
        >>> from clew.distributed.tensor import distribute_module
        >>> layer = distribute_module(nn.Linear(2, 1), dist.init_device_mesh("cpu", (1,)))
        >>> layer.weight.placements
        (Replicate(),)
        >>> dist.destroy_process_group()
    """
    mesh = mesh_or_default(device_mesh)
    for name, each in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, each, mesh)
        _replicate(each, mesh)
    if input_fn is not None:

        def before(called: Module, inputs: Any) -> Any:
            return input_fn(called, inputs, mesh)

        module.register_forward_pre_hook(before)
    if output_fn is not None:

        def after(called: Module, inputs: Any, outputs: Any) -> Any:
            return output_fn(called, outputs, mesh)

        module.register_forward_hook(after)
    return module


def _replicate(module: Module, mesh: DeviceMesh) -> None:
    whole = [Replicate()] * mesh.ndim
    parameters: dict[str, Any] = module._parameters
    buffers: dict[str, Any] = module._buffers
    for name, param in parameters.items():
        if param is not None and not isinstance(param, DTensor):
            parameters[name] = Parameter(distribute_tensor(param, mesh, whole), param.requires_grad)
    for name, buffer in buffers.items():
        if buffer is not None and not isinstance(buffer, DTensor):
            buffers[name] = distribute_tensor(buffer, mesh, whole)
