"""weight_norm and spectral_norm by hooks, compared with PyTorch's."""

from __future__ import annotations

import copy
import sys
from typing import Any

import pytest

import clew
from tests.trained_layers import LAYERS, three_steps
from tests.twice import raised, twice


def module_of(lib: Any, name: str) -> Any:
    """A submodule of nn.utils whose name a function of the same name hides."""
    return sys.modules[f"{lib.__name__}.nn.utils.{name}"]


@pytest.mark.parametrize("dim", [0, 1, -1, None, -2])
@pytest.mark.parametrize("kind", LAYERS)
def test_weight_norm(kind: str, dim: Any) -> None:
    def scenario(lib: Any) -> Any:
        make, shape = LAYERS[kind]
        layer = lib.nn.utils.weight_norm(make(lib.nn), dim=dim)
        steps = three_steps(lib, layer, shape)
        before = layer(lib.ones(*shape))
        removed = lib.nn.utils.remove_weight_norm(layer)
        same = lib.allclose(before, layer(lib.ones(*shape)), atol=1e-6)
        return steps, removed is layer, list(layer.state_dict()), same, layer.weight

    twice(scenario)()


@twice
def test_weight_norm_of_other_parameters(lib: Any) -> Any:
    nn = lib.nn
    layer = nn.utils.weight_norm(nn.utils.weight_norm(nn.Linear(3, 2)), "bias")
    out = layer(lib.ones(1, 3))
    out.sum().backward()
    recurrent = nn.utils.weight_norm(nn.LSTM(3, 2), "weight_hh_l0")
    result = recurrent(lib.ones(4, 1, 3))[0]
    result.sum().backward()
    recurrent.weight_hh_l0_g.data.mul_(2)
    again = recurrent(lib.ones(4, 1, 3))[0]
    grads = {name: p.grad for name, p in recurrent.named_parameters()}
    nn.utils.remove_weight_norm(recurrent, "weight_hh_l0")
    return out, [p.grad for p in layer.parameters()], list(layer.state_dict()), result, grads, (
        again, recurrent(lib.ones(4, 1, 3))[0], sorted(recurrent.state_dict())
    )  # fmt: skip


@twice
def test_weight_norm_errors(lib: Any) -> Any:
    nn = lib.nn
    norm, layer = nn.utils.weight_norm, nn.utils.weight_norm(nn.Linear(2, 3))
    return (
        raised(norm, layer, words=20),
        raised(norm, nn.Linear(2, 3), "scale"),
        raised(norm, nn.Linear(2, 3, bias=False), "bias"),
        raised(norm, nn.LazyLinear(3), words=20),
        raised(norm, nn.Linear(2, 3), dim=5),
        raised(nn.utils.remove_weight_norm, nn.Linear(2, 3)),
        [type(hook).__name__ for hook in layer._forward_pre_hooks.values()],
    )


@pytest.mark.parametrize("options", [{}, {"n_power_iterations": 3}, {"dim": 1, "eps": 1e-3}])
@pytest.mark.parametrize("kind", LAYERS)
def test_spectral_norm(kind: str, options: dict[str, Any]) -> None:
    def scenario(lib: Any) -> Any:
        make, shape = LAYERS[kind]
        layer = lib.nn.utils.spectral_norm(make(lib.nn), **options)
        steps = three_steps(lib, layer, shape)
        metadata = dict(layer.state_dict()._metadata)
        before = layer(lib.ones(*shape))
        removed = lib.nn.utils.remove_spectral_norm(layer)
        same = lib.allclose(before, layer(lib.ones(*shape)), atol=1e-6)
        hooks = len(layer._state_dict_hooks), len(layer._forward_pre_hooks)
        return steps, metadata, removed is layer, list(layer.state_dict()), same, hooks

    twice(scenario)()


@twice
def test_spectral_norm_errors(lib: Any) -> Any:
    nn = lib.nn
    norm, layer = nn.utils.spectral_norm, nn.utils.spectral_norm(nn.Linear(2, 3))
    hook = module_of(lib, "spectral_norm").SpectralNormStateDictHook(
        next(iter(layer._forward_pre_hooks.values()))
    )
    layer._register_state_dict_hook(hook)
    return (
        raised(norm, layer, words=20),
        raised(layer.state_dict),
        raised(norm, nn.Linear(2, 3), n_power_iterations=0),
        raised(norm, nn.Linear(2, 3), "scale"),
        raised(norm, nn.Linear(2, 3, bias=False), "bias", words=20),
        raised(norm, nn.LazyLinear(3), words=20),
        raised(nn.utils.remove_spectral_norm, nn.Linear(2, 3)),
    )


@twice
def test_spectral_norm_state_dicts(lib: Any) -> Any:
    """Also those of the first version, which had the normalized weight and no second vector."""
    nn = lib.nn
    layer = nn.utils.spectral_norm(nn.Linear(3, 5))
    layer(lib.randn(2, 3))
    layer(lib.randn(2, 3))
    present = copy.deepcopy(dict(layer.state_dict()))
    target = nn.utils.spectral_norm(nn.Linear(3, 5))
    target.load_state_dict(layer.state_dict())
    results = [target.eval()(lib.ones(1, 3))]
    target = nn.utils.spectral_norm(nn.Linear(3, 5))
    results += [repr(target.load_state_dict(present)), target.eval()(lib.ones(1, 3))]
    old = {name: tensor for name, tensor in present.items() if name != "weight_v"}
    old["weight"] = layer.weight.detach().clone()
    target = nn.utils.spectral_norm(nn.Linear(3, 5))
    results += [repr(target.load_state_dict(old)), target.eval()(lib.ones(1, 3))]
    results += [target.weight_v, sorted(old)]
    del old["weight"]
    return results, raised(target.load_state_dict, old), target.load_state_dict(old, strict=False)


def test_a_layer_loads_as_an_ordinary_one_after_removal() -> None:
    layer = clew.nn.utils.remove_spectral_norm(clew.nn.utils.spectral_norm(clew.nn.Linear(3, 2)))
    other = clew.nn.Linear(3, 2)
    layer.load_state_dict(dict(other.state_dict()))
    assert clew.equal(layer.weight, other.weight)
