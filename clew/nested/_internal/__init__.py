"""Private modules of `torch.nested` that packages import by name."""

from clew.nested._internal import nested_int, nested_tensor, ops

__all__ = ["nested_int", "nested_tensor", "ops"]
