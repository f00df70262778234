"""Hooks that exchange gradients as they are, or in half precision: calling one raises."""

from clew.distributed.refusing import refused

__all__ = [
    "allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook",
    "fp16_compress_wrapper",
]  # fmt: skip

allreduce_hook = refused("allreduce_hook")
fp16_compress_hook = refused("fp16_compress_hook")
fp16_compress_wrapper = refused("fp16_compress_wrapper")
bf16_compress_hook = refused("bf16_compress_hook")
bf16_compress_wrapper = refused("bf16_compress_wrapper")
