"""What a nested tensor says about itself: sizes, parts, text; and its copies."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.backend import layout as layouts
from clew.core.size import Size
from clew.core.tensor import Tensor
from clew.ops.define.dims import wrap_dim
from clew.ops.define.memory_layout import strides_in_elements
from clew.ops.nested.cuts import Jagged, Pieces
from clew.ops.nested.tensor import (
    JAGGED,
    STRIDED,
    both,
    components,
    constant,
    is_nested,
    jagged,
    nested,
    of_values,
    strided,
    values_of,
)

# -- both layouts ----------------------------------------------------------------------------------


@both("is_nested")
def _is_nested(plain: Any, self: Any) -> bool:
    return True


@both("layout")
def _layout(plain: Any, self: Any) -> Any:
    return self._kind


@both("dim", "ndim", "ndimension")
def _dim(plain: Any, self: Any) -> int:
    ndim: int = self._layout.ndim
    return ndim


@both("data")
def _data(plain: Any, self: Any) -> Any:
    return self.detached()


@both("data.__set__")
def _set_data(plain: Any, self: Any, value: Any) -> None:
    """Take over the parts of another nested tensor of the layout, and nothing of its history."""
    if type(value) is not type(self):
        raise RuntimeError(
            "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
            "incompatible tensor type." + errors.at_user_line()
        )
    self._parts, self._cuts = value._parts, value._cuts
    Tensor.__dict__["_array"].__set__(self, value._layout)


@both("values")
def _values(plain: Any, self: Any) -> Tensor:
    """The elements of all components, in the memory of the nested tensor."""
    values = values_of(self)
    return values if values.requires_grad else values.detach()


@both("numel", "nelement")
def _numel(plain: Any, input: Any) -> int:
    cuts, values = input._cuts, input._parts[0]._array
    if type(cuts) is Jagged and cuts.lengths is not None:
        inner = [n for dim, n in enumerate(values.shape) if dim != cuts.ragged - 1]
        return int(cuts.sizes.sum()) * math.prod(inner)
    return int(values.size)


@both("nbytes")
def _nbytes(plain: Any, self: Any) -> int:
    return _numel(plain, self) * int(self._layout.itemsize)


@both("storage_offset", "data_ptr")
def _zero(plain: Any, self: Any) -> int:
    return 0


@both("is_same_size")
def _is_same_size(plain: Any, input: Any, other: Any) -> bool:
    if type(input._cuts) is Pieces:
        return is_nested(other) and input._cuts.shapes == getattr(other._cuts, "shapes", None)
    return bool(input.shape == other.shape)


@both("__bool__", "is_nonzero")
def _truth(plain: Any, self: Any) -> bool:
    raise RuntimeError(
        "Boolean value of Tensor with more than one value is ambiguous" + errors.at_user_line()
    )


@both("item", "__float__", "__int__", "__index__", "__complex__")
def _item(plain: Any, self: Any) -> Any:
    raise RuntimeError(
        f"a Tensor with {_numel(plain, self)} elements cannot be converted to Scalar"
        + errors.at_user_line()
    )


@both("__format__")
def _formatted(plain: Any, self: Any, spec: str) -> str:
    return format(repr(self), spec)


@both("is_shared", "is_pinned")
def _of_values(plain: Callable[..., Any], self: Any, *args: Any) -> Any:
    return plain(self._parts[0], *args)


@both("share_memory_")
def _share(plain: Callable[..., Any], self: Any) -> Any:
    plain(self._parts[0])
    return self


# -- the jagged layout -----------------------------------------------------------------------------


@jagged("shape")
def _shape(plain: Any, self: Any) -> Size:
    size: Size = self._cuts.shape(self._parts[0])
    return size


@jagged("size")
def _size(plain: Any, self: Any, dim: int | None = None) -> Any:
    shape = _shape(plain, self)
    return shape if dim is None else shape[wrap_dim(dim, len(shape))]


@jagged("stride")
def _stride(plain: Any, self: Any, dim: int | None = None) -> Any:
    inner = strides_in_elements(self._parts[0]._array)
    cuts: Jagged = self._cuts
    strides = (cuts.length * inner[cuts.ragged - 1], *inner)
    return strides if dim is None else strides[wrap_dim(dim, len(strides))]


@jagged("__len__")
def _len(plain: Any, self: Any) -> int:
    count: int = self._cuts.count
    return count


@jagged("is_contiguous")
def _is_contiguous(plain: Callable[..., Any], self: Any, memory_format: Any = None) -> bool:
    if self._cuts.lengths is not None:
        return False
    if memory_format in (None, layouts.contiguous_format):
        return bool(plain(self._parts[0]))
    return memory_format is layouts.preserve_format


@jagged("__repr__", "__str__")
def text(plain: Any, self: Any, *, tensor_contents: Any = None) -> str:
    """The size and the offsets, then what is special about the tensor."""
    history = f", requires_grad={self.requires_grad}" if self.requires_grad else ""
    if self.grad_fn is not None:
        history = f", grad_fn={self.grad_fn}"
    return (
        f"NestedTensor(size={tuple(self.shape)}, offsets={self._cuts.offsets}{history}, "
        f"contiguous={self.is_contiguous()})"
    )


def _refuse(table: dict[str, Any], names: str, kind: type[Exception], words: str) -> None:
    def refuse(plain: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
        raise kind(
            words + "\n  unbind() gives the components, values() all elements, and "
            "to_padded_tensor(...) a strided tensor." + errors.at_user_line()
        )

    table.update(dict.fromkeys(names.split(), refuse))


_refuse(JAGGED, "tolist", RuntimeError,
        ".tolist() is not supported for tensor subclasses, got NestedTensor")  # fmt: skip
_refuse(JAGGED, "numpy __array__", RuntimeError, ".numpy() is not supported for tensor subclasses.")
_refuse(
    JAGGED, "untyped_storage storage _typed_storage", RuntimeError,
    "The tensor has a non-zero number of elements, but its data is not allocated yet.",
)  # fmt: skip
_SIZES = "Internal error: NestedTensorImpl doesn't support sizes. Please file an issue."
_STRIDES = "Internal error: NestedTensorImpl doesn't support strides. Please file an issue."
_refuse(STRIDED, "shape __len__ numpy __array__ unflatten flatten __iter__", RuntimeError, _SIZES)
_refuse(STRIDED, "stride tolist", RuntimeError, _STRIDES)


@jagged("contiguous")
def _contiguous(plain: Callable[..., Any], self: Any, memory_format: Any = None) -> Any:
    """Values without gaps; components with holes are copied."""
    if self._cuts.lengths is not None:
        return _without_holes(self)
    values = values_of(self)
    dense = plain(values)
    return self if dense is values else nested(dense, self._cuts)


@jagged("clone")
def _clone(plain: Callable[..., Any], input: Any, *, memory_format: Any = None) -> Any:
    if input._cuts.lengths is not None and memory_format is layouts.contiguous_format:
        return _without_holes(input)
    return nested(plain(values_of(input), memory_format=memory_format), input._cuts)


def _without_holes(tensor: Any) -> Tensor:
    cuts: Jagged = tensor._cuts
    sizes = cuts.sizes
    offsets = constant(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))
    index = np.repeat(cuts.starts, sizes) + (
        np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    )
    values = values_of(tensor).index_select(cuts.ragged - 1, constant(index))
    return nested(values, Jagged(offsets, None, cuts.ragged, dict(cuts.known)))


@jagged("type")
def _type(plain: Callable[..., Any], self: Any, dtype: Any = None, *rest: Any) -> Any:
    if dtype is None:
        return plain(self._parts[0])
    return self.to(dtype)


STRIDED["type"] = _type


@jagged("apply_")
def _apply(plain: Callable[..., Any], self: Any, callable: Any) -> Any:
    plain(self._parts[0], callable)
    return self


@jagged("new_zeros", "new_empty", "new_ones", "new_full")
def _new(plain: Callable[..., Any], self: Any, *size: Any, **options: Any) -> Tensor:
    """A strided tensor without dimensions."""
    given = options.get("size", size[0] if size else ())
    if isinstance(given, (tuple, list)) and not len(given):
        made: Tensor = plain(self._parts[0], *size, **options)
        return made
    raise RuntimeError("new_empty() not supported for NJT with shape != ()" + errors.at_user_line())


@both("__reduce_ex__")
def _reduce(plain: Any, self: Any, protocol: int) -> Any:
    """What a pickle has of a nested tensor."""
    cuts = self._cuts
    data = (
        (cuts.offsets, cuts.lengths, cuts.ragged, cuts.known)
        if type(cuts) is Jagged
        else (cuts.shapes, cuts.is_contiguous)
    )
    return rebuild, (type(cuts), self._parts[0], data, self.requires_grad)


def rebuild(kind: type, values: Tensor, data: tuple[Any, ...], leaf: bool) -> Tensor:
    """A nested tensor out of a pickle."""
    result = of_values(values, kind(*data))
    result._requires_grad = leaf
    return result


# -- the strided layout ----------------------------------------------------------------------------


@strided("size")
def _size_strided(plain: Any, self: Any, dim: int | None = None) -> Any:
    if dim is None:
        raise RuntimeError(_SIZES + errors.at_user_line())
    wrapped = wrap_dim(dim, self._layout.ndim)
    cuts: Pieces = self._cuts
    found = cuts.size_of(wrapped - 1) if wrapped else cuts.count
    if found is None:
        raise RuntimeError(
            f"Given dimension {dim} is irregular and does not have a size." + errors.at_user_line()
        )
    return found


@strided("is_contiguous")
def _is_contiguous_strided(plain: Any, self: Any, memory_format: Any = None) -> bool:
    is_so: bool = self._cuts.is_contiguous
    return is_so


@strided("untyped_storage", "storage", "_typed_storage")
def _storage(plain: Callable[..., Any], self: Any) -> Any:
    return plain(self._parts[0])


@strided("to_dense")
def _itself(plain: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    return self


@strided("__repr__", "__str__")
def text_strided(plain: Callable[..., Any], self: Any, *, tensor_contents: Any = None) -> str:
    """Every component on lines of its own."""
    shown = []
    for each in components(self.detach()):
        each._requires_grad = self.requires_grad
        shown.append("\n".join(f"  {line}" for line in plain(each).split("\n")))
    suffix = ""
    if self.grad_fn is not None:
        suffix = f", grad_fn=<{self.grad_fn.name()}>"
    elif self.requires_grad:
        suffix = ", requires_grad=True"
    return "nested_tensor([\n" + ",\n".join(shown) + f"\n]{suffix})"
