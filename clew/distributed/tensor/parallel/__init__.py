"""Ways to split layers over processes: making one raises."""

from __future__ import annotations

from clew.distributed.refusing import Refused, refused

__all__ = [
    "ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleOutput",
    "RowwiseParallel", "SequenceParallel", "loss_parallel", "parallelize_module",
]  # fmt: skip


class ParallelStyle(Refused):
    """A way to split a layer. Making one raises."""


class ColwiseParallel(ParallelStyle):
    """A layer split by columns. Making one raises."""


class RowwiseParallel(ParallelStyle):
    """A layer split by rows. Making one raises."""


class SequenceParallel(ParallelStyle):
    """A layer split along the sequence. Making one raises."""


class PrepareModuleInput(ParallelStyle):
    """How inputs are laid out. Making one raises."""


class PrepareModuleOutput(ParallelStyle):
    """How outputs are laid out. Making one raises."""


parallelize_module = refused("parallelize_module")
loss_parallel = refused("loss_parallel")
