"""Collectives as functions: arguments stay, results are new tensors, gradients go through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.distributed.collectives import ReduceOp
from clew.distributed.device_mesh import DeviceMesh
from clew.distributed.nn import functional
from clew.distributed.refusing import Refused
from clew.distributed.runtime import world
from clew.distributed.tensor import moves

__all__ = [
    "AsyncCollectiveTensor", "all_gather_into_tensor_coalesced", "all_gather_tensor",
    "all_gather_tensor_autograd", "all_reduce", "all_reduce_coalesced", "all_to_all_single",
    "all_to_all_single_autograd", "broadcast", "permute_tensor", "reduce_scatter_tensor",
    "reduce_scatter_tensor_autograd", "reduce_scatter_tensor_coalesced", "wait_tensor",
]  # fmt: skip


class AsyncCollectiveTensor(Refused):
    """A result that is still on its way: for `isinstance`. Results of clew are there."""


def _group_of(group: Any) -> Any:
    """The group that an argument means: a group, its name, a mesh, its dimension, or ranks."""
    if isinstance(group, tuple) and len(group) == 2 and isinstance(group[0], DeviceMesh):
        return group[0].get_group(group[1])
    if isinstance(group, DeviceMesh):
        return group.get_group()
    if isinstance(group, str):
        return world.GROUPS[group]
    if isinstance(group, (list, tuple)):
        ranks = [int(rank) for rank in group]
        found = next((each for each in world.GROUPS.values() if each.ranks == ranks), None)
        if found is None:
            raise ValueError(
                f"there is no group of the ranks {ranks}: make it with new_group"
                + errors.at_user_line()
            )
        return found
    return world.default_group() if group is None else group


def _operation(name: str) -> ReduceOp:
    return ReduceOp[name.upper()]


def wait_tensor(tensor: Tensor) -> Tensor:
    """The tensor: results are there when a collective returns.

    Args:
        tensor: a result
    """
    return tensor


def all_reduce(self: Tensor, reduceOp: str, group: Any, tag: str = "") -> Tensor:
    """The sum (or another reduction) of the tensors of all ranks.

    Args:
        self: what is reduced
        reduceOp: `sum`, `avg`, `product`, `min`, `max`, ...
        group: a group, a mesh, a pair of a mesh and its dimension, or ranks
        tag: accepted
    """
    return functional.all_reduce(self, _operation(reduceOp), _group_of(group))


def broadcast(self: Tensor, src: int, group: Any, tag: str = "") -> Tensor:
    """The tensor of one rank.

    Args:
        self: what `src` sends; elsewhere of its shape and dtype
        src: the rank that sends
        group: as for `all_reduce`
        tag: accepted
    """
    return functional.broadcast(self, src, _group_of(group))


def all_gather_tensor(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """The tensors of all ranks, one behind the other along a dimension.

    Args:
        self: this rank's
        gather_dim: the dimension
        group: as for `all_reduce`
        tag: accepted
    """
    found = _group_of(group)
    return moves.gather(self, gather_dim, self.shape[gather_dim] * found.size(), found, True)


def reduce_scatter_tensor(
    self: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = ""
) -> Tensor:
    """This rank's part, along a dimension, of the sum (or another reduction) of all tensors.

    Args:
        self: this rank's tensor, whole
        reduceOp: as for `all_reduce`
        scatter_dim: the dimension that is cut
        group: as for `all_reduce`
        tag: accepted
    """
    found, op = _group_of(group), _operation(reduceOp)
    if self.shape[scatter_dim] % found.size():
        raise AssertionError(
            f"input dimension {scatter_dim} ({self.shape[scatter_dim]}) must be a multiple of "
            f"group_size {found.size()}" + errors.at_user_line()
        )
    if op in (ReduceOp.SUM, ReduceOp.AVG):
        total = moves.sum_part(self, scatter_dim, found)
        return total / found.size() if op is ReduceOp.AVG else total
    parts = [each.contiguous() for each in self.chunk(found.size(), scatter_dim)]
    return functional.reduce_scatter(parts[0], parts, op, found)


def all_to_all_single(
    self: Tensor,
    output_split_sizes: Sequence[int] | None,
    input_split_sizes: Sequence[int] | None,
    group: Any,
    tag: str = "",
) -> Tensor:
    """A part from each rank, of those that each sends.

    Args:
        self: the parts that are sent, in the order of ranks
        output_split_sizes: the lengths of received parts; equal ones if None
        input_split_sizes: the lengths of sent parts; equal ones if None
        group: as for `all_reduce`
        tag: accepted
    """
    length = self.shape[0] if output_split_sizes is None else sum(output_split_sizes)
    output = self.new_empty((length, *self.shape[1:]))
    received = None if output_split_sizes is None else list(output_split_sizes)
    sent = None if input_split_sizes is None else list(input_split_sizes)
    return functional.all_to_all_single(output, self, received, sent, _group_of(group))


# Gradients go through all of them.
all_gather_tensor_autograd, all_to_all_single_autograd = all_gather_tensor, all_to_all_single
reduce_scatter_tensor_autograd = reduce_scatter_tensor


def permute_tensor(self: Tensor, src_dst: Sequence[int], group: Any, tag: str = "") -> Tensor:
    """The tensor of another rank: rank `i` sends to `src_dst[i]`.

    Args:
        self: what is sent
        src_dst: to whom each rank sends
        group: as for `all_reduce`
        tag: accepted
    """
    found = _group_of(group)
    rank, size = found.rank(), self.numel()
    sent, received = [0] * found.size(), [0] * found.size()
    sent[src_dst[rank]] = received[list(src_dst).index(rank)] = size
    return all_to_all_single(self.reshape(-1), received, sent, found).view(self.shape)


def all_reduce_coalesced(
    self: Sequence[Tensor], reduceOp: str, group: Any, tag: str = ""
) -> list[Tensor]:
    """The sums of several tensors.

    Args:
        self: what is reduced
        reduceOp: as for `all_reduce`
        group: as for `all_reduce`
        tag: accepted
    """
    return [all_reduce(each, reduceOp, group) for each in self]


def all_gather_into_tensor_coalesced(
    self: Sequence[Tensor], group: Any, tag: str = ""
) -> list[Tensor]:
    """Several tensors gathered along their first dimension.

    Args:
        self: this rank's
        group: as for `all_reduce`
        tag: accepted
    """
    return [all_gather_tensor(each, 0, group) for each in self]


def reduce_scatter_tensor_coalesced(
    inputs: Sequence[Tensor], reduceOp: str, scatter_dim: Sequence[int], group: Any, tag: str = ""
) -> list[Tensor]:
    """This rank's parts of several sums.

    Args:
        inputs: this rank's tensors, whole
        reduceOp: as for `all_reduce`
        scatter_dim: the dimension of each that is cut
        group: as for `all_reduce`
        tag: accepted
    """
    return [
        reduce_scatter_tensor(each, reduceOp, dim, group) for each, dim in zip(inputs, scatter_dim)
    ]
