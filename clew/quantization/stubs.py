"""The older place of `torch.ao.quantization.stubs`."""

# ruff: noqa: F403  (names are imported here to be found here)

from clew.ao.quantization.stubs import *
