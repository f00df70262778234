"""Module's methods that convert all its tensors: dtype, device, memory format, values."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from clew import errors
from clew.__future__ import (
    get_overwrite_module_params_on_conversion,
    get_swap_module_params_on_conversion,
)
from clew.autograd.grad_mode import no_grad
from clew.autograd.swapping import swap_tensors
from clew.backend import dtypes
from clew.backend.device import device as device_type
from clew.backend.device import names_meta, no_such_device
from clew.core import module_changes
from clew.core.tensor import Tensor
from clew.nn.parameter import Parameter
from clew.ops.create.constants import empty_like
from clew.ops.tensor.conversion import read_target

Self = TypeVar("Self", bound="ConversionMethods")
Convert = Callable[[Tensor], Tensor]


class ConversionMethods:
    """`to`, `float`, `type` and the like: everything that goes through `_apply`."""

    # Parameters, gradients and buffers; `data` is an attribute that `clew.ops` gives to tensors.
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]

    if TYPE_CHECKING:

        def children(self) -> Any: ...

    def _apply(self: Self, fn: Convert, recurse: bool = True) -> Self:
        """Replace the memory of every parameter, gradient and buffer by `fn` of it."""
        module_changes.note()
        if recurse:
            for child in self.children():
                child._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is not None:
                self._convert_parameter(name, parameter, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _convert_parameter(self, name: str, parameter: Any, fn: Convert) -> None:
        """Let a parameter have, be or be replaced by `fn` of it, and its gradient likewise."""
        with no_grad():
            converted = fn(parameter)
        grad = parameter._grad
        swaps = get_swap_module_params_on_conversion()
        overwrites = not swaps and get_overwrite_module_params_on_conversion()
        if swaps:
            where = f"{type(self).__name__}.{name}"
            _swap(parameter, Parameter(converted, parameter.requires_grad), where)
        elif overwrites:
            parameter = Parameter(converted, parameter.requires_grad)
            self._parameters[name] = parameter
        else:
            with no_grad():
                parameter.data = converted
        if grad is None:
            return
        with no_grad():
            converted = fn(grad)
        if swaps:
            converted.requires_grad_(grad.requires_grad)
            _swap(grad, converted, f"{where}.grad")
            parameter.grad = grad
        elif overwrites:
            parameter.grad = converted.requires_grad_(grad.requires_grad)
        else:
            with no_grad():
                grad.data = converted

    def to(
        self: Self,
        *args: Any,
        device: Any = None,
        dtype: Any = None,
        non_blocking: bool = False,
        copy: bool = False,
        memory_format: Any = None,
        tensor: Tensor | None = None,
    ) -> Self:
        """Convert in place. Forms: `to(dtype)`, `to(device)`, `to(device, dtype)`, `to(tensor)`."""
        if tensor is not None:
            args = (tensor, *args)
        if args:
            device, dtype, flags = read_target(args, device, dtype)
            copy = copy or len(flags) > 1
        if copy:
            raise RuntimeError(".to() does not accept copy argument" + errors.at_user_line())
        if device is not None:
            names_meta(device)  # raises for one that there is not
        if dtype is not None:
            _check_target(dtype)

        def convert(tensor: Tensor) -> Tensor:
            kind = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            if memory_format is not None and tensor.dim() in (4, 5):
                return tensor.to(device=device, dtype=kind, memory_format=memory_format)
            return tensor.to(device=device, dtype=kind)

        return self._apply(convert)

    def float(self: Self) -> Self:
        """All floating-point tensors as float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self: Self) -> Self:
        """All floating-point tensors as float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self: Self) -> Self:
        """All floating-point tensors as float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self: Self) -> Self:
        """All floating-point tensors as bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def type(self: Self, dst_type: Any) -> Self:
        """All tensors as another type."""
        return self._apply(lambda t: t.type(dst_type))

    def cpu(self: Self) -> Self:
        """All tensors on the CPU, where they are."""
        return self._apply(lambda t: t.cpu())

    def cuda(self: Self, device: Any = None) -> Self:
        """Raises for a module with tensors: this build has no CUDA."""
        return self._apply(lambda t: t.cuda(device))

    def xpu(self: Self, device: Any = None) -> Self:
        """Raises for a module with tensors: this build has no XPU."""
        return self._apply(_refuse("xpu"))

    def ipu(self: Self, device: Any = None) -> Self:
        """Raises for a module with tensors: this build has no IPU."""
        return self._apply(_refuse("ipu"))

    def mtia(self: Self, device: Any = None) -> Self:
        """Raises for a module with tensors: this build has no MTIA."""
        return self._apply(_refuse("mtia"))

    def to_empty(self: Self, *, device: Any, recurse: bool = True) -> Self:
        """New memory with undefined values for all tensors."""
        return self._apply(lambda t: empty_like(t, device=device), recurse=recurse)

    def share_memory(self: Self) -> Self:
        """Share all tensors' memory with threads."""
        return self._apply(lambda t: t.share_memory_())


def _swap(tensor: Tensor, other: Tensor, where: str) -> None:
    try:
        swap_tensors(tensor, other)
    except Exception as error:
        raise RuntimeError(f"_apply(): Couldn't swap {where}") from error


def _refuse(kind: str) -> Convert:
    def convert(tensor: Tensor) -> Tensor:
        raise no_such_device(device_type(kind))

    return convert


def _check_target(dtype: dtypes.dtype) -> None:
    dtype = dtypes.of_python(dtype)
    if not (dtype.is_floating_point or dtype.is_complex):
        raise TypeError(
            "nn.Module.to only accepts floating point or complex dtypes, but got desired "
            f"dtype={dtype!r}"
        )
    if dtype.is_complex:
        warnings.warn(
            "Complex modules are a new feature under active development whose design may change, "
            "and some modules might not work as expected when using complex tensors as parameters "
            "or buffers.",
            stacklevel=3,
        )
