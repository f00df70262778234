"""The user's line: where in the user's program an operation was asked for.

Recording must be cheap because it happens for every node, so what is kept is only the code object
and the instruction offset of the innermost frame outside clew. Turning that into file, line and
text happens when somebody asks, which is mostly when something went wrong.
"""

from __future__ import annotations

import linecache
import os
import sys
from types import CodeType, FrameType
from typing import NamedTuple

# Packages whose frames are clew's own, so that a line in them is not the user's line. All but those
# of the command line and the gallery, whose programs are users like any other; looking for them
# would take as long as importing five modules.
INTERNAL_PACKAGES = frozenset({"clew"}) | {
    f"clew.{name}"
    for name in (
        "amp", "autograd", "autograd.gradient_checks", "backend", "backends", "compiler",
        "compiler.memory", "compiler.native", "compiler.passes", "core", "core.meta", "cpu", "cuda",
        "distributed", "distributions",
        "distributions.kl", "distributions.transforms", "doctor", "doctor.engines",
        "doctor.engines.pytorch", "doctor.facts", "doctor.observe",
        "doctor.report", "doctor.rules", "func", "func.curvature", "fx", "fx.passes",
        "kernels", "kernels.codegen", "kernels.compiled", "kernels.conv", "kernels.gemm",
        "kernels.numpy", "kernels.pool", "kernels.runtime", "masked", "masked.maskedtensor", "nn",
        "nn.attention",
        "nested", "nested._internal",
        "nn.modules", "nn.parallel", "nn.utils", "ops", "ops.batching", "ops.create", "ops.define",
        "ops.index", "ops.linalg", "ops.nested", "ops.nn", "ops.nn.activation", "ops.nn.loss",
        "ops.pointwise", "ops.reduce", "ops.shape", "ops.sparse", "ops.spectral", "ops.tensor",
        "optim",
        "optim.lr_scheduler", "sparse",
        "profiler", "serialization", "signal", "standin.functorch",
        "standin.functorch.experimental", "standin.torch", "utils", "utils.data",
        "utils.data._utils", "utils.tensorboard",
    )
}  # fmt: skip
# Those that are there for the names that packages built on PyTorch import.
INTERNAL_PACKAGES |= {
    f"clew.{name}"
    for name in (
        "_C", "_dynamo", "_functorch", "_higher_order_ops", "_inductor", "_library", "_subclasses",
        "ao", "quantization",
        "ao.quantization", "cpu.amp", "cuda.amp", "distributed._composable",
        "distributed._composable.fsdp",
        "distributed._tensor", "distributed.algorithms", "distributed.algorithms._checkpoint",
        "distributed.algorithms.ddp_comm_hooks", "distributed.algorithms.model_averaging",
        "distributed.autograd", "distributed.elastic.utils", "distributed.tensor.rules",
        "distributed.checkpoint", "distributed.data_parallel", "distributed.elastic",
        "distributed.elastic.multiprocessing",
        "distributed.fsdp", "distributed.launcher", "distributed.nn", "distributed.optim",
        "distributed.pipelining", "distributed.planning", "distributed.rpc", "distributed.runtime",
        "distributed.tensor", "distributed.tensor.experimental",
        "distributed.tensor.parallel", "export", "fx.experimental", "jit", "library",
        "nn.quantized", "onnx", "utils.data.datapipes", "utils.data.datapipes.iter",
        "utils.data.datapipes.map", "utils.data.datapipes.utils", "utils.trees",
    )
}  # fmt: skip

_getframe = sys._getframe

# The file of the code that looks for classes and modes which take a function over. It has a frame
# of its own, with the globals of that function: whoever asks for a caller means the one behind it.
LOOKS_FIRST = "<clew.core.overrides>"


Place = tuple[CodeType, int]


class Where(NamedTuple):
    """A place in a program: a code object and the offset of the instruction being run."""

    code: CodeType
    lasti: int

    @property
    def filename(self) -> str:
        return self.code.co_filename

    @property
    def lineno(self) -> int:
        return self.position[0]

    @property
    def position(self) -> tuple[int, int, int]:
        """Line, first column, last column (columns are -1 when the compiler kept none)."""
        for index, (line, _, start, end) in enumerate(self.code.co_positions()):
            if index * 2 == self.lasti:
                return (
                    self.code.co_firstlineno if line is None else line,
                    -1 if start is None else start,
                    -1 if end is None else end,
                )
        return self.code.co_firstlineno, -1, -1

    @property
    def text(self) -> str:
        """The source line itself, or an empty string when the source is not at hand."""
        return linecache.getline(self.filename, self.lineno).strip()

    @property
    def short(self) -> str:
        """`file.py:12`, with the path as short as it can be said from here."""
        path = self.filename
        relative = os.path.relpath(path) if os.path.isabs(path) else path
        return f"{relative if len(relative) < len(path) else path}:{self.lineno}"

    def __str__(self) -> str:
        text = self.text
        return f"{self.short}: {text}" if text else self.short


def user_where() -> Place | None:
    """The user's line, from the running stack; `describe` turns it into words."""
    frame: FrameType | None = _getframe(1)
    while frame is not None and frame.f_globals.get("__package__") in INTERNAL_PACKAGES:
        frame = frame.f_back
    return None if frame is None else (frame.f_code, frame.f_lasti)


def user_stacklevel() -> int:
    """The `stacklevel` with which a warning points to the user's line."""
    level, frame = 1, _getframe(1)
    while frame is not None and frame.f_globals.get("__package__") in INTERNAL_PACKAGES:
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]  # None ends the loop
    return level


def describe(where: Place | None) -> str:
    """A place for a message; `None` (the place is unknown) reads as such."""
    if where is None:
        return "an unknown place"
    return str(Where(*where))
