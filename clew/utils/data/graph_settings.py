"""Settings of all pipes that a pipe is made of: shards, shuffling, seeds."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from clew.backend.dtypes import int64
from clew.ops.create.constants import empty
from clew.source import user_stacklevel
from clew.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe
from clew.utils.data.datapipes.iter import Shuffler
from clew.utils.data.datapipes.map import Shuffler as MapShuffler

__all__ = [
    "apply_random_seed",
    "apply_sharding",
    "apply_shuffle_seed",
    "apply_shuffle_settings",
    "get_all_graph_pipes",
]


def _pipes(value: Any, seen: set[int]) -> Iterator[Any]:
    """The pipes among a value, what it holds and what that is made of; each once."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, (IterDataPipe, MapDataPipe)):
        yield value
        held: Any = vars(value).values()
    elif isinstance(value, (list, tuple, set)):
        held = value
    elif isinstance(value, dict):
        held = value.values()
    else:
        return
    for each in held:
        yield from _pipes(each, seen)


def get_all_graph_pipes(graph: Any) -> list[Any]:
    """All pipes that a pipe is made of, itself first."""
    return list(_pipes(graph, set()))


def apply_sharding(
    datapipe: Any, num_of_instances: int, instance_id: int, sharding_group: Any = None
) -> Any:
    """Let every sharding filter keep the elements of one of several instances."""
    for pipe in get_all_graph_pipes(datapipe):
        if hasattr(pipe, "apply_sharding"):
            pipe.apply_sharding(num_of_instances, instance_id)
    return datapipe


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Turn shuffling on or off; where a pipe has none and should, it gets one at its end."""
    if shuffle is None:
        return datapipe
    shufflers = [
        pipe for pipe in get_all_graph_pipes(datapipe) if isinstance(pipe, (Shuffler, MapShuffler))
    ]
    if shuffle and not shufflers:
        warnings.warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one "
            "at the end. Be aware that the default buffer size might not be sufficient for your "
            "task.",
            stacklevel=user_stacklevel(),
        )
        datapipe = datapipe.shuffle()
        shufflers = [datapipe]
    for each in shufflers:
        each.set_shuffle(shuffle)
    return datapipe


def apply_random_seed(datapipe: Any, rng: Any) -> Any:
    """Give every pipe that draws random numbers a seed of its own from a generator."""
    for pipe in get_all_graph_pipes(datapipe):
        if hasattr(pipe, "set_seed"):
            pipe.set_seed(int(empty((), dtype=int64).random_(generator=rng).item()))
    return datapipe


def apply_shuffle_seed(datapipe: Any, rng: Any) -> Any:
    """The former name of `apply_random_seed`."""
    warnings.warn(
        "`apply_shuffle_seed` is deprecated since 1.12 and will be removed in the future releases. "
        "Please use `apply_random_seed` instead.",
        FutureWarning,
        stacklevel=user_stacklevel(),
    )
    return apply_random_seed(datapipe, rng)
