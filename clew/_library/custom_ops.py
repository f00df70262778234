"""`CustomOpDef` at the place where PyTorch defines it."""

from clew.library.custom_ops import CustomOpDef, custom_op

__all__ = ["CustomOpDef", "custom_op"]
