"""Normalisations inside vmap whose input all examples share, but not the weight or the bias."""

from __future__ import annotations

from typing import Any

import pytest

from tests.twice import raised, twice


@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
@pytest.mark.parametrize("own", ["weight", "bias", "both"])
def test_running_statistics_are_written_once(name: str, own: str) -> None:
    @twice
    def scenario(m: Any) -> Any:
        norm = getattr(m.nn.functional, name)
        x = m.arange(24.0, dtype=m.float64).reshape(2, 3, 4) ** 2
        mean, variance = m.zeros(3, dtype=m.float64), m.ones(3, dtype=m.float64)
        each = m.arange(6.0, dtype=m.float64).reshape(2, 3)

        def normed(x: Any, vector: Any) -> Any:
            weight = None if own == "bias" else vector
            bias = None if own == "weight" else vector
            return norm(x, mean, variance, weight, bias, True)

        result = m.vmap(normed, in_dims=(None, 0))(x, each)

        def loss(x: Any, vector: Any) -> Any:
            return (normed(x, vector) ** 3).sum()

        gradients = m.vmap(m.func.grad(loss, argnums=(0, 1)), in_dims=(None, 0))(x, each)
        return result, result.stride(), gradients, mean, variance

    scenario()


@twice
def test_statistics_that_are_captured(m: Any) -> Any:
    """Transforms do not see that a kernel writes them; vmap cannot write one for each example."""
    norm = m.nn.functional.batch_norm
    x, weight = m.arange(12.0).reshape(2, 3, 2) ** 2, m.tensor([1.0, 2, 3])
    mean, variance = m.zeros(3), m.ones(3)

    def loss(x: Any, weight: Any) -> Any:
        return (norm(x, mean, variance, weight, None, True) ** 3).sum()

    gradients = m.func.grad(loss, argnums=(0, 1))(x, weight)
    tangents = m.func.jvp(loss, (x, weight), (x, weight))
    refused = raised(m.vmap(loss, in_dims=(0, None)), m.stack([x, x]), weight, words=20)
    return gradients, tangents, refused, mean, variance


@twice
def test_a_shared_half_stays_one(m: Any) -> Any:
    x, weight = m.ones(2, 3, dtype=m.bfloat16), m.ones(2, 3, dtype=m.bfloat16)
    norm = m.nn.functional.batch_norm
    return m.vmap(lambda w: norm(x, None, None, w, w, True))(weight).dtype
