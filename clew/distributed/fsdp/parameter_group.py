"""The parameters of one module in parts: gathered before they are used, and let go after.

Gathering is an operation of autograd: its gradient reduces those of the whole parameters and gives
each rank its part. What nodes save of whole parameters is a note of where it was; backward gathers
them again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clew import distributed as dist
from clew import errors
from clew.autograd.function import Function
from clew.autograd.graph import saved_tensors_hooks
from clew.core.inplace import bump_version
from clew.core.tensor import Tensor, wrap
from clew.distributed.device_mesh import DeviceMesh
from clew.distributed.runtime.work import Work
from clew.distributed.tensor import moves
from clew.distributed.tensor.dtensor import DTensor, part_of, wrapped
from clew.distributed.tensor.placement_types import Replicate, Shard
from clew.nn.modules.module import Module
from clew.nn.parameter import Parameter

# The groups whose parameters are whole at the moment.
_WHOLE: list[ParameterGroup] = []


class ParameterGroup:
    """Parameters that are gathered together, by one collective for each dtype."""

    def __init__(
        self,
        owners: Sequence[tuple[Module, str, Tensor]],
        mesh: DeviceMesh,
        policy: Any,
        placement_of: Callable[[Any], Shard | None] | None = None,
    ) -> None:
        self.mesh, self.policy = mesh, policy
        self.group = mesh.get_group(mesh.ndim - 1)
        self.replicas = mesh.get_group(0) if mesh.ndim == 2 else None
        self.owners: list[list[tuple[Module, str]]] = []
        self.shards: list[Any] = []
        # The shapes of whole parameters, and their dtypes when they are used.
        self.shapes: list[tuple[int, ...]] = []
        # The dimension along which each is cut.
        self.dims: list[int] = []
        seen: dict[int, int] = {}
        for module, name, param in owners:
            if id(param) in seen:
                self.owners[seen[id(param)]].append((module, name))
                continue
            seen[id(param)] = len(self.shards)
            self.owners.append([(module, name)])
            self.shapes.append(tuple(param._array.shape))
            placement = placement_of(param) if placement_of is not None else None
            self.dims.append(placement.dim % max(1, param._array.ndim) if placement else 0)
            self.shards.append(self._shard(param, self.dims[-1]))
        self._register(self.shards)
        self.whole: list[np.ndarray] | None = None
        self._work: tuple[Work, list[tuple[list[int], Tensor]]] | None = None
        # The versions of the parts that were gathered.
        self._versions: list[int] = []
        self.synchronizes = True
        self.reshards = True
        self.unreduced: list[np.ndarray | None] = [None] * len(self.shards)
        # Whole parameters that the program has while it asked for them.
        self.summoned: list[Any] = []
        # What was gathered before this one, and is gathered ahead of use in the other direction.
        self.following: ParameterGroup | None = None
        self.preceding: ParameterGroup | None = None

    def _shard(self, param: Tensor, dim: int) -> Any:
        array = param._array
        rows = array.reshape(1) if array.ndim == 0 else array
        part = moves.cut(rows, dim, self.group.size(), self.group.rank())
        # A copy, so that the memory of the whole is given back.
        placements = [Shard(dim)] if self.mesh.ndim == 1 else [Replicate(), Shard(dim)]
        made = wrapped(wrap(part.copy()), self.mesh, placements, tuple(array.shape))
        if isinstance(param, DTensor):
            made._inner = param._mesh, param._placements, param._whole
        return Parameter(made, param.requires_grad)

    def _register(self, params: Sequence[Any]) -> None:
        """Put parameters, whole or in parts, where the modules look for them."""
        for owners, param in zip(self.owners, params):
            for module, name in owners:
                module._parameters[name] = param

    def _adopt(self) -> None:
        """Take over parameters that the program has put in the place of ours.

        `load_state_dict(assign=True)` does so.
        """
        for place, (((module, name), *_), shard) in enumerate(zip(self.owners, self.shards)):
            found: Any = module._parameters.get(name)
            if found is shard or not isinstance(found, DTensor):
                continue
            if (found._placements, found._whole) != (shard._placements, shard._whole):
                raise RuntimeError(
                    f"fully_shard: {name} is now in other parts, {found._placements} of "
                    f"{list(found._whole)}, than {shard._placements} of {list(shard._whole)}"
                    + errors.at_user_line()
                )
            self.let_go()
            self._versions = []
            found._inner = shard._inner
            self.shards[place] = found

    # -- gathering -----------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to gather, if it has not begun."""
        self._adopt()
        versions = [shard._storage.version for shard in self.shards]
        if versions != self._versions:
            # What was gathered ahead is older than the last step of the optimizer.
            self.let_go()
        if self.whole is not None or self._work is not None:
            return
        self._versions = versions
        parts = []
        works: list[Work] = []
        for places, flat in self._packed():
            whole = wrap(np.empty(flat.size * self.group.size(), flat.dtype))
            work = dist.all_gather_into_tensor(
                whole, wrap(flat), group=self.group, async_op=self.group.size() > 1
            )
            works += [work] if work is not None else []
            parts.append((places, whole))
        self._work = (works[-1] if works else Work()), parts

    def _packed(self) -> list[tuple[list[int], np.ndarray]]:
        """The parts of this rank behind each other, with gaps where others have more."""
        by_dtype: dict[np.dtype, list[int]] = {}
        for place in range(len(self.shards)):
            by_dtype.setdefault(self._dtype_of(place), []).append(place)
        packed = []
        for dtype, places in by_dtype.items():
            flat = np.zeros(sum(self._padded(place) for place in places), dtype)
            at = 0
            for place in places:
                part = self.shards[place]._array
                flat[at : at + part.size] = np.moveaxis(part, self.dims[place], 0).reshape(-1)
                at += self._padded(place)
            packed.append((places, flat))
        return packed

    def _dtype_of(self, place: int) -> np.dtype:
        """The dtype in which a parameter is used."""
        own = self.shards[place]._array.dtype
        chosen = self.policy.param_dtype
        return own if chosen is None or own.kind not in "fV" else chosen.np

    def _padded(self, place: int) -> int:
        """The number of elements of the longest part of a parameter."""
        shape = self._rows(place)
        return -(-shape[0] // self.group.size()) * int(np.prod(shape[1:]))

    def _rows(self, place: int) -> tuple[int, ...]:
        """The shape of a whole parameter with the dimension first along which it is cut."""
        shape = list(self.shapes[place]) or [1]
        return (shape.pop(self.dims[place]), *shape)

    def gather(self) -> list[np.ndarray]:
        """The whole parameters."""
        self.start()
        if self.whole is None:
            assert self._work is not None
            work, parts = self._work
            work.wait()
            self._work = None
            self.whole = self._unpacked(parts)
            _WHOLE.append(self)
        return self.whole

    def _unpacked(self, parts: list[tuple[list[int], Tensor]]) -> list[np.ndarray]:
        whole: list[Any] = [None] * len(self.shards)
        for places, flat in parts:
            rows = flat._array.reshape(self.group.size(), -1)
            at = 0
            for place in places:
                shape = self._rows(place)
                some = rows[:, at : at + self._padded(place)].reshape(-1, *shape[1:])
                moved = np.moveaxis(some[: shape[0]], 0, self.dims[place])
                whole[place] = np.array(moved, order="C").reshape(self.shapes[place])
                at += self._padded(place)
        return whole

    def let_go(self) -> None:
        """Give the memory of the whole parameters back."""
        if self._work is not None:
            self._work[0].wait()
            self._work = None
        if self.whole is not None:
            self.whole = None
            _WHOLE.remove(self)

    # -- whole for the program ----------------------------------------------------------------

    def summon(self, with_grads: bool, is_wanted: bool) -> None:
        """Let whole parameters, in their own dtypes, take the place of the parts."""
        whole: list[Any] = []
        for shard in self.shards:
            made: Any = Parameter(shard.full_tensor().detach(), shard._requires_grad)
            if with_grads and shard.grad is not None:
                made.grad = shard.grad.full_tensor()
            whole.append(made)
        self.summoned = whole if is_wanted else []
        if is_wanted:
            self._register(whole)

    def dismiss(self, writeback: bool) -> None:
        """Parts again, with the values of the whole ones if that is wanted."""
        for whole, shard in zip(self.summoned, self.shards) if writeback else ():
            part = part_of(whole, shard)._array
            shard._array[...] = part.reshape(shard._array.shape)
            bump_version(shard, "summon_full_params")
        self.summoned = []
        self._register(self.shards)

    # -- in forward and backward ---------------------------------------------------------------

    def enter(self) -> None:
        """Before forward: whole parameters take the place of the parts."""
        self._adopt()
        whole = _Gathered.apply(self, *self.shards)
        self._register(whole if isinstance(whole, tuple) else (whole,))
        if self.following is not None:
            self.following.start()

    def leave(self) -> None:
        """After forward: parts again."""
        self._register(self.shards)
        if self.reshards:
            self.let_go()

    def reduce(self, grads: Sequence[Tensor | None]) -> list[Tensor | None]:
        """This rank's parts of the mean of gradients."""
        arrays = [
            None if grad is None else self._added(place, grad._array)
            for place, grad in enumerate(grads)
        ]
        if not self.synchronizes:
            self.unreduced = arrays
            return [None] * len(arrays)
        self.unreduced = [None] * len(arrays)
        results: list[Tensor | None] = [None] * len(arrays)
        by_dtype: dict[np.dtype, list[int]] = {}
        for place, shard in enumerate(self.shards):
            if shard._requires_grad:
                by_dtype.setdefault(self._reduced_as(place), []).append(place)
        for dtype, places in by_dtype.items():
            self._reduce_together(dtype, places, arrays, results)
        return results

    def _added(self, place: int, grad: np.ndarray) -> np.ndarray:
        earlier = self.unreduced[place]
        return grad if earlier is None else earlier + grad

    def _reduced_as(self, place: int) -> np.dtype:
        chosen = self.policy.reduce_dtype
        return self._dtype_of(place) if chosen is None else chosen.np

    def _reduce_together(
        self, dtype: np.dtype, places: list[int], arrays: list[Any], results: list[Tensor | None]
    ) -> None:
        size = self.group.size()
        rows = np.zeros((size, sum(self._padded(place) for place in places)), dtype)
        at = 0
        for place in places:
            width, array = self._padded(place), arrays[place]
            if array is not None:
                own = array.reshape(1) if array.ndim == 0 else array
                flat = np.moveaxis(own, self.dims[place], 0).reshape(-1)
                for rank in range(size):
                    part = flat[rank * width : (rank + 1) * width]
                    rows[rank, at : at + part.size] = part
            at += width
        count = size * (1 if self.replicas is None else self.replicas.size())
        np.multiply(rows, dtype.type(1 / count), out=rows)
        mine = wrap(np.empty(rows.shape[1], dtype))
        dist.reduce_scatter_tensor(mine, wrap(rows.reshape(-1)), group=self.group)
        if self.replicas is not None:
            dist.all_reduce(mine, group=self.replicas)
        at = 0
        for place in places:
            shard = self.shards[place]._array
            part = mine._array[at : at + shard.size].astype(shard.dtype)
            dim = self.dims[place]
            moved = part.reshape(np.moveaxis(shard, dim, 0).shape)
            results[place] = wrap(np.ascontiguousarray(np.moveaxis(moved, 0, dim)))
            at += self._padded(place)


class _Gathered(Function):
    """Whole parameters from parts."""

    @staticmethod
    def forward(ctx: Any, group: ParameterGroup, *shards: Tensor) -> Any:
        ctx.group = group
        ctx.set_materialize_grads(False)
        whole = tuple(wrap(array) for array in group.gather())
        frozen = [full for full, part in zip(whole, shards) if not part._requires_grad]
        if frozen:
            ctx.mark_non_differentiable(*frozen)
        return whole

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        group: ParameterGroup = ctx.group
        results = group.reduce(grads)
        group.let_go()
        return None, *results


# -- what nodes save -------------------------------------------------------------------------------


class _Note:
    """Where in a whole parameter something lies that backward needs."""

    __slots__ = ("group", "offset", "place", "shape", "strides")

    def __init__(
        self, group: ParameterGroup, place: int, offset: int, shape: Any, strides: Any
    ) -> None:
        self.group, self.place, self.offset = group, place, offset
        self.shape, self.strides = shape, strides


def _pack(tensor: Tensor) -> Any:
    array = tensor._array
    address = array.__array_interface__["data"][0]
    for group in _WHOLE:
        if group.whole is None or not group.reshards:
            continue
        for place, whole in enumerate(group.whole):
            offset = address - whole.__array_interface__["data"][0]
            if 0 <= offset < whole.nbytes and array.dtype == whole.dtype:
                return _Note(group, place, offset, array.shape, array.strides)
    return tensor


def _unpack(kept: Any) -> Tensor:
    if not isinstance(kept, _Note):
        return kept
    group = kept.group
    whole = group.gather()[kept.place]
    if group.preceding is not None:
        group.preceding.start()
    return wrap(np.ndarray(kept.shape, whole.dtype, whole, kept.offset, kept.strides))


def noting() -> saved_tensors_hooks:
    """Inside, nodes save notes in place of whole parameters."""
    return saved_tensors_hooks(_pack, _unpack)
