"""Random train steps, compiled and eager, with all that programs do between the calls: rates,
frozen parameters, loaded states, hooks, wrong batches."""

from __future__ import annotations

import copy
import random
from typing import Any

import numpy as np
import pytest

import clew
from clew import nn
from tests.compiler.agreement import Wrap

# What a network has, and what it does with it.
PARTS = (
    ("self.{n} = nn.Linear(6, 6)", "x = self.{n}(x).tanh()"),
    ("self.{n} = nn.Linear(6, 6, bias=False)", "x = F.elu(self.{n}(x), inplace=True)"),
    ("self.{n} = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 6))", "x = self.{n}(x)"),
    ("self.{n} = nn.RMSNorm(6)", "x = x + self.{n}(x)"),
    ("self.{n} = nn.Dropout(0.3)", "x = self.{n}(x)"),
    (
        "self.{n} = nn.Conv1d(2, 2, 3, padding=1)",
        "x = F.max_pool1d(self.{n}(x.reshape(-1, 2, 3)), 3, 1, 1).flatten(1)",
    ),
    (
        "self.{n} = nn.MultiheadAttention(3, 1, dropout=0.2, batch_first=True)",
        "x = x + self.{n}(*[x.reshape(-1, 2, 3)] * 3)[0].flatten(1)",
    ),
    ("self.{n} = nn.Parameter(clew.randn(6))", "x = x * self.{n}.softmax(0)"),
    ("self.{n} = nn.GRU(3, 6, batch_first=True)", "x = self.{n}(x.reshape(-1, 2, 3))[0][:, -1]"),
    (
        "self.register_buffer('{n}', clew.zeros(6))",
        "if self.training: self.{n}.mul_(0.9).add_(x.detach().mean(0))\n        x = x + self.{n}",
    ),
    ("self.{n} = 1.5", "x = x * self.{n}"),
    ("self.{n} = []", "if x.mean() > 0: x = x * 0.5"),
    ("self.{n} = 0", "if self.training: x = x + 0.01 * clew.randn_like(x)"),
    ("self.{n} = 0", "x = x.masked_fill(x > 1, 0.5)"),
    ("self.{n} = 0", "self.{n} += 1"),
)
LOSSES = (
    "F.cross_entropy(out, y)", "F.mse_loss(out, t)", "F.nll_loss(out.log_softmax(-1), y)",
    "(out - t).square().mean() / options['k']", "F.smooth_l1_loss(out, t)",
    "F.binary_cross_entropy_with_logits(out, (t > 0).float())",
)  # fmt: skip
OPTIMIZERS = (
    "SGD(P, lr=0.1)", "SGD(P, lr=0.1, momentum=0.9, nesterov=True)", "Adam(P, eps=0.1, lr=0.01)",
    "AdamW(P, eps=0.1, lr=0.01)", "NAdam(P, eps=0.1, lr=0.01)", "ASGD(P)", "Adadelta(P, eps=0.1)",
)  # fmt: skip
BEFORE = (
    "self.optimizer.zero_grad()", "net.zero_grad()", "self.optimizer.zero_grad(set_to_none=False)",
    "if self.calls % 2 == 0: self.optimizer.zero_grad()", "for p in P: p.grad = None",
)  # fmt: skip
BACKWARD = (
    "loss.backward()", "loss.backward()", "(loss * self.factor()).backward()",
    "for p, g in zip(P, clew.autograd.grad(loss, P, allow_unused=True)): p.grad = g",
    "loss.backward(); nn.utils.clip_grad_norm_(P, 0.5)",
    "loss.backward(); nn.utils.clip_grad_value_(P, 0.1)",
    "loss.backward(retain_graph=True); loss.backward()",
    "scaler.scale(loss).backward(); scaler.unscale_(self.optimizer)",
)  # fmt: skip
RESULTS = (
    "loss", "loss.item()", "{'loss': loss.detach(), 'out': [out.detach()]}", "None",
    "(loss, self.optimizer.param_groups[0]['lr'])",
)  # fmt: skip
BETWEEN = (
    "T.optimizer.param_groups[0]['lr'] *= 0.5", "P[0].requires_grad_(not P[0].requires_grad)",
    "net.eval()", "net.train()", "T.history.append(1)", "T.calls += 1", "T.k = T.k / 2",
    "T.factor = lambda: 0.25", "options['k'] = 3.0", "options['other'] = object()",
    "T.optimizer.load_state_dict(copy.deepcopy(T.optimizer.state_dict()))",
    "T.optimizer.state.clear()", "net.load_state_dict({k: v / 2 for k, v in "
    "net.state_dict().items()})", "net.out.weight.data = net.out.weight.data * 0.9",
    "net.out.bias.register_hook(lambda g: g * 0.5)", "net.half().float()", "clew.manual_seed(7)",
    "for p in P: p.grad = clew.ones_like(p)",
    "net.out.register_forward_hook(lambda m, i, o: o / 2)",
)  # fmt: skip


def program(pick: random.Random) -> str:
    """The text of a network and of what trains it."""
    parts = [pick.choice(PARTS) for _ in range(pick.randint(1, 4))]
    makes = [make.format(n=f"n{i}") for i, (make, _) in enumerate(parts)]
    does = [do.format(n=f"n{i}") for i, (_, do) in enumerate(parts)]
    lines = [
        "class Net(nn.Module):", "    def __init__(self):", "        super().__init__()",
        *[f"        {each}" for each in (*makes, "self.out = nn.Linear(6, 3)")],
        "    def forward(self, x):", *[f"        {each}" for each in does],
        "        return self.out(x)",
        "class Trainer:", "    def __init__(self):",
        "        self.history, self.calls, self.k = [], 0, 1.0",
        f"        self.optimizer = clew.optim.{pick.choice(OPTIMIZERS)}",
        "    def factor(self):", "        return self.k",
        "    def note(self, loss):", "        self.history.append(loss); self.last = loss",
        "    def step(self, x, y, t):",
        *[f"        {each}" for each in (
            pick.choice(BEFORE), "out = net(x)", f"loss = {pick.choice(LOSSES)}",
            pick.choice(BACKWARD), "self.optimizer.step()", f"return {pick.choice(RESULTS)}",
        )],
        "net = Net()", "P = list(net.parameters())", "options = {'k': 2.0}",
        "scaler = clew.amp.GradScaler('cpu', init_scale=8.0)", "T = Trainer()",
    ]  # fmt: skip
    return "\n".join(lines)


def shown(value: Any) -> Any:
    """Numbers as arrays, which are compared to rounding, and the rest as text."""
    if isinstance(value, clew.Tensor):
        array = value.detach().clone().numpy()
        return f"{value.requires_grad} {value.is_leaf} {value.stride()}", array
    if isinstance(value, dict):
        return [(str(key), shown(each)) for key, each in value.items()]
    if isinstance(value, list | tuple):
        return [shown(each) for each in value]
    return (type(value).__name__, np.array(value)) if isinstance(value, float) else repr(value)


def same(mine: Any, other: Any) -> bool:
    if type(mine) is not type(other):
        return False
    if isinstance(mine, list | tuple):
        return len(mine) == len(other) and all(map(same, mine, other))
    if isinstance(mine, np.ndarray):
        return mine.shape == other.shape and np.allclose(
            mine, other, rtol=1e-3, atol=1e-4, equal_nan=True
        )
    return bool(mine == other)


def history(text: str, seed: int, wrap: Wrap) -> list[Any]:
    """Everything that can be seen after each of some calls."""
    pick = random.Random(seed)
    clew.manual_seed(seed)
    space: dict[str, Any] = {
        "clew": clew, "nn": nn, "F": nn.functional, "copy": copy, "__name__": "program",
    }  # fmt: skip
    exec(text, space)
    trainer, net, seen = space["T"], space["net"], []
    step = wrap(trainer.step)
    for _ in range(8):
        count = pick.choice([4, 4, 4, 5])
        x, y, t = clew.randn(count, 6), clew.randint(0, 3, (count,)), clew.randn(count, 3)
        if pick.random() < 0.1:
            y = y + 3
        elif pick.random() < 0.1:
            x.requires_grad_()
        if pick.random() < 0.5:
            change = pick.choice(BETWEEN)
            seen.append(change)
            exec(change, space)
        try:
            result = step(x, y, t)
            seen.append(shown(result))
            trainer.note(result)
        except (RuntimeError, IndexError) as error:
            seen.append(f"{type(error).__name__} {str(error).splitlines()[0]}")
        found = {**dict(net.named_parameters()), **dict(net.named_buffers())}
        seen.append(shown(found))
        seen.append(shown([each.grad for each in (*found.values(), x)]))
        seen.append(shown(trainer.optimizer.state_dict()))
        numbers = [each for each in vars(net).values() if isinstance(each, int | float | list)]
        seen.append(repr([trainer.calls, numbers]))
    return [*seen, clew.rand(1).item()]


@pytest.mark.parametrize("start", range(0, 20, 5))
@pytest.mark.filterwarnings("ignore")
def test_random_steps_are_the_same_compiled(start: int) -> None:
    for seed in range(start, start + 5):
        text = program(random.Random(seed))
        expected = history(text, seed, lambda function: function)
        found = history(text, seed, clew.compile)
        for number, (mine, other) in enumerate(zip(expected, found, strict=True)):
            assert same(mine, other), (seed, number, mine, other, text)
