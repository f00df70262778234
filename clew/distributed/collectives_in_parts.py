"""Collectives whose ranks have parts: gather, scatter, reduce-scatter and all-to-all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.core.tensor import Tensor
from clew.distributed.collectives import (
    ReduceOp,
    buffer,
    dtype_name,
    members_of,
    place_in_group,
    reduction,
    scaled,
)
from clew.distributed.runtime import mpi
from clew.distributed.runtime.buffers import (
    array_of,
    arrays_of,
    fill,
    joined,
    put,
    receiver,
    same_dtype,
    same_size,
    sendable,
    stacked,
)
from clew.distributed.runtime.process_group import ProcessGroup
from clew.distributed.runtime.work import Work

__all__ = [
    "all_gather", "all_gather_into_tensor", "all_to_all", "all_to_all_single", "gather",
    "reduce_scatter", "reduce_scatter_tensor", "scatter",
]  # fmt: skip

_SUM = ReduceOp.SUM


def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Give all ranks the tensors of all.

    Args:
        tensor_list: one tensor for each rank, overwritten with its
        tensor: what this rank sends
        group: the ranks; None is all of them
        async_op: return at once, with a `Work` to wait for

    Example:
        >>> import clew.distributed as dist
        >>> dist.init_process_group("gloo")
        >>> parts = [clew.zeros(2)]
        >>> dist.all_gather(parts, clew.ones(2))
        >>> dist.destroy_process_group()
        >>> parts
        [tensor([1., 1.])]
    """
    found = members_of(group, "all_gather")
    if found is None:
        return None
    array, outputs = array_of(tensor, "tensor"), arrays_of(tensor_list, "tensor_list")
    same_size([len(outputs)], found.count, "all_gather", "tensor_list, whose tensors are counted,")
    same_dtype([array, *outputs], "all_gather")
    same_size([each.size for each in outputs], array.size, "all_gather", "tensor_list, place")
    rows = np.empty((found.count, array.size), array.dtype)
    args = (buffer(found, sendable(array)), buffer(found, rows))
    return found.run(
        "all_gather", (dtype_name(array.dtype), array.shape), found.comm.Allgather, args,
        lambda: fill(tensor_list, rows, "all_gather"), async_op, tensor_list,
    )  # fmt: skip


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Give all ranks the tensors of all, behind each other in one.

    Args:
        output_tensor: overwritten; the first dimension is as many times longer as there are ranks
        input_tensor: what this rank sends
        group: the ranks; None is all of them
        async_op: return at once, with a `Work` to wait for

    Example:
        >>> import clew.distributed as dist
        >>> dist.init_process_group("gloo")
        >>> whole = clew.zeros(2)
        >>> dist.all_gather_into_tensor(whole, clew.ones(2))
        >>> dist.destroy_process_group()
        >>> whole
        tensor([1., 1.])
    """
    found = members_of(group, "all_gather_into_tensor")
    if found is None:
        return None
    array, output = array_of(input_tensor, "input_tensor"), array_of(output_tensor, "output_tensor")
    same_dtype([array, output], "all_gather_into_tensor")
    expected = array.size * found.count
    same_size([output.size], expected, "all_gather_into_tensor", "output_tensor, number")
    target = receiver(output)
    args = (buffer(found, sendable(array)), buffer(found, target))
    return found.run(
        "all_gather_into_tensor", (dtype_name(array.dtype), array.shape), found.comm.Allgather,
        args, lambda: put(output_tensor, target, "all_gather_into_tensor"), async_op,
        (output_tensor,),
    )  # fmt: skip


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Give one rank the tensors of all.

    Args:
        tensor: what this rank sends
        gather_list: on `dst`, one tensor for each rank, overwritten with its
        dst: the rank that receives; 0 if not given
        group: the ranks; None is all of them
        async_op: return at once, with a `Work` to wait for
        group_dst: the rank that receives, counted in the group

    Example:
        >>> import clew.distributed as dist
        >>> dist.init_process_group("gloo")
        >>> parts = [clew.zeros(2)]
        >>> dist.gather(clew.ones(2), parts, dst=0)
        >>> dist.destroy_process_group()
    """
    found = members_of(group, "gather")
    if found is None:
        return None
    root = place_in_group(found, 0 if dst is group_dst is None else dst, group_dst, "gather")
    array = array_of(tensor, "tensor")
    rows, after = None, None
    targets = _list_of_root(found, root, gather_list, "gather_list", "gather")
    if targets is not None:
        outputs = arrays_of(targets, "gather_list")
        same_dtype([array, *outputs], "gather")
        same_size([each.size for each in outputs], array.size, "gather", "gather_list, place")
        rows = np.empty((found.count, array.size), array.dtype)
        after = _filling(targets, rows, "gather")
    details = (dtype_name(array.dtype), array.shape, f"to rank {found.ranks[root]}")
    given = None if rows is None else buffer(found, rows)
    args = (buffer(found, sendable(array)), given, root)
    return found.run("gather", details, found.comm.Gather, args, after, async_op, (tensor,))


def _filling(tensors: list[Tensor], rows: np.ndarray, writer: str) -> Callable[[], None]:
    return lambda: fill(tensors, rows, writer)


def _list_of_root(
    group: ProcessGroup, root: int, tensors: list[Tensor] | None, argument: str, name: str
) -> list[Tensor] | None:
    """The list that only the root gives, with one tensor for each rank."""
    if group.my_rank != root:
        if tensors:
            raise ValueError(
                f"Argument ``{argument}`` must NOT be specified on non-{name} ranks: only rank "
                f"{group.ranks[root]} gives it" + errors.at_user_line()
            )
        return None
    if not tensors:
        raise ValueError(
            f"Argument ``{argument}`` must be specified on the rank that has it: here rank "
            f"{group.ranks[root]}" + errors.at_user_line()
        )
    same_size([len(tensors)], group.count, name, f"{argument}, whose tensors are counted,")
    return tensors


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Give each rank one of the tensors that one rank has.

    Args:
        tensor: overwritten with this rank's
        scatter_list: on `src`, one tensor for each rank
        src: the rank that sends; 0 if not given
        group: the ranks; None is all of them
        async_op: return at once, with a `Work` to wait for
        group_src: the rank that sends, counted in the group

    Example:
        >>> import clew.distributed as dist
        >>> dist.init_process_group("gloo")
        >>> dist.scatter(clew.zeros(2), [clew.ones(2)], src=0)
        >>> dist.destroy_process_group()
    """
    found = members_of(group, "scatter")
    if found is None:
        return None
    root = place_in_group(found, 0 if src is group_src is None else src, group_src, "scatter")
    array = array_of(tensor, "tensor")
    given = None
    sources = _list_of_root(found, root, scatter_list, "scatter_list", "scatter")
    if sources is not None:
        inputs = arrays_of(sources, "scatter_list")
        same_dtype([array, *inputs], "scatter")
        same_size([each.size for each in inputs], array.size, "scatter", "scatter_list, place")
        given = buffer(found, stacked(inputs))
    target = receiver(array)
    details = (dtype_name(array.dtype), array.shape, f"from rank {found.ranks[root]}")
    return found.run(
        "scatter", details, found.comm.Scatter, (given, buffer(found, target), root),
        lambda: put(tensor, target, "scatter"), async_op, (tensor,),
    )  # fmt: skip


def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: ReduceOp = _SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Give each rank the sum (or another reduction) of the tensors that all have for it.

    Args:
        output: overwritten with this rank's
        input_list: one tensor for each rank
        op: the reduction
        group: the ranks; None is all of them
        async_op: return at once, with a `Work` to wait for

    Example:
        >>> import clew.distributed as dist
        >>> dist.init_process_group("gloo")
        >>> dist.reduce_scatter(clew.zeros(2), [clew.ones(2)])
        >>> dist.destroy_process_group()
    """
    found = members_of(group, "reduce_scatter")
    if found is None:
        return None
    array, inputs = array_of(output, "output"), arrays_of(input_list, "input_list")
    same_dtype([array, *inputs], "reduce_scatter")
    same_size(
        [len(inputs)], found.count, "reduce_scatter", "input_list, whose tensors are counted,"
    )
    same_size([each.size for each in inputs], array.size, "reduce_scatter", "input_list, place")
    return _reduce_scatter(found, "reduce_scatter", output, stacked(inputs), op, async_op)


def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: ReduceOp = _SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Give each rank its part of the sum (or another reduction) of a tensor.

    Args:
        output: overwritten with this rank's part
        input: as many times as long as there are ranks
        op: the reduction
        group: the ranks; None is all of them
        async_op: return at once, with a `Work` to wait for

    Example:
        >>> import clew.distributed as dist
        >>> dist.init_process_group("gloo")
        >>> dist.reduce_scatter_tensor(clew.zeros(2), clew.ones(2))
        >>> dist.destroy_process_group()
    """
    found = members_of(group, "reduce_scatter_tensor")
    if found is None:
        return None
    array, whole = array_of(output, "output"), array_of(input, "input")
    same_dtype([array, whole], "reduce_scatter_tensor")
    same_size([whole.size], array.size * found.count, "reduce_scatter_tensor", "input, number")
    return _reduce_scatter(found, "reduce_scatter_tensor", output, sendable(whole), op, async_op)


def _reduce_scatter(
    group: ProcessGroup, name: str, output: Tensor, whole: np.ndarray, op: ReduceOp, async_op: bool
) -> Work | None:
    array = output._array
    target = receiver(array)
    operation = reduction(group, op, array.dtype)

    def after() -> None:
        scaled(target, op, group)
        put(output, target, name)

    details = (dtype_name(array.dtype), array.shape, op.name)
    args = (buffer(group, whole), buffer(group, target), operation)
    call = group.comm.Reduce_scatter_block
    return group.run(name, details, call, args, after, async_op, (output,))


def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Send each rank another tensor, and receive one from each.

    Args:
        output_tensor_list: one tensor for each rank, overwritten with what it sends
        input_tensor_list: one tensor for each rank, which is sent to it
        group: the ranks; None is all of them
        async_op: return at once, with a `Work` to wait for

    Example:
        >>> import clew.distributed as dist
        >>> dist.init_process_group("gloo")
        >>> dist.all_to_all([clew.zeros(2)], [clew.ones(2)])
        >>> dist.destroy_process_group()
    """
    found = members_of(group, "all_to_all")
    if found is None:
        return None
    outputs = arrays_of(output_tensor_list, "output_tensor_list")
    inputs = arrays_of(input_tensor_list, "input_tensor_list")
    same_dtype([*inputs, *outputs], "all_to_all")
    counted = [len(outputs), len(inputs)]
    same_size(counted, found.count, "all_to_all", "list, whose tensors are counted, number")
    sizes = [each.size for each in outputs]
    received = np.empty(sum(sizes), outputs[0].dtype)
    bounds = np.cumsum(sizes)[:-1]

    def after() -> None:
        for tensor, part in zip(output_tensor_list, np.split(received, bounds)):
            put(tensor, part, "all_to_all")

    args = (
        _parts(found, joined(inputs), [each.size for each in inputs]),
        _parts(found, received, sizes),
    )
    details = (dtype_name(received.dtype), None)
    call = found.comm.Alltoallv
    return found.run("all_to_all", details, call, args, after, async_op, output_tensor_list)


def _parts(group: ProcessGroup, array: np.ndarray, counts: list[int]) -> Any:
    """A buffer in parts, one for each rank."""
    if group.count == 1:
        return (array, None)
    flat, kind = mpi.buffer(array)
    each = flat.size // array.size if array.size else 1
    return [flat, [count * each for count in counts], kind]


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Send each rank another part of a tensor, and receive one from each into another tensor.

    Args:
        output: overwritten with the parts that are received, in the order of ranks
        input: the parts that are sent, in the order of ranks
        output_split_sizes: the lengths of received parts; equal ones if not given
        input_split_sizes: the lengths of sent parts; equal ones if not given
        group: the ranks; None is all of them
        async_op: return at once, with a `Work` to wait for

    Example:
        >>> import clew.distributed as dist
        >>> dist.init_process_group("gloo")
        >>> dist.all_to_all_single(clew.zeros(2), clew.ones(2))
        >>> dist.destroy_process_group()
    """
    found = members_of(group, "all_to_all_single")
    if found is None:
        return None
    outgoing, incoming = array_of(input, "input"), array_of(output, "output")
    same_dtype([outgoing, incoming], "all_to_all_single")
    target = receiver(incoming)
    args = (
        _parts(found, sendable(outgoing), _counts(found, outgoing, input_split_sizes)),
        _parts(found, target, _counts(found, incoming, output_split_sizes)),
    )
    details = (dtype_name(incoming.dtype), None)
    return found.run(
        "all_to_all_single", details, found.comm.Alltoallv, args,
        lambda: put(output, target, "all_to_all_single"), async_op, (output,),
    )  # fmt: skip


def _counts(group: ProcessGroup, array: np.ndarray, lengths: list[int] | None) -> list[int]:
    """The numbers of elements of the parts along the first dimension."""
    length = array.shape[0] if array.ndim else 1
    if not lengths:
        if length % group.count:
            raise RuntimeError(
                "Tensor's dim 0 does not divide equally across group size" + errors.at_user_line()
            )
        lengths = [length // group.count] * group.count
    if len(lengths) != group.count or sum(lengths) != length:
        raise RuntimeError(
            f"Split sizes doesn't match total dim 0 size: {lengths} for {length} rows and "
            f"{group.count} ranks" + errors.at_user_line()
        )
    row = array.size // length if length else 0
    return [each * row for each in lengths]
