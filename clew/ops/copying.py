"""Copies into new and into existing memory: clone, contiguous, copy_, fill_, zero_."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.elementwise import NUMBER
from clew.core.inplace import apply_inplace
from clew.core.op import Op
from clew.core.public import methods, public
from clew.core.tensor import Tensor

CHANNELS_LAST = {"torch.channels_last": 4, "torch.channels_last_3d": 5}


def convert(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """An array as another dtype, by C's rules; the imaginary part is dropped with a warning."""
    if array.dtype is dtype:
        return array
    if array.dtype.kind == "c" and dtype.kind not in "cb":
        warnings.warn("Casting complex values to real discards the imaginary part", stacklevel=6)
        array = array.real
    with np.errstate(all="ignore"):
        return array.astype(dtype)


def _copied(self: np.ndarray, src: np.ndarray) -> np.ndarray:
    return convert(src, self.dtype)


def _everywhere(self: np.ndarray, *, value: Any) -> np.ndarray:
    """One value as an array of the target's shape, without memory for each element."""
    one = scalar_as(value, self.dtype)
    return np.ndarray(self.shape, one.dtype, one, strides=(0,) * self.ndim)


def scalar_as(value: Any, dtype: np.dtype) -> np.ndarray:
    """A Python number as a 0-dim array of a dtype, refused where PyTorch refuses it."""
    if isinstance(value, np.ndarray):
        return convert(value, dtype)
    if isinstance(value, complex) and dtype.kind != "c":
        if value.imag:
            name = dtypes.BY_NUMPY[dtype].name
            raise RuntimeError(
                f"value cannot be converted to type {name} without overflow" + errors.at_user_line()
            )
        value = value.real
    if isinstance(value, float) and dtype.kind in "iu":
        value = _integer_part(value, dtype)
    try:
        with np.errstate(all="ignore"):
            return np.array(value, dtype)
    except OverflowError:
        if dtype.kind == "u" and value < 0 and -value <= np.iinfo(dtype).max:
            return np.array(value).astype(dtype)
        raise overflow(dtype) from None


def _integer_part(value: float, dtype: np.dtype) -> int:
    if value != value or value in (np.inf, -np.inf):
        raise overflow(dtype)
    return int(value)


def overflow(dtype: np.dtype) -> RuntimeError:
    """The error for a number that a dtype cannot hold."""
    names = {"int64": "int64_t", "float32": "float", "float64": "double", "uint8": "uint8_t",
             "int32": "int32_t", "int16": "int16_t", "int8": "int8_t"}  # fmt: skip
    name = dtypes.BY_NUMPY[dtype].name
    return RuntimeError(
        f"value cannot be converted to type {names.get(name, name)} without overflow"
        + errors.at_user_line()
    )


CLONE = Op("clone", lambda self: self.copy(order="K"), grads={"self": lambda g: g}, linear=True)
CLONE_CONTIGUOUS = Op(
    "clone_contiguous", lambda self: self.copy(), grads={"self": lambda g: g}, linear=True,
    node="CloneBackward0",
)  # fmt: skip
COPY = Op(
    "copy", _copied, grads={"self": lambda g: zeros(g), "src": lambda g: g}, node="CopyBackwards",
)  # fmt: skip
FILL = Op("fill", _everywhere, grads={"self": lambda g: zeros(g)}, node="FillBackward2")
FILL_TENSOR = Op(
    "fill_tensor",
    lambda self, value: _everywhere(self, value=value),
    grads={"self": lambda g: zeros(g), "value": lambda g: g.sum()},
    node="FillBackward3",
)
ZERO = Op("zero", lambda self: _everywhere(self, value=0), grads={"self": lambda g: zeros(g)})
ZEROS = Op(
    "zeros_for_gradient", lambda self, *, shape: np.zeros(shape, self.dtype),
    non_differentiable="constant output",
)  # fmt: skip


def zeros(like: Tensor, shape: tuple[int, ...] | None = None) -> Tensor:
    """Zeros in the dtype of a tensor, and in its shape or another, without its history."""
    return ZEROS(like, shape=like._array.shape if shape is None else shape)


def _is_channels_last(array: np.ndarray, memory_format: Any) -> bool:
    ndim = CHANNELS_LAST[str(memory_format)]
    return array.ndim == ndim and np.moveaxis(array, 1, -1).flags.c_contiguous


@public(out=False)
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy that is part of the graph."""
    if memory_format is not None and str(memory_format) != "torch.preserve_format":
        return _in_format(input, memory_format)
    return CLONE(input)


def _in_format(input: Tensor, memory_format: Any) -> Tensor:
    """A copy laid out in a memory format; elements and shape do not depend on it."""
    name = str(memory_format)
    if name not in CHANNELS_LAST:
        return CLONE_CONTIGUOUS(input)
    if input._array.ndim != CHANNELS_LAST[name]:
        raise RuntimeError(
            f"required rank {CHANNELS_LAST[name]} tensor to use channels_last"
            f"{'_3d' if name.endswith('3d') else ''} format" + errors.at_user_line()
        )
    return CLONE_CONTIGUOUS(input.movedim(1, -1)).movedim(-1, 1)


@public(function=False)
def contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself when its memory is in order, else a copy that is."""
    name = str(memory_format)
    if name in CHANNELS_LAST:
        kept = _is_channels_last(self._array, memory_format)
        return self if kept else _in_format(self, memory_format)
    if name == "torch.preserve_format":
        raise RuntimeError(
            "preserve memory format is unsupported by the contiguous operator"
            + errors.at_user_line()
        )
    return self if self._array.flags.c_contiguous else CLONE_CONTIGUOUS(self)


def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Write another tensor's values, broadcast and converted, into this one."""
    if not isinstance(src, Tensor):
        if not isinstance(src, NUMBER):
            raise errors.wrong_argument("copy_", "other", 1, "Tensor", src)
        return fill_(self, src)
    if self is src:
        return self
    mismatch = errors.broadcast_mismatch("copy_", self._array.shape, src._array.shape)
    if mismatch is not None:
        raise mismatch
    return apply_inplace(COPY, self, src)


def fill_(self: Tensor, value: Any) -> Tensor:
    """Set every element to one value."""
    if isinstance(value, Tensor):
        if value._array.ndim:
            raise RuntimeError(
                "fill_ only supports 0-dimension value tensor but got tensor with "
                f"{value._array.ndim} dimensions." + errors.at_user_line()
            )
        if value.requires_grad:
            return apply_inplace(FILL_TENSOR, self, value)
        value = value._array
    return apply_inplace(FILL, self, value=value)


def zero_(self: Tensor) -> Tensor:
    """Set every element to zero."""
    return apply_inplace(ZERO, self)


@public(method=False, out=False)
def fill(input: Tensor, value: Any) -> Tensor:
    """A copy of the tensor's shape and dtype with every element set to one value."""
    return fill_(clone(input), value)


methods(copy_=copy_, fill_=fill_, zero_=zero_)
