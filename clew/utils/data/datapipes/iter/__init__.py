"""Pipes that are read from start to end."""

from clew.utils.data.datapipes.iter.combining import (
    Concater,
    Demultiplexer,
    Forker,
    Multiplexer,
    Zipper,
)
from clew.utils.data.datapipes.iter.files import FileLister, FileOpener, StreamReader
from clew.utils.data.datapipes.iter.grouping import Batcher, Grouper, ShardingFilter, UnBatcher
from clew.utils.data.datapipes.iter.mapping import (
    Collator,
    Filter,
    IterableWrapper,
    Mapper,
    Sampler,
    Shuffler,
)

__all__ = [
    "Batcher", "Collator", "Concater", "Demultiplexer", "FileLister", "FileOpener", "Filter",
    "Forker", "Grouper", "IterableWrapper", "Mapper", "Multiplexer", "Sampler", "ShardingFilter",
    "Shuffler", "StreamReader", "UnBatcher", "Zipper",
]  # fmt: skip
