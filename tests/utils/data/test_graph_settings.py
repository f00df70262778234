"""Settings of all pipes that a pipe is made of, beside PyTorch's."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from tests.twice import twice


def settings(lib: Any) -> tuple[Any, Any]:
    data = f"{lib.__name__}.utils.data"
    pipes = importlib.import_module(f"{data}.datapipes.iter")
    return importlib.import_module(f"{data}.graph_settings"), pipes.IterableWrapper


@twice
def test_shards_order_and_seeds(lib: Any) -> Any:
    graph_settings, wrapper = settings(lib)
    pipe = wrapper(range(12)).shuffle().sharding_filter().batch(2)
    seen = []
    for shuffle in (True, False, None):
        assert graph_settings.apply_shuffle_settings(pipe, shuffle=shuffle) is pipe
        for number in range(3):
            graph_settings.apply_sharding(pipe, 3, number)
            generator = lib.Generator().manual_seed(7)
            graph_settings.apply_random_seed(pipe, generator)
            seen.append([list(each) for each in pipe])
    return seen


@pytest.mark.filterwarnings("ignore:`shuffle=True` was set")
@twice
def test_a_pipe_without_a_shuffler_gets_one(lib: Any) -> Any:
    graph_settings, wrapper = settings(lib)
    pipe = graph_settings.apply_shuffle_settings(wrapper(range(6)), shuffle=True)
    graph_settings.apply_random_seed(pipe, lib.Generator().manual_seed(1))
    return list(pipe)
