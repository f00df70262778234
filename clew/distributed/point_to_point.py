"""Messages from one rank to another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.distributed.collectives import dtype_name, members_of, place_in_group
from clew.distributed.runtime import mpi
from clew.distributed.runtime.buffers import array_of, put, receiver, sendable
from clew.distributed.runtime.process_group import ProcessGroup
from clew.distributed.runtime.work import RequestWork, Work

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]


def _peer(
    group: Any, rank: int | None, place: int | None, name: str
) -> tuple[ProcessGroup, int] | None:
    """The group of a message, and the other one's rank in it."""
    found = members_of(group, name)
    if found is None:
        return None
    peer = place_in_group(found, rank, place, name)
    if peer == found.my_rank:
        raise ValueError(
            "Invalid destination rank: destination rank should not be the same as the rank of the "
            "current process."
            if "send" in name
            else f"{name}: a rank does not receive from itself" + errors.at_user_line()
        )
    return found, peer


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send a tensor to another rank.

    Args:
        tensor: what is sent
        dst: the rank that receives
        group: the ranks; None is all of them
        tag: a number by which the receiver chooses
        group_dst: the rank that receives, counted in the group
    """
    found = _peer(group, dst, group_dst, "send")
    if found is None:
        return
    members, peer = found
    array = sendable(array_of(tensor, "tensor"))
    rank, call = members.ranks[peer], members.comm.Send
    details = (dtype_name(array.dtype), array.shape, f"to rank {rank}")
    members.wait_for("send", details, rank, lambda: call(mpi.buffer(array), peer, tag))


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Begin to send a tensor to another rank; it may be changed after `wait()`.

    Args:
        tensor: what is sent
        dst: the rank that receives
        group: the ranks; None is all of them
        tag: a number by which the receiver chooses
        group_dst: the rank that receives, counted in the group
    """
    found = _peer(group, dst, group_dst, "isend")
    if found is None:
        return None
    members, peer = found
    array = sendable(array_of(tensor, "tensor"))
    request = members.comm.Isend(mpi.buffer(array), peer, tag)

    def after(status: Any, kept: Any = array) -> None:
        """Nothing is left to do; the elements were kept until here."""

    rank = members.ranks[peer]
    told = ("isend", members, (dtype_name(array.dtype), array.shape, f"to rank {rank}"), rank)
    return RequestWork(request, after, [tensor], mpi.library().Status(), told)


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receive a tensor from another rank; returns who sent it.

    Args:
        tensor: overwritten; it has the shape and dtype of what was sent
        src: the rank that sends; None is any
        group: the ranks; None is all of them
        tag: the number that the sender gave
        group_src: the rank that sends, counted in the group
    """
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return work.source_rank()


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Begin to receive a tensor from another rank; it is there after `wait()`.

    Args:
        tensor: overwritten; it has the shape and dtype of what was sent
        src: the rank that sends; None is any
        group: the ranks; None is all of them
        tag: the number that the sender gave
        group_src: the rank that sends, counted in the group
    """
    if src is group_src is None:
        members = members_of(group, "irecv")
        if members is None:
            return None
        peer = mpi.library().ANY_SOURCE if members.count > 1 else 0
    else:
        found = _peer(group, src, group_src, "irecv")
        if found is None:
            return None
        members, peer = found
    array = array_of(tensor, "tensor")
    target = receiver(array)

    def after(status: Any) -> int:
        source = members.ranks[status.Get_source()]
        came = status.Get_count(mpi.library().BYTE)
        if came != target.nbytes:
            raise RuntimeError(
                f"recv: rank {source} sent {came} bytes, and the tensor has {target.nbytes} "
                f"({target.dtype.name} {errors.shape_list(target.shape)}): sender and receiver "
                "must agree on shape and dtype" + errors.at_user_line()
            )
        put(tensor, target, "recv")
        return source

    rank = members.ranks[peer] if peer >= 0 else None
    details = (dtype_name(array.dtype), array.shape, f"from rank {'any' if rank is None else rank}")
    request = members.comm.Irecv(mpi.buffer(target), peer, tag)
    return RequestWork(
        request, after, [tensor], mpi.library().Status(), ("recv", members, details, rank)
    )


class P2POp:
    """One message of `batch_isend_irecv`.

    Args:
        op: `isend` or `irecv`
        tensor: what is sent or overwritten
        peer: the other rank
        group: the ranks; None is all of them
        tag: a number by which the receiver chooses
        group_peer: the other rank, counted in the group
    """

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        array_of(tensor, "tensor")
        self.op, self.tensor, self.peer = op, tensor, peer
        self.group, self.tag, self.group_peer = group, tag, group_peer


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Begin several messages; returns what to wait for, in their order.

    Args:
        p2p_op_list: the messages
    """
    if not p2p_op_list or not all(isinstance(each, P2POp) for each in p2p_op_list):
        raise ValueError(
            "Invalid ``p2p_op_list``. Each op is expected to to be of type "
            "``torch.distributed.P2POp``."
        )
    # What is received is announced first, so that nobody has to keep what comes early.
    begun = {
        place: each.op(each.tensor, each.peer, each.group, each.tag, each.group_peer)
        for place, each in sorted(enumerate(p2p_op_list), key=lambda pair: pair[1].op is isend)
    }
    return [begun[place] for place in sorted(begun) if begun[place] is not None]
