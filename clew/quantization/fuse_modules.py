"""The older place of `torch.ao.quantization.fuse_modules`."""

# ruff: noqa: F403  (names are imported here to be found here)

from clew.ao.quantization.fuse_modules import *
