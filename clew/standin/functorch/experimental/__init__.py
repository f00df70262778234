"""The functions that `functorch` has under this name; all are in `torch.func` as well."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from clew import errors
from clew.func import functionalize, hessian, jacfwd, jvp, replace_all_batch_norm_modules_, vmap
from clew.func.batching import Dims, examples

__all__ = [
    "chunk_vmap", "functionalize", "hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_",
]  # fmt: skip


def chunk_vmap(
    func: Callable[..., Any],
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: str = "error",
    chunks: int = 2,
) -> Callable[..., Any]:
    """`vmap` over so many parts of the examples, one after the other."""

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if chunks < 1:
            raise RuntimeError(
                f"chunk expects `chunks` to be greater than 0, got: {chunks}"
                + errors.at_user_line()
            )
        chunk_size = max(1, -(-examples(args, in_dims, func) // chunks))
        mapped = vmap(func, in_dims, out_dims, randomness, chunk_size=chunk_size)
        return mapped(*args, **kwargs)

    return wrapped
