"""`DeviceMesh`: ranks arranged in a grid, with a group along each of its dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clew import distributed, errors
from clew.core.size import Size
from clew.core.tensor import Tensor, wrap
from clew.distributed.runtime import world
from clew.distributed.runtime.process_group import ProcessGroup

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """Ranks in a grid. All ranks make it together.

    Args:
        device_type: `cpu`
        mesh: the ranks, as a tensor, an array or nested lists
        mesh_dim_names: a name for each dimension, by which `mesh["dp"]` takes it out

    Example:
        >>> import clew.distributed as dist
        >>> mesh = dist.init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))
        >>> mesh["tp"].size(), mesh.get_local_rank("dp")
        (1, 0)
        >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: Sequence[str] | None = None,
        _groups: list[ProcessGroup] | None = None,
        _root: DeviceMesh | None = None,
    ) -> None:
        if device_type not in ("cpu", "meta"):
            raise RuntimeError(
                f"DeviceMesh: clew has no device {device_type!r}; its tensors are on 'cpu'"
                + errors.at_user_line()
            )
        if not distributed.is_initialized():
            distributed.init_process_group()
        given = mesh._array if isinstance(mesh, Tensor) else mesh
        self._grid = np.asarray(given, np.int64)
        self.device_type = device_type
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        if self.mesh_dim_names is not None and len(self.mesh_dim_names) != self._grid.ndim:
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length!" + errors.at_user_line()
            )
        self._root = _root
        found = np.argwhere(self._grid == distributed.get_rank())
        self._coordinate = [int(each) for each in found[0]] if len(found) else None
        self._groups = self._make_groups() if _groups is None else _groups

    def _make_groups(self) -> list[Any]:
        """The group along each dimension that this rank is in; all ranks make all of them."""
        groups = []
        for dim in range(self._grid.ndim):
            lines = np.moveaxis(self._grid, dim, -1).reshape(-1, self._grid.shape[dim])
            if len(lines) == 1 and lines[0].tolist() == list(range(distributed.get_world_size())):
                groups.append(world.default_group())
                continue
            made = [distributed.new_group(line.tolist()) for line in lines]
            groups.append(next((g for g in made if g != world.NON_GROUP_MEMBER), made[0]))
        return groups

    # -- what it is ----------------------------------------------------------------------------

    @property
    def mesh(self) -> Tensor:
        """The ranks, as a tensor."""
        return wrap(self._grid.copy())

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._grid.ndim

    @property
    def shape(self) -> Size:
        """The lengths of the dimensions."""
        return Size(self._grid.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """The number of ranks, in all or along a dimension."""
        return self._grid.size if mesh_dim is None else self._grid.shape[mesh_dim]

    def __repr__(self) -> str:
        names = "" if self.mesh_dim_names is None else f", mesh_dim_names={self.mesh_dim_names}"
        return f"DeviceMesh('{self.device_type}', {self._grid.tolist()}{names})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, DeviceMesh)
            and self._grid.shape == other._grid.shape
            and bool((self._grid == other._grid).all())
            and self.mesh_dim_names == other.mesh_dim_names
        )

    def __hash__(self) -> int:
        return hash((self._grid.tobytes(), self._grid.shape, self.mesh_dim_names))

    # -- where this rank is --------------------------------------------------------------------

    def get_rank(self) -> int:
        """This process's rank in the world."""
        return distributed.get_rank()

    def get_coordinate(self) -> list[int] | None:
        """This rank's place in the grid; None outside of it."""
        return None if self._coordinate is None else list(self._coordinate)

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """This rank's place along a dimension."""
        if self._coordinate is None:
            raise RuntimeError(f"rank {self.get_rank()} is not in {self!r}" + errors.at_user_line())
        return self._coordinate[self._dim(mesh_dim, "get_local_rank")]

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The group along a dimension that this rank is in."""
        return self._groups[self._dim(mesh_dim, "get_group")]

    def get_all_groups(self) -> list[ProcessGroup]:
        """The groups of this rank along all dimensions."""
        return list(self._groups)

    def _dim(self, dim: int | str | None, name: str) -> int:
        if dim is None:
            if self.ndim > 1:
                raise RuntimeError(
                    f"Found the DeviceMesh have {self.ndim} dimensions: {name} needs to know which"
                    + errors.at_user_line()
                )
            return 0
        if isinstance(dim, str):
            return self._named(dim)
        return dim % self.ndim

    def _named(self, name: str) -> int:
        if self.mesh_dim_names is None or name not in self.mesh_dim_names:
            raise KeyError(
                f"Invalid mesh_dim_names ('{name}',) specified. Valid mesh_dim_names are "
                f"{self.mesh_dim_names or []}."
            )
        return self.mesh_dim_names.index(name)

    # -- parts of it ---------------------------------------------------------------------------

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        chosen = (names,) if isinstance(names, str) else tuple(names)
        dims = [self._named(name) for name in chosen]
        if self._coordinate is None:
            raise RuntimeError(f"rank {self.get_rank()} is not in {self!r}" + errors.at_user_line())
        place = tuple(slice(None) if dim in dims else at for dim, at in enumerate(self._coordinate))
        part = self._grid[place]
        kept = sorted(dims)
        part = np.transpose(part, [kept.index(dim) for dim in dims])
        return DeviceMesh(
            self.device_type, part, mesh_dim_names=chosen,
            _groups=[self._groups[dim] for dim in dims], _root=self._root or self,
        )  # fmt: skip

    def _flatten(self, mesh_dim_name: str | None = None) -> DeviceMesh:
        """A mesh of one dimension with the same ranks."""
        name = mesh_dim_name or "_".join(self.mesh_dim_names or ("flat",))
        root = self._root or self
        if self.ndim == 1:
            group = self._groups[0]
        else:
            # All ranks make the groups of all parts that look like this one.
            names = self.mesh_dim_names or ()
            inner = [root._named(each) for each in names] if root is not self else range(self.ndim)
            outer = [dim for dim in range(root.ndim) if dim not in inner]
            lines = np.transpose(root._grid, [*outer, *inner]).reshape(-1, self._grid.size)
            made = [distributed.new_group(line.tolist()) for line in lines]
            group = next(each for each in made if each != world.NON_GROUP_MEMBER)
        return DeviceMesh(
            self.device_type, self._grid.reshape(-1), mesh_dim_names=(name,),
            _groups=[group], _root=root,
        )  # fmt: skip

    @staticmethod
    def from_group(
        group: ProcessGroup | list[ProcessGroup],
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: Sequence[str] | None = None,
    ) -> DeviceMesh:
        """A mesh of groups that are there already."""
        groups = [group] if isinstance(group, ProcessGroup) else list(group)
        ranks = groups[0].ranks if mesh is None else mesh
        return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names, _groups=groups)


def init_device_mesh(
    device_type: str,
    mesh_shape: Sequence[int],
    *,
    mesh_dim_names: Sequence[str] | None = None,
    backend_override: Any = None,
) -> DeviceMesh:
    """All ranks in a grid, row by row.

    Args:
        device_type: `cpu`
        mesh_shape: the lengths of the dimensions; their product is the number of ranks
        mesh_dim_names: a name for each dimension
        backend_override: accepted; there is one backend

    Example:
        >>> import clew.distributed as dist
        >>> dist.init_device_mesh("cpu", (1,)).size()
        1
        >>> dist.destroy_process_group()
    """
    if not distributed.is_initialized():
        distributed.init_process_group()
    shape = tuple(mesh_shape)
    size = distributed.get_world_size()
    if mesh_dim_names is not None and len(set(mesh_dim_names)) != len(mesh_dim_names):
        raise RuntimeError("Each mesh_dim_name must be unique." + errors.at_user_line())
    if int(np.prod(shape)) > size:
        raise RuntimeError(
            f"Mesh should not be bigger than default world size {size}, but found "
            f"{int(np.prod(shape))} ranks!" + errors.at_user_line()
        )
    grid = np.arange(int(np.prod(shape))).reshape(shape)
    return DeviceMesh(device_type, grid, mesh_dim_names=mesh_dim_names)
