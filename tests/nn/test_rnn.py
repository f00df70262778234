"""Recurrent layers and cells: the same numbers as PyTorch for the same seed."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import clew
from clew import nn
from tests.twice import raised, twice

KINDS: dict[str, dict[str, Any]] = {
    "LSTM": {},
    "LSTM projected": {"proj_size": 2},
    "GRU": {},
    "RNN": {},
    "RNN relu": {"nonlinearity": "relu"},
}
SHAPES: dict[str, dict[str, Any]] = {
    "one layer": {},
    "two layers": {"num_layers": 2},
    "both directions": {"num_layers": 2, "bidirectional": True},
    "without bias": {"bias": False, "batch_first": True},
    "dropout": {"num_layers": 3, "dropout": 0.4},
    "dropout, both directions": {
        "num_layers": 2, "dropout": 0.5, "bidirectional": True, "batch_first": True,
    },
}  # fmt: skip


def build(lib: Any, kind: str, **settings: Any) -> Any:
    name = kind.split()[0]
    # torch tells which of its kernels it does not use.
    warnings.filterwarnings("ignore", "LSTM with projections is not supported with oneDNN")
    return getattr(lib.nn, name)(3, 4, **KINDS[kind], **settings)


def states_for(lib: Any, model: Any, *batch: int) -> Any:
    count = model.num_layers * (2 if model.bidirectional else 1)
    hidden = lib.randn(count, *batch, model.proj_size or model.hidden_size, requires_grad=True)
    if model.mode != "LSTM":
        return hidden
    return hidden, lib.randn(count, *batch, model.hidden_size, requires_grad=True)


def flat(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [each for part in value for each in flat(part)]
    return [value]


def trained(lib: Any, model: Any, x: Any, states: Any) -> Any:
    """Outputs, and the gradients of everything that can have one."""
    outs = flat(model(x, states) if states is not None else model(x))
    sum((out * lib.randn(out.shape)).sum() for out in outs).backward()
    given = [x, *(flat(states) if states is not None else [])]
    grads = [each.grad for each in [*given, *model.parameters()]]
    return outs, grads, dict(model.state_dict())


@pytest.mark.parametrize("with_states", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_layers(kind: str, shape: str, with_states: bool) -> None:
    def scenario(lib: Any) -> Any:
        model = build(lib, kind, **SHAPES[shape])
        x = lib.randn(5, 2, 3, requires_grad=True)
        batch = 5 if model.batch_first else 2
        states = states_for(lib, model, batch) if with_states else None
        first = trained(lib, model, x, states)
        model.eval()
        with lib.no_grad():
            return first, model(x, states), repr(model), list(model.state_dict())

    twice(scenario)()


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_without_a_batch(kind: str, batch_first: bool) -> None:
    def scenario(lib: Any) -> Any:
        model = build(lib, kind, num_layers=2, batch_first=batch_first)
        x = lib.randn(5, 3, requires_grad=True)
        return trained(lib, model, x, states_for(lib, model)), model(x)

    twice(scenario)()


@pytest.mark.parametrize("lengths", [[5, 3, 3, 1], [1, 5, 2, 5], [4, 4, 4, 4]])
@pytest.mark.parametrize("with_states", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_packed(kind: str, with_states: bool, lengths: list[int]) -> None:
    def scenario(lib: Any) -> Any:
        model = build(lib, kind, num_layers=2, bidirectional=True, dropout=0.3)
        x = lib.randn(5, 4, 3, requires_grad=True)
        packed = lib.nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
        states = states_for(lib, model, 4) if with_states else None
        out, last = model(packed, states)
        padded, sizes = lib.nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
        outs = [padded, *flat(last)]
        sum((each * lib.randn(each.shape)).sum() for each in outs).backward()
        given = [x, *(flat(states) if with_states else []), *model.parameters()]
        return outs, sizes, out, [each.grad for each in given]

    twice(scenario)()


def test_packed_equals_each_sequence_alone() -> None:
    clew.manual_seed(1)
    model = nn.LSTM(3, 4, 2, bidirectional=True)
    sequences = [clew.randn(length, 3) for length in (4, 2, 5)]
    packed = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    together = nn.utils.rnn.unpack_sequence(model(packed)[0])
    for sequence, out in zip(sequences, together, strict=True):
        assert clew.allclose(model(sequence)[0], out, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "float16"])
@pytest.mark.parametrize("kind", KINDS)
def test_dtypes(kind: str, dtype: str) -> None:
    def scenario(lib: Any) -> Any:
        model = build(lib, kind, num_layers=2)
        x = lib.randn(3, 2, 3)
        return model.to(getattr(lib, dtype))(x.to(getattr(lib, dtype)))[0].dtype

    clew.manual_seed(0)
    model = build(clew, kind, num_layers=2)
    x = clew.randn(3, 2, 3)
    expected = model(x)[0]
    result = model.to(getattr(clew, dtype))(x.to(getattr(clew, dtype)))[0]
    assert result.dtype is getattr(clew, dtype)
    assert clew.allclose(result.float(), expected, atol=2e-2)
    result.sum().backward()
    assert all(p.grad.dtype is p.dtype for p in model.parameters())
    if dtype == "float64":
        twice(scenario)()


# -- derivatives ---------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_gradients(kind: str, packed: bool) -> None:
    clew.manual_seed(2)
    model = build(clew, kind, bidirectional=True).double()
    model.hidden_size, names = 4, list(dict(model.named_parameters()))
    x = clew.randn(3, 2, 3, dtype=clew.float64, requires_grad=True)
    states = [each.detach().double().requires_grad_() for each in flat(states_for(clew, model, 2))]

    def run(x: Any, *rest: Any) -> Any:
        hx, weights = rest[: len(states)], rest[len(states) :]
        given = tuple(hx) if len(hx) == 2 else hx[0]
        function = getattr(clew, model.mode.lower())
        if packed:
            rows = x.reshape(6, 3)[:5]
            sizes = clew.tensor([2, 2, 1])
            return function(rows, sizes, given, weights, True, 1, 0.0, True, True)
        return function(x, given, weights, True, 1, 0.0, True, True, False)

    inputs = [x, *states, *[getattr(model, name) for name in names]]
    assert clew.autograd.gradcheck(run, inputs, check_forward_ad=True, fast_mode=True)
    assert clew.autograd.gradgradcheck(run, inputs, fast_mode=True)


@pytest.mark.parametrize("kind", KINDS)
def test_both_gradients_are_the_same(kind: str) -> None:
    """The array routine, and the tensor operations that a graph of the gradient is made of."""
    clew.manual_seed(3)
    model = build(clew, kind, num_layers=2, bidirectional=True).double()
    x = clew.randn(4, 3, 3, dtype=clew.float64, requires_grad=True)
    loss = model(x)[0].square().sum()
    inputs = [x, *model.parameters()]
    plain = clew.autograd.grad(loss, inputs, retain_graph=True)
    followed = clew.autograd.grad(loss, inputs, create_graph=True)
    for one, other in zip(plain, followed, strict=True):
        assert clew.allclose(one, other, rtol=1e-10, atol=1e-12)
        assert other.requires_grad


def test_gradient_penalty() -> None:
    @twice
    def scenario(lib: Any) -> Any:
        model = lib.nn.GRU(3, 4, 2).double()
        x = lib.randn(4, 2, 3, dtype=lib.float64, requires_grad=True)
        loss = model(x)[0].square().sum()
        (slope,) = lib.autograd.grad(loss, x, create_graph=True)
        slope.square().sum().backward()
        return [p.grad for p in model.parameters()]

    scenario()


def test_some_weights_frozen() -> None:
    @twice
    def scenario(lib: Any) -> Any:
        model = lib.nn.GRU(3, 4)
        model.weight_hh_l0.requires_grad_(False)
        model.bias_ih_l0.requires_grad_(False)
        x = lib.randn(4, 2, 3)
        model(x)[1].sum().backward()
        return [p.grad for p in model.parameters()], x.grad

    scenario()


@twice
def test_only_the_last_state_is_used(lib: Any) -> Any:
    model = lib.nn.LSTM(3, 4, 2)
    x = lib.randn(5, 2, 3, requires_grad=True)
    _, (_, cell) = model(x)
    cell[-1].sum().backward()
    return x.grad, [p.grad for p in model.parameters()]


# -- cells ---------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    "name, settings",
    [("RNNCell", {}), ("RNNCell", {"nonlinearity": "relu"}), ("LSTMCell", {}), ("GRUCell", {})],
)
def test_cells(name: str, settings: dict[str, Any], bias: bool) -> None:
    def scenario(lib: Any) -> Any:
        cell = getattr(lib.nn, name)(3, 4, bias, **settings)
        x = lib.randn(3, 2, 3, requires_grad=True)
        state = None
        for step in x:
            state = cell(step, state)
        single = cell(x[0, 0])
        outs = [*flat(state), *flat(single)]
        sum(out.square().sum() for out in outs).backward()
        grads = [p.grad for p in cell.parameters()]
        return outs, x.grad, grads, dict(cell.state_dict()), repr(cell)

    twice(scenario)()


@twice
def test_cell_functions(lib: Any) -> Any:
    x, h, c = lib.randn(2, 3), lib.randn(2, 4), lib.randn(2, 4)
    results = []
    for name, gates in (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)):
        weights = [lib.randn(gates * 4, size) for size in (3, 4)]
        biases = [lib.randn(gates * 4) for _ in range(2)]
        state = (h, c) if name == "lstm" else h
        cell = getattr(lib, name + "_cell")
        results += [cell(x, state, *weights, *biases), cell(x, state, *weights)]
    return results


# -- the module ----------------------------------------------------------------------------


@twice
def test_names_of_weights(lib: Any) -> Any:
    model = lib.nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2)
    model.flatten_parameters()
    grouped = [[each.shape for each in group] for group in model.all_weights]
    assert model._flat_weights[3] is model.bias_hh_l0
    return grouped, model._flat_weights_names, model._all_weights, model.__constants__


def test_copies_and_pickles() -> None:
    clew.manual_seed(0)
    model = nn.LSTM(3, 4, 2)
    x = clew.randn(5, 2, 3)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert clew.equal(other(x)[0], model(x)[0])
        with clew.no_grad():
            other.weight_hh_l0.zero_()
        assert not clew.equal(other(x)[0], model(x)[0])


def test_state_dict_moves_the_numbers() -> None:
    source, target = nn.GRU(3, 4), nn.GRU(3, 4)
    target.load_state_dict(source.state_dict())
    x = clew.randn(5, 2, 3)
    assert clew.equal(source(x)[0], target(x)[0])


@twice
def test_training_goes_down(lib: Any) -> Any:
    model, last = lib.nn.LSTM(2, 8, 2, dropout=0.1, batch_first=True), lib.nn.Linear(8, 1)
    x = lib.randn(4, 6, 2)
    losses = []
    for _ in range(4):
        loss = (last(model(x)[0]) - x.sum(2, keepdim=True)).square().mean()
        losses.append(loss.detach())
        weights = [*model.parameters(), *last.parameters()]
        grads = lib.autograd.grad(loss, weights)
        with lib.no_grad():
            for weight, grad in zip(weights, grads, strict=True):
                weight -= 0.1 * grad
    return losses


# -- errors --------------------------------------------------------------------------------


@twice
def test_wrong_settings(lib: Any) -> Any:
    n = lib.nn
    return [
        raised(n.LSTM, 3, 4, dropout=2),
        raised(n.LSTM, 3, 4, 2, dropout=True),
        raised(n.LSTM, 3, 4, dropout="a", words=4),
        raised(n.LSTM, 3, 4, num_layers=0),
        raised(n.LSTM, 3, 0),
        raised(n.LSTM, 0, 4),
        raised(n.LSTM, 3, 4.0),
        raised(n.LSTM, 3.0, 4),
        raised(n.LSTM, 3, 4, proj_size=4),
        raised(n.LSTM, 3, 4, proj_size=-1),
        raised(n.GRU, 3, 4, proj_size=2),
        raised(n.RNN, 3, 4, proj_size=2),
        raised(n.RNN, 3, 4, nonlinearity="x"),
        raised(n.modules.rnn.RNNBase, "X", 3, 4),
    ]


@twice
def test_useless_dropout_warns(lib: Any) -> Any:
    return repr(lib.nn.LSTM(3, 4, dropout=0.5))


@twice
def test_wrong_inputs(lib: Any) -> Any:
    seen = []
    for name in ("LSTM", "GRU", "RNN"):
        model = getattr(lib.nn, name)(3, 4, 2)

        def state(*shape: int, pair: bool = name == "LSTM") -> Any:
            zeros = lib.zeros(*shape)
            return (zeros, zeros) if pair else zeros

        x = lib.randn(5, 2, 3)
        seen += [
            raised(model, lib.randn(3), words=10),
            raised(model, lib.randn(1, 5, 2, 3), words=10),
            raised(model, lib.randn(5, 2, 7), words=12),
            raised(model, x.double(), words=9),
            raised(model, lib.randn(0, 2, 3), words=9),
            raised(model, x, state(2, 2, 5), words=9),
            raised(model, x, state(2, 3, 4), words=9),
            raised(model, x, state(2, 4), words=12),
            raised(model, x[:, 0], state(2, 2, 4), words=12),
            raised(model, [1, 2]),
        ]
    lstm = lib.nn.LSTM(3, 4)
    good, x = lib.zeros(1, 2, 4), lib.randn(5, 2, 3)
    seen.append(raised(lstm, x, (good, lib.zeros(1, 2, 5)), words=9))
    seen.append(raised(lstm, x, (good,)))
    return seen


@twice
def test_wrong_packed_inputs(lib: Any) -> Any:
    model = lib.nn.GRU(3, 4)
    pack = lib.nn.utils.rnn.pack_padded_sequence
    packed = pack(lib.randn(5, 2, 3), [5, 3])
    return [
        raised(model, packed, lib.zeros(2, 4)),
        raised(model, packed, lib.zeros(1, 3, 4), words=9),
        raised(model, pack(lib.randn(5, 2, 7), [5, 3]), words=12),
    ]


@twice
def test_wrong_cell_inputs(lib: Any) -> Any:
    seen = []
    for name in ("RNNCell", "LSTMCell", "GRUCell"):
        cell = getattr(lib.nn, name)(3, 4)

        def state(*shape: int, pair: bool = name == "LSTMCell") -> Any:
            zeros = lib.zeros(*shape)
            return (zeros, zeros) if pair else zeros

        x = lib.randn(2, 3)
        seen += [
            raised(cell, lib.randn(1, 2, 3), words=10),
            raised(cell, lib.randn(2, 7), words=8),
            raised(cell, x, state(4), words=9),
            raised(cell, x, state(3, 4), words=9),
            raised(cell, x, state(1, 2, 4), words=10),
            raised(cell, x, state(2, 5), words=8),
            raised(cell, x[0], state(1, 4), words=8),
        ]
    seen.append(raised(lib.nn.RNNCell(3, 4, nonlinearity="x"), lib.randn(2, 3)))
    seen.append(raised(lib.nn.LSTMCell(3, 4), lib.randn(2, 3), lib.randn(2, 2, 4), words=9))
    return seen


@twice
def test_wrong_function_arguments(lib: Any) -> Any:
    lstm, gru = lib.nn.LSTM(3, 4), lib.nn.GRU(3, 4)
    x, h = lib.randn(5, 2, 3), lib.zeros(1, 2, 4)
    rest = (True, 1, 0.0, False, False, False)
    lstm_weights, gru_weights = list(lstm.parameters()), list(gru.parameters())
    return [
        raised(lib.lstm, x, (h,), lstm_weights, *rest),
        raised(lib.gru, x, h, gru_weights[:3], *rest),
        raised(lib.gru, lib.randn(5, 2, 7), h, gru_weights, *rest, words=10),
        raised(lib.gru, x, h[:, :, :3], gru_weights, *rest, words=10),
        raised(lib.gru, x.double(), h, gru_weights, *rest, words=12),
        raised(lib.gru, x, h.double(), gru_weights, *rest, words=12),
        raised(lib.gru, x[:0], h, gru_weights, *rest),
        raised(lib.gru, x, h, gru_weights, True, 2, 0.0, False, False, False),
        raised(lib.lstm_cell, x[0], (h[0],), *lstm_weights),
    ]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("reverse_too", [False, True])
@pytest.mark.parametrize(("batch", "length"), [(5, 7), (64, 3), (4, 1)])
def test_lstm_of_whole_blocks(batch: int, length: int, reverse_too: bool, dtype: str) -> None:
    """Sizes for which all steps are walked by one compiled kernel, forward and backward."""
    results = []
    for lib in (torch, clew):
        lib.manual_seed(0)
        layer = lib.nn.LSTM(
            24, 128, num_layers=2, bidirectional=reverse_too, dtype=getattr(lib, dtype)
        )
        ways = 4 if reverse_too else 2
        x = lib.randn(length, batch, 24, dtype=getattr(lib, dtype)).requires_grad_()
        state = [
            lib.randn(ways, batch, 128, dtype=getattr(lib, dtype)).requires_grad_()
            for _ in range(2)
        ]
        out, last = layer(x, tuple(state))
        ((out * out.cos()).sum() + (last[0] * last[1]).sum()).backward()
        found = [out, *last, x.grad, *(each.grad for each in state)]
        found += [each.grad for each in layer.parameters()]
        results.append([each.detach().numpy() for each in found])
    tolerance = 2e-4 if dtype == "float32" else 1e-10
    for wanted, actual in zip(*results, strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=tolerance, atol=tolerance)
