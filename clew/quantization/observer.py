"""The older place of `torch.ao.quantization.observer`."""

# ruff: noqa: F403  (names are imported here to be found here)

from clew.ao.quantization.observer import *
