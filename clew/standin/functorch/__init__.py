"""`import functorch` under `clew run`: the old names of `torch.func`, which warn.

Also found by processes that such a program starts, where nothing was imported before.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from clew import func
from clew.aliasing import install

from . import modules as _modules
from .modules import FunctionalModule, FunctionalModuleWithBuffers

install()

__all__ = [
    "FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble",
    "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
    "make_functional", "make_functional_with_buffers", "vjp", "vmap",
]  # fmt: skip

_MIGRATION = (
    "; see the PyTorch 2.0 release notes and/or the `torch.func` migration guide for more details "
    "https://pytorch.org/docs/main/func.migrating.html"
)


def _deprecated(
    api: Callable[..., Any], module: str = "torch.func", replacement: str | None = None
) -> Callable[..., Any]:
    name = api.__name__
    text = (
        f"We've integrated functorch into PyTorch. As the final step of the integration, "
        f"`functorch.{name}` is deprecated as of PyTorch 2.0 and will be deleted in a future "
        f"version of PyTorch >= 2.3. Please use `{module}.{replacement or name}` instead"
    )
    text += "." if replacement is None else _MIGRATION

    @functools.wraps(api)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(text, FutureWarning, stacklevel=2)
        return api(*args, **kwargs)

    return wrapper


functionalize = _deprecated(func.functionalize)
grad = _deprecated(func.grad)
grad_and_value = _deprecated(func.grad_and_value)
hessian = _deprecated(func.hessian)
jacfwd = _deprecated(func.jacfwd)
jacrev = _deprecated(func.jacrev)
jvp = _deprecated(func.jvp)
vjp = _deprecated(func.vjp)
vmap = _deprecated(func.vmap, "torch")
make_functional = _deprecated(_modules.make_functional, replacement="functional_call")
make_functional_with_buffers = _deprecated(
    _modules.make_functional_with_buffers, replacement="functional_call"
)
combine_state_for_ensemble = _deprecated(
    _modules.combine_state_for_ensemble, replacement="stack_module_state"
)
