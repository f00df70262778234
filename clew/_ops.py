"""The classes behind `torch.ops`, at the place where PyTorch defines them."""

from clew.ops.namespaces import OpNamespace as _OpNamespace
from clew.ops.namespaces import OpOverload, OpOverloadPacket

__all__ = ["OpOverload", "OpOverloadPacket", "_OpNamespace"]
