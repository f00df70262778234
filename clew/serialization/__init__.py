"""Saving and loading: PyTorch's files and safetensors, without running code from a file."""

from clew.serialization import safetensors
from clew.serialization.added import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
)
from clew.serialization.container_sources import SourceChangeWarning
from clew.serialization.loading import Locations as MAP_LOCATION
from clew.serialization.loading import (
    default_restore_location,
    load,
)
from clew.serialization.options import (
    LoadEndianness,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
)
from clew.serialization.saving import DEFAULT_PROTOCOL, MAGIC_NUMBER, PROTOCOL_VERSION, save
from clew.serialization.unsafe_globals import get_unsafe_globals_in_checkpoint

__all__ = [
    "save", "load", "safetensors", "default_restore_location",
    "add_safe_globals", "safe_globals", "get_safe_globals", "clear_safe_globals",
    "get_unsafe_globals_in_checkpoint", "LoadEndianness", "get_crc32_options",
    "set_crc32_options", "get_default_load_endianness", "set_default_load_endianness",
    "get_default_mmap_options", "set_default_mmap_options",
    "DEFAULT_PROTOCOL", "MAGIC_NUMBER", "MAP_LOCATION", "PROTOCOL_VERSION",
    "SourceChangeWarning",
]  # fmt: skip
