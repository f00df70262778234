"""What pickles of PyTorch's name to read the memory of a tensor."""

from __future__ import annotations

import io
from typing import Any

from clew.ops.tensor.info import StorageView
from clew.serialization import load

__all__ = ["TypedStorage", "UntypedStorage", "_load_from_bytes"]

TypedStorage = UntypedStorage = StorageView


def _load_from_bytes(b: bytes) -> Any:
    """A storage from the file inside a pickle; as with every file, nothing in it is run."""
    return load(io.BytesIO(b), weights_only=False)
