"""What all optimizers share: groups, errors, hooks, state dicts, the line they are blamed on."""

from __future__ import annotations

import copy
import linecache
import pickle
import re
from typing import Any

import pytest

import clew
from tests.twice import raised, twice


def leaf(module: Any, *shape: int) -> Any:
    """A parameter with a gradient."""
    param = module.ones(shape or (2,), requires_grad=True)
    param.grad = module.ones_like(param)
    return param


NAMES = ["SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "Adadelta", "RMSprop",
         "Rprop", "ASGD", "Adafactor", "Muon", "LBFGS", "SparseAdam"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_defaults_and_repr(name: str) -> None:
    @twice
    def scenario(torch: Any) -> Any:
        optimizer = getattr(torch.optim, name)([torch.ones(2, 2, requires_grad=True)])
        return optimizer.defaults, repr(optimizer), optimizer.state_dict()["param_groups"]

    scenario()


BAD: list[dict[str, Any]] = [
    {"lr": -1.0},
    {"lr": (0.1, 0.1)},
    {"lr": 0.1, "foreach": True},
    {"eps": -1.0},
    {"betas": (1.0, 0.9)},
    {"betas": (0.9, -1.0)},
    {"betas": (0.1, 0.1), "foreach": True},
    {"weight_decay": -1.0},
    {"momentum": -1.0},
    {"nesterov": True, "momentum": 0.0},
    {"alpha": -1.0},
    {"rho": 2.0},
    {"etas": (1.1, 1.2)},
    {"lr_decay": -1.0},
    {"initial_accumulator_value": -1.0},
    {"momentum_decay": -1.0},
    {"d": 0.5},
    {"beta2_decay": 1.0},
    {"eps": (-1.0, 1.0)},
    {"eps": (None, -1.0)},
    {"ns_steps": 100},
    {"ns_coefficients": (1.0, 2.0)},
    {"adjust_lr_fn": "x"},
    {"line_search_fn": "x"},
    {"fused": True, "foreach": True},
    {"fused": True, "differentiable": True},
    {"capturable": True},
]


def compared(name: str, options: dict[str, Any]) -> bool:
    """A pair where one number is due fails in arithmetic, and torch's foreach kernels by chance."""
    by_chance = name in ("NAdam", "RAdam", "Adamax") and "betas" in options
    return not (
        (isinstance(options.get("eps"), tuple) and name != "Adafactor")
        or (by_chance and "foreach" in options)
    )


@pytest.mark.parametrize(
    ("name", "options"),
    [(name, options) for name in NAMES for options in BAD if compared(name, options)],
    ids=str,
)
def test_refused_options(name: str, options: dict[str, Any]) -> None:
    """A constructor, or else the first step, refuses what torch's refuses, in its words."""
    key = next(iter(options))

    @twice
    def scenario(torch: Any) -> Any:
        param = leaf(torch, 2, 2)

        def go() -> None:
            given = dict(options)
            if len(options) == 2 and "foreach" in options and "fused" not in options:
                # Tensor options and foreach exclude each other.
                value = given[key]
                tensors = tuple(map(torch.tensor, value)) if key == "betas" else torch.tensor(value)
                given[key] = tensors
            elif isinstance(given.get("lr"), tuple):
                given["lr"] = torch.tensor(given["lr"])
            optimizer = getattr(torch.optim, name)([param], **given)
            optimizer.step(*([lambda: (param * param).sum()] if name == "LBFGS" else []))

        return raised(go, words=1 if "capturable" in options else 5)

    scenario()


@twice
def test_refused_parameters(torch: Any) -> Any:
    sgd, a, b = torch.optim.SGD, leaf(torch), leaf(torch)
    optimizer = sgd([a], lr=0.1)
    named = sgd([("a", a)], lr=0.1)
    return [
        raised(sgd, a, words=17),
        raised(sgd, [], words=6),
        raised(sgd, [1], words=11),
        raised(sgd, {"a": a}, words=11),
        raised(sgd, [a, {"params": [b]}], words=11),
        raised(sgd, [{"params": {a, b}}], words=8),
        raised(sgd, [{"lr": 0.1}]),
        raised(sgd, [a * 2], words=4),
        raised(sgd, [{"params": [a]}, {"params": a}], words=9),
        raised(sgd, [("a", a), b], words=12),
        raised(sgd, [a, ("b", b)], words=12),
        raised(optimizer.add_param_group, [b], words=8),
        raised(optimizer.add_param_group, {"params": [("b", b)]}, words=17),
        raised(named.add_param_group, {"params": [b]}, words=17),
        raised(torch.optim.Optimizer([a], {}).step, words=0),
        raised(torch.optim.LBFGS, [{"params": [a]}, {"params": [b]}]),
        raised(torch.optim.Muon, [a]),
        raised(optimizer.load_state_dict, sgd([a, b]).state_dict(), words=14),
        raised(optimizer.load_state_dict, sgd([{"params": a}, {"params": b}]).state_dict()),
    ]


@twice
def test_duplicates_in_one_group_warn(torch: Any) -> Any:
    param = leaf(torch)
    torch.optim.SGD([param, param], lr=0.1).step()
    return param


@twice
def test_groups(torch: Any) -> Any:
    a, b, c = leaf(torch), leaf(torch, 3), leaf(torch)
    retained = (leaf(torch) * 2).requires_grad_()
    retained.retain_grad()
    optimizer = torch.optim.SGD(
        [{"params": a, "lr": 0.5, "mine": "x"}, {"params": (p for p in (b,))}], lr=0.1
    )
    optimizer.add_param_group({"params": [c, retained], "momentum": 0.3})
    optimizer.step()
    return [
        [[key for key in group] for group in optimizer.param_groups],
        [len(group["params"]) for group in optimizer.param_groups],
        optimizer.state_dict()["param_groups"],
        a, b, c,
    ]  # fmt: skip


@twice
def test_named_parameters(torch: Any) -> Any:
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.Adam(model.named_parameters())
    plain = torch.optim.Adam(model.parameters())
    saved = optimizer.state_dict()
    plain.load_state_dict(saved)
    optimizer.load_state_dict(torch.optim.Adam(model.parameters()).state_dict())
    return [
        saved["param_groups"],
        list(optimizer.param_groups[0]),
        optimizer.param_groups[0]["param_names"],
        plain.param_groups[0].get("param_names"),
        repr(optimizer),
    ]


@twice
def test_a_required_option(torch: Any) -> Any:
    marker = __import__(f"{torch.__name__}.optim.optimizer", fromlist=["required"]).required

    class Mine(torch.optim.Optimizer):
        def __init__(self, params: Any, lr: Any = marker) -> None:
            super().__init__(params, {"lr": lr})

    return [
        raised(Mine, [leaf(torch)], words=11),
        Mine([{"params": [leaf(torch)], "lr": 1}]).param_groups[0]["lr"],
        repr(marker),
    ]


@twice
def test_zero_grad(torch: Any) -> Any:
    param = leaf(torch)
    optimizer = torch.optim.SGD([param, leaf(torch)], lr=0.1)
    kept = param.grad
    optimizer.zero_grad(set_to_none=False)
    seen = [param.grad is kept, kept.clone()]
    (param**2).sum().backward(create_graph=True)
    optimizer.zero_grad(False)
    seen += [param.grad.requires_grad, param.grad]
    optimizer.zero_grad()
    return [*seen, param.grad]


@twice
def test_closures_run_with_grad(torch: Any) -> Any:
    param = leaf(torch)
    optimizer = torch.optim.SGD([param], lr=0.1)
    modes = []

    def closure() -> Any:
        modes.append(torch.is_grad_enabled())
        optimizer.zero_grad()
        loss = (param**2).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        loss = optimizer.step(closure)
    return modes, loss, param, param.grad, optimizer.step(closure=closure)


# ---------------------------------------------------------------- hooks


@twice
def test_step_hooks(torch: Any) -> Any:
    base = __import__(f"{torch.__name__}.optim.optimizer", fromlist=["x"])
    optimizer = torch.optim.SGD([leaf(torch)], lr=0.1)
    seen: list[Any] = []

    def note(name: str) -> Any:
        return lambda o, args, kwargs: seen.append(
            (name, o is optimizer, len(args), args[0] is optimizer, sorted(kwargs))
        )

    handles = [
        optimizer.register_step_pre_hook(note("pre")),
        optimizer.register_step_post_hook(note("post")),
        base.register_optimizer_step_pre_hook(note("all pre")),
        base.register_optimizer_step_post_hook(note("all post")),
    ]
    optimizer.step()
    optimizer.step(closure=lambda: 3)
    for handle in handles:
        handle.remove()
    optimizer.step()
    changed = optimizer.register_step_pre_hook(lambda o, args, kwargs: ((o, lambda: 7), {}))
    result = optimizer.step()
    changed.remove()
    optimizer.register_step_pre_hook(lambda o, args, kwargs: 5)
    error = raised(optimizer.step, words=99)
    return [seen, result, error[:-1], "must return None or a tuple" in error[-1]]


@twice
def test_hooks_of_state_dicts(torch: Any) -> Any:
    optimizer = torch.optim.SGD([leaf(torch)], lr=0.1)
    seen: list[Any] = []
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("pre 1"))
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("pre 2"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "extra": 1})
    optimizer.register_state_dict_post_hook(lambda o, state: seen.append(sorted(state)))
    saved = optimizer.state_dict()

    def faster(o: Any, state: Any) -> Any:
        group = {**state["param_groups"][0], "lr": 0.7}
        return {**state, "param_groups": [group]}

    optimizer.register_load_state_dict_pre_hook(faster)
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded 1"))
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded 2"), prepend=True)
    optimizer.load_state_dict(saved)
    return seen, optimizer.param_groups[0]["lr"], saved["param_groups"][0]["lr"]


def test_a_step_that_calls_its_base_is_one_step() -> None:
    class Counting(clew.optim.Adam):
        def step(self, closure: Any = None) -> Any:
            return super().step(closure)

    optimizer = Counting([leaf(clew)])
    seen: list[int] = []
    optimizer.register_step_post_hook(lambda *_: seen.append(1))
    optimizer.step()
    optimizer.step()
    assert len(seen) == 2
    assert next(iter(optimizer.state.values()))["step"].item() == 2


@twice
def test_an_optimizer_of_ones_own(torch: Any) -> Any:
    class Lion(torch.optim.Optimizer):
        def __init__(self, params: Any, lr: float = 1e-2, beta: float = 0.9) -> None:
            super().__init__(params, {"lr": lr, "beta": beta})

        @torch.no_grad()
        def step(self, closure: Any = None) -> Any:
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    state = self.state[p]
                    if len(state) == 0:
                        state["exp_avg"] = torch.zeros_like(p)
                    mean = state["exp_avg"]
                    p.add_(torch.sign(mean * group["beta"] + p.grad), alpha=-group["lr"])
                    mean.lerp_(p.grad, 1 - group["beta"])

    param = leaf(torch)
    optimizer = Lion([param])
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    seen = []
    for _ in range(3):
        optimizer.step()
        scheduler.step()
        seen.append(param.detach().clone())
    return seen, optimizer.state_dict(), repr(optimizer)


# ---------------------------------------------------------------- saving


@twice
def test_loading_casts_all_but_the_step(torch: Any) -> Any:
    wide = torch.ones(2, dtype=torch.float64, requires_grad=True)
    wide.grad = torch.ones_like(wide)
    source = torch.optim.Adam([wide])
    source.step()
    target = torch.optim.Adam([leaf(torch)])
    target.load_state_dict(source.state_dict())
    state = target.state[target.param_groups[0]["params"][0]]
    fused = torch.optim.Adam([leaf(torch)], fused=True)
    saved = source.state_dict()
    saved["param_groups"][0]["fused"] = True
    fused.load_state_dict(saved)
    return [
        {key: str(value.dtype) for key, value in state.items()},
        [str(v["step"].dtype) for v in fused.state.values()],
    ]


@twice
def test_a_step_saved_as_a_number_becomes_a_tensor(torch: Any) -> Any:
    optimizer = torch.optim.Adam([leaf(torch)])
    optimizer.step()
    saved = copy.deepcopy(optimizer.state_dict())
    saved["state"][0]["step"] = 5
    del saved["param_groups"][0]["maximize"]
    optimizer.load_state_dict(saved)
    optimizer.step()
    return optimizer.state_dict()


@twice
def test_state_for_unknown_numbers_is_kept(torch: Any) -> Any:
    optimizer = torch.optim.SGD([leaf(torch)], lr=0.1)
    saved = optimizer.state_dict()
    saved["state"]["note"] = {"x": 1}
    optimizer.load_state_dict(saved)
    return optimizer.state_dict()


@twice
def test_sgd_without_momentum_has_no_state(torch: Any) -> Any:
    optimizer = torch.optim.SGD([leaf(torch)], lr=0.1)
    optimizer.step()
    return optimizer.state_dict()


@twice
def test_adam_state_loads_into_adamw(torch: Any) -> Any:
    source = torch.optim.Adam([leaf(torch)])
    source.step()
    target = torch.optim.AdamW([leaf(torch)])
    target.load_state_dict(source.state_dict())
    return target.param_groups[0]["decoupled_weight_decay"]


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))])
def test_copies_have_hooks_of_their_own(duplicate: Any) -> None:
    optimizer = clew.optim.Adam([leaf(clew)])
    optimizer.register_step_post_hook(lambda *_: pytest.fail("the copy has no such hook"))
    duplicate(optimizer).step()


# ---------------------------------------------------------------- the user's line


def step_line() -> int:
    """The line of this file that calls `optimizer.step()` in `blamed`."""
    lines = linecache.getlines(__file__)
    return next(
        i for i, line in enumerate(lines, 1) if line.endswith("here the parameters change\n")
    )


def blamed(name: str, **options: Any) -> str:
    weight = clew.randn(3, 3, requires_grad=True)
    weight.grad = clew.ones(3, 3)
    optimizer = getattr(clew.optim, name)([weight], **options)
    loss = (clew.ones(2, 3, requires_grad=True) @ weight).sum()
    arguments = [lambda: (weight**2).sum()] if name == "LBFGS" else []
    optimizer.step(*arguments)  # here the parameters change
    with pytest.raises(RuntimeError) as caught:
        loss.backward()
    return str(caught.value)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "SparseAdam"])
def test_a_late_backward_names_the_line_of_the_step(name: str) -> None:
    text = blamed(name)
    assert text.startswith("one of the variables needed for gradient computation has been modified")
    assert re.search(rf"test_optim_base\.py:{step_line()}\b", text), text
    assert "clew/optim/" not in text
    assert f"{name} optimizer" in text
    assert "call backward before the optimizer's step" in text


def test_a_non_leaf_is_named_with_its_line() -> None:
    made = leaf(clew) * 2
    with pytest.raises(ValueError, match=r"can't optimize a non-leaf Tensor") as caught:
        clew.optim.SGD([made], lr=0.1)
    assert "MulBackward0 at" in str(caught.value)
    assert "test_optim_base.py" in str(caught.value)
