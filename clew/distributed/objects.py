"""Collectives and messages of Python objects, which travel as pickles."""

from __future__ import annotations

from typing import Any

from clew import errors
from clew.distributed.collectives import members_of, place_in_group

__all__ = [
    "all_gather_object", "broadcast_object_list", "gather_object", "recv_object_list",
    "scatter_object_list", "send_object_list",
]  # fmt: skip


def _length(given: list[Any], expected: int, argument: str) -> None:
    if len(given) != expected:
        raise ValueError(
            f"{argument} has {len(given)} places and must have {expected}" + errors.at_user_line()
        )


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Give all ranks the objects of all.

    Args:
        object_list: a list with a place for each rank, overwritten with its object
        obj: what this rank sends
        group: the ranks; None is all of them

    Example:
        >>> import clew.distributed as dist
        >>> dist.init_process_group("gloo")
        >>> said = [None]
        >>> dist.all_gather_object(said, {"loss": 0.5})
        >>> dist.destroy_process_group()
        >>> said
        [{'loss': 0.5}]
    """
    found = members_of(group, "all_gather_object")
    if found is not None:
        _length(object_list, found.count, "object_list")
        call = found.comm.allgather

        def exchange() -> None:
            object_list[:] = call(obj)

        found.run("all_gather_object", (), exchange)


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Give all ranks the objects of one.

    Args:
        object_list: sent by `src`, overwritten elsewhere
        src: the rank that sends; 0 if not given
        group: the ranks; None is all of them
        device: accepted; there is one device
        group_src: the rank that sends, counted in the group
    """
    found = members_of(group, "broadcast_object_list")
    if found is not None:
        root = place_in_group(found, 0 if src is group_src is None else src, group_src, "broadcast")
        call = found.comm.bcast

        def exchange() -> None:
            received = call(list(object_list), root)
            _length(object_list, len(received), "object_list")
            object_list[:] = received

        details = ("objects", (len(object_list),), f"from rank {found.ranks[root]}")
        found.run("broadcast_object_list", details, exchange)


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Give one rank the objects of all.

    Args:
        obj: what this rank sends
        object_gather_list: on `dst`, a list with a place for each rank
        dst: the rank that receives; 0 if not given
        group: the ranks; None is all of them
        group_dst: the rank that receives, counted in the group
    """
    found = members_of(group, "gather_object")
    if found is None:
        return
    root = place_in_group(found, 0 if dst is group_dst is None else dst, group_dst, "gather_object")
    if found.my_rank == root:
        if object_gather_list is None:
            raise ValueError(
                "Argument ``object_gather_list`` must be specified on destination rank."
                + errors.at_user_line()
            )
        _length(object_gather_list, found.count, "object_gather_list")
    call = found.comm.gather

    def exchange() -> None:
        received = call(obj, root)
        if object_gather_list is not None and received is not None:
            object_gather_list[:] = received

    found.run("gather_object", ("objects", None, f"to rank {found.ranks[root]}"), exchange)


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Give each rank one of the objects that one rank has.

    Args:
        scatter_object_output_list: a list whose first place receives this rank's
        scatter_object_input_list: on `src`, one object for each rank
        src: the rank that sends; 0 if not given
        group: the ranks; None is all of them
        group_src: the rank that sends, counted in the group
    """
    found = members_of(group, "scatter_object_list")
    if found is None:
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError(
            "Expected argument scatter_object_output_list to be a list of size at least 1."
            + errors.at_user_line()
        )
    root = place_in_group(
        found, 0 if src is group_src is None else src, group_src, "scatter_object"
    )
    given = scatter_object_input_list if found.my_rank == root else None
    if found.my_rank == root:
        _length(given or [], found.count, "scatter_object_input_list")
    call = found.comm.scatter

    def exchange() -> None:
        scatter_object_output_list[0] = call(given, root)

    details = ("objects", None, f"from rank {found.ranks[root]}")
    found.run("scatter_object_list", details, exchange)


_OBJECT_TAG = 30


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send objects to another rank.

    Args:
        object_list: the objects
        dst: the rank that receives
        group: the ranks; None is all of them
        device: accepted; there is one device
        group_dst: the rank that receives, counted in the group
        use_batch: accepted; it means nothing here
    """
    found = members_of(group, "send_object_list")
    if found is not None:
        peer = place_in_group(found, dst, group_dst, "send_object_list")
        rank, send = found.ranks[peer], found.comm.send
        details = ("objects", (len(object_list),), f"to rank {rank}")
        found.wait_for(
            "send_object_list", details, rank, lambda: send(object_list, peer, _OBJECT_TAG)
        )


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receive objects from another rank; returns who sent them.

    Args:
        object_list: overwritten; as long as what was sent
        src: the rank that sends
        group: the ranks; None is all of them
        device: accepted; there is one device
        group_src: the rank that sends, counted in the group
        use_batch: accepted; it means nothing here
    """
    found = members_of(group, "recv_object_list")
    if found is None:
        return -1
    peer = place_in_group(found, src, group_src, "recv_object_list")
    rank, recv = found.ranks[peer], found.comm.recv
    details = ("objects", (len(object_list),), f"from rank {rank}")
    received = found.wait_for(
        "recv_object_list", details, rank, lambda: recv(source=peer, tag=_OBJECT_TAG)
    )
    _length(object_list, len(received), "object_list")
    object_list[:] = received
    return found.ranks[peer]
