"""The older place of `torch.ao.quantization.fake_quantize`."""

# ruff: noqa: F403  (names are imported here to be found here)

from clew.ao.quantization.fake_quantize import *
