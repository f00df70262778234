"""Initial values: the same seed gives PyTorch's numbers, warnings and errors."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import torch

import clew
import clew.nn.init
from tests.twice import raised, twice

SHAPES = {
    "vector": (7,),
    "matrix": (5, 3),
    "wide": (3, 40),
    "tall": (33, 20),
    "conv1d": (4, 3, 5),
    "conv2d": (6, 3, 4, 3),
    "conv3d": (2, 2, 3, 2, 3),
}
MATRICES = ("matrix", "wide", "tall")
WEIGHTS = (*MATRICES, "conv1d", "conv2d", "conv3d")

# Function, arguments, shapes, whether it takes a generator.
CASES: list[tuple[str, dict[str, Any], tuple[str, ...], bool]] = [
    ("uniform_", {}, ("vector", *WEIGHTS), True),
    ("uniform_", {"a": -3.0, "b": 0.5}, ("vector", "tall"), True),
    ("normal_", {}, ("vector", *WEIGHTS), True),
    ("normal_", {"mean": 2.0, "std": 0.1}, ("vector", "tall"), True),
    ("trunc_normal_", {}, ("vector", *WEIGHTS), True),
    ("trunc_normal_", {"mean": 0.3, "std": 0.5, "a": -0.2, "b": 0.9}, ("tall",), True),
    ("trunc_normal_", {"mean": 30.0, "std": 2.0}, ("tall",), True),
    ("trunc_normal_", {"a": 1.0, "b": 3.0}, ("tall",), True),
    ("trunc_normal_", {"a": -0.1, "b": 0.1}, ("tall",), True),
    ("constant_", {"val": 0.3}, ("vector", "conv2d"), False),
    ("ones_", {}, ("vector", "conv2d"), False),
    ("zeros_", {}, ("vector", "conv2d"), False),
    ("eye_", {}, (*MATRICES,), False),
    ("dirac_", {}, ("conv1d", "conv2d", "conv3d"), False),
    ("dirac_", {"groups": 2}, ("conv1d", "conv2d", "conv3d"), False),
    ("xavier_uniform_", {}, WEIGHTS, True),
    ("xavier_uniform_", {"gain": 1.7}, ("matrix",), True),
    ("xavier_normal_", {}, WEIGHTS, True),
    ("xavier_normal_", {"gain": 0.2}, ("matrix",), True),
    ("kaiming_uniform_", {}, WEIGHTS, True),
    ("kaiming_uniform_", {"a": 5**0.5}, WEIGHTS, True),
    ("kaiming_uniform_", {"mode": "fan_out", "nonlinearity": "relu"}, WEIGHTS, True),
    ("kaiming_normal_", {}, WEIGHTS, True),
    ("kaiming_normal_", {"a": 1, "mode": "FAN_OUT"}, WEIGHTS, True),
    ("kaiming_normal_", {"mode": "fan_out", "nonlinearity": "tanh"}, WEIGHTS, True),
    ("sparse_", {"sparsity": 0.4}, MATRICES, True),
    ("sparse_", {"sparsity": 0.1, "std": 2.0}, MATRICES, True),
]


@pytest.mark.filterwarnings("ignore:mean is more than 2 std")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("given_generator", [False, True])
@pytest.mark.parametrize(
    ("name", "kwargs", "shapes", "random"), CASES, ids=[f"{c[0]}{c[1] or ''}" for c in CASES]
)
def test_numbers(
    name: str,
    kwargs: dict[str, Any],
    shapes: tuple[str, ...],
    random: bool,
    given_generator: bool,
    dtype: str,
) -> None:
    if given_generator and not random:
        with pytest.raises(TypeError):
            getattr(clew.nn.init, name)(clew.zeros(3, 3, 3), **kwargs, generator=clew.Generator())
        return
    results = []
    for module in (torch, clew):
        module.manual_seed(3)
        extra = {"generator": module.Generator().manual_seed(5)} if given_generator else {}
        filled = []
        for shape in shapes:
            leaf = module.zeros(SHAPES[shape], dtype=getattr(module, dtype), requires_grad=True)
            returned = getattr(module.nn.init, name)(leaf, **kwargs, **extra)
            assert returned is leaf
            assert leaf.is_leaf
            assert leaf.requires_grad
            filled.append(leaf.detach().numpy())
        # The streams stand at the same place afterwards.
        filled.append(module.rand(3).numpy())
        results.append(filled)
    for expected, actual in zip(*results, strict=True):
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("shape", [*WEIGHTS, "square"])
@pytest.mark.parametrize("gain", [1, 1.5])
def test_orthogonal(shape: str, gain: float) -> None:
    results = []
    for module in (torch, clew):
        generator = module.Generator().manual_seed(5)
        weight = module.empty(SHAPES.get(shape, (9, 9)), dtype=module.float64, requires_grad=True)
        assert module.nn.init.orthogonal_(weight, gain, generator=generator) is weight
        results.append(weight.detach().numpy())
    np.testing.assert_allclose(results[1], results[0], rtol=1e-10, atol=1e-12)
    flat = results[1].reshape(results[1].shape[0], -1)
    product = flat @ flat.T if flat.shape[0] <= flat.shape[1] else flat.T @ flat
    np.testing.assert_allclose(product, gain**2 * np.eye(len(product)), atol=1e-12)


@twice
def test_orthogonal_float32_uses_the_stream_alike(module: Any) -> Any:
    return module.nn.init.orthogonal_(module.empty(6, 17)), module.rand(3)


@twice
def test_memory_that_is_not_contiguous(module: Any) -> Any:
    init = module.nn.init
    return [
        function(module.zeros(3, 5).t())
        for function in (init.xavier_uniform_, init.normal_, init.eye_, init.trunc_normal_)
    ] + [init.kaiming_normal_(module.zeros(4, 6)[:, ::2])]


@twice
def test_reduced_precision(module: Any) -> Any:
    init = module.nn.init
    functions = (init.xavier_uniform_, init.kaiming_normal_, init.ones_, init.eye_)
    return [
        function(module.zeros(20, 3, dtype=dtype))
        for function in functions
        for dtype in (module.float16, module.bfloat16)
    ]


@twice
def test_no_history_is_recorded(module: Any) -> Any:
    weight = module.zeros(3, 4, requires_grad=True)
    module.nn.init.kaiming_uniform_(weight)
    (weight.sum() * 2).backward()
    return weight.grad, weight.is_leaf, weight._version


NONLINEARITIES = (
    "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "sigmoid", "tanh", "relu", "leaky_relu", "selu",
)  # fmt: skip


@twice
def test_gains(module: Any) -> Any:
    gain = module.nn.init.calculate_gain
    return (
        [gain(name) for name in NONLINEARITIES],
        [gain("leaky_relu", slope) for slope in (0, 0.2, 1, -3.0)],
        gain("relu", "ignored"),
    )


@twice
def test_errors_of_gains(module: Any) -> Any:
    gain = module.nn.init.calculate_gain
    return (
        raised(gain, "swish", words=3),
        raised(gain, "leaky_relu", True),
        raised(gain, "leaky_relu", "0.1"),
    )


@twice
def test_fans(module: Any) -> Any:
    init = module.nn.init
    shapes = [SHAPES[name] for name in WEIGHTS]
    return (
        [init._calculate_fan_in_and_fan_out(module.empty(shape)) for shape in shapes],
        init._calculate_correct_fan(module.empty(3, 4), "fan_out"),
        init._calculate_correct_fan(module.empty(3, 4), "FAN_IN"),
        raised(init._calculate_correct_fan, module.empty(3, 4), "fan_over"),
        raised(init._calculate_fan_in_and_fan_out, module.empty(3), words=14),
    )


@twice
def test_errors(module: Any) -> Any:
    init, vector, matrix = module.nn.init, module.zeros(3), module.zeros(3, 3)
    cube = module.zeros(3, 3, 3)
    return (
        raised(init.xavier_uniform_, vector, words=14),
        raised(init.xavier_normal_, vector, words=14),
        raised(init.kaiming_uniform_, vector, words=14),
        raised(init.kaiming_normal_, matrix, mode="fan", words=14),
        raised(init.kaiming_normal_, matrix, nonlinearity="swish", words=3),
        raised(init.eye_, vector),
        raised(init.eye_, cube),
        raised(init.sparse_, cube, 0.1),
        raised(init.dirac_, matrix, words=9),
        raised(init.dirac_, cube, groups=2),
        raised(init.orthogonal_, vector, words=8),
        raised(init.uniform_, matrix, 2.0, 1.0, words=3),
        raised(init.normal_, matrix, 0.0, -1.0, words=2),
        raised(init.trunc_normal_, matrix, 0.0, 1.0, 3.0, 2.0, words=3),
        raised(init.trunc_normal_, matrix, std=0.0),
    )


@twice
def test_tensors_without_elements(module: Any) -> Any:
    init = module.nn.init
    return (
        init.kaiming_uniform_(module.empty(0, 3)),
        init.kaiming_normal_(module.empty(3, 0)),
        init.orthogonal_(module.empty(0, 3)),
        init.uniform_(module.empty(0)),
        init.xavier_uniform_(module.empty(0, 3)),
    )


@twice
def test_truncated_normal_warns_of_a_far_mean(module: Any) -> Any:
    return module.nn.init.trunc_normal_(module.empty(50), mean=9.0)


@twice
def test_old_names(module: Any) -> Any:
    init = module.nn.init
    return (
        init.uniform(module.empty(3)),
        init.normal(module.empty(3), std=2.0),
        init.constant(module.empty(3), 2),
        init.eye(module.empty(3, 2)),
        init.dirac(module.empty(2, 2, 3)),
        init.xavier_uniform(module.empty(3, 2)),
        init.xavier_normal(module.empty(3, 2)),
        init.kaiming_uniform(module.empty(3, 2)),
        init.kaiming_normal(module.empty(3, 2)),
        init.orthogonal(module.empty(3, 2)),
        init.sparse(module.empty(3, 2), 0.5),
    )


@pytest.mark.parametrize("name", ["uniform", "sparse", "kaiming_normal"])
def test_old_names_warn_with_both_names(name: str) -> None:
    args = (0.5,) if name == "sparse" else ()
    with pytest.warns(FutureWarning) as caught:
        getattr(clew.nn.init, name)(clew.empty(3, 3), *args)
    with pytest.warns(FutureWarning) as expected:
        getattr(torch.nn.init, name)(torch.empty(3, 3), *args)
    assert str(caught[0].message) == str(expected[0].message)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("name", sorted({case[0] for case in CASES} | {"orthogonal_"}))
def test_signatures(name: str) -> None:
    parameters = [
        [(p.name, p.default) for p in inspect.signature(function).parameters.values()]
        for function in (getattr(clew.nn.init, name), getattr(torch.nn.init, name))
    ]
    assert parameters[0] == parameters[1]
