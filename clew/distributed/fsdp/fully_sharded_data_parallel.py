"""The names of `torch.distributed.fsdp` at the place where PyTorch defines them."""

# ruff: noqa: F403  (all names are those of the other module)

from clew.distributed.fsdp import *
