"""Changing dtype, device and memory format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.backend import device as devices
from clew.backend import dtypes
from clew.backend.device import device as device_type
from clew.backend.layout import memory_format as format_type
from clew.backend.layout import preserve_format
from clew.core.accumulating import no_integer_gradient
from clew.core.meta import memory as meta_memory
from clew.core.meta.device import no_data
from clew.core.op import Op
from clew.core.public import methods, public
from clew.core.result_layout import empty_as
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.kernels.numpy.arrays import real_part
from clew.kernels.numpy.conversion import converted, saturated
from clew.ops.define import memory_layout
from clew.ops.define.options import cannot_pin, read_dtype


def _cast(self: np.ndarray, *, dtype: np.dtype, memory_format: Any = None) -> np.ndarray:
    if self.dtype.kind in "cW" and dtype.kind not in "cWb":
        errors.warn_once("Casting complex values to real discards the imaginary part")
        # Without gaps, in the order of the whole numbers.
        self = memory_layout.in_memory_as(self, real_part(self))
    self = saturated(self, dtype)
    if self.flags.c_contiguous and memory_format is None and 1 not in self.shape:
        return self.astype(dtype) if self.dtype is dtype else converted(self, dtype)
    return memory_layout.copy_in_format(self, dtype, memory_format)


def _cast_back(g: Tensor, self_dtype: dtypes.dtype) -> Tensor:
    """Of a complex gradient, a real tensor takes the real part: nothing to warn of."""
    if self_dtype.category < dtypes.FLOAT:
        raise no_integer_gradient()
    if g.dtype.is_complex and not self_dtype.is_complex:
        g = g.real
    return g.to(self_dtype)


TO_COPY = Op("_to_copy", _cast, grads={"self": _cast_back}, linear=True, node="ToCopyBackward0")


def to_dtype(
    self: Tensor,
    dtype: dtypes.dtype,
    copy: bool = False,
    memory_format: format_type | None = None,
) -> Tensor:
    """The tensor itself when nothing changes, else a converted copy."""
    if self._array.dtype is dtype.np and not copy:
        if memory_format is None or memory_format is preserve_format:
            return self
        if memory_layout.has_format(self._array, memory_format):
            return self
    if dtype is dtypes.complex32:
        errors.warn_of_complex32()
    view = self._view
    if view is not None and view.kind is not None and dtype.category < dtypes.FLOAT:
        # Integers have no history, so nobody asks whether the view has lost its own.
        self = self.detach()
    if memory_format is None:
        return TO_COPY(self, dtype=dtype.np)
    return TO_COPY(self, dtype=dtype.np, memory_format=memory_format)


def to(
    self: Tensor,
    *args: Any,
    device: Any = None,
    dtype: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: format_type | None = None,
    other: Tensor | None = None,
) -> Tensor:
    """The tensor in another dtype or on another device: itself when nothing changes.

    Forms: `to(dtype)`, `to(device)`, `to(device, dtype)`, `to(other)`; then `non_blocking`, `copy`.

    Args:
        args: what the forms list, by position
        device: the CPU, or None
        dtype: the dtype to convert to
        non_blocking: ignored: nothing is transferred
        copy: copy also when nothing changes
        memory_format: the order of the dimensions in memory, such as `clew.channels_last`
        other: a tensor whose dtype to take

    Example:
        >>> x = clew.tensor([1, 2])
        >>> x.to(clew.float64)
        tensor([1., 2.], dtype=torch.float64)
        >>> x.to("cpu") is x
        True
    """
    if args:
        device, dtype, flags = read_target(args, device, dtype)
        if len(flags) > 2:
            raise _bad_to_arguments(args)
        if len(flags) > 1:
            copy = bool(flags[1])
    if other is not None:
        device, dtype = other.device, other.dtype
    kind = self.dtype if dtype is None else read_dtype("to", dtype)
    assert kind is not None
    if device is not None and is_elsewhere(self, device):
        return to_meta(self, kind)
    if memory_format is None:
        return to_dtype(self, kind, copy)
    return to_dtype(self, kind, copy, memory_format)


def is_elsewhere(tensor: Tensor, device: Any) -> bool:
    """Whether a tensor on the CPU is to go to the meta device. The other way there is nothing."""
    # Objects of classes that take over operations are where they say.
    has_elements = not meta_memory.is_meta(tensor._layout) or tensor.device.type != "meta"
    if devices.names_meta(device):
        return has_elements
    if not has_elements:
        raise no_data()
    return False


def to_meta(tensor: Tensor, dtype: dtypes.dtype) -> Tensor:
    """The tensor without its elements."""
    array = meta_memory.like(empty_as(tensor._layout, dtype.np))
    return TO_COPY.output(local.state, (tensor,), {"dtype": dtype.np}, array)


def read_target(args: tuple[Any, ...], device: Any, dtype: Any) -> tuple[Any, Any, Any]:
    """Device, dtype and the flags that follow them."""
    first, *rest = args
    if isinstance(first, Tensor):
        return first.device, first.dtype, rest
    if isinstance(first, (dtypes.dtype, type)):
        return device, first, rest
    if first is None or isinstance(first, (str, device_type, int)):
        if rest and (rest[0] is None or isinstance(rest[0], (dtypes.dtype, type))):
            return first, rest[0], rest[1:]
        if not rest:
            return first, dtype, rest
    raise _bad_to_arguments(args)


def _bad_to_arguments(args: tuple[Any, ...]) -> TypeError:
    kinds = ", ".join(type(arg).__name__ for arg in args)
    return TypeError(
        f"to() received an invalid combination of arguments - got ({kinds}), but expected a "
        "device, a dtype, a device and a dtype, or a tensor, then non_blocking and copy"
        + errors.at_user_line()
    )


def _caster(name: str, dtype: dtypes.dtype) -> Callable[..., Tensor]:
    def method(self: Tensor, *, memory_format: format_type | None = None) -> Tensor:
        return to_dtype(self, dtype, memory_format=memory_format)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = (
        f"The tensor in {dtype.name}: itself when it is that already.\n\n"
        "Args:\n    memory_format: the order of the dimensions in memory; None keeps it\n\n"
        f"Example:\n    >>> clew.tensor([0, 1]).{name}().dtype\n    torch.{dtype.name}"
    )
    return method


_CASTS = {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16,
    "bfloat16": dtypes.bfloat16, "int": dtypes.int32, "long": dtypes.int64,
    "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8, "bool": dtypes.bool_,
    "cfloat": dtypes.complex64, "cdouble": dtypes.complex128, "chalf": dtypes.complex32,
}  # fmt: skip


methods(**{name: _caster(name, dtype) for name, dtype in _CASTS.items()})

LEGACY_NAMES = {
    "FloatTensor": dtypes.float32, "DoubleTensor": dtypes.float64, "HalfTensor": dtypes.float16,
    "BFloat16Tensor": dtypes.bfloat16, "IntTensor": dtypes.int32, "LongTensor": dtypes.int64,
    "ShortTensor": dtypes.int16, "CharTensor": dtypes.int8, "ByteTensor": dtypes.uint8,
    "BoolTensor": dtypes.bool_, "ComplexFloatTensor": dtypes.complex64,
    "ComplexDoubleTensor": dtypes.complex128,
}  # fmt: skip


def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The legacy name of the tensor's type, or the tensor converted to another type.

    Args:
        dtype: a dtype, a legacy tensor class or its name; None asks for the name
        non_blocking: ignored: nothing is transferred

    Example:
        >>> clew.tensor([1., 2.]).type()
        'torch.FloatTensor'
        >>> clew.tensor([1., 2.]).type(clew.int64)
        tensor([1, 2])
    """
    if dtype is None:
        return f"torch.{self.dtype.scalar_name}Tensor"
    return to_dtype(self, dtype_of_legacy(dtype))


def dtype_of_legacy(kind: Any) -> dtypes.dtype:
    """The dtype that a dtype, a legacy tensor class or its name stands for."""
    if isinstance(kind, dtypes.dtype):
        return kind
    if kind is Tensor:
        return dtypes.get_default_dtype()
    if getattr(kind, "is_cuda", False) or str(kind).startswith("torch.cuda."):
        raise devices.no_such_device(device_type("cuda"))
    if isinstance(kind, str):
        found = LEGACY_NAMES.get(kind.removeprefix("torch."))
        if found is None:
            raise ValueError(f"invalid type: '{kind}'" + errors.at_user_line())
        return found
    named = getattr(kind, "dtype", None)
    if isinstance(named, dtypes.dtype):
        return named
    found = read_dtype("type", kind)
    assert found is not None
    return found


def to_dense(
    self: Tensor, dtype: dtypes.dtype | None = None, *, masked_grad: bool | None = None
) -> Tensor:
    """The tensor itself, all tensors being dense, in another dtype if one is given.

    Args:
        dtype: the dtype to convert to
        masked_grad: ignored: it is about sparse tensors

    Example:
        >>> x = clew.tensor([1., 2.])
        >>> x.to_dense() is x
        True
    """
    return self if dtype is None else to_dtype(self, dtype)


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in the dtype of another.

    Args:
        other: the tensor that gives the dtype

    Example:
        >>> clew.tensor([1, 2]).type_as(clew.tensor(0.5))
        tensor([1., 2.])
    """
    if not isinstance(other, Tensor):
        raise errors.wrong_argument("type_as", "other", 1, "Tensor", other)
    return to_dtype(self, other.dtype)


def cpu(self: Tensor, memory_format: format_type | None = None) -> Tensor:
    """The tensor on the CPU, where it is.

    Args:
        memory_format: the order of the dimensions in memory, such as `clew.channels_last`

    Example:
        >>> x = clew.tensor([1, 2])
        >>> x.cpu() is x
        True
    """
    is_elsewhere(self, "cpu")
    return to_dtype(self, self.dtype, memory_format=memory_format)


def cuda(self: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """Raises: this build has no CUDA.

    Args:
        device: ignored
        non_blocking: ignored

    Example:
        >>> try:
        ...     clew.ones(2).cuda()
        ... except RuntimeError as error:
        ...     print("there is no GPU")
        there is no GPU
    """
    raise devices.no_such_device(device_type("cuda"))


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """Raises: memory is pinned for an accelerator, and there is none.

    Args:
        device: ignored

    Example:
        >>> try:
        ...     clew.ones(2).pin_memory()
        ... except RuntimeError as error:
        ...     print("there is no GPU")
        there is no GPU
    """
    raise cannot_pin()


@public(method=False, out=False)
def can_cast(from_: dtypes.dtype, to: dtypes.dtype) -> bool:
    """Whether results of one dtype may be stored in another: not floats as integers, for one.

    Args:
        from_: the dtype of the result
        to: the dtype of the memory

    Example:
        >>> clew.can_cast(clew.float64, clew.float32), clew.can_cast(clew.float32, clew.int64)
        (True, False)
    """
    return dtypes.can_cast(from_, to)


methods(
    to=to, to_dense=to_dense, type=type_, type_as=type_as, cpu=cpu, cuda=cuda,
    pin_memory=pin_memory,
)  # fmt: skip
