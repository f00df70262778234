"""Tensors of either library: which values are, what they hold, and the same as NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import torch
from torch.utils._pytree import tree_map_only

import clew

Array = np.ndarray[Any, Any]


def short_name(torch_or_clew_value: object) -> str:
    """'float32' of torch.float32, 'strided' of torch.strided; both libraries print alike."""
    return str(torch_or_clew_value).rpartition(".")[2]


def is_tensor(value: Any) -> bool:
    """Whether the value is a tensor of either library."""
    return isinstance(value, (torch.Tensor, clew.Tensor))


def is_inexact(tensor: Any) -> bool:
    """Whether a tensor of either library holds floating-point or complex numbers."""
    return bool(tensor.dtype.is_floating_point or tensor.dtype.is_complex)


_WIDER = {
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}


def rounded_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """A torch function, computed in a wider dtype and rounded at the end.

    What clew computes is to be that, also where torch rounds after every step, and so departs
    from the exact value by more.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        found = [t.dtype for t in tensors_in((args, kwargs)) if t.dtype in _WIDER]
        if not found:
            return function(*args, **kwargs)
        wide = {narrow: _WIDER[narrow] for narrow in found}
        back = {wide[narrow]: narrow for narrow in found}
        widened = tree_map_only(
            torch.Tensor, lambda t: t.to(wide.get(t.dtype, t.dtype)), (args, kwargs)
        )
        result = function(*widened[0], **widened[1])
        return tree_map_only(torch.Tensor, lambda t: t.to(back.get(t.dtype, t.dtype)), result)

    return call


def to_numpy(tensor: Any) -> Array:
    """The values of a tensor of either library; bfloat16 and complex32 come as in ml_dtypes."""
    plain = tensor.detach().resolve_conj().resolve_neg()
    if isinstance(plain, torch.Tensor):
        plain = plain.clone() if plain._is_zerotensor() else plain
    if short_name(plain.dtype) == "bfloat16":
        # numpy() refuses bfloat16, and every bfloat16 number is a float32 number.
        widened: Array = plain.float().numpy()
        return widened.astype(ml_dtypes.bfloat16)
    if short_name(plain.dtype) == "complex32":
        halves: Array = plain.cfloat().numpy()
        return halves.astype(ml_dtypes.complex32)
    array: Array = plain.numpy()
    return array


def to_torch(value: Any) -> Any:
    """A torch tensor (or nested list of them) with the values of a clew one."""
    if isinstance(value, (list, tuple)):
        return type(value)(to_torch(item) for item in value)
    if not is_tensor(value):
        return value
    array = np.array(to_numpy(value))
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


_PARTS = {
    "sparse_coo": ("_indices", "_values"),
    "sparse_csr": ("crow_indices", "col_indices", "values"),
    "sparse_bsr": ("crow_indices", "col_indices", "values"),
    "sparse_csc": ("ccol_indices", "row_indices", "values"),
    "sparse_bsc": ("ccol_indices", "row_indices", "values"),
}


def sparse_parts(tensor: Any) -> list[Any]:
    """What a sparse tensor of either library consists of: indices, and last the values."""
    return [getattr(tensor, name)() for name in _PARTS[short_name(tensor.layout)]]


def tensors_in(value: Any) -> list[Any]:
    """All tensors of a nested value, in order of occurrence, each one once."""
    found: list[Any] = []

    def walk(item: Any) -> None:
        if is_tensor(item):
            if all(item is not other for other in found):
                found.append(item)
        elif isinstance(item, (list, tuple)):
            for part in item:
                walk(part)
        elif isinstance(item, dict):
            for part in item.values():
                walk(part)

    walk(value)
    return found


def fresh_leaves(value: Any, memo: dict[int, torch.Tensor] | None = None) -> Any:
    """The same torch values, each tensor detached: op_db has leaves that are views of leaves,
    and those get no gradient from some ops."""
    memo = {} if memo is None else memo
    if isinstance(value, torch.Tensor):
        if id(value) not in memo:
            memo[id(value)] = value.detach().requires_grad_(value.requires_grad)
        return memo[id(value)]
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        items = [fresh_leaves(item, memo) for item in value]
        return value if isinstance(value, torch.Size) else type(value)(items)
    if isinstance(value, dict):
        return {key: fresh_leaves(item, memo) for key, item in value.items()}
    return value
