"""`torch.distributed.checkpoint`: state dicts that several ranks write and read in parts."""

from __future__ import annotations

from clew.distributed.checkpoint.api import CheckpointException
from clew.distributed.checkpoint.default_planner import DefaultLoadPlanner, DefaultSavePlanner
from clew.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from clew.distributed.checkpoint.hf_storage import (
    HuggingFaceStorageReader,
    HuggingFaceStorageWriter,
)
from clew.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    TensorStorageMetadata,
)
from clew.distributed.checkpoint.planner import (
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
)
from clew.distributed.checkpoint.state_dict_loader import load, load_state_dict
from clew.distributed.checkpoint.state_dict_saver import async_save, save, save_state_dict
from clew.distributed.checkpoint.storage import StorageReader, StorageWriter

__all__ = [
    "BytesStorageMetadata", "CheckpointException", "ChunkStorageMetadata", "DefaultLoadPlanner",
    "DefaultSavePlanner", "FileSystemReader", "FileSystemWriter", "HuggingFaceStorageReader",
    "HuggingFaceStorageWriter", "LoadPlan", "LoadPlanner", "Metadata", "ReadItem", "SavePlan",
    "SavePlanner", "StorageReader", "StorageWriter", "TensorStorageMetadata", "WriteItem",
    "async_save", "load", "load_state_dict", "save", "save_state_dict",
]  # fmt: skip
