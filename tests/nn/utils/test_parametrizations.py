"""nn.utils.parametrizations, compared with PyTorch's: orthogonal, weight norm, spectral norm."""

from __future__ import annotations

from typing import Any

import pytest

from tests.trained_layers import LAYERS, names, three_steps
from tests.twice import raised, twice

# ---------------------------------------------------------------- orthogonal

SIZES = [(3, 3), (4, 2), (2, 4), (2, 3, 3), (2, 4, 2), (1, 1)]


def holder(lib: Any, shape: Any, dtype: str = "float64") -> Any:
    module = lib.nn.Module()
    module.weight = lib.nn.Parameter(lib.randn(*shape, dtype=getattr(lib, dtype)))
    return module


@pytest.mark.parametrize("trivialized", [True, False])
@pytest.mark.parametrize("kind", ["matrix_exp", "cayley", "householder", None])
@pytest.mark.parametrize("shape", SIZES)
def test_orthogonal(shape: Any, kind: Any, trivialized: bool) -> None:
    def scenario(lib: Any) -> Any:
        make = lib.nn.utils.parametrizations.orthogonal
        module = holder(lib, shape)
        assert make(module, "weight", kind, use_trivialization=trivialized) is module
        weight = module.weight
        (weight * lib.randn(*shape, dtype=lib.float64)).sum().backward()
        original = module.parametrizations.weight.original
        first = weight, original.grad, dict(module.state_dict())
        with lib.no_grad():
            original -= 0.1 * original.grad
            Q = module.weight
            tall = Q if Q.shape[-2] >= Q.shape[-1] else Q.mT
            identity = lib.eye(tall.shape[-1], dtype=lib.float64)
            orthogonal = lib.allclose(tall.mT @ tall, identity.expand(tall.mT.shape[:-1] + (-1,)))
        return first, Q, orthogonal, repr(module)

    twice(scenario)()


@pytest.mark.parametrize("kind", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", SIZES)
def test_orthogonal_can_be_assigned(shape: Any, kind: str) -> None:
    def scenario(lib: Any) -> Any:
        module = holder(lib, shape)
        lib.nn.utils.parametrizations.orthogonal(module, "weight", kind)
        value = lib.nn.init.orthogonal_(lib.empty(shape[-2:], dtype=lib.float64)).expand(shape)
        module.weight = value
        seen = lib.allclose(module.weight, value), module.weight
        module.weight = lib.randn(*shape, dtype=lib.float64)
        return seen, module.weight, dict(module.state_dict())

    twice(scenario)()


@pytest.mark.parametrize("shape", SIZES)
def test_householder_without_trivialization_can_be_assigned(shape: Any) -> None:
    def scenario(lib: Any) -> Any:
        module = holder(lib, shape)
        lib.nn.utils.parametrizations.orthogonal(
            module, "weight", "householder", use_trivialization=False
        )
        value = lib.nn.init.orthogonal_(lib.empty(shape[-2:], dtype=lib.float64)).expand(shape)
        module.weight = value
        return module.weight, lib.allclose(module.weight, value), module.state_dict()

    twice(scenario)()


@pytest.mark.parametrize("kind", ["matrix_exp", "cayley", None])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_unitary(shape: Any, kind: Any) -> None:
    def scenario(lib: Any) -> Any:
        module = holder(lib, shape, "complex128")
        lib.nn.utils.parametrizations.orthogonal(module, "weight", kind)
        module.weight.real.sum().backward()
        return module.weight, module.parametrizations.weight.original.grad

    twice(scenario)()


@twice
def test_orthogonal_layers_and_errors(lib: Any) -> Any:
    nn, make = lib.nn, lib.nn.utils.parametrizations.orthogonal
    layer = make(nn.Linear(3, 3))
    fixed = make(nn.Linear(3, 3), use_trivialization=False)
    complex_layer = nn.Linear(3, 2, dtype=lib.complex64)
    return (
        layer(lib.ones(1, 3)), names(layer), names(fixed), fixed.weight,
        raised(make, nn.Linear(2, 3), "scale", words=15),
        raised(make, nn.Linear(2, 3), "bias", words=15),
        raised(make, nn.Linear(2, 3), "weight", "polar", words=12),
        raised(make, complex_layer, "weight", "householder", words=12),
        raised(setattr, layer, "weight", lib.eye(2), words=20),
        raised(setattr, fixed, "weight", lib.eye(3), words=12),
    )  # fmt: skip


# ---------------------------------------------------------------- weight and spectral norm


@pytest.mark.parametrize("dim", [0, 1, -1, None])
@pytest.mark.parametrize("kind", ["linear", "conv2d", "transposed"])
def test_weight_norm(kind: str, dim: Any) -> None:
    def scenario(lib: Any) -> Any:
        make, shape = LAYERS[kind]
        layer = lib.nn.utils.parametrizations.weight_norm(make(lib.nn), dim=dim)
        steps = three_steps(lib, layer, shape)
        layer.weight = layer.weight * 2
        lib.nn.utils.parametrize.remove_parametrizations(layer, "weight")
        return steps, layer(lib.ones(*shape)), names(layer)

    twice(scenario)()


@twice
def test_weight_norm_loads_what_the_hook_has_saved(lib: Any) -> Any:
    nn = lib.nn
    old = nn.Sequential(nn.utils.weight_norm(nn.Linear(3, 2)))
    new = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(3, 2)))
    message = repr(new.load_state_dict(old.state_dict()))
    return (
        message,
        new(lib.ones(1, 3)),
        old(lib.ones(1, 3)),
        raised(nn.utils.parametrizations.weight_norm, nn.Linear(3, 2), "scale", words=20),
    )


@pytest.mark.parametrize("options", [{}, {"n_power_iterations": 3}, {"dim": -1, "eps": 1e-3}])
@pytest.mark.parametrize("kind", ["linear", "conv2d", "transposed"])
def test_spectral_norm(kind: str, options: dict[str, Any]) -> None:
    def scenario(lib: Any) -> Any:
        make, shape = LAYERS[kind]
        layer = lib.nn.utils.parametrizations.spectral_norm(make(lib.nn), **options)
        steps = three_steps(lib, layer, shape)
        layer.weight = layer.weight * 2
        assigned = layer.weight
        lib.nn.utils.parametrize.remove_parametrizations(layer, "weight")
        return steps, assigned, layer(lib.ones(*shape)), names(layer)

    twice(scenario)()


@twice
def test_spectral_norm_of_vectors_and_errors(lib: Any) -> Any:
    nn, make = lib.nn, lib.nn.utils.parametrizations.spectral_norm
    layer = make(nn.Linear(3, 2), "bias")
    complex_layer = make(nn.Linear(3, 2, dtype=lib.complex64))
    return (
        names(layer), layer.bias, complex_layer.weight,
        raised(make, nn.Linear(3, 2), "scale", words=15),
        raised(make, nn.Linear(3, 2), dim=2, words=15),
        raised(make, nn.Linear(3, 2), dim=-3, words=15),
        raised(make, nn.Linear(3, 2), n_power_iterations=0, words=9),
    )  # fmt: skip
