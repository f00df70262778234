"""The text of sparse tensors, as PyTorch prints them."""

from __future__ import annotations

from typing import Any

from clew.backend import dtypes
from clew.core import printing
from clew.core.tensor import Tensor
from clew.ops.sparse.tensor import BY_ROW, COO, nnz, rule

_NAMES = {True: ("crow_indices", "col_indices"), False: ("ccol_indices", "row_indices")}


@rule("__repr__", "__str__")
def text(self: Tensor, *, tensor_contents: Any = None) -> str:
    """The parts, then what is special about the tensor."""
    indent = len("tensor(")
    names = ("indices",) if self._kind is COO else _NAMES[self._kind in BY_ROW]
    default = dtypes.get_default_dtype().name
    parts = ",\n".join(
        " " * indent * bool(number) + _part(name, part, indent, default)
        for number, (name, part) in enumerate(zip((*names, "values"), self._parts, strict=True))
    )
    suffixes = [f"size={tuple(self._layout.shape)}", f"nnz={nnz(self)}"]
    name = self.dtype.name
    if name not in printing.implied_dtypes(default):
        suffixes.append(f"dtype=torch.{name}")
    suffixes.append(f"layout={self._kind!r}")
    if self.grad_fn is not None:
        suffixes.append(f"grad_fn=<{self.grad_fn.name()}>")
    elif self.requires_grad:
        suffixes.append("requires_grad=True")
    return printing.with_suffixes(f"tensor({parts}", suffixes, indent, self._kind is COO)


def _part(name: str, part: Any, indent: int, default: str) -> str:
    array = part._array
    prefix = f"{name}=tensor("
    if not array.size:
        return f"{prefix}[], size={array.shape})"
    body = printing.format_tensor(
        array, dtype_name=dtypes.BY_NUMPY[array.dtype].name, prefix=prefix,
        indent=indent + len(prefix), with_dtype=False,
    )  # fmt: skip
    return body


@rule("__format__")
def formatted(self: Tensor, spec: str) -> str:
    """A tensor in a formatted string."""
    return format(text(self), spec)
