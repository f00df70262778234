"""The older place of `torch.ao.quantization.quantize`."""

# ruff: noqa: F403  (names are imported here to be found here)

from clew.ao.quantization.quantize import *
