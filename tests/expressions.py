"""One line of Python, evaluated with PyTorch and with clew, must give the same.

`check("torch.arange(5).float()")` evaluates the text twice, with `torch` meaning each library in
turn and both random streams freshly seeded, and compares values, dtypes, strides, `requires_grad`,
`grad_fn` names and printed text; or, where PyTorch raises, the exception's type and first words.
"""

from __future__ import annotations

import copy
import math
import pickle
import types
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

import clew

FIRST_WORDS = 3


def check(text: str, values: bool = True, setup: str = "", words: int = FIRST_WORDS) -> None:
    """Compare both libraries on one expression; `values=False` leaves out what memory held."""
    theirs, their_error = evaluate(text, setup, torch)
    ours, our_error = evaluate(text, setup, clew)
    if their_error is not None:
        assert our_error is not None, f"torch raises {their_error!r}, clew gives {ours!r}"
        assert type(our_error) is type(their_error), f"{our_error!r} for {their_error!r}"
        assert first_words(our_error, words) == first_words(their_error, words)
        return
    if our_error is not None:
        raise our_error
    assert describe(ours, values) == describe(theirs, values)


def evaluate(text: str, setup: str, library: types.ModuleType) -> tuple[Any, Exception | None]:
    names: dict[str, Any] = {
        "torch": library,
        "np": np,
        "copy": copy,
        "pickle": pickle,
        "math": math,
    }
    torch.default_generator.manual_seed(0)
    clew.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(setup, names)
        try:
            return eval(text, names), None
        except Exception as error:  # the error is the outcome
            return None, error


def first_words(error: Exception, count: int) -> list[str]:
    return str(error).replace("'", " ").replace('"', " ").split()[:count]


def describe(value: Any, values: bool = True) -> Any:
    """Everything that must agree, in plain Python."""
    if isinstance(value, (torch.Tensor, clew.Tensor)):
        history = None if value.grad_fn is None else value.grad_fn.name()
        about = (
            str(value.dtype),
            tuple(value.shape),
            tuple(value.stride()),
            value.requires_grad,
            history,
        )
        return (*about, repr(value), str(value.tolist())) if values else about
    if isinstance(value, np.ndarray):
        return "ndarray", str(value.dtype), value.shape, str(value.tolist())
    if isinstance(value, Mapping):
        return {key: describe(each, values) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [describe(each, values) for each in value]
    if isinstance(value, (bool, int, float, complex, str)) or value is None:
        return type(value).__name__, repr(value)
    if hasattr(value, "next_functions"):
        return value.name()
    return repr(value)
