"""Every optimizer with its options, for a hundred steps, against torch's."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import clew
from tests.optimizing import Problem, assert_close, from_numpy, problems, to_numpy

Options = dict[str, Any]

TABLE: dict[str, list[Options]] = {
    "SGD": [
        {"lr": 0.01},
        {"lr": 0.01, "weight_decay": 0.1},
        {"lr": 0.01, "momentum": 0.9},
        {"lr": 0.01, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1},
        {"lr": 0.01, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        {"lr": 0.001, "momentum": 0.9, "maximize": True},
        {"lr": 0.01, "momentum": 0.9, "foreach": True},
        {"lr": 0.01, "momentum": 0.9, "fused": True},
    ],
    "Adam": [
        {},
        {"lr": 0.1, "weight_decay": 0.1},
        {"lr": 0.1, "amsgrad": True},
        {"lr": 0.1, "betas": (0.5, 0.8), "eps": 1e-3},
        {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True},
        {"lr": 0.01, "maximize": True, "amsgrad": True},
        {"lr": 0.1, "foreach": True},
        {"lr": 0.1, "fused": True, "weight_decay": 0.1},
    ],
    "AdamW": [
        {},
        {"lr": 0.1, "weight_decay": 0.3},
        {"lr": 0.1, "amsgrad": True},
        {"lr": 0.01, "maximize": True},
        {"lr": 0.1, "fused": True, "amsgrad": True},
    ],
    "NAdam": [
        {},
        {"lr": 0.1, "weight_decay": 0.1, "momentum_decay": 0.1},
        {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True},
        {"lr": 0.01, "maximize": True, "betas": (0.5, 0.8)},
    ],
    "RAdam": [
        {},
        {"lr": 0.1, "weight_decay": 0.1},
        {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True},
        {"lr": 0.01, "maximize": True, "betas": (0.5, 0.99), "eps": 1e-3},
    ],
    "Adamax": [
        {},
        {"lr": 0.1, "weight_decay": 0.1, "betas": (0.5, 0.8)},
        {"lr": 0.01, "maximize": True, "eps": 1e-3},
    ],
    "Adagrad": [
        {},
        {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1},
        {"lr": 0.1, "initial_accumulator_value": 0.5, "eps": 1e-3},
        {"lr": 0.01, "maximize": True},
        {"lr": 0.1, "fused": True},
    ],
    "Adadelta": [
        {},
        {"lr": 0.5, "rho": 0.7, "eps": 1e-3, "weight_decay": 0.1},
        {"lr": 0.1, "maximize": True},
    ],
    "RMSprop": [
        {},
        {"lr": 0.01, "alpha": 0.8, "weight_decay": 0.1},
        {"lr": 0.01, "momentum": 0.9},
        {"lr": 0.01, "centered": True, "eps": 1e-2},
        {"lr": 0.01, "centered": True, "momentum": 0.5, "maximize": True, "eps": 1e-2},
    ],
    "Rprop": [
        {},
        {"lr": 0.1, "etas": (0.3, 1.5), "step_sizes": (1e-3, 0.5)},
        {"lr": 0.001, "maximize": True, "step_sizes": (1e-6, 0.01)},
    ],
    "ASGD": [
        {},
        {"lr": 0.05, "lambd": 0.01, "alpha": 0.5, "t0": 20, "weight_decay": 0.1},
        {"lr": 0.001, "maximize": True, "t0": 10},
    ],
    "Adafactor": [
        {},
        {"lr": 0.1, "weight_decay": 0.1, "d": 2.0},
        {"lr": 0.1, "beta2_decay": -0.5, "eps": (1e-4, 1e-2)},
        {"lr": 0.01, "maximize": True},
    ],
}  # fmt: skip

CASES = [(name, options) for name, rows in TABLE.items() for options in rows]

# Differences of rounding grow over a hundred steps where a formula divides by small numbers.
TOLERANCES = {"float32": (2e-4, 1e-5), "float64": (1e-9, 1e-11), "complex128": (1e-9, 1e-11)}


def start(problem: Problem, name: str, options: Options) -> None:
    problem.optimizer = getattr(problem.module.optim, name)(problem.params, **options)


def compare(ours: Problem, theirs: Problem, rtol: float, atol: float) -> None:
    assert_close(to_numpy(ours.params), to_numpy(theirs.params), rtol, atol, "params")
    assert_close(
        to_numpy(ours.optimizer.state_dict()), to_numpy(theirs.optimizer.state_dict()),
        rtol, atol, "state",
    )  # fmt: skip


def case_name(value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{key}={item}" for key, item in value.items()) or "defaults"
    return str(value)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("name", "options"), CASES, ids=case_name)
def test_a_hundred_steps(name: str, options: Options, dtype: str) -> None:
    theirs, ours = problems(dtype)
    start(theirs, name, options)
    start(ours, name, options)
    expected = theirs.train(100)
    actual = ours.train(100)
    rtol, atol = TOLERANCES[dtype]
    np.testing.assert_allclose(actual, expected, rtol=rtol)
    compare(ours, theirs, rtol, atol)


# torch's fused kernels take no complex parameters.
UNFUSED = [(name, options) for name, options in CASES if not options.get("fused")]


@pytest.mark.parametrize(("name", "options"), UNFUSED, ids=case_name)
def test_complex_parameters(name: str, options: Options) -> None:
    theirs, ours = problems("complex128")
    start(theirs, name, options)
    start(ours, name, options)
    if name == "Adafactor":
        with pytest.raises(RuntimeError, match="Adafactor does not support complex parameters"):
            ours.train(1)
        return
    theirs.train(20)
    ours.train(20)
    compare(ours, theirs, *TOLERANCES["complex128"])


@pytest.mark.parametrize(("name", "options"), CASES, ids=case_name)
def test_state_dicts_pass_between_the_libraries(name: str, options: Options) -> None:
    """Thirty steps here, thirty there, from either library to the other."""
    source_torch, source_clew = problems("float64")
    target_torch, target_clew = problems("float64")
    for problem in (source_torch, source_clew, target_torch, target_clew):
        start(problem, name, options)
    for source, target in ((source_torch, target_clew), (source_clew, target_torch)):
        source.train(30)
        saved = to_numpy(source.optimizer.state_dict())
        target.optimizer.load_state_dict(from_numpy(saved, target.module))
        with target.module.no_grad():
            for param, value in zip(target.params, to_numpy(source.params), strict=True):
                param.copy_(target.module.tensor(value))
        # Loading casts state to the parameter's dtype, so the source loads its own as well.
        source.optimizer.load_state_dict(source.optimizer.state_dict())
        target.random = copy.deepcopy(source.random)
        source.train(30)
        target.train(30)
    compare(target_clew, source_torch, 1e-9, 1e-11)
    compare(source_clew, target_torch, 1e-9, 1e-11)


def by_pickle(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, by_pickle])
@pytest.mark.parametrize("name", TABLE)
def test_a_copy_goes_on_alike(name: str, duplicate: Callable[[Any], Any]) -> None:
    _, problem = problems("float64")
    start(problem, name, TABLE[name][-1])
    problem.train(5)
    twin = Problem(clew, "float64")
    twin.optimizer = duplicate(problem.optimizer)
    twin.random = copy.deepcopy(problem.random)
    twin.params = twin.optimizer.param_groups[0]["params"]
    assert twin.params[0] is not problem.params[0]
    problem.train(5)
    twin.train(5)
    compare(twin, problem, 0, 0)


TENSOR_LR = ["SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "Adadelta", "RMSprop",
             "Rprop", "ASGD", "Adafactor"]  # fmt: skip


@pytest.mark.parametrize("name", TENSOR_LR)
def test_the_rate_may_be_a_tensor(name: str) -> None:
    theirs, ours = problems("float64")
    for problem in (theirs, ours):
        start(problem, name, {"lr": problem.module.tensor(0.01, dtype=problem.module.float64)})
        problem.train(20)
    compare(ours, theirs, 1e-9, 1e-11)


def test_betas_may_be_tensors() -> None:
    theirs, ours = problems("float64")
    for problem in (theirs, ours):
        module = problem.module
        betas = tuple(module.tensor(b, dtype=module.float64) for b in (0.8, 0.99))
        start(problem, "Adam", {"betas": betas, "lr": module.tensor(0.1, dtype=module.float64)})
        problem.train(20)
    compare(ours, theirs, 1e-9, 1e-11)


@pytest.mark.parametrize("name", TABLE)
def test_groups_have_options_of_their_own(name: str) -> None:
    theirs, ours = problems("float64")
    for problem in (theirs, ours):
        kind = getattr(problem.module.optim, name)
        problem.optimizer = kind([{"params": problem.params[:2], "lr": 0.003}], lr=0.02)
        problem.optimizer.add_param_group({"params": iter(problem.params[2:])})
        problem.train(10)
    compare(ours, theirs, 1e-9, 1e-11)


@pytest.mark.parametrize("name", TABLE)
def test_parameters_without_gradients_are_left_alone(name: str) -> None:
    theirs, ours = problems("float64")
    for problem in (theirs, ours):
        unused = problem.module.ones(3, dtype=problem.module.float64, requires_grad=True)
        kind = getattr(problem.module.optim, name)
        problem.optimizer = kind([unused, *problem.params])
        problem.train(3)
    compare(ours, theirs, 1e-9, 1e-11)


@pytest.mark.parametrize("name", TABLE)
def test_the_step_is_a_float64_where_that_is_the_default(name: str) -> None:
    theirs, ours = problems("float64")
    try:
        for problem in (theirs, ours):
            problem.module.set_default_dtype(problem.module.float64)
            start(problem, name, {})
            problem.train(10)
    finally:
        clew.set_default_dtype(clew.float32)
        torch.set_default_dtype(torch.float32)
    compare(ours, theirs, 1e-9, 1e-11)


@pytest.mark.parametrize("name", TABLE)
def test_bfloat16_parameters(name: str) -> None:
    """Loaded state takes the dtype of its parameter, except for the count of steps."""
    _, ours = problems("float32")
    start(ours, name, TABLE[name][-1] | {"foreach": None})
    ours.train(3)
    _, half = problems("float32")
    half.params = [p.detach().to(clew.bfloat16).requires_grad_() for p in half.params]
    start(half, name, TABLE[name][-1] | {"foreach": None})
    half.optimizer.load_state_dict(ours.optimizer.state_dict())
    half.train(3)
    for param, state in half.optimizer.state.items():
        for key, value in state.items():
            expected = clew.float32 if key == "step" else clew.bfloat16
            assert value.dtype is expected, key
        assert param.dtype is clew.bfloat16


def in_half(module: Any, name: str, options: Options) -> Any:
    """Thirty steps in bfloat16, as float32."""
    random = np.random.default_rng(0)
    start_values = random.standard_normal(50).astype(np.float32)
    param = module.tensor(start_values).to(module.bfloat16).requires_grad_()
    optimizer = getattr(module.optim, name)([param], **options)
    for _ in range(30):
        slope = random.standard_normal(50).astype(np.float32)
        param.grad = module.tensor(slope).to(module.bfloat16)
        optimizer.step()
    return to_numpy(param.detach().float())


@pytest.mark.parametrize("name", TABLE)
def test_bfloat16_steps(name: str) -> None:
    options = TABLE[name][1]
    actual, expected = (in_half(module, name, options) for module in (clew, torch))
    # Eight bits: a few roundings of the largest value.
    largest = float(np.abs(expected).max())
    np.testing.assert_allclose(actual, expected, rtol=0, atol=largest * 4 / 256)


@pytest.mark.parametrize("name", TABLE)
def test_rates_of_numpy_do_not_widen(name: str) -> None:
    _, ours = problems("float32")
    start(ours, name, {"lr": np.float64(0.01)})
    _, plain = problems("float32")
    start(plain, name, {"lr": 0.01})
    ours.train(3)
    plain.train(3)
    assert all(p.dtype is clew.float32 for p in ours.params)
    assert_close(to_numpy(ours.params), to_numpy(plain.params), 1e-6, 1e-7)


# Adafactor's updates are products of row and column means: they have no kernel.
WITH_KERNELS = [case for case in CASES if case[0] != "Adafactor"]


@pytest.mark.parametrize("name, options", WITH_KERNELS, ids=case_name)
def test_plain_parameters_are_updated_by_kernels(
    name: str, options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = [clew.ones(3, 2, requires_grad=True)]
    optimizer = getattr(clew.optim, name)(params, **options)
    params[0].grad = clew.ones(3, 2)
    optimizer.step()  # the first one may also make what is remembered

    def refuse(*_: Any) -> None:
        raise AssertionError("not by the kernel")

    monkeypatch.setattr(type(optimizer), "_update", staticmethod(refuse))
    before = params[0].detach().clone()
    optimizer.step()
    assert not clew.equal(params[0], before)
