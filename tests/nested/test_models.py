"""Models over nested tensors as programs build them, with both libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import clew
from tests.oracle import assert_same
from tests.twice import outcome, raised, twice

LENGTHS = (5, 2, 7, 1)


def encoder_layer(m: Any, width: int, heads: int) -> Any:
    """A layer of a transformer with attention within components."""
    nn, F = m.nn, m.nn.functional

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
            self.out = nn.Linear(width, width)
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.net = nn.Sequential(
                nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(0.0), nn.Linear(2 * width, width)
            )

        def forward(self, x: Any) -> Any:
            y = self.norm1(x)
            q, k, v = (
                part(y).unflatten(-1, [heads, width // heads]).transpose(1, 2)
                for part in (self.q, self.k, self.v)
            )
            attended = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(-2)
            x = x + self.out(attended)
            return x + self.net(self.norm2(x))

    return Layer()


def indices(m: Any) -> Any:
    numbers = np.random.default_rng(0)
    rows = [m.tensor(numbers.integers(0, 20, n)) for n in LENGTHS]
    return m.nested.nested_tensor(rows, layout=m.jagged)


@twice
def test_a_transformer_trains(m: Any) -> Any:
    model = m.nn.Sequential(
        m.nn.Embedding(20, 8), encoder_layer(m, 8, 2), encoder_layer(m, 8, 2), m.nn.Linear(8, 3)
    ).double()
    optimizer = m.optim.AdamW(model.parameters(), lr=1e-2)
    ids, losses = indices(m), []
    for _ in range(3):
        optimizer.zero_grad()
        out = model(ids)
        loss = m.nn.functional.cross_entropy(out.values(), m.arange(15) % 3)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [each.grad for each in model.parameters()], list(out.unbind())


def test_a_packed_projection_and_pooling_train() -> None:
    """PyTorch has no CPU kernel for either: a padded model gives the same numbers."""
    clew.manual_seed(0)
    project, head = clew.nn.Linear(8, 24).double(), clew.nn.Linear(8, 3).double()
    rows = [clew.randn(n, 8, dtype=clew.float64) for n in LENGTHS]

    def attend(x: Any, along: int) -> Any:
        q, k, v = (
            part.unflatten(-1, [2, 4]).transpose(along, along + 1)
            for part in project(x).chunk(3, -1)
        )
        F = clew.nn.functional
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return head(out.transpose(along, along + 1).flatten(-2)).mean(along)

    nested = attend(clew.nested.nested_tensor(rows, layout=clew.jagged), 1)
    nested.sin().sum().backward()
    grads = [each.grad for each in project.parameters()]
    project.zero_grad()
    one_by_one = clew.stack([attend(row, 0) for row in rows])
    one_by_one.sin().sum().backward()
    assert clew.allclose(nested, one_by_one)
    for found, wanted in zip(grads, project.parameters(), strict=True):
        assert clew.allclose(found, wanted.grad)


@twice
def test_attention_over_caches_with_room(m: Any) -> Any:
    """Keys and values are ranges of a cache; queries have lengths of their own."""
    numbers = np.random.default_rng(1)
    cache = [m.tensor(numbers.normal(size=(3, 6, 2, 8))) for _ in range(2)]
    lengths = m.tensor([4, 1, 6])
    key, value = (
        m.nested.narrow(each, 1, 0, lengths, layout=m.jagged).transpose(1, 2) for each in cache
    )
    found = [each.shape[0] for each in (key, value)], key.lengths(), key.is_contiguous()
    return *found, [list(each.unbind()) for each in (key, value)]


def outcomes_of_layers(m: Any) -> Any:
    """What the layers that PyTorch runs on nested tensors in its fast path give."""
    nn = m.nn
    numbers = np.random.default_rng(2)
    rows = [m.tensor(numbers.normal(size=(n, 8))) for n in (3, 2)]
    s, j = m.nested.nested_tensor(rows), m.nested.nested_tensor(rows, layout=m.jagged)
    attention = nn.MultiheadAttention(8, 2, batch_first=True).double().eval()
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0).double().eval()
    first = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True).double().eval()
    encoder = nn.TransformerEncoder(layer, 2).eval()
    mask = m.tensor([[0, 0, 0, 1], [0, 1, 1, 1], [0, 0, 0, 0]]).bool()
    padded = m.tensor(numbers.normal(size=(3, 4, 8)))

    def parts(value: Any) -> Any:
        if isinstance(value, tuple):
            return [parts(each) for each in value]
        return list(value.unbind()) if getattr(value, "is_nested", False) else value

    found = []
    with m.no_grad():
        for run in (
            lambda: layer(s), lambda: encoder(s), lambda: first(s), lambda: attention(s, s, s),
            lambda: attention(s, s, s, need_weights=False), lambda: attention(s, s, s * 2),
            lambda: layer(s, src_key_padding_mask=m.zeros(2, 3).bool()),
            lambda: layer(s, src_mask=m.zeros(3, 3)), lambda: attention(j, j, j),
            lambda: layer(j), lambda: encoder(padded, src_key_padding_mask=mask),
            lambda: nn.MultiheadAttention(8, 2).double().eval()(s, s, s),
            lambda: nn.TransformerDecoderLayer(8, 2, 16, batch_first=True).double().eval()(s, s),
        ):  # fmt: skip
            found.append(parts(outcome(run, words=20)))
    found.append(raised(attention, s, s, s, words=20))
    found.append(raised(layer.train(), s, words=20))
    return found


test_layers_in_the_fast_path = pytest.mark.filterwarnings(
    "ignore:The PyTorch API of nested tensors"
)(twice(outcomes_of_layers))


def test_what_autocast_and_parameters_do() -> None:
    x = clew.nested.nested_tensor([clew.ones(2, 3)], layout=clew.jagged)
    with clew.autocast("cpu", dtype=clew.bfloat16):
        assert clew.nn.functional.linear(x, clew.ones(4, 3)).dtype is clew.bfloat16
    parameter = clew.nn.Parameter(x)
    assert isinstance(parameter, clew.nn.Parameter) and parameter.is_nested
    module = clew.nn.Module()
    module.weight = parameter
    assert [name for name, _ in module.named_parameters()] == ["weight"]


@pytest.mark.parametrize("name", ["SGD", "AdamW"])
def test_a_nested_leaf_is_optimized_as_its_values(name: str) -> None:
    """PyTorch has this for SGD; its values are those of a strided tensor."""
    rows = [clew.arange(6.0).reshape(3, 2), clew.ones(1, 2)]
    leaf = clew.nested.nested_tensor(rows, layout=clew.jagged, requires_grad=True)
    plain = leaf.detach().values().clone().requires_grad_()
    kind = getattr(clew.optim, name)
    optimizers = [kind([each], lr=0.1, weight_decay=0.1) for each in (leaf, plain)]
    for _ in range(3):
        for optimizer, each in zip(optimizers, (leaf, plain), strict=True):
            optimizer.zero_grad()
            (each**2).sum().backward()
            optimizer.step()
    assert clew.equal(leaf.detach().values(), plain)


@twice
def test_sgd_on_a_nested_leaf(m: Any) -> Any:
    leaf = m.nested.nested_tensor([m.ones(3, 2), m.ones(1, 2)], layout=m.jagged, requires_grad=True)
    optimizer = m.optim.SGD([leaf], lr=0.1, foreach=False)
    (leaf * 2).sum().backward()
    optimizer.step()
    return leaf.detach().values()


def test_compiled_functions_run_eagerly_and_say_so() -> None:
    compiled = clew.compile(lambda x: (x * 2).sin())
    x = clew.nested.nested_tensor([clew.ones(3, 2)], layout=clew.jagged, requires_grad=True)
    for _ in range(2):
        out = compiled(x)
    assert clew.equal(out.values(), (x.values() * 2).sin())
    out.values().sum().backward()
    assert x.grad.shape == x.shape
    assert "layout is not strided" in str(compiled.explain())


def test_per_component_results_of_causal_attention() -> None:
    """PyTorch has no CPU kernel for it: it is compared component by component."""
    numbers = np.random.default_rng(3)
    arrays = [numbers.normal(size=(2, n, 4)) for n in LENGTHS]
    rows = [clew.tensor(each.transpose(1, 0, 2).copy()) for each in arrays]
    x = clew.nested.nested_tensor(rows, layout=clew.jagged).transpose(1, 2)
    found = clew.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)
    for each, array in zip(found.unbind(), arrays, strict=True):
        own = torch.tensor(array)
        wanted = torch.nn.functional.scaled_dot_product_attention(own, own, own, is_causal=True)
        assert_same(each, wanted, rtol=1e-9)


@twice
def test_what_stands_around_layers(m: Any) -> Any:
    """Checkpoints, custom functions, hooks, modes, casts of modules, tensors without rows."""
    linear = m.nn.Linear(4, 4).double()
    with m.no_grad():
        for parameter in linear.parameters():
            parameter.fill_(0.3)

    class Square(m.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x * g

    class Mode(m.overrides.TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return func(*args, **(kwargs or {}))

    def leaf() -> Any:
        rows = [m.arange(n * 4.0, dtype=m.float64).reshape(n, 4) for n in (3, 0, 1)]
        return m.nested.nested_tensor(rows, layout=m.jagged, requires_grad=True)

    def around(run: Any) -> Any:
        x = leaf()
        run(x).sum().backward()
        return x.grad.values()

    def in_mode(x: Any) -> Any:
        with Mode():
            return (x * 2).sin()

    def with_hooks(x: Any) -> Any:
        with m.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            return (x * x).sin()

    checkpoint = m.utils.checkpoint.checkpoint
    found = [
        around(lambda x: checkpoint(lambda x: linear(x).relu(), x, use_reentrant=False)),
        around(lambda x: checkpoint(lambda x: linear(x).relu(), x, use_reentrant=True)),
        around(Square.apply), around(in_mode), around(with_hooks),
        leaf().sum(1), leaf().mean(1), leaf().detach().softmax(1).values(),
    ]  # fmt: skip
    module = m.nn.Module()
    module.weight = m.nn.Parameter(leaf().detach())
    module.register_buffer("constant", leaf().detach())
    module.float()
    found += [module.weight.dtype, module.constant.dtype, list(module.state_dict())]
    found.append(m.utils.data.default_collate([m.ones(2)]).shape)
    found.append(raised(m.utils.data.default_collate, [leaf(), leaf()]))
    return found


@twice
def test_layers_of_another_size_say_so(lib: Any) -> Any:
    parts = [lib.ones(2, 3), lib.ones(4, 3)]
    nested = lib.nested.nested_tensor(parts, layout=lib.jagged)
    return [
        raised(lib.nn.Linear(4, 2), nested, words=9),
        raised(lib.nn.Sequential(lib.nn.Linear(3, 2), lib.nn.Linear(4, 2)), nested, words=9),
        raised(lib.nn.Linear(4, 2), lib.eye(3).to_sparse(), words=4),
    ]
