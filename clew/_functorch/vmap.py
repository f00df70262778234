"""Parts of `vmap` that packages reach. Replacing one of them does not change clew's `vmap`."""

from __future__ import annotations

from typing import Any

from clew._C._functorch import _add_batch_dim, _remove_batch_dim
from clew.core.tensor import Tensor
from clew.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten

__all__ = [
    "Tensor", "_add_batch_dim", "_broadcast_to_and_flatten", "_get_name",
    "_maybe_remove_batch_dim", "_remove_batch_dim", "tree_flatten", "tree_unflatten",
]  # fmt: skip


def _get_name(func: Any) -> str:
    """The name of a function, for messages."""
    return getattr(func, "__name__", None) or repr(func)


def _maybe_remove_batch_dim(
    name: str, batched_output: Any, vmap_level: int, batch_size: int, out_dim: int | None
) -> Any:
    """An output with its examples counted by `out_dim`; as it is where that is None."""
    if out_dim is None:
        return batched_output
    if not isinstance(batched_output, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type "
            f"{type(batched_output)}. Did you mean to set out_dims= to None for output?"
        )
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)
