"""Scenarios that run twice, once with torch and once with clew, and must end alike.

A test decorated with `@twice` takes the module as its argument and returns whatever it has seen:
tensors, numbers, names, or what `raised` tells of an error. Results and warnings are compared.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch

import clew
from tests.oracle import assert_same

# torch warns of a reference cycle that clew does not make, and of its own use of its compiler;
# in anomaly mode it warns where clew's error itself names the forward line; and from Python 3.12 on
# its generators use a signature of throw() that Python warns of. Its vmap says where it loops,
# its nested tensors that they may change, and its fx of its own use of pytrees.
TORCH_ONLY = (
    "Using backward() with create_graph=True",
    "torch.jit",
    "Error detected in",
    "Previous calculation was induced",
    "the (type, exc, tb) signature",
    "There is a performance drop",
    "The PyTorch API of nested",
    "`isinstance(treespec, LeafSpec)` is deprecated",
)


class Raised(tuple[str, ...]):
    """The type of an error (its bases included) and the first words of its message."""

    __slots__ = ()


def leaf(lib: Any, values: Any, dtype: str = "float64") -> Any:
    """A tensor that gradients are wanted for."""
    return lib.tensor(values, dtype=getattr(lib, dtype), requires_grad=True)


def vector(lib: Any, *values: float, dtype: str = "float64") -> Any:
    """The same of some numbers."""
    return leaf(lib, values, dtype)


def raised(function: Callable[..., Any], *args: Any, words: int = 6, **kwargs: Any) -> Any:
    """What a call raises; a call that raises nothing is reported as such."""
    try:
        function(*args, **kwargs)
    except Exception as error:  # the error is the outcome
        text = str(error).strip().split("\n")[0].split()[:words]
        kinds = [kind.__name__ for kind in type(error).__mro__[:-2]]
        return Raised((*kinds, " ".join(text)))
    return "nothing raised"


def outcome(function: Callable[..., Any], *args: Any, words: int = 6) -> Any:
    """What a call returns, or what it raises."""
    results: list[Any] = []
    text = raised(lambda: results.append(function(*args)), words=words)
    return results[0] if results else text


def twice(scenario: Callable[[Any], Any]) -> Callable[[], None]:
    """A test that compares what a scenario does with torch and with clew."""

    def test() -> None:
        expected, expected_warnings = _observe(scenario, torch)
        actual, actual_warnings = _observe(scenario, clew)
        assert_same(_plain(actual, expected), _plain(expected, expected))
        assert actual_warnings == expected_warnings, (
            f"warnings {actual_warnings} but torch has {expected_warnings}"
        )

    test.__name__ = scenario.__name__
    test.__doc__ = scenario.__doc__
    test.scenario = scenario  # type: ignore[attr-defined]  # others run it in other ways
    return test


def _observe(scenario: Callable[[Any], Any], module: Any) -> tuple[Any, list[str]]:
    module.manual_seed(0)
    torch.set_warn_always(True)
    clew.set_warn_always(True)
    # These warn once per process by a switch of their own: each scenario is told anew.
    module.storage._reset_warn_typed_storage_removal()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = scenario(module)
    finally:
        clew.set_warn_always(False)
    seen = {f"{w.category.__name__}: {' '.join(str(w.message).split()[:5])}" for w in caught}
    return result, sorted(text for text in seen if not any(part in text for part in TORCH_ONLY))


def _plain(value: Any, expected: Any) -> Any:
    """Errors as lists of words: clew may raise a subclass of what torch raises."""
    if isinstance(value, Raised):
        kind = expected[0] if isinstance(expected, Raised) else value[0]
        return [kind if kind in value else value[0], value[-1]]
    if isinstance(value, dict):
        other = expected if isinstance(expected, dict) else {}
        return {key: _plain(item, other.get(key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        others = expected if isinstance(expected, (list, tuple)) else ()
        padded = [*others, *[None] * len(value)]
        return [_plain(item, other) for item, other in zip(value, padded, strict=False)]
    return value
