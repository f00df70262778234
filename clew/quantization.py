"""The older place of `torch.ao.quantization`."""

# ruff: noqa: F403  (names are imported here to be found here)

from clew.ao.quantization import *
