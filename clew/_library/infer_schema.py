"""`infer_schema` at the place where PyTorch defines it."""

from clew.library.schema import infer_schema

__all__ = ["infer_schema"]
