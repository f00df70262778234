"""The older place of `torch.ao.quantization.qconfig`."""

# ruff: noqa: F403  (names are imported here to be found here)

from clew.ao.quantization.qconfig import *
