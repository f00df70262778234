"""Pipes: datasets that are made of others, `IterableWrapper(x).map(f).shuffle().batch(2)`."""

from clew.utils.data.datapipes import iter, map
from clew.utils.data.datapipes.datapipe import (
    DataChunk,
    IterDataPipe,
    MapDataPipe,
    functional_datapipe,
)

__all__ = ["DataChunk", "IterDataPipe", "MapDataPipe", "functional_datapipe", "iter", "map"]
