"""Collectives that gradients go through: the graphs of all ranks are one graph.

All ranks must go backward through them as they went forward, in the reverse order.
"""

from __future__ import annotations

from typing import Any

from clew import distributed as dist
from clew.autograd.function import Function
from clew.core.tensor import Tensor
from clew.distributed.collectives import ReduceOp
from clew.distributed.runtime import world
from clew.ops.create.constants import empty_like, zeros_like

__all__ = [
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "recv",
    "reduce", "reduce_scatter", "scatter", "send",
]  # fmt: skip

_SUM = ReduceOp.SUM


def _all(group: Any) -> Any:
    """The group; None is that of all ranks, which must be there."""
    return world.default_group() if group is None else group


# -- one tensor ------------------------------------------------------------------------------------


def all_reduce(tensor: Tensor, op: ReduceOp = _SUM, group: Any = None) -> Tensor:
    """The sum (or another reduction) of the tensors of all ranks; the gradient is summed, too.

    Args:
        tensor: what is reduced; it stays as it is
        op: the reduction
        group: the ranks; None is all of them

    Example:
        >>> import clew.distributed as dist, clew.distributed.nn as dist_nn
        >>> dist.init_process_group("gloo")
        >>> dist_nn.all_reduce(clew.ones(2))
        tensor([1., 1.])
        >>> dist.destroy_process_group()
    """
    return _AllReduce.apply(tensor, op, _all(group))


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, op: ReduceOp, group: Any) -> Tensor:
        ctx.op, ctx.group = op, group
        result = tensor.clone()
        dist.all_reduce(result, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _AllReduce.apply(grad, ctx.op, ctx.group), None, None


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The tensor of one rank on all; its gradient is the sum of those of all.

    Args:
        tensor: what `src` sends; elsewhere of its shape and dtype
        src: the rank that sends
        group: the ranks; None is all of them
    """
    return _Broadcast.apply(tensor, src, _all(group))


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, src: int, group: Any) -> Tensor:
        ctx.src, ctx.group = src, group
        result = tensor.clone()
        dist.broadcast(result, src, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        total = _Reduce.apply(grad, ctx.src, _SUM, ctx.group)
        return (total if dist.get_rank() == ctx.src else zeros_like(total)), None, None


def reduce(tensor: Tensor, dst: int, op: ReduceOp = _SUM, group: Any = None) -> Tensor:
    """The sum (or another reduction) of the tensors of all ranks, on one; elsewhere the tensor.

    Args:
        tensor: what is reduced
        dst: the rank that receives, whose gradient all ranks get
        op: the reduction
        group: the ranks; None is all of them
    """
    return _Reduce.apply(tensor, dst, op, _all(group))


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, dst: int, op: ReduceOp, group: Any) -> Tensor:
        ctx.dst, ctx.group = dst, group
        result = tensor.clone()
        dist.reduce(result, dst, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _Broadcast.apply(grad, ctx.dst, ctx.group), None, None, None


# -- parts -----------------------------------------------------------------------------------------


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks, on all of them.

    Args:
        tensor: what this rank sends
        group: the ranks; None is all of them
    """
    return _AllGather.apply(tensor, _all(group))


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, group: Any) -> tuple[Tensor, ...]:
        ctx.group = group
        results = [empty_like(tensor) for _ in range(group.size())]
        dist.all_gather(results, tensor, group)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return _ReduceScatter.apply(_SUM, ctx.group, *grads), None


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: ReduceOp = _SUM, group: Any = None
) -> Tensor:
    """The sum (or another reduction) of the tensors that all ranks have for this one.

    Args:
        output: accepted for its shape; the result is a new tensor
        input_list: one tensor for each rank
        op: the reduction
        group: the ranks; None is all of them
    """
    return _ReduceScatter.apply(op, _all(group), *input_list)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: ReduceOp, group: Any, *tensors: Tensor) -> Tensor:
        ctx.group = group
        result = empty_like(tensors[0])
        dist.reduce_scatter(result, list(tensors), op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, *_AllGather.apply(grad, ctx.group)


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks, on one; elsewhere zeros.

    Args:
        tensor: what this rank sends
        dst: the rank that receives
        group: the ranks; None is all of them
    """
    return _Gather.apply(tensor, dst, _all(group))


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, dst: int, group: Any) -> tuple[Tensor, ...]:
        ctx.dst, ctx.group = dst, group
        results = [zeros_like(tensor) for _ in range(group.size())]
        dist.gather(tensor, results if dist.get_rank() == dst else None, dst, group)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return _Scatter.apply(ctx.dst, ctx.group, *grads), None, None


def scatter(tensors: list[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """One of the tensors that one rank has.

    Args:
        tensors: one for each rank; elsewhere than on `src` of the same shapes
        src: the rank that sends
        group: the ranks; None is all of them
    """
    return _Scatter.apply(src, _all(group), *tensors)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        result = empty_like(tensors[0])
        dist.scatter(result, list(tensors) if dist.get_rank() == src else None, src, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, *_Gather.apply(grad, ctx.src, ctx.group)


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """A tensor from each rank, of those that each sends.

    Args:
        output_tensor_list: the shapes of what is received; the results are new tensors
        input_tensor_list: one tensor for each rank
        group: the ranks; None is all of them
    """
    shapes = [tuple(each.shape) for each in output_tensor_list]
    return _AllToAll.apply(shapes, _all(group), *input_tensor_list)


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, shapes: list[Any], group: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.group, ctx.shapes = group, [tuple(each.shape) for each in tensors]
        results = [tensors[0].new_empty(shape) for shape in shapes]
        dist.all_to_all(results, list(tensors), group)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, *_AllToAll.apply(ctx.shapes, ctx.group, *grads)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Any = None,
) -> Tensor:
    """A part from each rank, of those that each sends.

    Args:
        output: the shape of what is received; the result is a new tensor
        input: the parts that are sent, in the order of ranks
        output_split_sizes: the lengths of received parts; equal ones if not given
        input_split_sizes: the lengths of sent parts; equal ones if not given
        group: the ranks; None is all of them
    """
    shape = tuple(output.shape)
    return _AllToAllSingle.apply(input, shape, output_split_sizes, input_split_sizes, _all(group))


class _AllToAllSingle(Function):
    @staticmethod
    def forward(
        ctx: Any, given: Tensor, shape: Any, received: Any, sent: Any, group: Any
    ) -> Tensor:
        ctx.reverse = tuple(given.shape), sent, received, group
        result = given.new_empty(shape)
        dist.all_to_all_single(result, given, received, sent, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _AllToAllSingle.apply(grad, *ctx.reverse), None, None, None, None


# -- messages --------------------------------------------------------------------------------------


def send(tensor: Tensor, dst: int, group: Any = None, tag: int = 0) -> Tensor:
    """Send a tensor to another rank; its gradient comes back from there.

    The result is a zero. Backward through it (`result.backward()`, or as a term of the loss) waits
    for the gradient, which the other rank's backward through `recv` sends.

    Args:
        tensor: what is sent
        dst: the rank that receives
        group: the ranks; None is all of them
        tag: a number by which the receiver chooses
    """
    return _Send.apply(tensor, dst, _all(group), tag)


class _Send(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, dst: int, group: Any, tag: int) -> Tensor:
        ctx.to, ctx.like = (dst, group, tag), tensor.detach()
        dist.send(tensor, dst, group, tag)
        return tensor.new_zeros(())

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        dst, group, tag = ctx.to
        return recv(empty_like(ctx.like), dst, group, tag), None, None, None


def recv(tensor: Tensor, src: int, group: Any = None, tag: int = 0) -> Tensor:
    """Receive a tensor from another rank; backward sends its gradient there.

    Args:
        tensor: the shape and dtype of what is received; the result is a new tensor
        src: the rank that sends
        group: the ranks; None is all of them
        tag: the number that the sender gave
    """
    # Whatever is received may need a gradient: the sender's graph goes on from there.
    return _Recv.apply(tensor.detach().requires_grad_(), src, _all(group), tag)


class _Recv(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, src: int, group: Any, tag: int) -> Tensor:
        ctx.source = src, group, tag
        result = empty_like(tensor)
        dist.recv(result, src, group, tag)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        src, group, tag = ctx.source
        dist.send(grad, src, group, tag)
        return None, None, None, None
