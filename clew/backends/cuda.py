"""CUDA's switches: which products may lose precision, which attention kernels may be chosen."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from clew.ops.nn.attention import ALLOWED

__all__ = [
    "SDPAParams", "can_use_cudnn_attention", "can_use_efficient_attention",
    "can_use_flash_attention", "is_built", "is_flash_attention_available", "matmul", "sdp_kernel",
]  # fmt: skip

matmul = SimpleNamespace(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
    fp32_precision="none",
)


class SDPAParams:
    """The arguments of an attention, for questions about kernels of GPUs."""

    def __init__(
        self, query: Any, key: Any, value: Any, attn_mask: Any, dropout: float, is_causal: bool,
        enable_gqa: bool = False,
    ) -> None:  # fmt: skip
        self.query, self.key, self.value, self.attn_mask = query, key, value, attn_mask
        self.dropout, self.is_causal, self.enable_gqa = dropout, is_causal, enable_gqa


def is_flash_attention_available() -> bool:
    """Whether this library was built with that kernel of GPUs: no."""
    return False


def can_use_flash_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Whether that kernel of GPUs can do an attention: there is none."""
    return False


can_use_efficient_attention = can_use_cudnn_attention = can_use_flash_attention


def is_built() -> bool:
    """Whether this library was built for CUDA: no."""
    return False


def _asks(kernel: str) -> Callable[[], bool]:
    def enabled() -> bool:
        """Whether a program has allowed this kernel; here one kernel does all."""
        return ALLOWED[kernel]

    enabled.__name__ = enabled.__qualname__ = f"{kernel}_sdp_enabled"
    return enabled


def _sets(kernel: str) -> Callable[[bool], None]:
    def enable(enabled: bool) -> None:
        """Allow this kernel, or not; here one kernel does all."""
        ALLOWED[kernel] = bool(enabled)

    enable.__name__ = enable.__qualname__ = f"enable_{kernel}_sdp"
    return enable


flash_sdp_enabled, enable_flash_sdp = _asks("flash"), _sets("flash")
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = _asks("mem_efficient"), _sets("mem_efficient")
math_sdp_enabled, enable_math_sdp = _asks("math"), _sets("math")
cudnn_sdp_enabled, enable_cudnn_sdp = _asks("cudnn"), _sets("cudnn")


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[None]:
    """Deprecated: allow attention kernels for a `with` block."""
    warnings.warn(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager "
        "will be removed. Please see `torch.nn.attention.sdpa_kernel()` for the new context "
        "manager.",
        FutureWarning,
        stacklevel=3,
    )
    before = dict(ALLOWED)
    ALLOWED.update(
        flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn
    )
    try:
        yield
    finally:
        ALLOWED.update(before)
