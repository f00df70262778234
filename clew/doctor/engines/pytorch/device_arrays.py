"""Arrays on another device, for collectors that were written for NumPy's.

What collectors ask of large arrays (sums, norms, comparisons, whether all are finite) is computed
on the device, and one number is read. Anything else copies the array to the host.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

_DTYPES: dict[torch.dtype, np.dtype] = {
    torch.float16: np.dtype(np.float16), torch.float64: np.dtype(np.float64),
    torch.int64: np.dtype(np.int64), torch.bool: np.dtype(np.bool_),
}  # fmt: skip
_F32 = np.dtype(np.float32)
_WIDE = {"f": torch.float64, "i": torch.int64, "b": torch.bool}
# NumPy's functions of arrays, element by element, that PyTorch has, too.
_ELEMENTWISE: dict[Any, Callable[..., torch.Tensor]] = {
    np.add: torch.add, np.subtract: torch.sub, np.multiply: torch.mul, np.divide: torch.div,
    np.exp: torch.exp, np.abs: torch.abs, np.sqrt: torch.sqrt, np.square: torch.square,
    np.isnan: torch.isnan, np.isfinite: torch.isfinite, np.equal: torch.eq,
    np.not_equal: torch.ne, np.less: torch.lt, np.less_equal: torch.le, np.greater: torch.gt,
    np.greater_equal: torch.ge, np.bitwise_or: torch.bitwise_or, np.invert: torch.bitwise_not,
    np.bitwise_and: torch.bitwise_and, np.rint: torch.round,
}  # fmt: skip


def numpy_dtype(dtype: torch.dtype) -> np.dtype:
    """NumPy's name for a dtype; one that it does not have counts as float32."""
    known = _DTYPES.get(dtype)
    name = str(dtype).partition(".")[2]
    if known is None and not dtype.is_floating_point and hasattr(np, name):
        known = np.dtype(name)
    return _F32 if known is None else known


def unseen(method: Callable[..., Any]) -> Callable[..., Any]:
    """Runs a method without the modes of the program, and without history."""

    @functools.wraps(method)
    def run(*args: Any, **kwargs: Any) -> Any:
        with torch._C.DisableTorchFunction(), torch.no_grad():
            return method(*args, **kwargs)

    return run


class DeviceArray(np.lib.mixins.NDArrayOperatorsMixin):
    """The values of a tensor on another device."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self._tensor = tensor

    # -- what costs nothing ------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._tensor.shape)

    @property
    def ndim(self) -> int:
        return self._tensor.dim()

    @property
    def size(self) -> int:
        return self._tensor.numel()

    @property
    def nbytes(self) -> int:
        return self._tensor.numel() * self._tensor.element_size()

    @property
    def dtype(self) -> np.dtype:
        return numpy_dtype(self._tensor.dtype)

    @property
    def flags(self) -> DeviceArray:
        return self

    @property
    def c_contiguous(self) -> bool:
        return self._tensor.is_contiguous()

    @property
    def flat(self) -> DeviceArray:
        flat: DeviceArray = self.reshape(-1)
        return flat

    def __len__(self) -> int:
        return len(self._tensor)

    # -- one number, which the device computes -----------------------------------------------------

    @unseen
    def is_finite(self) -> bool:
        """Whether all elements are finite; a sum answers for most arrays."""
        if not self._tensor.is_floating_point() or not self._tensor.numel():
            return True
        if bool(torch.isfinite(self._tensor.sum(dtype=torch.float32))):
            return True
        return bool(torch.isfinite(self._tensor).all())

    @unseen
    def square_sum(self) -> float:
        """The sum of the squares."""
        return float(torch.linalg.vector_norm(self._tensor, dtype=torch.float32).double() ** 2)

    @unseen
    def _reduced(self, name: str, axis: Any = None, keepdims: bool = False) -> Any:
        tensor = self._tensor
        if name in ("sum", "mean") and not tensor.is_floating_point():
            tensor = tensor.double()
        call = getattr(torch, name)
        if axis is None:
            return call(tensor).item()
        if name in ("min", "max"):
            call = getattr(torch, f"a{name}")
        return DeviceArray(call(tensor, dim=axis, keepdim=keepdims))

    def any(self, axis: Any = None) -> Any:
        return self._reduced("any", axis)

    def all(self, axis: Any = None) -> Any:
        return self._reduced("all", axis)

    def min(self, axis: Any = None) -> Any:
        return self._reduced("min", axis)

    def max(self, axis: Any = None) -> Any:
        return self._reduced("max", axis)

    def sum(self, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
        return self._reduced("sum", axis, keepdims)

    def mean(self, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
        return self._reduced("mean", axis, keepdims)

    def __bool__(self) -> bool:
        return bool(self._tensor)

    def __float__(self) -> float:
        return float(self._tensor)

    def __format__(self, form: str) -> str:
        return format(float(self._tensor), form)

    # -- arrays that stay there --------------------------------------------------------------------

    @unseen
    def __getitem__(self, index: Any) -> DeviceArray:
        return DeviceArray(self._tensor[index])

    @unseen
    def reshape(self, *shape: Any) -> DeviceArray:
        return DeviceArray(self._tensor.reshape(*shape))

    @unseen
    def copy(self) -> DeviceArray:
        return DeviceArray(self._tensor.clone())

    @unseen
    def astype(self, dtype: Any, copy: bool = True) -> DeviceArray:
        wanted = torch.float32 if dtype == np.float32 else _WIDE.get(np.dtype(dtype).kind)
        return DeviceArray(self._tensor if wanted is None else self._tensor.to(wanted))

    @unseen
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        call = _ELEMENTWISE.get(ufunc)
        if method == "reduce" and ufunc is np.add:
            return self.sum(kwargs.get("axis"))
        if method == "__call__" and call is not None:
            given = [_on_device(each, self._tensor.device) for each in inputs]
            result = DeviceArray(call(*given))
            for out in kwargs.get("out", ()):
                out._tensor.copy_(result._tensor)
                return out
            return result
        arrays = [each.on_host() if isinstance(each, DeviceArray) else each for each in inputs]
        return getattr(ufunc, method)(*arrays, **kwargs)

    @unseen
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func in (np.dot, np.vdot) and all(isinstance(each, DeviceArray) for each in args):
            one, other = (each._tensor.reshape(-1).double() for each in args)
            return float(torch.dot(one, other))
        if func is np.count_nonzero and len(args) == 1 and not kwargs:
            return int(torch.count_nonzero(self._tensor))
        if func is np.mean and len(args) == 1:
            return self.mean()
        if func is np.may_share_memory:
            kinds = [each for each in args if isinstance(each, DeviceArray)]
            places = {each._tensor.untyped_storage().data_ptr() for each in kinds}
            return len(kinds) == 2 and len(places) == 1
        args = [each.on_host() if isinstance(each, DeviceArray) else each for each in args]
        return func(*args, **kwargs)

    # -- the rest, on the host ---------------------------------------------------------------------

    @unseen
    def on_host(self) -> np.ndarray:
        tensor = self._tensor.detach().to("cpu")
        return (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).numpy()

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        host: np.ndarray = self.on_host()
        return host if dtype is None else host.astype(dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.on_host(), name)


def _on_device(value: Any, device: torch.device) -> Any:
    if isinstance(value, DeviceArray):
        return value._tensor
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value).to(device)
    return value.item() if isinstance(value, np.generic) else value
