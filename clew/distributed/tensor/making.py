"""New tensors in parts: each rank makes its own part, or draws the whole and keeps its part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clew.backend import dtypes
from clew.core.tensor import Tensor, wrap
from clew.distributed.device_mesh import DeviceMesh
from clew.distributed.tensor._utils import compute_local_shape_and_global_offset
from clew.distributed.tensor.dtensor import (
    DTensor,
    cut_all,
    mesh_or_default,
    normal_placements,
    wrapped,
)
from clew.distributed.tensor.placement_types import Placement
from clew.ops.create import random

__all__ = ["empty", "full", "ones", "rand", "randn", "zeros"]


def _sizes(size: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else tuple(size)


def _made(
    size: tuple[Any, ...],
    value: Any,
    dtype: Any,
    requires_grad: bool,
    mesh: DeviceMesh | None,
    placements: Sequence[Placement] | None,
) -> DTensor:
    grid, shape = mesh_or_default(mesh), _sizes(size)
    chosen = normal_placements(placements, grid, len(shape))
    local, _ = compute_local_shape_and_global_offset(shape, grid, chosen)
    kind = dtype or dtypes.get_default_dtype()
    part = np.empty(local, kind.np) if value is None else np.full(local, value, kind.np)
    return _result(wrap(part), grid, chosen, shape, requires_grad)


def _result(part: Tensor, mesh: Any, placements: Any, shape: Any, requires_grad: bool) -> DTensor:
    made = wrapped(part, mesh, placements, shape)
    made.requires_grad_(requires_grad)
    return made


def zeros(
    *size: Any,
    requires_grad: bool = False,
    dtype: Any = None,
    layout: Any = None,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> DTensor:
    """Zeros, of which each rank makes its part.

    Args:
        size: the lengths of the whole
        requires_grad: whether gradients are wanted
        dtype: the data type
        layout: accepted
        device_mesh: the ranks; by default all of them
        placements: what each rank has; by default the whole

    Example:
        >>> import clew.distributed as dist
        >>> from clew.distributed import tensor
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> tensor.zeros(2, 3, device_mesh=mesh, placements=[tensor.Shard(0)]).to_local().shape
        torch.Size([2, 3])
        >>> dist.destroy_process_group()
    """
    return _made(size, 0, dtype, requires_grad, device_mesh, placements)


def ones(
    *size: Any,
    requires_grad: bool = False,
    dtype: Any = None,
    layout: Any = None,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> DTensor:
    """Ones, of which each rank makes its part.

    Args:
        size: the lengths of the whole
        requires_grad, dtype, layout, device_mesh, placements: as for `zeros`
    """
    return _made(size, 1, dtype, requires_grad, device_mesh, placements)


def empty(
    *size: Any,
    requires_grad: bool = False,
    dtype: Any = None,
    layout: Any = None,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> DTensor:
    """A tensor whose elements are whatever was in memory.

    Args:
        size: the lengths of the whole
        requires_grad, dtype, layout, device_mesh, placements: as for `zeros`
    """
    return _made(size, None, dtype, requires_grad, device_mesh, placements)


def full(
    size: Any,
    fill_value: Any,
    *,
    requires_grad: bool = False,
    dtype: Any = None,
    layout: Any = None,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> DTensor:
    """A tensor whose elements are one number.

    Args:
        size: the lengths of the whole
        fill_value: the number
        requires_grad, dtype, layout, device_mesh, placements: as for `zeros`
    """
    kind = dtype or dtypes.BY_NUMPY[wrap(np.array(fill_value))._array.dtype]
    if dtype is None and isinstance(fill_value, float):
        kind = dtypes.get_default_dtype()
    return _made((size,), fill_value, kind, requires_grad, device_mesh, placements)


def _drawn(
    function: Callable[..., Tensor],
    size: tuple[Any, ...],
    dtype: Any,
    requires_grad: bool,
    mesh: DeviceMesh | None,
    placements: Sequence[Placement] | None,
) -> DTensor:
    grid, shape = mesh_or_default(mesh), _sizes(size)
    chosen = normal_placements(placements, grid, len(shape))
    whole = function(shape, dtype=dtype)._array
    return _result(wrap(cut_all(whole, grid, chosen)), grid, chosen, shape, requires_grad)


def rand(
    *size: Any,
    requires_grad: bool = False,
    dtype: Any = None,
    layout: Any = None,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> DTensor:
    """Uniform random numbers, as one rank would draw them: seeds must be the same on all ranks.

    Args:
        size: the lengths of the whole
        requires_grad, dtype, layout, device_mesh, placements: as for `zeros`
    """
    return _drawn(random.rand, size, dtype, requires_grad, device_mesh, placements)


def randn(
    *size: Any,
    requires_grad: bool = False,
    dtype: Any = None,
    layout: Any = None,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> DTensor:
    """Normal random numbers, as one rank would draw them: seeds must be the same on all ranks.

    Args:
        size: the lengths of the whole
        requires_grad, dtype, layout, device_mesh, placements: as for `zeros`
    """
    return _drawn(random.randn, size, dtype, requires_grad, device_mesh, placements)
