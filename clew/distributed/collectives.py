"""Collectives of one tensor, and barriers: calls that all ranks of a group make together."""

from __future__ import annotations

import enum
import warnings
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from clew import errors
from clew.core.tensor import Tensor
from clew.distributed.runtime import mpi, world
from clew.distributed.runtime.buffers import (
    array_of,
    put,
    receiver,
    sendable,
)
from clew.distributed.runtime.flight_recorder import NUMBER_OF_SLOT, NUMBERS
from clew.distributed.runtime.process_group import SHORT_WAYS, ProcessGroup, failed
from clew.distributed.runtime.work import Work

__all__ = [
    "ReduceOp", "all_reduce", "barrier", "broadcast", "monitored_barrier", "reduce",
]  # fmt: skip


class ReduceOp(enum.Enum):
    """How the tensors of several ranks become one.

    Example:
        >>> import clew.distributed as dist
        >>> dist.ReduceOp.SUM.name
        'SUM'
    """

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)
    # Members are looked up at each reduction; Enum's own hash is made in Python.
    __hash__ = object.__hash__


# PyTorch's class has its members in an enumeration of this name.
ReduceOp.RedOpType = ReduceOp  # type: ignore[attr-defined]  # no member
_SUM, _AVG = ReduceOp.SUM, ReduceOp.AVG
_WORLD = world.WORLD
_DTYPE_NAMES: dict[np.dtype, str] = {}


def dtype_name(dtype: np.dtype) -> str:
    """A dtype as reports name it."""
    found = _DTYPE_NAMES.get(dtype)
    if found is None:
        found = _DTYPE_NAMES[dtype] = dtype.name
    return found


def members_of(group: Any, name: str) -> ProcessGroup | None:
    """The group of a call; outside of it nothing is done, and a warning says so."""
    found = world.resolve(group)
    if found is None:
        warnings.warn(
            f"Running {name} on global rank {world.default_group().rank()} which does not belong "
            "to the given group.",
            stacklevel=3,
        )
    return found


def place_in_group(group: ProcessGroup, rank: int | None, place: int | None, name: str) -> int:
    """The rank in the group that `src`/`dst` or `group_src`/`group_dst` means."""
    if (rank is None) == (place is None):
        raise ValueError(
            f"{name}: give the rank in the world or the rank in the group, one of them"
            + errors.at_user_line()
        )
    if place is None:
        found = group.place_of.get(rank)  # type: ignore[arg-type]  # one of them is not None
        if found is None:
            raise ValueError(f"Global rank {rank} is not part of group {group}")
        return found
    if not 0 <= place < group.count:
        raise ValueError(f"{name}: the group has no rank {place}" + errors.at_user_line())
    return place


def reduction(group: ProcessGroup, op: ReduceOp, dtype: np.dtype) -> Any:
    """MPI's operation; one process has none."""
    if not isinstance(op, ReduceOp):
        raise TypeError(f"op must be a ReduceOp, not {op!r}" + errors.at_user_line())
    return mpi.reduction(op.name, dtype) if group.count > 1 else None


def scaled(array: np.ndarray, op: ReduceOp, group: ProcessGroup) -> None:
    """Make a mean of a sum."""
    if op is _AVG and group.count > 1:
        if array.dtype.kind in "iu":
            np.floor_divide(array, group.count, out=array)
        else:
            np.multiply(array, array.dtype.type(1 / group.count), out=array)


# -- one tensor ------------------------------------------------------------------------------------


def all_reduce(
    tensor: Tensor, op: ReduceOp = _SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Replace a tensor on all ranks by the sum (or another reduction) of theirs.

    Args:
        tensor: what is reduced and overwritten
        op: the reduction
        group: the ranks; None is all of them
        async_op: return at once, with a `Work` to wait for

    Example:
        >>> import clew.distributed as dist
        >>> dist.init_process_group("gloo")
        >>> x = clew.ones(2)
        >>> dist.all_reduce(x)
        >>> dist.destroy_process_group()
        >>> x
        tensor([1., 1.])
    """
    default = _WORLD.default
    # The way of small tensors, without a call that is not needed: a microsecond counts.
    if group is None and not async_op and default is not None and isinstance(tensor, Tensor):
        array = tensor._array
        array_before, op_before, known = default.last_reduction
        if array_before is not array or op_before is not op:
            known = default.known_reduction(op, array)
        number = default.sequence + 1
        slot = number & NUMBER_OF_SLOT
        # A comparison is due whenever the slots begin again.
        if known is not None and slot and (default.queue is None or not default.queue.is_busy):
            default.sequence = number
            default.entered, code, call, nothing, buffer, operation = known
            default.slots[slot] = code | number & NUMBERS
            try:
                call(nothing, buffer, operation)
            except mpi.failures() as error:
                raise failed("all_reduce", known[0].details, error) from None
            finally:
                default.entered = None
            tensor._storage.bump("all_reduce", None)
            return None
    found = members_of(group, "all_reduce")
    if found is None:
        return None
    array = array_of(tensor, "tensor")
    plan = found.plans.get((op, array.dtype))
    if plan is None:
        plan = found.plans[op, array.dtype] = _plan(found, op, array.dtype)
    name, op_name, kind, operation, nothing = plan
    details = (name, array.shape, op_name)
    if op is not _AVG and not async_op and array.flags.c_contiguous:
        args = (nothing, (array, kind), operation)
        found.run("all_reduce", details, found.comm.Allreduce, args)
        found.remember(op, array, details, args)
        tensor._storage.bump("all_reduce", None)
        return None
    target = receiver(array)
    if target is not array:
        target[...] = array

    def after() -> None:
        scaled(target, op, found)
        put(tensor, target, "all_reduce")

    args = (nothing, (target, kind), operation)
    return found.run("all_reduce", details, found.comm.Allreduce, args, after, async_op, (tensor,))


# The watchdog knows by it which thread waits.
SHORT_WAYS.add(all_reduce.__code__)


def _plan(group: ProcessGroup, op: ReduceOp, dtype: np.dtype) -> tuple[Any, ...]:
    """What a reduction of one kind and dtype needs: names, MPI's type and operation."""
    operation = reduction(group, op, dtype)
    kind = mpi.buffer(np.empty(0, dtype))[1] if group.count > 1 else None
    return dtype_name(dtype), op.name, kind, operation, in_place(group)


def in_place(group: ProcessGroup) -> Any:
    """MPI's word for a buffer that is read and overwritten."""
    return mpi.library().IN_PLACE if group.count > 1 else None


def buffer(group: ProcessGroup, array: np.ndarray) -> Any:
    """An array as MPI takes it; as it is for one process."""
    return mpi.buffer(array) if group.count > 1 else (array, None)


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Give all ranks the tensor of one.

    Args:
        tensor: what is sent by `src`, and overwritten elsewhere
        src: the rank that sends
        group: the ranks; None is all of them
        async_op: return at once, with a `Work` to wait for
        group_src: the rank that sends, counted in the group

    Example:
        >>> import clew.distributed as dist
        >>> dist.init_process_group("gloo")
        >>> dist.broadcast(clew.ones(2), src=0)
        >>> dist.destroy_process_group()
    """
    found = members_of(group, "broadcast")
    if found is None:
        return None
    root = place_in_group(found, src, group_src, "broadcast")
    array = array_of(tensor, "tensor")
    is_root = found.my_rank == root
    target = sendable(array) if is_root else receiver(array)
    after = None if is_root else lambda: put(tensor, target, "broadcast")
    details = (dtype_name(array.dtype), array.shape, f"from rank {found.ranks[root]}")
    args = (buffer(found, target), root)
    return found.run("broadcast", details, found.comm.Bcast, args, after, async_op, (tensor,))


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: ReduceOp = _SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Give one rank the sum (or another reduction) of the tensors of all.

    Args:
        tensor: what is reduced; overwritten on `dst`
        dst: the rank that receives
        op: the reduction
        group: the ranks; None is all of them
        async_op: return at once, with a `Work` to wait for
        group_dst: the rank that receives, counted in the group

    Example:
        >>> import clew.distributed as dist
        >>> dist.init_process_group("gloo")
        >>> dist.reduce(clew.ones(2), dst=0)
        >>> dist.destroy_process_group()
    """
    found = members_of(group, "reduce")
    if found is None:
        return None
    root = place_in_group(found, dst, group_dst, "reduce")
    array = array_of(tensor, "tensor")
    operation = reduction(found, op, array.dtype)
    details = (dtype_name(array.dtype), array.shape, op.name, f"to rank {found.ranks[root]}")
    if found.my_rank != root:
        args = (buffer(found, sendable(array)), None, operation, root)
        return found.run("reduce", details, found.comm.Reduce, args, None, async_op, (tensor,))
    target = receiver(array)
    if target is not array:
        target[...] = array

    def after() -> None:
        scaled(target, op, found)
        put(tensor, target, "reduce")

    args = (in_place(found), buffer(found, target), operation, root)
    return found.run("reduce", details, found.comm.Reduce, args, after, async_op, (tensor,))


def barrier(
    group: Any = None, async_op: bool = False, device_ids: Sequence[int] | None = None
) -> Work | None:
    """Wait until all ranks have come here.

    Args:
        group: the ranks; None is all of them
        async_op: return at once, with a `Work` to wait for
        device_ids: accepted; there is one device

    Example:
        >>> import clew.distributed as dist
        >>> dist.init_process_group("gloo")
        >>> dist.barrier()
        >>> dist.destroy_process_group()
    """
    found = members_of(group, "barrier")
    if found is None:
        return None
    return found.run("barrier", (), found.comm.Barrier, (), None, async_op)


def monitored_barrier(
    group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False
) -> None:
    """Wait until all ranks have come here; rank 0 raises and names those that have not.

    Args:
        group: the ranks; None is all of them
        timeout: how long rank 0 waits
        wait_all_ranks: name all ranks that are missing, and not only the first

    Example:
        >>> import clew.distributed as dist
        >>> dist.init_process_group("gloo")
        >>> dist.monitored_barrier()
        >>> dist.destroy_process_group()
    """
    found = members_of(group, "monitored_barrier")
    if found is None or found.count == 1:
        return
    limit = (timeout or found.timeout).total_seconds()
    missing = _missing_at_barrier(found, limit)
    if missing and found.my_rank:
        raise RuntimeError(
            f"Rank {found.my_rank} successfully reached monitoredBarrier, but received errors "
            "while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank."
            + errors.at_user_line()
        )
    if missing:
        who = f"Ranks {', '.join(map(str, missing))}" if wait_all_ranks else f"Rank {missing[0]}"
        raise RuntimeError(
            f"[Rank 0]: {who} failed to pass monitoredBarrier in {int(limit * 1000)} ms"
            + errors.at_user_line()
        )


_BARRIER_TAG, _GO_TAG = 11, 12


def _missing_at_barrier(group: ProcessGroup, seconds: float) -> list[int]:
    """Who did not come in time, seen from rank 0; the others see only rank 0."""
    from_all = np.zeros(group.count, np.uint8)
    control = group.control
    if group.my_rank == 0:
        waiting = {
            place: control.Irecv(mpi.buffer(from_all[place : place + 1]), place, _BARRIER_TAG)
            for place in range(1, group.count)
        }
        missing = _uncompleted(waiting, seconds)
        if not missing:
            for place in waiting:
                control.Send(mpi.buffer(from_all[:1]), place, _GO_TAG)
    else:
        control.Send(mpi.buffer(from_all[:1]), 0, _BARRIER_TAG)
        go = {0: control.Irecv(mpi.buffer(from_all[:1]), 0, _GO_TAG)}
        missing = _uncompleted(go, seconds)
    return [group.ranks[place] for place in missing]


def _uncompleted(requests: dict[int, Any], seconds: float) -> list[int]:
    """The keys of requests that did not complete in time; these are cancelled."""
    from_now = world.deadline(seconds)
    left = dict(requests)
    while left and not from_now.is_over():
        left = {place: each for place, each in left.items() if not each.Test()}
    for request in left.values():
        request.Cancel()
    return sorted(left)
