"""Layers compared with torch's: one case is a class, its arguments and the inputs of a call.

The same seed must give the same state, repr, results, gradients and buffers, while training and in
evaluation, and state dicts must load in both directions.
"""

from __future__ import annotations

import inspect
import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

import clew
from tests.oracle import assert_same, to_clew
from tests.tensors import to_torch
from tests.twice import twice

Input = tuple[int, ...] | np.ndarray
"""A shape stands for random numbers that require grad, an array for itself.

The first input requires grad in any case, if it can.
"""


@dataclass(frozen=True)
class Case:
    """`nn.<name>(*args, **kwargs)` called on `inputs`; arrays become tensors."""

    name: str
    args: tuple[Any, ...]
    inputs: tuple[Input, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        words = [_short(arg) for arg in self.args]
        words += [f"{name}={_short(arg)}" for name, arg in self.kwargs.items()]
        return f"{self.name}({','.join(words)})-{'-'.join(map(_short, self.inputs))}"


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        value = value.shape
    if isinstance(value, tuple):
        return "x".join(map(str, value)) or "scalar"
    return getattr(value, "__name__", None) or str(value)


def case(name: str, *args: Any, on: Any, **kwargs: Any) -> Case:
    """A case; `on` is one shape, or a list of shapes and arrays."""
    return Case(name, args, tuple(on) if isinstance(on, list) else (on,), kwargs)


def build(lib: Any, case: Case) -> Any:
    """The layer of a case."""
    args = [_argument(lib, value) for value in case.args]
    kwargs = {name: _argument(lib, value) for name, value in case.kwargs.items()}
    return getattr(lib.nn, case.name)(*args, **kwargs)


def _argument(lib: Any, value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return lib.tensor(value.copy())
    return value(lib) if inspect.isfunction(value) else value


def leaves(lib: Any, case: Case) -> list[Any]:
    """The inputs of a case: the same numbers for both libraries."""
    rng = np.random.default_rng(3)
    made = []
    for index, spec in enumerate(case.inputs):
        if isinstance(spec, np.ndarray):
            requires_grad = index == 0 and spec.dtype.kind == "f"
            made.append(lib.tensor(spec.copy(), requires_grad=requires_grad))
        else:
            values = rng.standard_normal(spec).astype(np.float32)
            made.append(lib.tensor(values, requires_grad=True))
    return made


def check(case: Case) -> None:
    """Compare everything that a case shows."""

    def scenario(lib: Any) -> Any:
        lib.manual_seed(5)
        layer = build(lib, case)
        seen = {"repr": repr(layer), "initial": _state(layer)}
        for mode in ("training", "evaluation"):
            layer.train(mode == "training")
            seen[mode] = _call(lib, layer, case)
        return {**seen, "repr after": repr(layer), "versions": _versions(layer)}

    twice(scenario)()


def _state(layer: Any) -> list[Any]:
    """Names and values; of a parameter without a shape, the name of its class."""
    return [
        [name, kind if (kind := type(value).__name__).startswith("Uninit") else value.clone()]
        for name, value in layer.state_dict().items()
    ]


def _versions(layer: Any) -> list[Any]:
    return [[name, entry["version"]] for name, entry in layer.state_dict()._metadata.items()]


def _call(lib: Any, layer: Any, case: Case) -> list[Any]:
    """Results, inputs (which may have been overwritten), gradients, and the state afterwards."""
    given = leaves(lib, case)
    # Copies, because layers that write in place may not write to leaves.
    fed = [each * 1 if each.requires_grad else each for each in given]
    lib.manual_seed(7)
    result = layer(*fed)
    results = list(result) if isinstance(result, tuple) else [result]
    trained = [each for each in (*given, *layer.parameters()) if each.requires_grad]
    if trained:
        total = sum((each * each).sum() + each.sum() for each in results)
        grads = lib.autograd.grad(total, trained, allow_unused=True)
    else:
        grads = []
    detached = [each.detach() for each in (*results, *fed)]
    return [detached, list(grads), _state(layer)]


def check_state_dicts(case: Case) -> None:
    """A state dict of either library loads into the layer of the other."""
    for source, target, translate in ((torch, clew, to_clew), (clew, torch, to_torch)):
        layers = []
        for seed, lib in enumerate((source, target)):
            lib.manual_seed(seed)
            layers.append(build(lib, case))
            _call(lib, layers[-1], case)
        saved = layers[0].state_dict()
        report = layers[1].load_state_dict(
            {name: translate(value.clone()) for name, value in saved.items()}
        )
        assert list(report.missing_keys) == list(report.unexpected_keys) == []
        mine, theirs = layers if source is clew else layers[::-1]
        assert_same(dict(mine.state_dict()), dict(theirs.state_dict()))


def signature(function: Any) -> list[tuple[str, str, Any]]:
    """Name, kind and default of each parameter."""
    parameters = inspect.signature(function).parameters.values()
    return [(each.name, each.kind.name, each.default) for each in parameters]


def check_class(module: str, name: str) -> None:
    """A class stands at torch's place, with torch's arguments, constants and state version."""
    theirs = getattr(getattr(torch.nn.modules, module), name)
    mine = getattr(getattr(clew.nn.modules, module), name)
    assert getattr(clew.nn, name) is mine
    assert mine.__name__ == theirs.__name__
    assert signature(mine.__init__) == signature(theirs.__init__)
    assert [each[0] for each in signature(mine.forward)] == [
        each[0] for each in signature(theirs.forward)
    ]
    if hasattr(theirs, "__constants__"):
        assert mine.__constants__ == theirs.__constants__
    assert mine._version == theirs._version


def check_subclasses(classes: list[tuple[str, str]]) -> None:
    """`isinstance` answers as in torch, so that programs which ask go the same way."""
    for (one, first), (two, second) in itertools.product(classes, repeat=2):
        answers = [
            issubclass(getattr(getattr(nn, one), first), getattr(getattr(nn, two), second))
            for nn in (torch.nn.modules, clew.nn.modules)
        ]
        assert answers[0] == answers[1], (first, second)
