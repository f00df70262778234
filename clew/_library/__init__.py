"""Parts of `torch.library` at the places where PyTorch defines them."""

from clew.library.schema import infer_schema

__all__ = ["infer_schema"]
