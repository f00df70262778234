"""Anomaly mode: which node is named, when it raises, and what leaves have got until then."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clew
from clew.core.anomaly import has_nan
from tests.twice import raised, twice

NAN, INF = float("nan"), float("inf")
Leaves = list[Any]
Scenario = Callable[[Any, Leaves, list[Any]], Any]


def leaf(
    torch: Any, leaves: Leaves, *shape: int, value: float = 1.0, dtype: str = "float32"
) -> Any:
    made = torch.full(shape, value, dtype=getattr(torch, dtype), requires_grad=True)
    leaves.append(made)
    return made


def root_of_zero(torch: Any, leaves: Leaves, log: list[Any]) -> None:
    (leaf(torch, leaves, 3, value=0.0).sqrt() * 0).sum().backward()


def masked_afterwards(torch: Any, leaves: Leaves, log: list[Any]) -> None:
    x, w = leaf(torch, leaves, 3, value=0.0), leaf(torch, leaves, 3)
    a = x * w
    torch.where(a > 1, a.sqrt() * 0, a * 2).sum().backward()


def leaves_before_and_after(torch: Any, leaves: Leaves, log: list[Any]) -> None:
    x, w, b = leaf(torch, leaves, 3, value=0.0), leaf(torch, leaves, 3), leaf(torch, leaves, 3)
    (((x * w).sqrt() * 0) * w + b).sum().backward()


def given_to_a_sum(torch: Any, leaves: Leaves, log: list[Any]) -> None:
    (leaf(torch, leaves, 3) + leaf(torch, leaves, 3)).backward(torch.tensor([NAN, 1, 1]))


def given_to_a_view(torch: Any, leaves: Leaves, log: list[Any]) -> None:
    leaf(torch, leaves, 2, 3).t().backward(torch.full((3, 2), NAN))


def opposite_infinities(torch: Any, leaves: Leaves, log: list[Any]) -> None:
    h = leaf(torch, leaves, 3).exp()
    given = [torch.full((3,), INF), torch.full((3,), -INF)]
    torch.autograd.backward([h * 1, h.view(3)], given)


def opposite_infinities_at_a_view(torch: Any, leaves: Leaves, log: list[Any]) -> None:
    h = leaf(torch, leaves, 3, 1).exp().t()
    given = [torch.full((1, 3), INF), torch.full((1, 3), -INF)]
    torch.autograd.backward([h * 1, h * 1], given)


def opposite_infinities_at_a_leaf(torch: Any, leaves: Leaves, log: list[Any]) -> None:
    x = leaf(torch, leaves, 3)
    torch.autograd.backward([x * 1, x * 1], [torch.full((3,), INF), torch.full((3,), -INF)])


def from_a_tensor_hook(torch: Any, leaves: Leaves, log: list[Any]) -> None:
    h = leaf(torch, leaves, 3) * 2
    h.register_hook(lambda g: g * NAN)
    (h + 1).sum().backward()


def from_a_node_hook(torch: Any, leaves: Leaves, log: list[Any]) -> None:
    y = leaf(torch, leaves, 3, 1).view(3) + 1
    y.grad_fn.register_hook(lambda gi, go: tuple(None if g is None else g * NAN for g in gi))
    y.sum().backward()


def hooks_afterwards(torch: Any, leaves: Leaves, log: list[Any]) -> None:
    x, w = leaf(torch, leaves, 3, value=0.0), leaf(torch, leaves, 3)
    h = x * 1
    h.register_hook(lambda g: log.append("h"))
    x.register_hook(lambda g: log.append("x"))
    w.register_hook(lambda g: log.append("w"))
    ((h.sqrt() * 0) * w).sum().backward()


def second_gradient(torch: Any, leaves: Leaves, log: list[Any]) -> None:
    x = leaf(torch, leaves, 3, value=0.0, dtype="float64")
    (g,) = torch.autograd.grad((x.abs() ** 1.5).sum(), x, create_graph=True)
    g.sum().backward()


def asked_for(torch: Any, leaves: Leaves, log: list[Any]) -> None:
    x = leaf(torch, leaves, 3, value=0.0)
    torch.autograd.grad((x.sqrt() * 0).sum(), x)


def shared_memory(torch: Any, leaves: Leaves, log: list[Any]) -> None:
    x = leaf(torch, leaves, 300, 300, value=0.0)
    x.sum().backward()
    (x.sqrt() * 0).sum().backward()


def low_precision(torch: Any, leaves: Leaves, log: list[Any]) -> None:
    x = leaf(torch, leaves, 3, value=0.0, dtype="bfloat16")
    (x.sqrt() * 0).sum().backward()


def infinite_complex(torch: Any, leaves: Leaves, log: list[Any]) -> None:
    x = leaf(torch, leaves, 2, dtype="complex64")
    torch.view_as_real(x).backward(torch.full((2, 2), INF))


def wide_layers(torch: Any, leaves: Leaves, log: list[Any], grads: bool = False) -> None:
    """The second layer's weight gets a NaN; its product may be made by another thread."""
    layers = [torch.nn.Linear(256, 256) for _ in range(3)]
    for layer in layers:
        for p in (layer.weight, layer.bias):
            with torch.no_grad():
                p.fill_(0.001)
            p.grad = torch.ones_like(p) if grads and p.dim() == 1 else None
            leaves.append(p)
    spoilt = torch.zeros(64, 256)
    spoilt[3, 4] = NAN
    h = layers[1](layers[0](torch.ones(64, 256)).relu() + spoilt)
    layers[2](torch.where(torch.isnan(h), torch.zeros_like(h), h)).sum().backward()


def wide_layers_that_have_gradients(torch: Any, leaves: Leaves, log: list[Any]) -> None:
    wide_layers(torch, leaves, log, grads=True)


SCENARIOS: list[Scenario] = [
    root_of_zero, masked_afterwards, leaves_before_and_after, given_to_a_sum, given_to_a_view,
    opposite_infinities, opposite_infinities_at_a_view, opposite_infinities_at_a_leaf,
    from_a_tensor_hook, from_a_node_hook, hooks_afterwards, second_gradient, asked_for,
    shared_memory, low_precision, infinite_complex, wide_layers, wide_layers_that_have_gradients,
]  # fmt: skip


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
def test_as_pytorch(scenario: Scenario) -> None:
    @twice
    def both(torch: Any) -> Any:
        leaves: Leaves = []
        log: list[Any] = []
        with torch.autograd.set_detect_anomaly(True):
            error = raised(scenario, torch, leaves, log, words=9)
        return error, log, [x.grad for x in leaves]

    both()


def test_the_module_and_the_line_are_named() -> None:
    model = clew.nn.Sequential(clew.nn.Linear(2, 2), clew.nn.ReLU())
    model[1].register_forward_hook(lambda module, args, out: (out * 0).sqrt() * 0)
    with (
        clew.autograd.detect_anomaly(),
        pytest.raises(
            RuntimeError, match="'SqrtBackward0' returned nan values in its 0th"
        ) as found,
    ):
        model(clew.ones(4, 2)).sum().backward()
    assert re.search(r"test_anomaly\.py:\d+: .*sqrt\(\)", str(found.value))
    assert "in module" in str(found.value)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.complex64])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (100, 80), (0, 4)])
def test_what_has_a_nan(dtype: Any, shape: tuple[int, ...]) -> None:
    """Infinities and numbers whose squares overflow are none; one element anywhere is one."""
    values = np.full(shape, 1e30).astype(dtype)
    if values.size > 1:
        values.flat[0], values.flat[-1] = INF, -INF
    for array in (values, values.T, values[..., ::2] if shape else values):
        assert not has_nan(array)
    for place in range(0, values.size, 37):
        spoilt = values.copy()
        spoilt.flat[place] = NAN
        assert has_nan(spoilt) and has_nan(spoilt.T)
        assert has_nan(np.broadcast_to(spoilt, (70, *shape)))


@pytest.mark.parametrize("check_nan", [True, False])
def test_gradients_are_those_without_it(check_nan: bool) -> None:
    def gradients() -> list[Any]:
        clew.manual_seed(0)
        model = clew.nn.Sequential(
            clew.nn.Linear(6, 64), clew.nn.GELU(), clew.nn.LayerNorm(64), clew.nn.Linear(64, 3)
        )
        clew.nn.functional.cross_entropy(model(clew.randn(32, 6)), clew.arange(32) % 3).backward()
        return [p.grad.numpy().tobytes() for p in model.parameters()]

    plain = gradients()
    with clew.autograd.detect_anomaly(check_nan):
        assert gradients() == plain
