"""A bool where an int belongs: PyTorch refuses it, though Python takes True for 1."""

from __future__ import annotations

from typing import Any

import pytest

from tests.twice import raised, twice

CALLS = """
m.ones(True)
m.ones([True])
m.ones([2, True]).shape
m.zeros((True,))
m.empty(True)
m.full((True,), 1.0)
m.rand(True)
m.randint(3, (True,))
m.randint(True, (2,))
x.new_ones(True)
x.new_zeros([True])
m.reshape(x, (True, 2, 3))
x.view(True, 2, 3)
x.view(2, True, 3)
x.expand(True)
x.expand([True, 2, 3])
x.broadcast_to((True, 2, 3))
x.repeat(True)
x.tile(True)
x.permute((True, 0))
x.chunk(True)
m.chunk(x, True)
x.split([True, 1])
x.select(0, True)
x.narrow(0, 0, True)
x.narrow(0, True, 1)
m.narrow_copy(x, 0, True, 1)
x.diagonal(True)
x.flip(True)
x.flip([True])
x.roll(True)
x.roll(1, True)
x.as_strided((True,), (1,))
x.as_strided((1,), (True,))
x.resize_(True)
x.sum_to_size(True)
x.round(decimals=True)
x.cov(correction=True)
m.nn.functional.channel_shuffle(x[None, :, :, None], True)
m.tril_indices(2, 2, True)
m.triu_indices(2, 2, True)
m.vander(x[0], True)
m.hann_window(True)
m.bartlett_window(True)
m.fft.fft(x, True)
m.fft.ifft(x, True)
m.fft.rfft(x, True)
m.fft.ihfft(x, True)
m.fft.fftn(x, (True,))
m.fft.fftfreq(True)
m.fft.rfftfreq(True)
m.nn.functional.embedding(m.tensor([0]), x, True)
""".strip().split("\n")


@pytest.mark.parametrize("call", CALLS)
def test_bool_for_an_integer(call: str) -> None:
    @twice
    def scenario(m: Any) -> Any:
        x = m.arange(6.0).reshape(2, 3)
        return raised(eval, call, {"m": m, "x": x}, words=0)

    scenario()


@twice
def test_words_of_some(m: Any) -> Any:
    x = m.arange(6.0).reshape(2, 3)
    return [
        raised(x.chunk, True, words=9),
        raised(m.chunk, x, True, words=9),
        raised(x.diagonal, True, words=9),
        raised(m.ones, True, words=9),
        raised(m.ones, [True], words=20),
        raised(x.flip, True, words=10),
        raised(m.randint, True, (2,), words=9),
        raised(m.hann_window, True, words=9),
        raised(m.tril_indices, 2, 2, True, words=9),
    ]


@twice
def test_casts_take_nothing_by_position(m: Any) -> Any:
    x, names = m.ones(2), ("half", "float", "double", "int", "long", "bool")
    return [raised(getattr(x, name), None, words=0) for name in names]
