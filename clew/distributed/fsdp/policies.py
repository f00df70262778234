"""Options of `fully_shard`: the dtypes of computation, and where parameters rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["CPUOffloadPolicy", "MixedPrecisionPolicy", "OffloadPolicy"]


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The data types of parameters, gradients and outputs."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Where parameters rest."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parameters rest on the CPU."""

    pin_memory: bool = True
