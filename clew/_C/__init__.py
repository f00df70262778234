"""What libraries call in PyTorch's compiled part though it is not public."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from clew import fft, linalg, special
from clew._C import _nn
from clew._C.names import *  # noqa: F403  (names are found here)
from clew.core.function_modes import (
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    pop_mode,
    push_mode,
)
from clew.core.function_modes import Enabled as _EnableTorchFunction
from clew.core.overrides import ENABLED, NOTHING
from clew.core.overrides import disabled as _disabled_torch_function_impl
from clew.core.state import local
from clew.core.tensor import Tensor as TensorBase
from clew.overrides import has_torch_function as _has_torch_function
from clew.overrides import has_torch_function_unary as _has_torch_function_unary
from clew.overrides import has_torch_function_variadic as _has_torch_function_variadic

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "TensorBase",
    "_EnableTorchFunction",
    "_disabled_torch_function_impl",
    "_has_torch_function",
    "_has_torch_function_unary",
    "_has_torch_function_variadic",
    "_nn",
]


def _with_prefix(part: str, module: Any) -> SimpleNamespace:
    """The functions of a module, by the names that they have in PyTorch's compiled part."""
    named = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    return SimpleNamespace(**{f"{part}_{name}": value for name, value in named.items()})


_fft = _with_prefix("fft", fft)
_linalg = _with_prefix("linalg", linalg)
_special = _with_prefix("special", special)


def _log_api_usage_once(event: str) -> None:
    """PyTorch reports which of its parts are in use; clew reports nothing."""


def _is_torch_function_enabled() -> bool:
    """Whether classes take over functions."""
    return local.state.overrides == ENABLED


def _is_torch_function_all_disabled() -> bool:
    """Whether neither classes nor modes take over functions."""
    return local.state.overrides == NOTHING


def _is_torch_function_mode_enabled() -> bool:
    """Whether a mode is active."""
    return bool(local.state.function_modes) and local.state.overrides != NOTHING


def _len_torch_function_stack() -> int:
    """How many modes are active."""
    return len(local.state.function_modes)


def _get_function_stack_at(place: int) -> Any:
    """One of the modes that are active."""
    return local.state.function_modes[place]


_push_on_torch_function_stack = push_mode
_pop_torch_function_stack = pop_mode
