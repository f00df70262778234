"""Copies into new and into existing memory: clone, contiguous, copy_, fill_, zero_."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.backend.layout import contiguous_format
from clew.backend.layout import memory_format as format_type
from clew.core.elementwise import NUMBER
from clew.core.inplace import (
    apply_inplace,
    note_write,
    refuse_leaf,
    repeats_memory,
)
from clew.core.op import Op
from clew.core.public import methods, public
from clew.core.tensor import Tensor, wrap
from clew.kernels.compiled.copies import copied
from clew.kernels.numpy.arrays import real_part, row_by_row
from clew.kernels.numpy.conversion import saturated
from clew.kernels.numpy.strides import is_same_memory
from clew.ops.define import memory_layout, vmap_errors

_F32, _F64 = dtypes.float32.np, dtypes.float64.np
_LARGEST = float(np.finfo(np.float32).max)
NARROW_FLOATS = frozenset({*dtypes.LOW_PRECISION, np.dtype(np.float32)})


def convert(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """An array as another dtype, by C's rules; the imaginary part is dropped with a warning."""
    if array.dtype is dtype:
        return array
    if array.dtype.kind in "cW" and dtype.kind not in "cWb":
        errors.warn_once("Casting complex values to real discards the imaginary part")
        array = real_part(array)
    with np.errstate(all="ignore"):
        return saturated(array, dtype).astype(dtype)


def _copied(self: np.ndarray, src: np.ndarray) -> np.ndarray:
    return convert(src, self.dtype)


def _everywhere(self: np.ndarray, *, value: Any) -> np.ndarray:
    """One value as an array of the target's shape, without memory for each element."""
    one = scalar_as(value, self.dtype)
    return np.ndarray(self.shape, one.dtype, one, strides=(0,) * self.ndim)


def fits_all(value: Any) -> bool:
    """Whether every dtype can hold a number: the short answer for the usual ones."""
    return not isinstance(value, complex) and 0 <= value < 128


def scalar_as(value: Any, dtype: np.dtype) -> np.ndarray:
    """A Python number as a 0-dim array of a dtype, refused where PyTorch refuses it."""
    if type(value) is float and (dtype is _F64 or (dtype is _F32 and -_LARGEST < value < _LARGEST)):
        return np.array(value, dtype)
    if isinstance(value, np.ndarray):
        return convert(value, dtype)
    if not isinstance(value, NUMBER):
        # NumPy would read a number out of text and make NaN of None.
        raise TypeError(
            f"value must be a number or a Tensor, not {type(value).__name__}"
            + errors.at_user_line()
        )
    if isinstance(value, int) and value.bit_length() > 64:
        raise OverflowError("int too big to convert")
    if isinstance(value, complex) and dtype.kind not in "cWb":
        if value.imag:
            raise overflow(dtype)
        value = value.real
    if isinstance(value, float) and dtype.kind in "iu":
        value = _integer_part(value, dtype)
    if dtype.kind == "V" and isinstance(value, int):
        value = float(value)
    try:
        with np.errstate(all="ignore"):
            result = np.array(value, dtype)
        if dtype in NARROW_FLOATS and abs(float(result)) == np.inf != abs(float(value)):
            raise overflow(dtype)
        return result
    except OverflowError:
        if dtype.kind == "u" and value < 0 and -value <= np.iinfo(dtype).max:
            return np.array(value).astype(dtype)
        raise overflow(dtype) from None


def fitting(value: Tensor, target: Tensor) -> Tensor:
    """A tensor of one element that is written as the number it is, which must fit."""
    if value._array.dtype is not target._array.dtype and not value._is_lifted:
        number = value._array.item()
        number = number if isinstance(number, NUMBER) else float(number)  # a bfloat16
        scalar_as(number, target._array.dtype)
        if value.dtype.is_complex and not target.dtype.is_complex:
            return value != 0 if target.dtype is dtypes.bool_ else value.real
    return value


def _integer_part(value: float, dtype: np.dtype) -> int:
    # Negative integers wrap around in unsigned types; what has a fraction, or could have, does not.
    if value != value or value in (np.inf, -np.inf) or (dtype.kind == "u" and value < 0):
        raise overflow(dtype)
    return int(value)


def overflow(dtype: np.dtype) -> RuntimeError:
    """The error for a number that a dtype cannot hold."""
    names = {
        "int64": "int64_t", "int32": "int", "int16": "int16_t", "int8": "int8_t",
        "uint8": "uint8_t", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float",
        "float64": "double", "complex64": "c10::complex<float>",
    }  # fmt: skip
    name = dtypes.BY_NUMPY[dtype].name
    return errors.scalar_overflow(names.get(name, name))


def _cloned(self: np.ndarray, *, memory_format: format_type | None = None) -> np.ndarray:
    if memory_format is contiguous_format or (
        memory_format is None and self.flags.c_contiguous and 1 not in self.shape
    ):
        return copied(self) if self.flags.c_contiguous else row_by_row(self)
    return memory_layout.copy_in_format(self, self.dtype, memory_format)


CLONE = Op("clone", _cloned, grads={"self": lambda g: g}, linear=True)
COPY = Op(
    "copy", _copied, grads={"self": lambda g: zeros(g), "src": lambda g: g},
    node="torch::autograd::CopyBackwards",
)  # fmt: skip
FILL = Op(
    "fill", _everywhere, grads={"self": lambda g: zeros(g)}, node="FillBackward2", uniform=True
)


class _FillOp(Op):
    """Writes a value of the target's dtype straight into its memory."""

    keeps_complex = marks_integers = True

    def write_into(
        self, target: np.ndarray, inputs: tuple[Any, ...], params: dict[str, Any]
    ) -> bool:
        value = inputs[1]._array
        if value.dtype is not target.dtype:
            return False
        target[...] = value
        return True


FILL_TENSOR = _FillOp(
    "fill_tensor",
    lambda self, value: _everywhere(self, value=value),
    grads={"self": lambda g: zeros(g), "value": lambda g: g.sum()},
    node="FillBackward3",
)
ZERO = Op(
    "zero", lambda self: _everywhere(self, value=0), grads={"self": lambda g: zeros(g)},
    uniform=True,
)  # fmt: skip
ZEROS = Op(
    "zeros_for_gradient", lambda self, *, shape: np.zeros(shape, self.dtype),
    non_differentiable="constant output",
)  # fmt: skip


def zeros(like: Tensor, shape: tuple[int, ...] | None = None) -> Tensor:
    """Zeros in the dtype of a tensor, and in its shape or another, without its history."""
    return ZEROS(like, shape=like._array.shape if shape is None else shape)


@public(out=False)
def clone(input: Tensor, *, memory_format: format_type | None = None) -> Tensor:
    """A copy that is part of the graph: gradients flow through it.

    Args:
        input: a tensor
        memory_format: the order of the dimensions in memory; None keeps that of `input`

    Example:
        >>> x = clew.tensor([1., 2.])
        >>> y = x.clone()
        >>> y[0] = 7
        >>> x
        tensor([1., 2.])
    """
    return CLONE(input, memory_format=memory_format)


@public(function=False)
def contiguous(self: Tensor, memory_format: format_type = contiguous_format) -> Tensor:
    """The tensor itself when its memory is in order, else a copy that is.

    Args:
        memory_format: which order is meant; by default that of the dimensions

    Example:
        >>> x = clew.zeros(2, 3).t()
        >>> x.stride(), x.contiguous().stride()
        ((1, 3), (2, 1))
    """
    if memory_format is not contiguous_format and self._is_lifted:
        raise vmap_errors.asked_format()
    if memory_layout.is_contiguous_in(self._array, memory_format):
        return self
    return CLONE(self, memory_format=memory_format)


def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Write another tensor's values, broadcast and converted, into this one.

    Args:
        src: the tensor to copy from, or a number
        non_blocking: ignored: nothing is transferred

    Example:
        >>> clew.zeros(2, 2).copy_(clew.tensor([1, 2]))
        tensor([[1., 2.],
                [1., 2.]])
    """
    if not isinstance(src, Tensor):
        if not isinstance(src, NUMBER):
            raise errors.wrong_argument("copy_", "other", 1, "Tensor", src)
        number = src.item() if isinstance(src, np.generic) else src
        src = wrap(np.array(number, dtypes.scalar_dtype(number).np))
    refuse_leaf(self, "copy_")
    array = self._array
    if (
        repeats_memory(array)
        and array.dtype is src._array.dtype
        and is_same_memory(array, src._array)
    ):
        # Nothing is written, so it does not matter that elements share their place.
        note_write(self, "copy_")
        return self
    mismatch = errors.broadcast_mismatch("copy_", self._array.shape, src._array.shape)
    if mismatch is not None:
        raise mismatch
    return apply_inplace(COPY, self, src)


@public(out=False)
def fill_(self: Tensor, value: Any) -> Tensor:
    """Set every element to one value.

    Args:
        value: a number, or a 0-dim tensor

    Example:
        >>> clew.zeros(3).fill_(7)
        tensor([7., 7., 7.])
    """
    if isinstance(value, Tensor):
        if value._array.ndim:
            refuse_leaf(self, "fill_")
            raise RuntimeError(
                "fill_ only supports 0-dimension value tensor but got tensor with "
                f"{value._array.ndim} dimensions." + errors.at_user_line()
            )
        if value._storage is self._storage:
            # It is read before anything is written.
            value = value.clone()
        return apply_inplace(FILL_TENSOR, self, value)
    return apply_inplace(FILL, self, value=value)


@public(out=False)
def zero_(self: Tensor) -> Tensor:
    """Set every element to zero.

    Example:
        >>> clew.ones(3).zero_()
        tensor([0., 0., 0.])
    """
    return apply_inplace(ZERO, self)


@public(method=False, out=False)
def fill(input: Tensor, value: Any) -> Tensor:
    """A copy of the tensor's shape and dtype with every element set to one value.

    Args:
        input: the tensor that gives shape and dtype
        value: a number, or a 0-dim tensor

    Example:
        >>> clew.fill(clew.zeros(3), 7)
        tensor([7., 7., 7.])
    """
    return fill_(clone(input), value)


methods(copy_=copy_)
