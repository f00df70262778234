"""Utilities: what users reach as `clew.utils`."""

from typing import TYPE_CHECKING

from clew.aliasing import explain_missing, on_request
from clew.autograd.swapping import swap_tensors
from clew.utils import _pytree, checkpoint, deterministic, dlpack, hooks

if TYPE_CHECKING:
    from clew.utils import data

__all__ = ["_pytree", "checkpoint", "data", "deterministic", "dlpack", "hooks", "swap_tensors"]


# With its processes and sockets it takes as long to import as the rest of the library's parts.
__getattr__, __dir__ = on_request(__name__, {"collect_env", "data"})

explain_missing(__name__)
