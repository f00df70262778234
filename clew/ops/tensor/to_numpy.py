"""Values that leave the graph for NumPy and Python, and what is remembered about them.

A tensor made from such values has no history. So that backward can say where the history was lost,
each thread remembers the line on which values last left a tensor with history; tensors that are
then made from numbers or arrays carry it as their reason.

An array that shares memory with a tensor can be written to without the tensor noticing. While such
an array is alive, `core.exposure` compares the memory around saving and backward, and turns unseen
writes into version counts, so that backward raises instead of using the wrong values.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.backend.device import check_device
from clew.core.exposure import expose
from clew.core.interception import note_read
from clew.core.mirror import CONJ, MIRRORS, bits_of
from clew.core.no_history import NoHistory
from clew.core.public import methods
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.observer import active
from clew.ops.tensor.dlpack_capsules import as_bfloat16
from clew.source import user_where

# NumPy itself has no arrays of these.
_WITHOUT_NUMPY = frozenset(each.np for each in (dtypes.bfloat16, dtypes.complex32, *dtypes.FLOAT8))


class _Exits(threading.local):
    last: tuple[str, errors.Place, tuple[str, errors.Place] | None] | None = None


_exits = _Exits()


def _note_exit(tensor: Tensor, how: str) -> None:
    """Remember that values of a tensor with history go where no gradient follows."""
    if tensor._requires_grad:
        node = tensor._node
        ancestor = None if node is None or node.is_accumulator else (node._name(), node._where)
        _exits.last = how, user_where(), ancestor
    else:
        reason = tensor._reason
        if reason is not None and reason.kind == "detach":
            _exits.last = f"{reason.op}{how}", user_where(), reason.ancestor
    observer = active.observer
    if observer is not None:
        observer.value_left(tensor, how)


class MadeFromNumbers(NoHistory):
    """A tensor was made from numbers or arrays after values had left a graph."""

    __slots__ = ("left_at", "left_through")

    def __init__(self, how: str) -> None:
        super().__init__("numpy", how, user_where())
        if _exits.last is not None:
            self.left_through, self.left_at, self.ancestor = _exits.last


def entered_from_outside(how: str, data: Any) -> NoHistory | None:
    """Why a tensor made from numbers or arrays has no history; None when nothing had left one."""
    if _exits.last is not None:
        return MadeFromNumbers(how)
    if isinstance(data, Tensor) and data._requires_grad:
        return NoHistory("detach", how, user_where(), data._node)
    return None


# -- to NumPy --------------------------------------------------------------------------------


def numpy(self: Tensor, *, force: bool = False) -> np.ndarray:
    """The values as an ndarray that shares memory with the tensor.

    Args:
        force: also for tensors that require grad and for conjugate views, whose values are copied

    Example:
        >>> x = clew.zeros(3)
        >>> x.numpy()[0] = 7
        >>> x
        tensor([7., 0., 0.])
    """
    may_have_history = self._requires_grad or self._view is not None
    if may_have_history and self.requires_grad and local.state.grad_enabled and not force:
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
            + errors.at_user_line()
        )
    bits = bits_of(self._array) if MIRRORS else 0
    if bits and not force:
        what = ("conjugate", "conj") if bits & CONJ else ("negative", "neg")
        raise RuntimeError(
            f"Can't call numpy() on Tensor that has {what[0]} bit set. Use "
            f"tensor.resolve_{what[1]}().numpy() instead." + errors.at_user_line()
        )
    if self._layout.dtype in _WITHOUT_NUMPY:
        raise TypeError(
            f"Got unsupported ScalarType {self.dtype.scalar_name}" + errors.at_user_line()
        )
    observer = active.observer
    if may_have_history or self._reason is not None or observer is not None:
        _note_exit(self, ".numpy()")
    note_read(self, "memory")
    if bits:
        return self._array.copy()
    array = expose(self._storage, self._array, ".numpy()")
    if observer is not None:
        observer.memory_shared(array)
    return array


def _array_protocol(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    array = self.numpy()
    if dtype is None or np.dtype(dtype) == array.dtype:
        return array.copy() if copy else array
    if copy is False:
        raise ValueError(
            f"a copy is needed to convert {array.dtype} to {np.dtype(dtype)}"
            + errors.at_user_line()
        )
    return array.astype(dtype)


def _dlpack_device(self: Tensor) -> tuple[int, int]:
    return 1, 0


def refuse_export(tensor: Tensor) -> None:
    """Other libraries are given strided memory, without a bit for conjugate or negative views."""
    if tensor._is_unstrided:
        raise BufferError(
            "Can't export tensors with layout other than torch.strided" + errors.at_user_line()
        )
    bits = bits_of(tensor._array)
    if bits:
        what = "conjugate" if bits & CONJ else "negative"
        raise BufferError(f"Can't export tensors with the {what} bit set" + errors.at_user_line())


def _dlpack(
    self: Tensor,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: Any = None,
    copy: bool | None = None,
) -> Any:
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    refuse_export(self)
    _check_exchange(stream, dl_device)
    if self.dtype is dtypes.bfloat16:
        bits = self.view(dtypes.uint16).numpy()
        return as_bfloat16(bits.__dlpack__(max_version=max_version, copy=copy))
    return self.numpy().__dlpack__(max_version=max_version, copy=copy)


# By their numbers in DLPack: the kinds of devices that PyTorch knows.
_EXCHANGED = {1: "cpu", 2: "cuda", 3: "cpu", 10: "cuda", 14: "xpu"}


def _check_exchange(stream: Any, dl_device: Any) -> None:
    """Refuse streams, which the CPU has none of, and other devices."""
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``" + errors.at_user_line())
    if stream is not None and stream != -1:
        raise AssertionError("stream should be None on cpu." + errors.at_user_line())
    if dl_device is not None:
        kind = _EXCHANGED.get(int(dl_device[0]))
        if kind is None:
            raise BufferError(
                f"Unsupported device_type: {int(dl_device[0])}" + errors.at_user_line()
            )
        check_device(kind)


# -- to Python -------------------------------------------------------------------------------


def item(self: Tensor) -> bool | int | float | complex:
    """The only element, as a Python number.

    Example:
        >>> clew.tensor([2.5]).item()
        2.5
    """
    array = self._array
    if array.size != 1:
        raise RuntimeError(
            f"a Tensor with {array.size} elements cannot be converted to Scalar"
            + errors.at_user_line()
        )
    if self._requires_grad or self._reason is not None:
        _note_exit(self, ".item()")
    number: bool | int | float | complex = array.item()
    interceptor = local.state.intercept
    return number if interceptor is None else interceptor.read(self, "item", number)


def tolist(self: Tensor) -> Any:
    """Nested lists of Python numbers; a number for a 0-dim tensor.

    Example:
        >>> clew.tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
    """
    if self._requires_grad or self._reason is not None:
        _note_exit(self, ".tolist()")
    note_read(self, "tolist")
    return self._array.tolist()


def _only_element(self: Tensor) -> Any:
    if self._requires_grad and local.state.grad_enabled:
        errors.warn_once(
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected "
            "behavior.\nConsider using tensor.detach() first."
        )
    if self._array.size != 1:
        raise ValueError(
            "only one element tensors can be converted to Python scalars" + errors.at_user_line()
        )
    return self.item()


def _real_element(self: Tensor, name: str) -> Any:
    value = _only_element(self)
    if isinstance(value, complex):
        if value.imag:
            raise errors.scalar_overflow(name)
        return value.real
    return value


def _to_float(self: Tensor) -> float:
    return float(_real_element(self, "double"))


def _to_int(self: Tensor) -> int:
    return int(_real_element(self, "int64_t"))


def _to_complex(self: Tensor) -> complex:
    return complex(_only_element(self))


def _to_bool(self: Tensor) -> bool:
    if self._array.size != 1:
        how_many = "more than one value" if self._array.size else "no values"
        raise RuntimeError(
            f"Boolean value of Tensor with {how_many} is ambiguous" + errors.at_user_line()
        )
    note_read(self, "bool")
    return bool(self._array.item())


def _to_index(self: Tensor) -> int:
    if self._array.size != 1 or self._array.dtype.kind not in "biu":
        raise TypeError(
            "only integer tensors of a single element can be converted to an index"
            + errors.at_user_line()
        )
    note_read(self, "index")
    return int(self._array.item())


methods(
    numpy=numpy, item=item, tolist=tolist,
    __array__=_array_protocol,
    __dlpack__=_dlpack, __dlpack_device__=_dlpack_device,
    __float__=_to_float, __int__=_to_int, __complex__=_to_complex, __bool__=_to_bool,
    __index__=_to_index,
)  # fmt: skip
