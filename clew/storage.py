"""The classes of storages, and what pickles of PyTorch's name to read the memory of a tensor."""

from __future__ import annotations

import io
from typing import Any

from clew.ops.tensor.legacy_storages import LEGACY_CLASSES
from clew.ops.tensor.legacy_storages import LegacyStorage as _LegacyStorage
from clew.ops.tensor.typed_storage import TypedStorage
from clew.ops.tensor.typed_storage import always_warns as _get_always_warn_typed_storage_removal
from clew.ops.tensor.typed_storage import reset_warning as _reset_warn_typed_storage_removal
from clew.ops.tensor.typed_storage import set_always_warns as _set_always_warn_typed_storage_removal
from clew.ops.tensor.typed_storage import warn_of_removal as _warn_typed_storage_removal
from clew.ops.tensor.untyped_storage import UntypedStorage
from clew.serialization import load

__all__ = [
    "TypedStorage", "UntypedStorage", "_LegacyStorage", "_get_always_warn_typed_storage_removal",
    "_load_from_bytes", "_reset_warn_typed_storage_removal",
    "_set_always_warn_typed_storage_removal", "_warn_typed_storage_removal",
]  # fmt: skip

globals().update(LEGACY_CLASSES)
# The class for the default dtype that programs begin with.
Storage = LEGACY_CLASSES["FloatStorage"]


def _load_from_bytes(b: bytes) -> Any:
    """A storage from the file inside a pickle; as with every file, nothing in it is run."""
    return load(io.BytesIO(b), weights_only=False)
