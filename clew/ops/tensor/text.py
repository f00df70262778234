"""How tensors print."""

from __future__ import annotations

from typing import Any

from clew.backend import dtypes
from clew.core import printing
from clew.core.meta.memory import is_meta
from clew.core.public import FUNCTIONS, methods
from clew.core.tensor import Tensor, tangent_of


def _repr(self: Tensor, *, tensor_contents: Any = None) -> str:
    try:
        history = self.grad_fn
        grad_fn_name = None if history is None else history._name().rpartition("::")[2]
    except RuntimeError:
        # A view that was made without grad, and whose memory was written to since.
        grad_fn_name = "Invalid"
    tangent = tangent_of(self)
    name = type(self).__name__
    return printing.format_tensor(
        self._layout if is_meta(self._layout) else self._array,
        dtype_name=self.dtype.name,
        default_float_name=dtypes.get_default_dtype().name,
        requires_grad=self._requires_grad,
        grad_fn_name=grad_fn_name,
        tangent=None if tangent is None else repr(tangent),
        prefix="tensor(" if name == "Tensor" else f"{name}(",
        device=str(self.device) if is_meta(self._layout) else None,
    )


def _format(self: Tensor, spec: str) -> str:
    """A 0-dim tensor formats as its number, any other as its text."""
    if self._array.ndim == 0 and not is_meta(self._array):
        return format(self.item(), spec)
    return object.__format__(self, spec)


methods(__repr__=_repr, __format__=_format)
FUNCTIONS["set_printoptions"] = printing.set_printoptions
