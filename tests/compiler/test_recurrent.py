"""Recurrent layers in compiled functions: one native call, with the bits of eager steps."""

from __future__ import annotations

from typing import Any

import pytest

import clew
from clew import nn
from tests.compiler.test_native_rules import in_python
from tests.compiler.test_native_steps import segments

# Kind, steps, sequences, features, size of the state, and options.
LAYERS = [
    ("LSTM", (5, 3, 4, 7), {}),
    ("LSTM", (9, 17, 64, 64), {"num_layers": 2, "bidirectional": True, "dropout": 0.2}),
    ("LSTM", (70, 33, 1, 130), {"batch_first": True, "bias": False}),
    ("GRU", (5, 3, 4, 7), {"num_layers": 2, "dropout": 0.2}),
    ("GRU", (9, 17, 64, 64), {"bidirectional": True}),
    ("GRU", (70, 33, 1, 130), {"batch_first": True, "bias": False}),
    ("GRU", (1, 1, 16, 16), {"bidirectional": True}),
]


def trained(
    kind: str, sizes: Any, options: Any, dtype: clew.dtype, has_state: bool, wrap: Any
) -> tuple[Any, list[clew.Tensor]]:
    """Some steps: the compiled function, if it is one, and all that the steps leave."""
    steps, batch, features, size = sizes
    clew.manual_seed(0)
    layer = getattr(nn, kind)(features, size, dtype=dtype, **options)
    directions = 2 if layer.bidirectional else 1
    head = nn.Linear(size * directions, 3, dtype=dtype)
    parameters = [*layer.parameters(), *head.parameters()]
    optimizer = clew.optim.Adam(parameters, lr=0.01)
    shape = (batch, steps) if layer.batch_first else (steps, batch)
    x = clew.randn(*shape, features, dtype=dtype)
    state = clew.randn(layer.num_layers * directions, batch, size, dtype=dtype)

    def step() -> Any:
        optimizer.zero_grad()
        given = (state, state * 0.5) if kind == "LSTM" else state
        out, last = layer(x, given) if has_state else layer(x)
        loss = head(out).square().mean()
        if has_state:
            loss = loss + (last[1] if kind == "LSTM" else last).sum() * 0.01
        loss.backward()
        optimizer.step()
        return loss.detach(), out.detach()

    run = wrap(step)
    seen = [each for _ in range(3) for each in run()]
    return run, [*seen, *parameters, *[each.grad for each in parameters]]


@pytest.mark.parametrize("dtype", [clew.float32, clew.float64])
@pytest.mark.parametrize("has_state", [False, True])
@pytest.mark.parametrize(("kind", "sizes", "options"), LAYERS)
def test_a_train_step_is_one_native_call(
    kind: str, sizes: Any, options: Any, has_state: bool, dtype: clew.dtype
) -> None:
    _, right = trained(kind, sizes, options, dtype, has_state, lambda step: step)
    compiled, found = trained(kind, sizes, options, dtype, has_state, clew.compile)
    close = 1e-6 if dtype is clew.float32 else 1e-13
    clew.testing.assert_close(found, right, rtol=close, atol=close)
    assert len(segments(compiled)) == 1 and not in_python(compiled)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_without_gradients_nothing_is_kept(kind: str) -> None:
    clew.manual_seed(0)
    layer = getattr(nn, kind)(8, 20, 2)
    compiled = clew.compile(lambda x: layer(x)[0] * 2)
    with clew.no_grad():
        for _ in range(3):
            x = clew.randn(6, 3, 8)
            clew.testing.assert_close(compiled(x), layer(x)[0] * 2)
    (segment,) = segments(compiled)
    assert not in_python(compiled)
    # Gates of all rows, panels of weights, and what is small beside them.
    assert segment.arena_size < 1 << 16


@pytest.mark.parametrize("layer", [
    nn.RNN(4, 5), nn.LSTM(4, 5, proj_size=2), nn.GRU(4, 5), nn.LSTM(4, 5),
], ids=["rnn", "projected", "gru", "lstm"])  # fmt: skip
def test_other_layers_and_packed_sequences_run_in_python(layer: nn.Module) -> None:
    x = clew.randn(6, 3, 4)

    def step(x: clew.Tensor) -> Any:
        layer.zero_grad()
        packed = nn.utils.rnn.pack_padded_sequence(x, [6, 4, 1])
        total = layer(packed)[0].data.square().sum() + layer(x)[0].sum()
        total.backward()
        return total.detach(), *[each.grad * 1 for each in layer.parameters()]

    compiled = clew.compile(step)
    for _ in range(3):
        clew.testing.assert_close(compiled(x), step(x))
