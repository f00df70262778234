"""Functions of layers by PyTorch's internal names: `torch._C._nn`."""

from __future__ import annotations

from typing import Any

from clew.backend.device import device as _device
from clew.core.tensor import Tensor
from clew.nn import functional
from clew.ops.aten_signatures import SIGNATURES
from clew.ops.nn.attention import scaled_dot_product_attention
from clew.ops.nn.linear import linear
from clew.ops.tensor.conversion import read_target

__all__ = ["_parse_to", "linear", "scaled_dot_product_attention"]


def _parse_to(
    *args: Any,
    device: Any = None,
    dtype: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> tuple[_device | None, Any, bool, Any]:
    """The device, the dtype, `non_blocking` and the memory format of the arguments of `to`."""
    if args:
        first = args[0]
        device, dtype, flags = read_target(args, device, dtype)
        device = first.device if isinstance(first, Tensor) else device
        non_blocking = bool(flags[0]) if flags else non_blocking
    return None if device is None else _device(device), dtype, non_blocking, memory_format


def __getattr__(name: str) -> Any:
    found = SIGNATURES.get(name) or getattr(functional, name, None)
    if found is None:
        raise AttributeError(f"module 'torch._C._nn' has no attribute {name!r}")
    return found
