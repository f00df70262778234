"""Nested tensors in files, as PyTorch writes them: their values, and how these are cut."""

from __future__ import annotations

from typing import Any

from clew.core.tensor import Tensor
from clew.ops.nested.construction import view_from_jagged
from clew.ops.nested.cuts import Jagged
from clew.ops.nested.private import _nested_view_from_buffer


def description(tensor: Any, jagged: tuple[Any, Any, Any], strided: Any) -> tuple[Any, Any]:
    """What a file has of a nested tensor: a function of those given, and its arguments."""
    cuts, values = tensor._cuts, tensor._parts[0]
    if type(cuts) is not Jagged:
        return strided, (
            values, tensor._nested_tensor_size(), tensor._nested_tensor_strides(),
            tensor._nested_tensor_storage_offsets(),
        )  # fmt: skip
    rebuild_from_type, rebuild, kind = jagged
    parts = {
        "values": values, "offsets": cuts.offsets, "lengths": cuts.lengths,
        "_ragged_idx": cuts.ragged, "_metadata_cache": tensor._metadata_cache,
        "requires_grad": tensor.requires_grad,
    }  # fmt: skip
    return rebuild_from_type, (rebuild, kind, (parts,), {})


def rebuild_jagged(parts: Any) -> Tensor:
    """A nested tensor of the jagged layout out of a file; all cuts are looked at."""
    if not isinstance(parts, dict):
        raise TypeError("a nested tensor is made of a dict of its parts")
    values, offsets, lengths = (
        _strided(parts.get(name), name) for name in ("values", "offsets", "lengths")
    )
    ragged = parts.get("_ragged_idx", 1)
    if values is None or offsets is None:
        raise TypeError("a nested tensor has values and offsets")
    if type(ragged) is not int or not 1 <= ragged <= values.dim():
        raise ValueError("the ragged dimension of a nested tensor is one of its values")
    _check_cuts(offsets, lengths, values._layout.shape[ragged - 1])
    known = {
        name: int(n._layout.shape[0])
        for name, n in (parts.get("_metadata_cache") or {}).items()
        if name in ("min_seqlen", "max_seqlen") and isinstance(n, Tensor)
    }
    result = view_from_jagged(values, offsets, lengths, ragged)
    result._cuts.known.update(known)
    result._requires_grad = bool(parts.get("requires_grad"))
    return result


def _strided(part: Any, name: str) -> Tensor | None:
    """A part of a file, without what PyTorch's compiler has noted on it."""
    if part is None and name == "lengths":
        return None
    if not isinstance(part, Tensor) or part._is_unstrided:
        raise TypeError(f"the {name} of a nested tensor are a strided tensor")
    part.__dict__.clear()
    return part


def _check_cuts(offsets: Tensor, lengths: Tensor | None, size: int) -> None:
    numbers = offsets._array
    if numbers.ndim != 1 or numbers.dtype.kind != "i" or not len(numbers):
        raise ValueError("the offsets of a nested tensor are a row of integers")
    ends = numbers[1:]
    if lengths is not None:
        if lengths._array.shape != ends.shape or lengths._array.dtype.kind != "i":
            raise ValueError("a nested tensor has as many lengths as components")
        if (lengths._array < 0).any():
            raise ValueError("the lengths of a nested tensor are not negative")
        ends = numbers[:-1] + lengths._array
    if (ends < numbers[:-1]).any() or (numbers < 0).any() or (ends > size).any():
        raise ValueError("the offsets of a nested tensor lie within its values, in order")


def rebuild_strided(buffer: Any, sizes: Any, strides: Any, offsets: Any) -> Tensor:
    """A nested tensor of the strided layout out of a file; all sizes are looked at."""
    for part in (buffer, sizes, strides, offsets):
        _strided(part, "parts")
    shapes, starts = sizes._array, offsets._array
    if shapes.dtype.kind != "i" or shapes.ndim != 2 or starts.shape != shapes.shape[:1]:
        raise ValueError("a nested tensor has sizes for each component")
    if shapes.size and ((shapes < 0).any() or (starts + shapes.prod(1) > buffer.numel()).any()):
        raise ValueError("the components of a nested tensor lie within its values")
    return _nested_view_from_buffer(buffer, sizes, strides, offsets)
