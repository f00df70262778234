"""What PyTorch's checkpoints say about themselves: the classes in the file `.metadata`."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from clew.backend import dtypes
from clew.backend.layout import channels_last, contiguous_format, preserve_format, strided
from clew.core.size import Size
from clew.core.tensor import Tensor

__all__ = [
    "BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "MetadataIndex", "StorageMeta",
    "TensorProperties", "TensorStorageMetadata",
]  # fmt: skip


class _MEM_FORMAT_ENCODING(enum.Enum):
    """How files say a memory format."""

    TORCH_CONTIGUOUS_FORMAT, TORCH_CHANNELS_LAST, TORCH_PRESERVE_FORMAT = range(3)


_FORMATS = {
    _MEM_FORMAT_ENCODING.TORCH_CONTIGUOUS_FORMAT: contiguous_format,
    _MEM_FORMAT_ENCODING.TORCH_CHANNELS_LAST: channels_last,
    _MEM_FORMAT_ENCODING.TORCH_PRESERVE_FORMAT: preserve_format,
}


@dataclass
class TensorProperties:
    """What a tensor is beside its size.

    Args:
        dtype: its data type
        layout: `clew.strided`
        requires_grad: accepted
        memory_format: accepted
        pin_memory: accepted
    """

    dtype: Any = field(default_factory=dtypes.get_default_dtype)
    layout: Any = strided
    requires_grad: bool = False
    memory_format: Any = contiguous_format
    pin_memory: bool = False

    def __getstate__(self) -> tuple[Any, ...]:
        code = next(key for key, value in _FORMATS.items() if value == self.memory_format)
        return self.dtype, self.layout, self.requires_grad, code, self.pin_memory

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.dtype, self.layout, self.requires_grad, code, self.pin_memory = state
        self.memory_format = _FORMATS[code]

    @staticmethod
    def create_from_tensor(tensor: Tensor) -> TensorProperties:
        """The properties of a tensor."""
        return TensorProperties(dtype=tensor.dtype, requires_grad=tensor.requires_grad)


@dataclass(frozen=True)
class ChunkStorageMetadata:
    """A part of a tensor: where it begins and how long it is."""

    offsets: Size
    sizes: Size


@dataclass
class TensorStorageMetadata:
    """A tensor that was saved in parts."""

    properties: TensorProperties
    size: Size
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """A value that is no tensor."""


@dataclass(frozen=True)
class MetadataIndex:
    """The name of a value or of a part of a tensor.

    Args:
        fqn: the name of the whole
        offset: where the part begins
        index: which part it is in the list of parts
    """

    fqn: str
    offset: Size | None = None
    index: int | None = field(hash=False, compare=False, default=None)

    def __init__(
        self, fqn: str, offset: Sequence[int] | None = None, index: int | None = None
    ) -> None:
        object.__setattr__(self, "fqn", fqn)
        object.__setattr__(self, "index", index)
        if offset is not None:
            object.__setattr__(self, "offset", Size(offset))


@dataclass
class StorageMeta:
    """Where and when a checkpoint was saved."""

    checkpoint_id: Any = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """All values of a checkpoint, and where each lies."""

    state_dict_metadata: dict[str, Any]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None
