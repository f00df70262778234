"""Nested tensors: `clew.nested`, with the functions of `torch.nested`. docs/nested.md."""

from clew.core.overrides import overridable as _overridable
from clew.nested import _internal as _internal
from clew.ops.nested.construction import (
    as_nested_tensor,
    masked_select,
    narrow,
    nested_tensor,
    nested_tensor_from_jagged,
)
from clew.ops.nested_methods import to_padded_tensor

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]
_overridable("torch.nested", globals(), "to_padded_tensor")
