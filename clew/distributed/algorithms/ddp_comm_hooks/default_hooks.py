"""Hooks that exchange gradients as they are, or in half precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew import distributed as dist
from clew.backend import dtypes
from clew.core.tensor import Tensor
from clew.distributed.data_parallel.reducer import GradBucket
from clew.distributed.runtime import world
from clew.futures import Future

__all__ = [
    "allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook",
    "fp16_compress_wrapper",
]  # fmt: skip

Hook = Callable[[Any, GradBucket], Future[Tensor]]


def _averaged(group: Any, tensor: Tensor) -> Future[Tensor]:
    members = world.default_group() if group is None else group
    tensor.div_(members.size())
    work = dist.all_reduce(tensor, group=members, async_op=True)
    assert work is not None
    return work.get_future().then(lambda done: done.value()[0])


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """Average the gradients of a bucket, as without a hook.

    Args:
        process_group: the ranks; None is all of them
        bucket: the gradients
    """
    return _averaged(process_group, bucket.buffer())


def _compressed(group: Any, bucket: GradBucket, dtype: Any) -> Future[Tensor]:
    buffer = bucket.buffer()

    def decompress(done: Future[Tensor]) -> Tensor:
        buffer.copy_(done.value())
        return buffer

    return _averaged(group, buffer.to(dtype)).then(decompress)


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """Average the gradients of a bucket as float16.

    Args:
        process_group: the ranks; None is all of them
        bucket: the gradients
    """
    return _compressed(process_group, bucket, dtypes.float16)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Tensor]:
    """Average the gradients of a bucket as bfloat16.

    Args:
        process_group: the ranks; None is all of them
        bucket: the gradients
    """
    return _compressed(process_group, bucket, dtypes.bfloat16)


def _wrapper(hook: Hook, dtype: Any) -> Hook:
    def wrapped(state: Any, bucket: GradBucket) -> Future[Tensor]:
        buffer = bucket.buffer()
        bucket.set_buffer(buffer.to(dtype))

        def decompress(done: Future[Tensor]) -> Tensor:
            buffer.copy_(done.value())
            return buffer

        return hook(state, bucket).then(decompress)

    return wrapped


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that is given float16.

    Args:
        hook: the hook
    """
    return _wrapper(hook, dtypes.float16)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that is given bfloat16.

    Args:
        hook: the hook
    """
    return _wrapper(hook, dtypes.bfloat16)
