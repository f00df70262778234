"""Random programs, compiled and eager: views, writes, branches, draws, gradients, shared memory."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import clew
from tests.compiler.agreement import Wrap

UNARY = (
    "{a} * 2", "{a} + 1", "{a}.relu()", "{a}.tanh()", "{a}.abs()", "-{a}", "{a}.square()",
    "{a} * {k}", "F.dropout({a}, 0.3)", "{a}.detach() + 0", "{a}.clone()", "F.gelu({a})",
    "({a} > 0).to({a}.dtype) * {a}", "{a}.cumsum(0)", "{a}.softmax(-1)", "{a}.sort(0)[0]",
    "{a} + clew.rand_like({a})", "{a}.sum(0, keepdim=True).expand(3, 4)", "{a}[:]", "{a}.t().t()",
    "{a}.reshape(4, 3).reshape(3, 4)", "{a}.unsqueeze(0)[0]",
)  # fmt: skip
BINARY = (
    "{a} + {b}", "{a} * {b}", "{a} - {b}", "clew.where({a} > {b}, {a}, {b})", "{a}.maximum({b})",
    "{a} @ {b}.t() @ {b}", "clew.cat([{a}, {b}])[1:4]", "clew.stack([{a}, {b}]).mean(0)",
)  # fmt: skip
WRITES = (
    "{a}.mul_({k})", "{a}.add_(1)", "{a}[0] = 0.0", "{a}[:, 1].add_({b}[:, 0].detach())",
    "{a}.copy_({b}.detach())", "{a}.clamp_(-2, 2)", "{a}.t()[2].zero_()", "{a}.relu_()",
    "{a}.masked_fill_({b}.detach() > 1, 0.0)", "{a}[1:] *= 2", "{a}.data.mul_(1.5)",
)  # fmt: skip


def program(pick: random.Random) -> str:
    """The text of a function `f(x, y, k)` that also uses W (a leaf), S, T and a dict."""
    lines: list[str] = []
    names = ["x", "y", "W", "S", "T"]
    for number in range(pick.randint(3, 10)):
        kind, made = pick.random(), f"v{number}"
        operands = {"a": pick.choice(names), "b": pick.choice(names)}
        operands["k"] = pick.choice(["1.5", "k", "options['k']"])
        if kind < 0.72:
            text = pick.choice(UNARY if kind < 0.5 else BINARY)
            lines.append(f"{made} = {text.format(**operands)}")
        elif kind < 0.88:
            operands["a"] = pick.choice([name for name in names if name != "W"])
            mode = "with clew.no_grad(): " if pick.random() < 0.5 else ""
            lines.append(mode + pick.choice(WRITES).format(**operands))
            continue
        elif kind < 0.95:
            lines.append("if {a}.sum() > k: {made} = {a} * 2".format(made=made, **operands))
            lines.append("else: {made} = {b} - 1".format(made=made, **operands))
        else:
            lines.append(
                "({a}.square().sum() + W.sum()).backward(retain_graph=True)".format(**operands)
            )
            continue
        names.append(made)
    results = pick.sample(names, pick.randint(1, 3))
    lines.append(f"return [{', '.join(results)}]")
    return "def f(x, y, k):\n" + "\n".join("    " + line for line in lines)


def shown(tensor: Any) -> Any:
    if tensor is None:
        return None
    values = np.round(tensor.detach().numpy().astype(np.float64), 3).tolist()
    return tensor.requires_grad, tensor.is_leaf, tensor._version, values


def arguments(pick: random.Random, space: dict[str, Any]) -> tuple[clew.Tensor, clew.Tensor]:
    x, y = clew.randn(3, 4), clew.randn(3, 4)
    kind = pick.choice(["plain", "plain", "same", "views", "state", "leaf", "attached"])
    if kind == "same":
        y = x
    elif kind == "views":
        base, offset = clew.randn(6, 4), pick.randint(0, 3)
        x, y = base[:3], base[offset : offset + 3]
    elif kind == "state":
        y = space["W"].detach()
    elif kind in ("leaf", "attached"):
        x.requires_grad_()
        x = x * 1 if kind == "attached" else x
    return x, y


def history(text: str, seed: int, wrap: Wrap) -> list[Any]:
    """Everything that can be seen after each of some calls."""
    pick = random.Random(seed)
    clew.manual_seed(seed)
    space: dict[str, Any] = {
        "clew": clew, "F": clew.nn.functional, "options": {"k": 2.0}, "__name__": "program",
        "W": clew.randn(3, 4).requires_grad_(), "S": clew.randn(3, 4), "T": clew.randn(4, 3).t(),
    }  # fmt: skip
    exec(text, space)
    function, seen = wrap(space["f"]), []
    for _ in range(5):
        x, y = arguments(pick, space)
        if pick.random() < 0.2:
            space["options"]["k"] = pick.choice([2.0, 3.0])
        if pick.random() < 0.2:
            space["W"].grad = None
        is_grad = pick.random() < 0.8
        try:
            with clew.set_grad_enabled(is_grad):
                results = function(x, y, pick.choice([0.5, 0.5, 2.0]))
            seen.append([shown(each) for each in (*results, x, y, *map(space.get, "WST"))])
            attached = [each for each in results if each.requires_grad]
            if attached:
                clew.autograd.backward([(each * each).sum() for each in attached])
        except RuntimeError as error:
            seen.append([str(error).splitlines()[0][:60]])
        seen.append([shown(space["W"].grad)])
    return [*seen, clew.rand(1).item()]


@pytest.mark.parametrize("start", range(0, 200, 20))
@pytest.mark.filterwarnings("ignore")
def test_random_programs_are_the_same_compiled(start: int) -> None:
    for seed in range(start, start + 20):
        text = program(random.Random(seed))
        expected = history(text, seed, lambda function: function)
        made: list[Any] = []

        def compiled(function: Any, made: list[Any] = made) -> Any:
            made.append(clew.compile(function))
            return made[-1]

        assert history(text, seed, compiled) == expected, text
        # No pass leaves a graph that is not valid.
        problems = [event.problem or "" for event in made[0].events]
        assert not any("AssertionError" in each for each in problems), problems
