"""Operations that write into a part of a tensor: into a copy, or in place into the tensor itself.

The definition is one function that writes into an array. The out-of-place form runs it on a copy;
the in-place form runs it on the tensor's own memory, so that a small write costs little.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from clew.backend.dtypes import LOW_PRECISION
from clew.core.inplace import apply_inplace, keep_apart
from clew.core.op import Op
from clew.core.storage import Storage
from clew.core.tensor import Tensor
from clew.kernels.numpy.strides import overlaps_itself
from clew.ops.define.memory_layout import copy_in_format

# What a public function checks and then runs: an operation, its inputs, its parameters.
Call = tuple[Op, tuple[Any, ...], dict[str, Any]]


# Their sums of halves are rounded once, after they were added up in other memory.
_ROUND_ONCE = ("index_add", "scatter_add")


class WritingOp(Op):
    """An operation whose result is its first input with something written into it.

    `keeps_layout` says that the result lies in memory as the input does, not row by row.
    """

    def __init__(
        self, name: str, write: Callable[..., None], *, keeps_layout: bool = False, **options: Any
    ) -> None:
        def forward(self: np.ndarray, *others: np.ndarray, **params: Any) -> np.ndarray:
            out = copy_in_format(self, self.dtype) if keeps_layout else np.array(self, order="C")
            write(out, *others, **params)
            return out

        # `inspect` reads this attribute, which mypy does not know of.
        forward.__signature__ = inspect.signature(write)  # type: ignore[attr-defined]
        self.write = write
        super().__init__(name, forward, **options)

    def write_into(
        self, target: np.ndarray, inputs: tuple[Any, ...], params: dict[str, Any]
    ) -> bool:
        written: Tensor = inputs[0]
        if written._array is not target:
            return False
        if not target.flags.c_contiguous and not self._is_written_by_place(target):
            return False
        others = []
        for each in inputs[1:]:
            array = each._array if isinstance(each, Tensor) else each
            if not _are_apart(written, each) and np.may_share_memory(target, array):
                return False
            others.append(array)
        self.write(target, *others, **params)
        return True

    def _is_written_by_place(self, target: np.ndarray) -> bool:
        """Whether a whole result cannot be copied: an old element may hide a new one."""
        is_summed_elsewhere = self.name in _ROUND_ONCE and target.dtype in LOW_PRECISION
        return overlaps_itself(target) and not is_summed_elsewhere


def _are_apart(written: Tensor, other: Any) -> bool:
    """Whether two tensors have memory of their own, as their storages say: that is quickly told."""
    if not isinstance(other, Tensor):
        return False
    one, two = written._storage, other._storage
    return (
        one is not two
        and type(one) is type(two) is Storage
        and one.untyped is None
        and two.untyped is None
    )


def run(call: Call) -> Tensor:
    """The out-of-place form of a prepared call."""
    op, inputs, params = call
    result: Tensor = op(*inputs, **params)
    return result


def run_in_place(call: Call, may_alias: bool = False) -> Tensor:
    """The in-place form of a prepared call; mostly the tensor must not be an index or a source."""
    op, inputs, params = call
    if not may_alias:
        keep_apart(*inputs)
    return apply_inplace(op, *inputs, **params)
