"""Learning rate schedulers against torch's: every one for a hundred epochs, and their corners."""

from __future__ import annotations

import copy
import pickle
import types
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import clew
from tests.optimizing import assert_close, to_numpy
from tests.twice import raised, twice

Make = Callable[[Any, Any], Any]


def optimizer_of(module: Any, name: str = "SGD", **options: Any) -> Any:
    """Two groups with different rates, whose steps do nothing."""
    groups = [
        {"params": [module.ones(2, requires_grad=True)], "lr": 0.5},
        {"params": [module.ones(3, requires_grad=True)]},
    ]
    if name == "SGD":
        options.setdefault("momentum", 0.9)
    return getattr(module.optim, name)(groups, lr=0.05, **options)


class Halving:
    """A callable object, whose attributes schedulers save."""

    def __init__(self, every: int) -> None:
        self.every = every

    def __call__(self, epoch: float) -> float:
        return 0.5 ** (int(epoch) // self.every)


def warmup(s: Any, o: Any) -> list[Any]:
    return [s.LinearLR(o, 0.1, total_iters=10), s.CosineAnnealingLR(o, 40), s.ExponentialLR(o, 0.9)]


SCHEDULERS: dict[str, Make] = {
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda epoch: 0.95**epoch),
    "LambdaLR two": lambda s, o: s.LambdaLR(o, [lambda epoch: 1 / (epoch + 1), Halving(7)]),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda epoch: 1 - 1 / (epoch + 3)),
    "MultiplicativeLR two": lambda s, o: s.MultiplicativeLR(o, [Halving(30), Halving(50)]),
    "StepLR": lambda s, o: s.StepLR(o, 7),
    "StepLR gamma": lambda s, o: s.StepLR(o, step_size=3, gamma=0.8),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [20, 5, 5, 60], gamma=0.5),
    "MultiStepLR zero": lambda s, o: s.MultiStepLR(o, (0, 5)),
    "ConstantLR": lambda s, o: s.ConstantLR(o),
    "ConstantLR long": lambda s, o: s.ConstantLR(o, factor=0.25, total_iters=40),
    "LinearLR": lambda s, o: s.LinearLR(o),
    "LinearLR down": lambda s, o: s.LinearLR(o, 0.9, 0.1, total_iters=60),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, gamma=0.93),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, total_iters=80),
    "PolynomialLR square": lambda s, o: s.PolynomialLR(o, 50, power=2.0),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, T_max=30),
    "CosineAnnealingLR min": lambda s, o: s.CosineAnnealingLR(o, 20, eta_min=0.01),
    "WarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 9),
    "WarmRestarts longer": lambda s, o: s.CosineAnnealingWarmRestarts(o, 5, 2, eta_min=0.001),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.01, 0.1, step_size_up=10),
    "CyclicLR down": lambda s, o: s.CyclicLR(
        o, [0.01, 0.02], [0.1, 0.2], step_size_up=6, step_size_down=15, mode="triangular2"
    ),
    "CyclicLR exp": lambda s, o: s.CyclicLR(
        o, 0.01, 0.1, step_size_up=8, mode="exp_range", gamma=0.99, cycle_momentum=False
    ),
    "CyclicLR function": lambda s, o: s.CyclicLR(
        o, 0.01, 0.1, step_size_up=8, scale_fn=Halving(2), base_momentum=0.5, max_momentum=0.7
    ),
    "CyclicLR iterations": lambda s, o: s.CyclicLR(
        o, 0.01, 0.1, step_size_up=8, scale_fn=lambda x: 0.99**x, scale_mode="iterations"
    ),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, max_lr=0.1, total_steps=100),
    "OneCycleLR linear": lambda s, o: s.OneCycleLR(
        o, [0.1, 0.3], epochs=10, steps_per_epoch=12, anneal_strategy="linear", pct_start=0.4
    ),
    "OneCycleLR three": lambda s, o: s.OneCycleLR(
        o, 0.1, total_steps=110, three_phase=True, div_factor=10, final_div_factor=100
    ),
    "OneCycleLR rate only": lambda s, o: s.OneCycleLR(
        o, 0.1, total_steps=101, cycle_momentum=False
    ),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler(
        [s.ConstantLR(o, 0.1, 20), s.ExponentialLR(o, 0.95)]
    ),
    "SequentialLR": lambda s, o: s.SequentialLR(o, warmup(s, o), milestones=[10, 60]),
    "SequentialLR constant": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 5), s.StepLR(o, 10)], milestones=[20]
    ),
    "SequentialLR nested": lambda s, o: s.SequentialLR(
        o, [s.ChainedScheduler(warmup(s, o)), s.StepLR(o, 10)], milestones=[30]
    ),
    "SequentialLR restarts": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o), s.CosineAnnealingWarmRestarts(o, 8)], [5]
    ),
}  # fmt: skip


def watched(optimizer: Any) -> list[dict[str, Any]]:
    """What schedulers change in the groups."""
    return [
        {key: to_numpy(value) for key, value in group.items() if key != "params"}
        for group in optimizer.param_groups
    ]


def run(module: Any, make: Make, epochs: int, name: str = "SGD") -> list[Any]:
    optimizer = optimizer_of(module, name)
    scheduler = make(module.optim.lr_scheduler, optimizer)
    seen = [watched(optimizer), to_numpy(scheduler.state_dict())]
    for _ in range(epochs):
        optimizer.step()
        scheduler.step()
        seen += [watched(optimizer), scheduler.get_last_lr()]
    return [*seen, scheduler.state_dict()]


def without_order(value: Any) -> Any:
    """Keys in a fixed order: that of a scheduler's attributes does not matter."""
    if isinstance(value, dict):
        return {key: without_order(value[key]) for key in sorted(value, key=str)}
    return [without_order(item) for item in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_hundred_epochs(name: str) -> None:
    actual, our_warnings = observed(clew, name)
    expected, their_warnings = observed(torch, name)
    assert_close(without_order(actual), without_order(expected), 1e-12, 1e-15)
    assert our_warnings == their_warnings


def observed(module: Any, name: str) -> tuple[list[Any], set[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = run(module, SCHEDULERS[name], 100)
    return result, {" ".join(str(w.message).split()[:5]) for w in caught}


@pytest.mark.parametrize("name", ["CyclicLR", "OneCycleLR", "OneCycleLR three"])
def test_momentum_of_adam(name: str) -> None:
    actual = run(clew, SCHEDULERS[name], 50, "Adam")
    expected = run(torch, SCHEDULERS[name], 50, "Adam")
    assert_close(without_order(actual), without_order(expected), 1e-12, 1e-15)


CHAINABLE = [name for name in SCHEDULERS if "Chained" not in name and "Sequential" not in name]


def in_closed_form(module: Any, make: Make) -> list[Any]:
    optimizer = optimizer_of(module)
    scheduler = make(module.optim.lr_scheduler, optimizer)
    optimizer.step()
    seen = []
    for epoch in (3, 1, 12, 30, 31, 5):
        scheduler.step(epoch)
        seen += [watched(optimizer), scheduler.get_last_lr(), scheduler.last_epoch]
    return seen


@pytest.mark.filterwarnings("ignore:The epoch parameter")
@pytest.mark.parametrize("name", CHAINABLE)
def test_any_epoch(name: str) -> None:
    actual, expected = (in_closed_form(module, SCHEDULERS[name]) for module in (clew, torch))
    assert_close(without_order(actual), without_order(expected), 1e-12, 1e-15)


@pytest.mark.filterwarnings("ignore:Detected call")
@pytest.mark.parametrize("name", SCHEDULERS)
def test_state_dicts_pass_between_the_libraries(name: str) -> None:
    optimizers = [optimizer_of(module) for module in (torch, clew)]
    theirs, ours = (
        SCHEDULERS[name](module.optim.lr_scheduler, optimizer)
        for module, optimizer in zip((torch, clew), optimizers, strict=True)
    )
    for _ in range(17):
        optimizers[0].step()
        theirs.step()
    ours.load_state_dict(copy.deepcopy(theirs.state_dict()))
    for group, other in zip(optimizers[1].param_groups, optimizers[0].param_groups, strict=True):
        group["lr"] = other["lr"]
    for _ in range(17):
        for optimizer, scheduler in zip(optimizers, (theirs, ours), strict=True):
            optimizer.step()
            scheduler.step()
    assert_close(
        without_order([watched(optimizers[1]), ours.state_dict()]),
        without_order([watched(optimizers[0]), theirs.state_dict()]), 1e-12, 1e-15,
    )  # fmt: skip


RESUMABLE = {
    "LambdaLR": lambda s, o, e: s.LambdaLR(o, lambda epoch: 0.95**epoch, last_epoch=e),
    "MultiplicativeLR": lambda s, o, e: s.MultiplicativeLR(o, lambda epoch: 0.9, last_epoch=e),
    "StepLR": lambda s, o, e: s.StepLR(o, 3, last_epoch=e),
    "MultiStepLR": lambda s, o, e: s.MultiStepLR(o, [3, 9, 12], last_epoch=e),
    "ConstantLR": lambda s, o, e: s.ConstantLR(o, last_epoch=e),
    "LinearLR": lambda s, o, e: s.LinearLR(o, total_iters=12, last_epoch=e),
    "ExponentialLR": lambda s, o, e: s.ExponentialLR(o, 0.9, last_epoch=e),
    "PolynomialLR": lambda s, o, e: s.PolynomialLR(o, 20, last_epoch=e),
    "CosineAnnealingLR": lambda s, o, e: s.CosineAnnealingLR(o, 10, last_epoch=e),
    "WarmRestarts": lambda s, o, e: s.CosineAnnealingWarmRestarts(o, 4, last_epoch=e),
    "CyclicLR": lambda s, o, e: s.CyclicLR(o, 0.01, 0.1, 4, last_epoch=e),
    "OneCycleLR": lambda s, o, e: s.OneCycleLR(o, 0.1, total_steps=30, last_epoch=e),
}  # fmt: skip


@pytest.mark.parametrize("epochs", [1, 2, 3, 4, 8, 9, 10, 11])
@pytest.mark.parametrize("name", RESUMABLE)
def test_resuming_by_last_epoch(name: str, epochs: int) -> None:
    seen = []
    for module in (clew, torch):
        optimizer = optimizer_of(module)
        make = RESUMABLE[name]
        scheduler = make(module.optim.lr_scheduler, optimizer, -1)
        for _ in range(epochs):
            optimizer.step()
            scheduler.step()
        again = make(module.optim.lr_scheduler, optimizer, scheduler.last_epoch)
        rows = [watched(optimizer), again.get_last_lr()]
        for _ in range(5):
            optimizer.step()
            again.step()
            rows += [watched(optimizer), again.get_last_lr()]
        seen.append(without_order(rows))
    assert_close(*seen, 1e-12, 1e-15)


PLATEAUS: list[dict[str, Any]] = [
    {},
    {"patience": 2, "cooldown": 3, "factor": 0.5},
    {"patience": 1, "mode": "max", "threshold": 0.1, "min_lr": [0.01, 0.001]},
    {"patience": 0, "threshold_mode": "abs", "threshold": 0.05, "min_lr": 0.02},
    {"patience": 3, "mode": "max", "threshold_mode": "abs", "eps": 0.1},
]


@pytest.mark.parametrize("options", PLATEAUS, ids=str)
def test_reduce_on_plateau(options: dict[str, Any]) -> None:
    figures = [1.0, 0.9, 0.95, 0.94, 0.8, 0.79, 0.791, 0.5, float("nan"), 0.6] * 10
    seen = []
    for module in (clew, torch):
        optimizer = optimizer_of(module)
        scheduler = module.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)
        rows: list[Any] = []
        for figure in figures:
            scheduler.step(module.tensor(figure))
            rows += [watched(optimizer), scheduler.state_dict()]
        seen.append(without_order(rows))
    assert_close(*seen, 1e-6, 1e-9)


def test_a_rate_that_is_a_tensor_stays_that_tensor() -> None:
    for name in SCHEDULERS:
        if name.startswith("OneCycle"):
            continue
        seen = []
        for module in (clew, torch):
            rate = module.tensor(0.1)
            optimizer = module.optim.SGD([module.ones(1, requires_grad=True)] * 1, rate, 0.9)
            optimizer.add_param_group({"params": [module.ones(1, requires_grad=True)], "lr": 0.2})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scheduler = SCHEDULERS[name](module.optim.lr_scheduler, optimizer)
                for _ in range(12):
                    optimizer.step()
                    scheduler.step()
            inside = optimizer.param_groups[0]["lr"]
            seen.append([inside is rate, float(inside), float(scheduler.get_last_lr()[0])])
        assert_close(*seen, 1e-5, 1e-8, name)


# ---------------------------------------------------------------- warnings, errors


@twice
def test_step_before_the_optimizer_warns(torch: Any) -> Any:
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer_of(torch), 2)
    scheduler.step()
    scheduler.step()


@twice
def test_only_steps_since_the_scheduler_count(torch: Any) -> Any:
    optimizer = optimizer_of(torch)
    optimizer.step()
    torch.optim.lr_scheduler.StepLR(optimizer, 2).step()


@twice
def test_a_second_scheduler_does_not_warn(torch: Any) -> Any:
    optimizer = optimizer_of(torch)
    first = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    optimizer.step()
    first.step()
    torch.optim.lr_scheduler.StepLR(optimizer, 2).step()


@twice
def test_a_step_replaced_later_warns(torch: Any) -> Any:
    optimizer = optimizer_of(torch)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    optimizer.step = lambda: None
    scheduler.step()


@twice
def test_a_step_replaced_before_counts(torch: Any) -> Any:
    optimizer = optimizer_of(torch)
    optimizer.step = types.MethodType(lambda self: None, optimizer)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    optimizer.step()
    scheduler.step()


@twice
def test_get_lr_outside_of_step_warns(torch: Any) -> Any:
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer_of(torch), 0.5)
    return scheduler.get_lr()


@twice
def test_an_epoch_given_warns(torch: Any) -> Any:
    optimizer = optimizer_of(torch)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    scheduler.step(4)
    torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer).step(1.0, epoch=3)
    return scheduler.get_last_lr()


def test_warnings_name_the_users_line() -> None:
    scheduler = clew.optim.lr_scheduler.StepLR(optimizer_of(clew), 2)
    with pytest.warns(UserWarning, match="before `optimizer.step") as caught:
        scheduler.step()
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="epoch parameter") as caught:
        scheduler.step(3)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="get_last_lr") as caught:
        scheduler.get_lr()
    assert caught[0].filename == __file__


@twice
def test_errors(torch: Any) -> Any:
    s, o = torch.optim.lr_scheduler, optimizer_of(torch)
    plain = torch.optim.Adagrad([torch.ones(1)])
    step, plateau = s.StepLR(o, 2), s.ReduceLROnPlateau(o)
    return [
        raised(s.LRScheduler, o, words=0),
        raised(s.StepLR, 5, 2),
        raised(s.LambdaLR, o, [abs], words=5),
        raised(s.MultiplicativeLR, o, [abs, abs, abs], words=5),
        raised(s.ConstantLR, o, factor=2.0),
        raised(s.LinearLR, o, start_factor=0.0, words=12),
        raised(s.LinearLR, o, end_factor=2.0),
        raised(s.StepLR, optimizer_of(torch), 2, last_epoch=3),
        raised(s.CosineAnnealingWarmRestarts, o, 0),
        raised(s.CosineAnnealingWarmRestarts, o, 3, 0),
        raised(s.CosineAnnealingWarmRestarts(o, 3).step, -1),
        raised(s.OneCycleLR, o, 0.1),
        raised(s.OneCycleLR, o, 0.1, epochs=3),
        raised(s.OneCycleLR, o, 0.1, total_steps=-1),
        raised(s.OneCycleLR, o, 0.1, epochs=-1, steps_per_epoch=3),
        raised(s.OneCycleLR, o, 0.1, total_steps=9, pct_start=2.0),
        raised(s.OneCycleLR, o, 0.1, total_steps=9, anneal_strategy="x", words=12),
        raised(s.OneCycleLR, o, [0.1], total_steps=9, words=14),
        raised(s.OneCycleLR, plain, 0.1, total_steps=9),
        raised(s.CyclicLR, plain, 0.1, 0.2),
        raised(s.CyclicLR, o, 0.1, 0.2, mode="x"),
        raised(s.CyclicLR, o, [0.1], 0.2),
        raised(s.ReduceLROnPlateau, o, factor=1.0),
        raised(s.ReduceLROnPlateau, o, mode="x"),
        raised(s.ReduceLROnPlateau, o, threshold_mode="x"),
        raised(s.ReduceLROnPlateau, o, min_lr=[1]),
        raised(s.ReduceLROnPlateau, 3),
        raised(s.SequentialLR, o, [], []),
        raised(s.SequentialLR, o, [step], [2], words=20),
        raised(s.SequentialLR, o, [step, s.StepLR(plain, 2)], [2], words=9),
        raised(s.SequentialLR, o, [step, plateau], [2]),
        raised(s.SequentialLR, o, [step, 3], [2]),
        raised(s.ChainedScheduler, []),
        raised(s.ChainedScheduler, [step, s.StepLR(plain, 2)], words=9),
        raised(s.ChainedScheduler, [step, plateau]),
    ]


@twice
def test_one_cycle_ends(torch: Any) -> Any:
    optimizer = optimizer_of(torch)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=3)
    optimizer.step()
    for _ in range(3):
        scheduler.step()
    return raised(scheduler.step, words=12)


@twice
def test_plateau_and_a_new_group(torch: Any) -> Any:
    optimizer = optimizer_of(torch)
    loose = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    strict = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, min_lr=[0.1, 0.1])
    optimizer.add_param_group({"params": [torch.ones(1)]})
    loose.step(1.0)
    loose.step(2.0)
    strict.step(1.0)
    return loose.get_last_lr(), raised(strict.step, 2.0, words=20)


def test_a_scheduler_of_ones_own() -> None:
    class Warmup(clew.optim.lr_scheduler._LRScheduler):
        def get_lr(self) -> list[float]:
            return [base * min(1.0, (self.last_epoch + 1) / 4) for base in self.base_lrs]

    optimizer = optimizer_of(clew)
    scheduler = Warmup(optimizer)
    rates = [scheduler.get_last_lr()[0]]
    for _ in range(4):
        optimizer.step()
        scheduler.step()
        rates.append(scheduler.get_last_lr()[0])
    assert rates == [0.125, 0.25, 0.375, 0.5, 0.5]
    assert isinstance(scheduler, clew.optim.lr_scheduler.LRScheduler)


@pytest.mark.parametrize("name", ["StepLR", "CosineAnnealingLR", "OneCycleLR", "CyclicLR"])
def test_pickling(name: str) -> None:
    optimizer = optimizer_of(clew)
    scheduler = SCHEDULERS[name](clew.optim.lr_scheduler, optimizer)
    optimizer.step()
    scheduler.step()
    twin = pickle.loads(pickle.dumps(scheduler))
    twin.optimizer.step()
    scheduler.step()
    twin.step()
    assert twin.get_last_lr() == scheduler.get_last_lr()
    assert twin.optimizer is not optimizer


@twice
def test_cycles_of_old_state_dicts(lib: Any) -> Any:
    """Which function anneals was once saved as such, and what scales is asked for by name."""
    optimizer = lib.optim.SGD([lib.nn.Parameter(lib.zeros(1))], lr=1.0, momentum=0.9)
    one = lib.optim.lr_scheduler.OneCycleLR(optimizer, 2.0, 5)
    del one._anneal_func_type
    state = one.state_dict()
    state["anneal_func"] = type(one)._annealing_linear
    one.load_state_dict(state)
    rates = []
    for _ in range(4):
        optimizer.step()
        one.step()
        rates.append(one.get_last_lr())
    cyclic = lib.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 1.0, mode="exp_range", gamma=0.5)
    return (
        rates,
        type(cyclic._scale_fn_ref).__name__,
        cyclic.scale_fn(2),
        sorted(cyclic.state_dict()),
    )


@twice
def test_groups_that_are_added_later_have_no_rate_to_come(lib: Any) -> Any:
    seen: list[Any] = []
    for name, args in (
        ("StepLR", (1,)), ("CosineAnnealingLR", (4,)), ("LambdaLR", (lambda epoch: 0.5,)),
        ("PolynomialLR", ()), ("ReduceLROnPlateau", ()),
    ):  # fmt: skip
        optimizer = optimizer_of(lib)
        scheduler = getattr(lib.optim.lr_scheduler, name)(optimizer, *args)
        optimizer.add_param_group({"params": [lib.ones(2, requires_grad=True)], "lr": 0.25})
        step = (lambda: scheduler.step(1.0)) if "Plateau" in name else scheduler.step  # noqa: B023  # called at once
        seen += [raised(step), [group["lr"] for group in optimizer.param_groups]]
    return seen, list(scheduler.state_dict())
