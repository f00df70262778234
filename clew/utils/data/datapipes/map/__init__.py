"""Pipes whose elements are found by a key."""

from clew.utils.data.datapipes.map.pipes import (
    Batcher,
    Concater,
    Mapper,
    SequenceWrapper,
    Shuffler,
    Zipper,
)

__all__ = ["Batcher", "Concater", "Mapper", "SequenceWrapper", "Shuffler", "Zipper"]
