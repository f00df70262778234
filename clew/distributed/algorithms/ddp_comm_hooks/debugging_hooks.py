"""A hook that exchanges nothing, to measure a step without communication."""

from __future__ import annotations

from typing import Any

from clew.core.tensor import Tensor
from clew.distributed.data_parallel.reducer import GradBucket
from clew.futures import Future

__all__ = ["noop_hook"]


def noop_hook(_: Any, bucket: GradBucket) -> Future[Tensor]:
    """Leave the gradients of a bucket as they are: ranks train apart.

    Args:
        _: accepted
        bucket: the gradients
    """
    future: Future[Tensor] = Future()
    future.set_result(bucket.buffer())
    return future
