"""`parallelize_module`: which layer of a module is split in which way."""

from __future__ import annotations

import fnmatch
import warnings
from collections.abc import Iterator
from typing import Any

from clew import errors
from clew.distributed.device_mesh import DeviceMesh
from clew.distributed.tensor.parallel.styles import ParallelStyle
from clew.nn.modules.module import Module

__all__ = ["parallelize_module"]


def parallelize_module(
    module: Any,
    device_mesh: DeviceMesh | None = None,
    parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Any:
    """Split the layers of a module over ranks.

    Args:
        module: the module
        device_mesh: the ranks, in one dimension
        parallelize_plan: a style for the module, or styles by the names of layers in it, in which
            `*` stands for any name
        src_data_rank: None if all ranks have the same parameters already

    Example:
        >>> import clew.distributed as dist
        >>> from clew.distributed.tensor.parallel import ColwiseParallel, parallelize_module
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> model = nn.Sequential(nn.Linear(4, 8))
        >>> model = parallelize_module(model, mesh, {"0": ColwiseParallel()})
        >>> model(clew.ones(2, 4)).shape
        torch.Size([2, 8])
        >>> dist.destroy_process_group()
    """
    mesh = DeviceMesh("cpu", [0]) if device_mesh is None else device_mesh
    if mesh.ndim != 1:
        raise ValueError(
            "parallelize_module needs a mesh of one dimension: take it out of a larger one by its "
            f"name, as in mesh['tp']; this has {mesh.ndim}" + errors.at_user_line()
        )
    if parallelize_plan is None:
        warnings.warn(
            "No parallelize_plan is provided and auto-parallel is not supported.", stacklevel=2
        )
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    for path, style in parallelize_plan.items():
        found = list(_matching(module, path.split(".")))
        if not found:
            warnings.warn(
                f"Parallelize plan key '{path}' could not be resolved: no submodule matching it",
                stacklevel=2,
            )
        for each in found:
            style.src_data_rank = src_data_rank
            style._apply(each, mesh)
    return module


def _matching(module: Module, names: list[str]) -> Iterator[Module]:
    """The submodules whose path fits."""
    if not names or names == [""]:
        yield module
        return
    for name, child in module.named_children():
        if fnmatch.fnmatch(name, names[0]):
            yield from _matching(child, names[1:])
