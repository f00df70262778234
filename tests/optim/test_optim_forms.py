"""LBFGS, Muon, differentiable steps, and the functional forms."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
import torch

import clew
from tests.optimizing import assert_close, from_numpy, problems, to_numpy
from tests.twice import twice


def rosenbrock(module: Any, dtype: Any) -> tuple[list[Any], Any]:
    """Two parameters in a curved valley."""
    x = module.tensor([-1.2, 0.7], dtype=dtype, requires_grad=True)
    y = module.tensor([[1.0], [-0.4]], dtype=dtype, requires_grad=True)
    unused = module.zeros(2, dtype=dtype, requires_grad=True)

    def loss() -> Any:
        z = y.reshape(-1)
        return ((1 - x) ** 2 + 100 * (z - x**2) ** 2).sum()

    return [x, y, unused], loss


LBFGS_OPTIONS: list[dict[str, Any]] = [
    {"lr": 1e-3},
    {"lr": 0.1, "max_iter": 5, "history_size": 3},
    {"line_search_fn": "strong_wolfe"},
    {"lr": 0.5, "line_search_fn": "strong_wolfe", "max_iter": 7, "history_size": 4},
    {"line_search_fn": "strong_wolfe", "max_eval": 9},
    {"lr": 1e-3, "tolerance_change": 1e-3, "tolerance_grad": 1e-2},
]


def minimized(module: Any, options: dict[str, Any], steps: int) -> list[Any]:
    params, loss = rosenbrock(module, module.float64)
    optimizer = module.optim.LBFGS(params, **options)
    evaluations = 0

    def closure() -> Any:
        nonlocal evaluations
        evaluations += 1
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return value

    losses = [float(optimizer.step(closure).detach()) for _ in range(steps)]
    state = to_numpy(optimizer.state_dict()["state"])[0]
    numbers = {key: np.asarray(state.pop(key), float) for key in ("t", "H_diag")}
    return [losses, evaluations, to_numpy(params), dict(sorted(state.items())), numbers]


@pytest.mark.parametrize("options", LBFGS_OPTIONS, ids=str)
def test_lbfgs(options: dict[str, Any]) -> None:
    actual, expected = (minimized(module, options, 4) for module in (clew, torch))
    assert_close(actual, expected, 1e-6, 1e-9)


def test_lbfgs_finds_the_minimum() -> None:
    losses, *_ = minimized(clew, {"line_search_fn": "strong_wolfe"}, 10)
    assert losses[-1] < 1e-9


def test_lbfgs_goes_on_from_a_state_dict() -> None:
    seen = []
    for module in (clew, torch):
        for reload in (False, True):
            params, loss = rosenbrock(module, module.float64)
            optimizer = module.optim.LBFGS(params, 0.01, max_iter=4)

            def closure(optimizer: Any = optimizer, loss: Any = loss) -> Any:
                optimizer.zero_grad()
                value = loss()
                value.backward()
                return value

            optimizer.step(closure)
            if reload:
                saved = from_numpy(to_numpy(optimizer.state_dict()), module)
                optimizer.load_state_dict(saved)
            optimizer.step(closure)
            seen.append(to_numpy(params))
    for other in seen[1:]:
        assert_close(other, seen[0], 1e-9, 1e-12)


@twice
def test_lbfgs_complex(torch: Any) -> Any:
    z = torch.tensor([1 + 2j, -3j], dtype=torch.complex128, requires_grad=True)
    optimizer = torch.optim.LBFGS([z], line_search_fn="strong_wolfe", max_iter=5)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (z - (2 + 1j)).abs().pow(4).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return z.detach()


@twice
def test_lbfgs_stops_at_once_where_it_is_flat(torch: Any) -> Any:
    x = torch.zeros(2, requires_grad=True)
    optimizer = torch.optim.LBFGS([x])

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (x**2).sum()
        loss.backward()
        return loss

    return optimizer.step(closure), optimizer.state_dict()["state"]


# ---------------------------------------------------------------- Muon

MUON_OPTIONS: list[dict[str, Any]] = [
    {},
    {"lr": 0.05, "weight_decay": 0.0, "nesterov": False},
    {"lr": 0.05, "momentum": 0.5, "adjust_lr_fn": "match_rms_adamw"},
    {"lr": 0.05, "adjust_lr_fn": "original", "ns_steps": 3},
]


@pytest.mark.parametrize("options", MUON_OPTIONS, ids=str)
def test_muon(options: dict[str, Any]) -> None:
    """The iteration runs in bfloat16, whose products torch and NumPy add up differently."""
    theirs, ours = problems("float32", ((6, 4), (3, 8), (5, 5)))
    for problem in (theirs, ours):
        problem.optimizer = problem.module.optim.Muon(problem.params, **options)
        problem.train(20)
    lr = options.get("lr", 1e-3)
    assert_close(to_numpy(ours.params), to_numpy(theirs.params), 0, 20 * lr * 0.02)
    assert_close(
        to_numpy(ours.optimizer.state_dict()), to_numpy(theirs.optimizer.state_dict()),
        0, 20 * lr * 0.1 + 1e-6,
    )  # fmt: skip


def test_muon_makes_directions_orthogonal() -> None:
    weight = clew.zeros(4, 6, requires_grad=True)
    weight.grad = clew.randn(4, 6)
    clew.optim.Muon([weight], lr=1.0, weight_decay=0.0).step()
    sizes = clew.linalg.svdvals(weight.detach())
    assert 0.6 < sizes.min().item() <= sizes.max().item() < 1.3


# ---------------------------------------------------------------- differentiable steps

DIFFERENTIABLE: dict[str, dict[str, Any]] = {
    "SGD": {"momentum": 0.9, "weight_decay": 0.1, "nesterov": True},
    "Adam": {"weight_decay": 0.1, "amsgrad": True},
    "AdamW": {"weight_decay": 0.1},
    "NAdam": {"weight_decay": 0.1, "decoupled_weight_decay": True},
    "RAdam": {"weight_decay": 0.1, "betas": (0.9, 0.8)},
    "Adamax": {"weight_decay": 0.1},
    "Adagrad": {"lr_decay": 0.1, "weight_decay": 0.1},
    "Adadelta": {"weight_decay": 0.1},
    "RMSprop": {"momentum": 0.5, "centered": True},
    "Rprop": {},
    "ASGD": {"weight_decay": 0.1},
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_one_step_is_differentiable(name: str) -> None:
    """The gradient of the parameter after a step by the parameter and the gradient before it."""
    # torch's first momentum buffer is detached, so that its gradient is not the derivative.
    options = {"weight_decay": 0.1} if name == "SGD" else DIFFERENTIABLE[name]

    @twice
    def scenario(torch: Any) -> Any:
        start = torch.tensor([0.3, -0.8, 1.5], requires_grad=True)
        slope = torch.tensor([0.5, -0.2, 0.9], requires_grad=True)
        param = start.clone()
        kind = getattr(torch.optim, name)
        optimizer = kind([param], lr=0.1, differentiable=True, **options)
        param.grad = slope.clone()
        optimizer.step()
        return [param, *torch.autograd.grad((param**2).sum(), (start, slope))]

    # torch counts steps, and takes powers by them, in the default dtype.
    try:
        torch.set_default_dtype(torch.float64)
        clew.set_default_dtype(clew.float64)
        scenario()
    finally:
        torch.set_default_dtype(torch.float32)
        clew.set_default_dtype(clew.float32)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_several_steps_are_differentiable(name: str) -> None:
    """Training unrolled three times, differentiated by its start, against differences."""

    def trained(start: Any) -> Any:
        param = start.clone()
        kind = getattr(clew.optim, name)
        optimizer = kind([param], lr=0.1, differentiable=True, **DIFFERENTIABLE[name])
        for slope in (1.0, 2.0, 1.5):
            param.grad = start.sin() * slope
            optimizer.step()
        return param

    start = clew.tensor([0.3, -0.8, 1.5], dtype=clew.float64, requires_grad=True)
    assert clew.autograd.gradcheck(trained, (start,))


@pytest.mark.parametrize("name", [n for n in DIFFERENTIABLE if n not in ("Rprop", "ASGD")])
def test_the_rate_is_differentiable(name: str) -> None:
    """As for learned learning rates; the gradient is checked against differences."""

    def trained(lr: Any) -> Any:
        param = clew.tensor([0.3, -0.8, 1.5], dtype=clew.float64).requires_grad_().clone()
        kind = getattr(clew.optim, name)
        optimizer = kind([param], lr=lr, differentiable=True, **DIFFERENTIABLE[name])
        for slope in (0.5, 0.7):
            param.grad = clew.full((3,), slope, dtype=clew.float64)
            optimizer.step()
        return param

    lr = clew.tensor(0.1, dtype=clew.float64, requires_grad=True)
    assert clew.autograd.gradcheck(trained, (lr,))


def test_decay_and_betas_are_differentiable() -> None:
    def trained(beta1: Any, beta2: Any) -> Any:
        param = clew.tensor([0.3, -0.8], dtype=clew.float64).requires_grad_().clone()
        optimizer = clew.optim.Adam([param], lr=0.1, betas=(beta1, beta2), differentiable=True)
        for slope in (0.5, -0.7):
            param.grad = clew.full((2,), slope, dtype=clew.float64)
            optimizer.step()
        return param

    def decayed(weight_decay: Any) -> Any:
        param = clew.tensor([0.3, -0.8], dtype=clew.float64).requires_grad_().clone()
        optimizer = clew.optim.SGD([param], lr=0.1, weight_decay=weight_decay, differentiable=True)
        param.grad = clew.ones(2, dtype=clew.float64)
        optimizer.step()
        return param

    values = [clew.tensor(v, dtype=clew.float64, requires_grad=True) for v in (0.8, 0.9, 0.1)]
    assert clew.autograd.gradcheck(trained, (values[0], values[1]))
    assert clew.autograd.gradcheck(decayed, (values[2],))


# ---------------------------------------------------------------- functional forms

# Module, names of the lists of state in their order, and options.
FUNCTIONAL: dict[str, tuple[str, tuple[str, ...], dict[str, Any]]] = {
    "sgd": ("sgd", ("momentum_buffer",), {
        "weight_decay": 0.1, "momentum": 0.9, "lr": 0.1, "dampening": 0.0, "nesterov": True,
        "maximize": False}),
    "adam": ("adam", ("exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step"), {
        "amsgrad": True, "beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.1,
        "eps": 1e-8, "maximize": False}),
    "adamw": ("adamw", ("exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step"), {
        "amsgrad": False, "beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.1,
        "eps": 1e-8, "maximize": True}),
    "nadam": ("nadam", ("exp_avg", "exp_avg_sq", "mu_product", "step"), {
        "beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.1, "momentum_decay": 0.01,
        "eps": 1e-8}),
    "radam": ("radam", ("exp_avg", "exp_avg_sq", "step"), {
        "beta1": 0.9, "beta2": 0.8, "lr": 0.1, "weight_decay": 0.1, "eps": 1e-8}),
    "adamax": ("adamax", ("exp_avg", "exp_inf", "step"), {
        "eps": 1e-8, "beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.1}),
    "adagrad": ("adagrad", ("sum", "step"), {
        "lr": 0.1, "weight_decay": 0.1, "lr_decay": 0.1, "eps": 1e-8, "maximize": False}),
    "adadelta": ("adadelta", ("square_avg", "acc_delta", "step"), {
        "lr": 0.1, "rho": 0.9, "eps": 1e-6, "weight_decay": 0.1, "maximize": False}),
    "rmsprop": ("rmsprop", ("square_avg", "grad_avg", "momentum_buffer", "step"), {
        "lr": 0.1, "alpha": 0.9, "eps": 1e-8, "weight_decay": 0.1, "momentum": 0.9,
        "centered": True}),
    "rprop": ("rprop", ("prev", "step_size", "step"), {
        "step_size_min": 1e-6, "step_size_max": 50.0, "etaminus": 0.5, "etaplus": 1.2}),
    "asgd": ("asgd", ("ax", "mu", "eta", "step"), {
        "lambd": 1e-4, "lr": 0.1, "t0": 1.0, "alpha": 0.75, "weight_decay": 0.1}),
    "adafactor": ("_adafactor", ("row_var", "col_var", "variance", "step"), {
        "d": 1.0, "lr": 0.1, "beta2_decay": -0.8, "weight_decay": 0.1, "eps1": 1e-8,
        "eps2": 1e-3, "maximize": False}),
}  # fmt: skip


def functional(module: Any, name: str) -> list[Any]:
    file, keys, options = FUNCTIONAL[name]
    function = getattr(importlib.import_module(f"{module.__name__}.optim.{file}"), name)
    shared = importlib.import_module(f"{module.__name__}.optim._functional")
    if name not in ("adafactor",):
        assert getattr(shared, name) is function
    random = np.random.default_rng(3)
    params = [module.tensor(random.standard_normal(s)) for s in ((3, 2), (4,))]
    lists: list[list[Any]] = [_first_state(module, key, params, options) for key in keys]
    for _ in range(4):
        grads = [module.tensor(random.standard_normal(tuple(p.shape))) for p in params]
        function(params, grads, *lists, **options)
    return [to_numpy(params), to_numpy(lists)]


def _first_state(module: Any, key: str, params: list[Any], options: dict[str, Any]) -> list[Any]:
    if key == "step":
        return [module.tensor(0.0) for _ in params]
    if key in ("mu_product", "mu"):
        return [module.tensor(1.0) for _ in params]
    if key == "eta":
        return [module.tensor(options["lr"]) for _ in params]
    if key == "momentum_buffer" and "dampening" in options:
        return [None for _ in params]
    if key == "max_exp_avg_sq" and not options["amsgrad"]:
        return []
    if key == "step_size":
        return [module.full_like(p, 0.1) for p in params]
    if key == "row_var":
        return [module.zeros_like(params[0][:, :1]), None]
    if key == "col_var":
        return [module.zeros_like(params[0][:1]), None]
    if key == "variance":
        return [None, module.zeros_like(params[1])]
    return [module.zeros_like(p) for p in params]


@pytest.mark.parametrize("name", FUNCTIONAL)
def test_functional_forms(name: str) -> None:
    actual, expected = (functional(module, name) for module in (clew, torch))
    assert_close(actual, expected, 1e-9, 1e-12)


@twice
def test_parameters_with_operations_of_their_own(t: Any) -> Any:
    """Classes of points on a manifold say themselves what a step is."""

    class Angle(t.Tensor):
        def add_(self, other: Any, *, alpha: float = 1) -> Any:
            with t._C.DisableTorchFunctionSubclass():
                return self.copy_(t.add(self, other, alpha=alpha) % 1.0)

    angle = t.tensor([0.25, 0.75]).as_subclass(Angle).requires_grad_()
    optimizer = t.optim.SGD([angle], lr=0.5, momentum=0.5)
    for _ in range(3):
        optimizer.zero_grad()
        (-angle.as_subclass(t.Tensor)).sum().backward()
        optimizer.step()
    return angle.detach().as_subclass(t.Tensor), type(angle).__name__
