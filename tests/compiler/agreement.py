"""One scenario, eager and compiled: everything that it sees must be the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

import clew

Wrap = Callable[[Any], Any]
Scenario = Callable[[Wrap], Any]


def shown(value: Any) -> Any:
    """A value in a form that is compared: of tensors everything but their identity."""
    if isinstance(value, clew.Tensor):
        kind = (list(value.shape), str(value.dtype), value.requires_grad, value.is_leaf)
        return (*kind, value.stride(), value.detach().clone().tolist())
    if isinstance(value, list | tuple):
        return [shown(each) for each in value]
    if isinstance(value, dict):
        return {key: shown(each) for key, each in value.items()}
    return value


def seen(scenario: Scenario, wrap: Wrap) -> str:
    """What a scenario sees, or the error that it ends with."""
    clew.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    try:
        return repr((shown(scenario(wrap)), clew.rand(2).tolist(), random.random()))
    except Exception as error:  # compared with the other run's
        return f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"


def assert_agreement(scenario: Scenario) -> list[Any]:
    """Run a scenario twice; the compiled functions of the second run."""
    made: list[Any] = []

    def compiled(function: Any) -> Any:
        result = clew.compile(function)
        made.append(getattr(result, "compiled", result))
        return result

    expected = seen(scenario, lambda function: function)
    assert seen(scenario, compiled) == expected
    return made


def ones(factor: float = 1.0) -> clew.Tensor:
    return clew.ones(2) * factor
