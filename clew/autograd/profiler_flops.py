"""How many floating-point operations a call takes, where PyTorch's profiles say so."""

from __future__ import annotations

import math
from typing import Any

from clew.core.tensor import Tensor


def flops_of(name: str, inputs: tuple[Any, ...], params: dict[str, Any], outs: list[Any]) -> int:
    """Multiplications and additions of products, convolutions, `mul` and `add`; else 0."""
    base = name.partition(".")[0]
    shapes = [each._array.shape for each in inputs if isinstance(each, Tensor)]
    if base in ("mm", "bmm"):
        return 2 * math.prod(shapes[0]) * shapes[1][-1]
    if base in ("addmm", "baddbmm"):
        return 2 * math.prod(shapes[1]) * shapes[2][-1]
    if base in ("mul", "add"):
        return int(outs[0]._array.size)
    if base.startswith("convolution") and "weight" not in base:
        transposed = "transpose" in base
        # Every element of the output (of the input, if transposed) meets one filter.
        positions = shapes[0] if transposed else outs[0]._array.shape
        weight = shapes[1]
        places = positions[0] * math.prod(positions[2:])
        return 2 * places * math.prod(weight)
    return 0
