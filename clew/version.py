"""Versions, as programs read them from `torch.version`."""

from __future__ import annotations

from clew.torch_version import TorchVersion

__all__ = ["__version__", "api", "clew", "cuda", "debug", "git_version", "hip", "xpu"]

clew = "0.1.0"
# The release of PyTorch whose behaviour clew has, which is what programs ask a version for.
api = TorchVersion(f"2.13.0+clew{clew}")
__version__ = api

cuda: str | None = None
hip: str | None = None
xpu: str | None = None
debug = False
git_version = ""
