"""Every short program of a tensor, a view of it, changes of `requires_grad`, and writes.

A program is a base, a way to make a second tensor over its memory, and up to three actions; `run`
carries it out with one library and tells what can be seen of both tensors afterwards.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

Program = tuple[str, str, tuple[str, ...]]
Step = Callable[[Any, dict[str, Any]], Any]


def _under(mode: str, make: Step) -> Step:
    def step(m: Any, made: dict[str, Any]) -> Any:
        with getattr(m, mode)():
            return make(m, made)

    return step


def _result(m: Any, made: dict[str, Any]) -> Any:
    made["leaf"] = m.arange(4.0).requires_grad_()
    return made["leaf"] * 2


BASES: dict[str, Step] = {
    "plain": lambda m, made: m.arange(4.0),
    "leaf": lambda m, made: m.arange(4.0).requires_grad_(),
    "leaf view": lambda m, made: m.arange(4.0).reshape(4).requires_grad_(),
    "result": _result,
}


def _view(m: Any, made: dict[str, Any]) -> Any:
    return made["base"].view(2, 2)


def _view_of_view(m: Any, made: dict[str, Any]) -> Any:
    made["between"] = made["base"].view(2, 2)
    return made["between"].t()


def _view_of(wrap: Step, then: Step) -> Step:
    """A view by `then` of what `wrap` made."""

    def step(m: Any, made: dict[str, Any]) -> Any:
        between = made["between"] = wrap(m, made)
        return then(m, {"base": between.view(4)})

    return step


VIEWS: dict[str, Step] = {
    "view": _view,
    "view of view": _view_of_view,
    "part": lambda m, made: made["base"][1:3],
    "expanded": lambda m, made: made["base"].expand(2, 4),
    "one of many": lambda m, made: made["base"].chunk(2)[1],
    "detached": lambda m, made: made["base"].detach(),
    "view of detached": lambda m, made: made["base"].detach().view(2, 2),
    "data": lambda m, made: made["base"].data,
    "view of data": lambda m, made: made["base"].data[1:],
    "view under no_grad": _under("no_grad", _view),
    "many under no_grad": _under("no_grad", lambda m, made: made["base"].chunk(2)[1]),
    "view under inference": _under("inference_mode", _view),
    "view of no_grad view": _view_of(_under("no_grad", _view), _view),
    "no_grad view of view": _view_of(_view, _under("no_grad", _view)),
}


def _write(target: str, operand: str) -> Step:
    def step(m: Any, made: dict[str, Any]) -> None:
        if operand == "2":
            made[target].mul_(2)
        else:
            made[operand] = m.ones(()).requires_grad_()
            made[target].mul_(made[operand])

    return step


ACTIONS: dict[str, Step] = {}
for _name in ("base", "view"):
    ACTIONS[f"{_name}.requires_grad_()"] = lambda m, made, n=_name: made[n].requires_grad_()
    ACTIONS[f"{_name}.requires_grad_(False)"] = lambda m, made, n=_name: made[n].requires_grad_(
        False
    )
    ACTIONS[f"{_name}.detach_()"] = lambda m, made, n=_name: made[n].detach_()
    for _operand in ("2", "w"):
        _text = f"{_name}.mul_({_operand})"
        ACTIONS[_text] = _write(_name, _operand)
        ACTIONS[f"no_grad: {_text}"] = _under("no_grad", ACTIONS[_text])
    ACTIONS[f"inference: {_name}.mul_(2)"] = _under("inference_mode", ACTIONS[f"{_name}.mul_(2)"])
ENDS: dict[str, tuple[str, ...]] = {"view": ("view",), "base": ("base",), "both": ("base", "view")}


def programs(actions: int) -> Iterator[Program]:
    """All programs with so many actions."""
    for base, view in itertools.product(BASES, VIEWS):
        for chosen in itertools.product(ACTIONS, repeat=actions):
            yield base, view, chosen


def told(made: dict[str, Any]) -> dict[str, Any]:
    """What can be seen of the tensors without backward."""
    seen: dict[str, Any] = {}
    for name, tensor in made.items():
        ask = {
            "requires_grad": lambda t: t.requires_grad,
            "grad_fn": lambda t: None if t.grad_fn is None else t.grad_fn.name(),
            "is_leaf": lambda t: t.is_leaf,
            "requires_grad again": lambda t: t.requires_grad,
            "is_view": lambda t: t._is_view(),
            "base": lambda t: t._base is made["base"],
            "version": lambda t: t._version,
            "values": lambda t: t.tolist(),
        }
        for what, question in ask.items():
            seen[f"{name}: {what}"] = attempt(question, tensor)
    return seen


def attempt(function: Callable[..., Any], *args: Any) -> Any:
    """What a call returns, or the type and first words of what it raises."""
    try:
        return function(*args)
    except Exception as error:  # the error is the outcome
        return f"{type(error).__name__}: {' '.join(str(error).split()[:9])}"


def differences(actual: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """What PyTorch sees otherwise, in the order in which it was seen."""
    found = []
    for what, value in expected.items():
        have = actual.get(what)
        if have == value or (value == REMADE and have in REMADE_BY_CLEW):
            continue
        is_write = what.endswith(("mul_(2)", "mul_(w)"))
        if is_write and value.startswith(STALE_LEAF) and (have == "done" or OVERLAP in have):
            return found
        found.append(what)
    return found


# After a write a view has a new `grad_fn`. PyTorch's has this name; clew makes the view again, with
# the node of the operation that made it first.
REMADE = "AsStridedBackward0"
REMADE_BY_CLEW = {f"{name}Backward0" for name in ("View", "T", "Slice", "Expand", "Alias")}

# PyTorch's answer to a write to a view whose base has got a history since it was made, if nobody
# has asked for its `grad_fn` yet; after somebody has, it writes as clew does.
STALE_LEAF = "RuntimeError: a leaf Variable"
OVERLAP = "more than one element"


def run(m: Any, program: Program, end: str) -> dict[str, Any]:
    """Carry out a program, go backward from one of its ends, and tell what was seen."""
    base, view, actions = program
    made: dict[str, Any] = {}
    made["base"] = BASES[base](m, made)
    seen: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made["view"] = VIEWS[view](m, made)
        for number, action in enumerate(actions):
            result = attempt(ACTIONS[action], m, made)
            seen[f"{number}: {action}"] = result if isinstance(result, str) else "done"
        seen |= told(made)
        seen["autograd.grad"] = attempt(_grad_of_view, m, made)
        seen["backward"] = attempt(_backward, made, ENDS[end])
        for name, tensor in made.items():
            seen[f"{name}: grad"] = None if tensor.grad is None else tensor.grad.tolist()
    return seen


def _grad_of_view(m: Any, made: dict[str, Any]) -> Any:
    view = made["view"]
    loss = (view * view).sum()
    (grad,) = m.autograd.grad(loss, view, retain_graph=True, allow_unused=True)
    return None if grad is None else grad.tolist()


def _backward(made: dict[str, Any], names: tuple[str, ...]) -> None:
    total = 0
    for name in names:
        total = total + (made[name] * made[name]).sum()
    total.backward()  # type: ignore[attr-defined]  # at least one name: a tensor
