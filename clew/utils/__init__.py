"""Utilities: what users reach as `clew.utils`."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from clew.aliasing import explain_missing, missing_name
from clew.utils import _pytree, checkpoint, deterministic, dlpack, hooks

if TYPE_CHECKING:
    from clew.utils import data

__all__ = ["_pytree", "checkpoint", "data", "deterministic", "dlpack", "hooks"]


def __getattr__(name: str) -> Any:
    # With its processes and sockets it takes as long to import as the rest of the library's parts.
    if name == "data":
        module = import_module("clew.utils.data")
        explain_missing(module.__name__)
        return module
    return missing_name(sys.modules[__name__], name)


explain_missing(__name__)
