"""Operations that give new memory do so also where nothing has to be moved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.twice import twice

SAME: dict[str, Callable[[Any, Any], Any]] = {
    "pixel_shuffle": lambda lib, x: lib.nn.functional.pixel_shuffle(x, 1),
    "pixel_unshuffle": lambda lib, x: lib.nn.functional.pixel_unshuffle(x, 1),
    "channel_shuffle": lambda lib, x: lib.nn.functional.channel_shuffle(x, 1),
    "channel_shuffle of all": lambda lib, x: lib.nn.functional.channel_shuffle(x, 4),
    "flip": lambda lib, x: x.flip(()),
    "roll": lambda lib, x: x.roll(0, 0),
    "rot90": lambda lib, x: lib.rot90(x, 4),
    "chain_matmul": lambda lib, x: lib.chain_matmul(x[0, 0]),
    "repeat": lambda lib, x: x.repeat(1, 1, 1, 1),
}


@pytest.mark.parametrize("name", SAME)
def test_writing_to_the_result(name: str) -> None:
    @twice
    def test(lib: Any) -> Any:
        x = lib.arange(36.0).reshape(1, 4, 3, 3)
        one = lib.ones(1).expand(1, 4, 3, 3)
        results = [SAME[name](lib, each) for each in (x, one)]
        for result in results:
            result[..., 0] = -1
        return x, one, results, [each.stride() for each in results]

    test()


@twice
def test_memory_of_roll(lib: Any) -> Any:
    images = lib.arange(48.0).reshape(1, 3, 4, 4).to(memory_format=lib.channels_last)
    table = lib.arange(12.0).reshape(3, 4).t()
    rolled = [images.roll(1, 1), images.roll((1, 2), (2, 3)), images.roll(1), table.roll(1, 0)]
    return rolled, [each.stride() for each in rolled]
