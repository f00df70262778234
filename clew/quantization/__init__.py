"""The older place of `torch.ao.quantization`; its functions hide two modules of their name."""

# ruff: noqa: F403, I001  (names are imported here to be found here, and the modules come first)

from clew.quantization import fuse_modules as fuse_modules
from clew.quantization import quantize as quantize
from clew.quantization import stubs as stubs
from clew.ao.quantization import *  # type: ignore[no-redef]  # functions over modules
