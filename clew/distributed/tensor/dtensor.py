"""`DTensor`: a tensor of which each rank has a part, the whole, or a term.

Its array is this rank's part, so that optimizers work on it as they are. Shapes and names of
functions mean the whole tensor; functions that are computed element by element run on the parts,
others say that they need `to_local()` or `full_tensor()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from clew import distributed as dist
from clew import errors
from clew.core.overrides import disabled
from clew.core.size import Size
from clew.core.tensor import Tensor, retyped, wrap
from clew.distributed.device_mesh import DeviceMesh
from clew.distributed.tensor import moves
from clew.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

# Questions that need no elements, and what Python and modules do with tensors.
_PLAIN = """
    __get__ __set__ __delete__ __hash__ dim is_floating_point is_complex element_size
    register_hook register_post_accumulate_grad_hook retain_grad backward is_contiguous data_ptr
    storage_offset
    is_pinned get_device type_as untyped_storage is_same_size __reduce_ex__ is_shared is_set_to
    is_signed is_inference apply_ as_subclass __deepcopy__ ndimension nelement has_names
"""
_PLAIN_NAMES = frozenset(_PLAIN.split())


class DTensor(Tensor):
    """A tensor in parts over the ranks of a mesh; `distribute_tensor` and `from_local` make one.

    Example:
        >>> import clew.distributed as dist
        >>> from clew.distributed.tensor import Shard, distribute_tensor
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> x = distribute_tensor(clew.arange(4.), mesh, [Shard(0)])
        >>> x.shape, x.placements
        (torch.Size([4]), (Shard(dim=0),))
        >>> dist.destroy_process_group()
    """

    _mesh: DeviceMesh
    _placements: tuple[Placement, ...]
    _whole: tuple[int, ...]
    # A tensor that was cut already: what is to be gathered after this one's parts were.
    _inner: tuple[DeviceMesh, tuple[Placement, ...], tuple[int, ...]] | None

    # -- what it is ----------------------------------------------------------------------------

    @property
    def device_mesh(self) -> DeviceMesh:
        """The ranks."""
        return self._mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        """What each rank has, for each dimension of the mesh."""
        return self._placements

    @property
    def shape(self) -> Size:
        """The lengths of the whole tensor."""
        return Size(self._whole)

    def size(self, dim: int | None = None) -> Any:
        """The lengths of the whole tensor, or one of them."""
        return self.shape if dim is None else self._whole[dim]

    def numel(self) -> int:
        """The number of elements of the whole tensor."""
        return int(np.prod(self._whole))

    def __len__(self) -> int:
        return self._whole[0]

    @property
    def grad(self) -> Tensor | None:
        """The gradient, in parts like the tensor."""
        found = self._grad
        if found is not None and not isinstance(found, DTensor):
            found = self._grad = wrapped_like(found, self)
        return found

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        part = repr(wrap(self._array))
        return (
            f"DTensor(local_tensor={part}, device_mesh={self._mesh!r}, "
            f"placements={self._placements})"
        )

    __str__ = __repr__

    # -- to and from parts ---------------------------------------------------------------------

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """This rank's part, as a plain tensor; gradients for it go to this tensor."""
        return _plainly(lambda: self.view(self._array.shape))

    @staticmethod
    def from_local(
        local_tensor: Tensor,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape: Sequence[int] | None = None,
        stride: Sequence[int] | None = None,
    ) -> DTensor:
        """The tensor of which each rank gives its part.

        Args:
            local_tensor: this rank's part
            device_mesh: the ranks
            placements: what each rank has; by default the whole
            run_check: give all ranks the replicas of the first
            shape: of the whole; needed where parts differ in length
            stride: accepted
        """
        mesh = mesh_or_default(device_mesh)
        chosen = normal_placements(placements, mesh, local_tensor.dim())
        if shape is None:
            lengths = list(local_tensor.shape)
            for dim, placement in enumerate(chosen):
                if isinstance(placement, Shard):
                    lengths[placement.dim] *= mesh.size(dim)
            shape = lengths
        return wrapped(local_tensor, mesh, chosen, tuple(shape))

    def redistribute(
        self,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        async_op: bool = False,
        forward_dtype: Any = None,
        backward_dtype: Any = None,
    ) -> DTensor:
        """The same tensor in other parts.

        Args:
            device_mesh: the ranks, which must be the same
            placements: what each rank is to have
            async_op: accepted; the result is there when it returns
            forward_dtype, backward_dtype: accepted
        """
        mesh = device_mesh or self._mesh
        wanted = normal_placements(placements, mesh, len(self._whole))
        part = self.to_local()
        changed = _changed(self._placements, wanted)
        # From the last dimension of the mesh to the first: the order in which parts were cut.
        for dim in reversed(range(mesh.ndim)):
            if dim in changed:
                length = _length_at(self._whole, self._placements, mesh, dim)
                part = _to_whole(part, self._placements[dim], mesh.get_group(dim), length)
        for dim in range(mesh.ndim):
            if dim in changed:
                part = _from_whole(part, wanted[dim], mesh.get_group(dim))
        return wrapped(part, mesh, wanted, self._whole)

    def full_tensor(self, *, grad_placements: Any = None) -> Tensor:
        """The whole tensor, on all ranks."""
        whole = self.redistribute(placements=[Replicate()] * self._mesh.ndim).to_local()
        if self._inner is not None:
            mesh, placements, shape = self._inner
            return wrapped(whole, mesh, placements, shape).full_tensor()
        return whole

    def _with_part(self, part: Tensor) -> Tensor:
        """A tensor in parts as this one is, of which this rank has a part; numbers are whole."""
        is_number = not self._whole or isinstance(part, DTensor)
        return part if is_number else wrapped_like(part, self)

    # -- functions -----------------------------------------------------------------------------

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        name = getattr(func, "__name__", "")
        options = dict(kwargs or {})
        if name in _PLAIN_NAMES:
            return disabled(func, types, args, options)
        special = SPECIAL.get(name) or SPECIAL.get(plain_name(name))
        if special is not None:
            return special(func, *args, **options)
        raise NotImplementedError(
            f"{name}: a DTensor is in parts over ranks, and this is not computed on parts. Use "
            ".to_local() for this rank's part, or .full_tensor() for the whole"
            + errors.at_user_line()
        )


# What is done for functions, by name; the modules of `rules` fill it.
SPECIAL: dict[str, Callable[..., Any]] = {}


def plain_name(name: str) -> str:
    """The name of a function without the underscores of operators and in-place forms."""
    return name.strip("_") if name.startswith("__") else name.removesuffix("_")


def is_in_place(name: str) -> bool:
    """Whether a function writes to its first argument."""
    if name.startswith("__"):
        return name.startswith("__i") and name != "__invert__"
    return name.endswith("_")


def _plainly(function: Callable[[], Any]) -> Any:
    """Run a function on tensors as plain ones."""
    return disabled(function, ())


def wrapped(
    part: Tensor, mesh: DeviceMesh, placements: Sequence[Placement], shape: tuple[int, ...]
) -> DTensor:
    """A DTensor around a part, with its history."""
    if part.requires_grad:
        made: Any = part.as_subclass(DTensor)
    else:
        made = retyped(part, DTensor)
    made._mesh, made._placements, made._whole = mesh, tuple(placements), tuple(shape)
    made._inner = None
    return made


def wrapped_like(part: Tensor, like: DTensor) -> DTensor:
    """A part as a DTensor of the kind of another."""
    made = wrapped(part, like._mesh, like._placements, like._whole)
    made._inner = like._inner
    return made


def part_of(whole: Tensor, like: DTensor) -> Tensor:
    """This rank's part of a whole tensor, cut as another one is."""
    array = whole._array
    if like._inner is not None:
        array = cut_all(array, *like._inner[:2])
    return wrap(cut_all(array, like._mesh, like._placements))


def cut_all(array: np.ndarray, mesh: DeviceMesh, placements: Sequence[Placement]) -> np.ndarray:
    """This rank's part of an array."""
    for dim, placement in enumerate(placements):
        if isinstance(placement, Shard):
            array = moves.cut(array, placement.dim, mesh.size(dim), mesh.get_local_rank(dim))
    return array


# -- making ----------------------------------------------------------------------------------------


def mesh_or_default(mesh: DeviceMesh | None) -> DeviceMesh:
    """The mesh that is meant: by default all ranks, in one dimension."""
    if mesh is not None:
        return mesh
    return DeviceMesh("cpu", list(range(dist.get_world_size())))


def normal_placements(
    given: Sequence[Placement] | None, mesh: DeviceMesh, ndim: int
) -> tuple[Placement, ...]:
    """Placements for each dimension of a mesh, with dimensions counted from the first."""
    chosen = [Replicate()] * mesh.ndim if given is None else list(given)
    if len(chosen) != mesh.ndim:
        raise ValueError(
            f"`placements` must have the same length as `device_mesh.ndim`! Found placements "
            f"length: {len(chosen)}, and device_mesh.ndim: {mesh.ndim}." + errors.at_user_line()
        )
    return tuple(
        Shard(each.dim % max(1, ndim)) if isinstance(each, Shard) and each.dim < 0 else each
        for each in chosen
    )


def distribute_tensor(
    tensor: Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> DTensor:
    """Cut a tensor into the parts of ranks.

    Args:
        tensor: the whole; that of the mesh's first rank counts
        device_mesh: the ranks
        placements: what each rank is to have; by default the whole
        src_data_rank: None if all ranks have the same already
    """
    mesh = mesh_or_default(device_mesh)
    chosen = normal_placements(placements, mesh, tensor.dim())
    array = np.array(tensor.detach()._array, order="C")
    if src_data_rank is not None:
        whole = wrap(array)
        for group in mesh.get_all_groups():
            if group.size() > 1:
                dist.broadcast(whole, group=group, group_src=0)
    made = wrapped(wrap(cut_all(array, mesh, chosen)), mesh, chosen, tuple(tensor.shape))
    made.requires_grad_(tensor.requires_grad)
    return made


def _changed(now: Sequence[Placement], wanted: Sequence[Placement]) -> set[int]:
    """The dimensions of a mesh whose parts are put together and cut again.

    One that stays as it is belongs to them if an earlier one cuts, or is to cut, along the same
    dimension of the tensor: its parts are parts of those.
    """
    changed: set[int] = set()
    for dim, (before, after) in enumerate(zip(now, wanted)):
        cut_before = any(now[e] == before or wanted[e] == before for e in changed)
        if before != after or (isinstance(before, Shard) and cut_before):
            changed.add(dim)
    return changed


def _length_at(
    whole: Sequence[int], placements: Sequence[Placement], mesh: DeviceMesh, at: int
) -> int:
    """The length, before the cut of one dimension of the mesh, of what that cuts."""
    placement = placements[at]
    if not isinstance(placement, Shard):
        return 0
    length = whole[placement.dim]
    for dim in range(at):
        if placements[dim] == placement:
            start, end = moves.bounds(length, mesh.size(dim), mesh.get_local_rank(dim))
            length = end - start
    return length


def _to_whole(part: Tensor, placement: Placement, group: Any, length: int) -> Tensor:
    if isinstance(placement, Shard):
        return moves.gather(part, placement.dim, length, group)
    if isinstance(placement, Partial):
        if placement.reduce_op not in ("sum", "avg"):
            raise NotImplementedError(
                f"{placement}: terms are summed or averaged" + errors.at_user_line()
            )
        total = moves.sum_all(part, group)
        return total / group.size() if placement.reduce_op == "avg" else total
    return part


def _from_whole(whole: Tensor, placement: Placement, group: Any) -> Tensor:
    if isinstance(placement, Shard):
        return moves.split(whole, placement.dim, group)
    if isinstance(placement, Partial):
        # Each rank's gradient is that of its term, which is a part of the whole.
        return moves.share(whole, group) / group.size()
    return whole


# -- norms -----------------------------------------------------------------------------------------


def _vector_norm(func: Any, x: DTensor, ord: float = 2, *args: Any, **kwargs: Any) -> Tensor:
    """The norm of all elements of all parts, on all ranks."""
    order = float(ord)
    part = np.abs(x._array.astype(np.float64, copy=False))
    if order == float("inf"):
        value = wrap(np.array([part.max(initial=0.0)]))
        op = dist.ReduceOp.MAX
    else:
        value, op = wrap(np.array([(part**order).sum()])), dist.ReduceOp.SUM
    specs = [(x._mesh, x._placements), *([x._inner[:2]] if x._inner else [])]
    for mesh, placements in specs:
        for dim, placement in enumerate(placements):
            if isinstance(placement, Shard):
                dist.all_reduce(value, op, mesh.get_group(dim))
    number = value._array[0] if order == float("inf") else value._array[0] ** (1 / order)
    return wrap(np.asarray(number, x._array.dtype))


SPECIAL["vector_norm"] = SPECIAL["norm"] = SPECIAL["linalg_vector_norm"] = _vector_norm
