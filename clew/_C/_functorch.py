"""What packages ask of function transforms: whether a tensor belongs to one, and to which."""

from __future__ import annotations

from typing import Any

from clew.core.tensor import Tensor
from clew.ops.batching.level import innermost
from clew.ops.batching.tensor import BatchedTensor, lift

__all__ = [
    "_add_batch_dim", "_remove_batch_dim", "get_unwrapped", "is_batchedtensor",
    "is_functorch_wrapped_tensor", "is_gradtrackingtensor", "maybe_current_level", "maybe_get_bdim",
    "maybe_get_level",
]  # fmt: skip


def is_batchedtensor(tensor: Any) -> bool:
    """Whether a tensor stands for many examples of a vmap."""
    return isinstance(tensor, BatchedTensor) and tensor._is_batched


def is_gradtrackingtensor(tensor: Any) -> bool:
    """Whether a tensor is a copy for one `grad`: clew's are the tensors themselves."""
    return False


def is_functorch_wrapped_tensor(tensor: Any) -> bool:
    """Whether a tensor stands for others inside a transform."""
    return is_batchedtensor(tensor)


def maybe_current_level() -> int | None:
    """How deep vmaps are nested here; None outside of all."""
    level = innermost()
    return None if level is None else level.depth


def maybe_get_level(tensor: Tensor) -> int:
    """The depth of the vmap that a tensor belongs to, or -1."""
    return tensor._level.depth if isinstance(tensor, BatchedTensor) else -1


def maybe_get_bdim(tensor: Tensor) -> int:
    """The dimension that counts examples: always the first here; -1 without examples."""
    return 0 if is_batchedtensor(tensor) else -1


def get_unwrapped(tensor: Tensor) -> Tensor:
    """The tensor that holds all examples."""
    if not isinstance(tensor, BatchedTensor):
        raise RuntimeError("No wrappers present!")
    return tensor._physical


def _add_batch_dim(tensor: Tensor, batch_dim: int, level: int) -> Tensor:
    """A tensor of all examples as one of the innermost vmap."""
    inside = innermost()
    if inside is None:
        raise RuntimeError("_add_batch_dim: there is no vmap here")
    return lift(inside, tensor.movedim(batch_dim, 0), True)


def _remove_batch_dim(tensor: Tensor, level: int, batch_size: int, out_dim: int) -> Tensor:
    """The tensor of all examples, which are counted by the given dimension."""
    if not is_batchedtensor(tensor):
        return tensor.unsqueeze(out_dim).expand(
            [*tensor.shape[:out_dim], batch_size, *tensor.shape[out_dim:]]
        )
    return get_unwrapped(tensor).movedim(0, out_dim)
