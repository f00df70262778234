"""Modules that are called with other parameters, compared with PyTorch's functional_call."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.func

import clew
from clew.nn.utils import stateless
from tests.twice import raised, twice


def functional_call(lib: Any) -> Any:
    return torch.func.functional_call if lib is torch else stateless._functional_call


def tied(lib: Any) -> Any:
    class Tied(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = lib.nn.Linear(2, 2, bias=False)
            self.b = lib.nn.Linear(2, 2, bias=False)
            self.b.weight = self.a.weight
            self.register_buffer("scale", lib.ones(2))
            self.extra = lib.zeros(2)

        def forward(self, x: Any, times: Any = 1) -> Any:
            return self.b(self.a(x)) * self.scale * times + self.extra

    return Tied()


@twice
def test_functional_call(lib: Any) -> Any:
    call, model, x = functional_call(lib), tied(lib), lib.ones(1, 2)
    own, buffer, extra = model.a.weight, model.scale, model.extra
    w = lib.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    results = [
        call(model, {"a.weight": w}, (x,)),
        call(model, {"b.weight": w}, x),
        call(model, {"a.weight": w, "b.weight": w}, (x,), {"times": 3}),
        call(model, {"a.weight": w}, kwargs={"x": x}),
        call(model, {"a.weight": w}, (x,), tie_weights=False),
        call(model, {"a.weight": w, "b.weight": w * 2}, (x,), tie_weights=False),
        call(model, {"b.weight": w, "scale": x[0] * 2}, (x,), strict=True),
        call(model, ({"a.weight": w}, {"scale": x[0] * 2}), (x,)),
        call(model, [{"a.weight": w}, {}], (x,)),
        call(model, {"unknown": w, "extra": w[0]}, (x,)),
        call(model, {}, (x,)),
    ]
    sum(result.sum() for result in results).backward()
    untouched = (
        model.a.weight is own and model.b.weight is own and model.scale is buffer
        and model.extra is extra and not hasattr(model, "unknown")
    )  # fmt: skip
    return results, w.grad, own.grad, untouched, list(model.state_dict())


@twice
def test_functional_call_errors(lib: Any) -> Any:
    call, model, x, w = functional_call(lib), tied(lib), lib.ones(1, 2), lib.ones(2, 2)
    names = list(model.state_dict())
    own = list(model.state_dict(keep_vars=True).values())
    failures = [
        raised(call, model, {"a.weight": w, "b.weight": w * 2}, (x,), words=20),
        raised(call, model, {"unknown": w}, (x,), strict=True),
        raised(call, model, {"a.weight": w}, (x,), strict=True),
        raised(call, model, ({"a.weight": w}, {"a.weight": w}), (x,), words=12),
        raised(call, model, ({"a.weight": w}, 3), (x,), words=20),
        raised(call, model, 3, (x,), words=18),
        raised(call, model, {"a.weight": 3}, (x,), words=9),
        raised(call, model, {"scale": x[0], "a": w}, (x,)),
        raised(call, model, {"scale": x[0], "c.weight": w}, (x,)),
        raised(call, model, {"scale": x[0], "training": w}, (x,)),
        raised(call, model, {"scale": x[0], "a.weight.more": w}, (x,), words=3),
        raised(call, model, {"a.weight": w}),
        raised(call, model, {"a.weight": w}, (lib.ones(3),), words=1),
    ]
    same = all(a is b for a, b in zip(own, model.state_dict(keep_vars=True).values(), strict=True))
    return failures, same, names == list(model.state_dict())


@twice
def test_functional_call_lists_unexpected_and_missing_names(lib: Any) -> Any:
    with pytest.raises(RuntimeError) as caught:
        functional_call(lib)(tied(lib), {"unknown": lib.ones(1)}, lib.ones(1, 2), strict=True)
    return str(caught.value).split("\n")[:3]


@twice
def test_functional_call_writes_to_the_given_buffers(lib: Any) -> Any:
    class Counter(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", lib.zeros(1))

        def forward(self, x: Any) -> Any:
            self.count = self.count + 1
            return x + self.count

    counter, given = Counter(), {"count": lib.ones(1)}
    results = [functional_call(lib)(counter, given, lib.ones(1)) for _ in range(2)]
    norm = lib.nn.BatchNorm1d(2)
    buffers = {name: buffer.clone() for name, buffer in norm.named_buffers()}
    functional_call(lib)(norm, buffers, lib.tensor([[1.0, 2.0], [3.0, 7.0]]))
    return results, counter.count, given, buffers, dict(norm.state_dict())


@twice
def test_functional_call_of_special_modules(lib: Any) -> Any:
    """A missing bias can be given, and so can what a parametrization computes from."""
    nn, call = lib.nn, functional_call(lib)
    layer = nn.Linear(2, 2, bias=False)
    given = call(layer, {"bias": nn.Parameter(lib.ones(2))}, lib.ones(1, 2))
    normed = nn.utils.parametrizations.spectral_norm(nn.Linear(2, 2)).eval()
    original = normed.parametrizations.weight.original
    w = lib.tensor([[1.0, 2.0], [0.0, 3.0]], requires_grad=True)
    out = call(normed, {"parametrizations.weight.original": w}, lib.ones(1, 2))
    out.sum().backward()
    same = normed.parametrizations.weight.original is original
    added = call(layer, {"fresh": nn.Parameter(lib.ones(2))}, lib.ones(1, 2))
    return given, layer.bias, out, w.grad, same, added, list(layer.state_dict())


@twice
def test_functional_call_in_its_old_place(lib: Any) -> Any:
    model = tied(lib)
    old = lib.nn.utils.stateless.functional_call
    return old(model, {"a.weight": lib.ones(2, 2)}, lib.ones(1, 2)), raised(
        old, model, {"a.weight": lib.ones(2, 2)}, lib.ones(1, 2), strict=True
    )


def test_errors_of_functional_calls_name_the_line_of_the_user() -> None:
    with pytest.raises(RuntimeError, match=r"test_functional_call\.py"):
        stateless._functional_call(tied(clew), {}, clew.ones(1, 2), strict=True)
