"""Making modules whose parameters are about to be overwritten."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

from clew import errors
from clew.nn.modules.module import Module

__all__ = ["skip_init"]

M = TypeVar("M", bound=Module)


def skip_init(module_cls: type[M], *args: Any, **kwargs: Any) -> M:
    """A module whose parameters hold nothing in particular, made without using random numbers.

    It is made on the meta device, where an initialization has nothing to write to.

    Args:
        module_cls: the module's class
        args, kwargs: what its constructor takes

    Example:
        >>> nn.utils.skip_init(nn.Linear, 2, 3)
        Linear(in_features=2, out_features=3, bias=True)
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}" + errors.at_user_line())
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError(
            "Module must support a 'device' arg to skip initialization\n"
            f"  Give {module_cls.__name__}.__init__ an argument `device=None`."
            + errors.at_user_line()
        )
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=device)
