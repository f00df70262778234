"""PyTorch's older constructors: `Tensor(2, 3)`, `FloatTensor([1, 2])`, `tensor.new(...)`."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.backend.device import check_device
from clew.backend.device import device as device_type
from clew.core.function_modes import DisableTorchFunction
from clew.core.meta import memory as meta_memory
from clew.core.meta.handlers import handler_of
from clew.core.public import FUNCTIONS, methods, public
from clew.core.state import local
from clew.core.tensor import Size, Tensor, alias, retyped, tangents_of, wrap
from clew.ops.create.nested_data import array_from_data
from clew.ops.define.options import checked_size, require_grad
from clew.ops.shape.views import ALIAS
from clew.ops.tensor.conversion import LEGACY_NAMES, dtype_of_legacy
from clew.ops.tensor.typed_storage import TypedStorage, tensor_over
from clew.ops.tensor.untyped_storage import UntypedStorage


def _construct(args: tuple[Any, ...], dtype: dtypes.dtype, any_dtype: bool = False) -> Tensor:
    """A tensor of a size (uninitialised), or with the values of a sequence or another tensor."""
    if not args:
        return wrap(np.empty(0, dtype.np))
    first = args[0]
    if len(args) == 1 and isinstance(first, Tensor):
        if first.dtype is not dtype and not any_dtype:
            raise TypeError(
                f"expected a tensor of dtype {dtype!r} (got {first.dtype!r})"
                + errors.at_user_line()
            )
        return alias(first)
    if len(args) == 1 and isinstance(first, UntypedStorage | TypedStorage):
        return tensor_over(first, dtype)
    if len(args) == 1 and isinstance(first, Size):
        return wrap(np.empty(checked_size("new", first), dtype.np))
    if all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in args):
        return wrap(np.empty(checked_size("new", args), dtype.np))
    if isinstance(first, (bool, float, complex, np.generic)) or first is None:
        raise TypeError(
            f"new(): data must be a sequence (got {type(first).__name__})" + errors.at_user_line()
        )
    if len(args) > 1:
        raise TypeError(
            "new() received an invalid combination of arguments: expected sizes, or one sequence "
            "of data" + errors.at_user_line()
        )
    return wrap(array_from_data(first, dtype))


def _new_tensor(cls: type[Tensor], *args: Any, device: Any = None, **kwargs: Any) -> Any:
    check_device(device)
    if device is not None and len(args) == 1 and isinstance(args[0], Tensor):
        raise RuntimeError(
            "Legacy tensor constructor of the form torch.Tensor(tensor, device=device) is not "
            "supported.  Use torch.tensor(...) or torch.as_tensor(...) instead."
            + errors.at_user_line()
        )
    if kwargs:
        raise TypeError(
            "new() received an invalid combination of arguments: it takes no "
            f"'{next(iter(kwargs))}', use torch.tensor" + errors.at_user_line()
        )
    plain = _construct(args, dtypes.get_default_dtype(), any_dtype=True)
    return plain if cls is Tensor else retyped(plain, cls)


def as_subclass(self: Tensor, cls: type[Tensor]) -> Tensor:
    """The same tensor as an object of a subclass, with its history.

    Args:
        cls: a subclass of `Tensor`

    Example:
        >>> class Image(clew.Tensor):
        ...     pass
        >>> type(clew.zeros(2).as_subclass(Image)).__name__
        'Image'
    """
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type(cls).__name__})" + errors.at_user_line())
    if not issubclass(cls, Tensor):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not "
            "possible. Make sure your class inherits from Tensor." + errors.at_user_line()
        )
    with DisableTorchFunction():  # as in PyTorch, nothing takes this over
        needs_grad = self.requires_grad
        if needs_grad and self._node is None and local.state.grad_enabled:
            # The gradient of a leaf goes to it, not to what it is called elsewhere.
            self = ALIAS(self)
    result = retyped(self, cls)
    result._requires_grad = needs_grad
    result._node, result._output_nr, result._view = self._node, self._output_nr, self._view
    for level, tangent in tangents_of(self).items():
        level.give(result, tangent)
    return result


def _make_subclass(cls: type[Tensor], data: Tensor, require_grad: bool = False) -> Tensor:
    """A leaf of a subclass over a tensor's memory."""
    result = retyped(data, cls)
    result._requires_grad = bool(require_grad)
    return result


def _make_wrapper_subclass(
    cls: type[Tensor],
    size: Any,
    strides: Any = None,
    storage_offset: int | None = None,
    memory_format: Any = None,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: Any = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    **ignored: Any,
) -> Tensor:
    """An object of a class with `__torch_dispatch__`: a shape, dtype and device, no elements."""
    # The names of operations are imported by those who hand them to handlers.
    importlib.import_module("clew.ops.op_calls")
    if handler_of(cls) is None:
        raise RuntimeError(f"{cls.__name__} must define __torch_dispatch__" + errors.at_user_line())
    kind = (dtype or dtypes.get_default_dtype()).np
    steps = None if strides is None else [int(step) * kind.itemsize for step in strides]
    result = retyped(wrap(meta_memory.empty(checked_size("size", tuple(size)), kind, steps)), cls)
    result.__dict__["_device"] = device_type(device or "cpu")
    if requires_grad:
        require_grad(result)
    return result


def new(self: Tensor, *args: Any, size: Any = None, device: Any = None) -> Tensor:
    """A tensor of this one's dtype, from sizes or from data.

    `new_tensor` and `new_empty` say which.

    Args:
        args: sizes, or one sequence of data
        size: the sizes, by name
        device: the CPU, or None

    Example:
        >>> clew.tensor([0.5]).new([1, 2])
        tensor([1., 2.])
    """
    check_device(device)
    if device is not None and len(args) == 1 and isinstance(args[0], Tensor):
        raise RuntimeError(
            "Legacy tensor new of the form tensor.new(tensor, device=device) is not supported.  "
            "Use torch.as_tensor(...) instead." + errors.at_user_line()
        )
    if size is not None:
        args = (Size(checked_size("new", size)),)
    return _construct(args, self.dtype)


methods(
    __new__=staticmethod(_new_tensor), new=new, as_subclass=as_subclass,
    _make_subclass=staticmethod(_make_subclass),
    _make_wrapper_subclass=staticmethod(_make_wrapper_subclass),
)  # fmt: skip


class TensorType(type):
    """The class of the legacy tensor classes: calling one makes a tensor of its dtype."""

    dtype: dtypes.dtype
    is_cuda = False

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> TensorType:
        if bases:
            raise TypeError(
                f"type 'torch.{bases[0].__name__}' is not an acceptable base type. Derive from "
                "torch.Tensor." + errors.at_user_line()
            )
        return super().__new__(mcs, name, bases, namespace)

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        check_device(device)
        return _construct(args, cls.dtype)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


class CudaTensorType(type):
    """The class of legacy classes for tensors on a GPU: calling one raises, and nothing is one."""

    is_cuda = True

    def __new__(cls, name: str) -> CudaTensorType:
        return super().__new__(cls, name, (), {"__module__": "clew.cuda"})

    def __init__(cls, name: str) -> None:
        super().__init__(name, (), {})

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise _no_cuda_type(cls.__name__)

    def __instancecheck__(cls, instance: Any) -> bool:
        return False

    def __repr__(cls) -> str:
        return f"<class 'torch.cuda.{cls.__name__}'>"


def _no_cuda_type(name: str) -> TypeError:
    return TypeError(
        f"type torch.cuda.{name} not available. Torch not compiled with CUDA enabled: tensors "
        "live on the CPU." + errors.at_user_line()
    )


def _legacy_class(name: str, dtype: dtypes.dtype) -> TensorType:
    doc = (
        f"Tensors of {dtype.name}, as PyTorch once named them: from sizes or from data.\n\n"
        f"Example:\n    >>> clew.{name}([0, 1]).dtype\n    torch.{dtype.name}"
    )
    return TensorType(name, (), {"dtype": dtype, "__module__": "clew", "__doc__": doc})


FUNCTIONS.update({name: _legacy_class(name, dtype) for name, dtype in LEGACY_NAMES.items()})


@public(method=False, out=False)
def set_default_tensor_type(t: Any) -> None:
    """Deprecated: set the default dtype by the name or class of a legacy tensor type.

    `set_default_dtype` does the same with a dtype.

    Args:
        t: a class such as `clew.DoubleTensor`, or its name

    Example:
        >>> clew.set_default_tensor_type(clew.FloatTensor)
        >>> clew.get_default_dtype()
        torch.float32
    """
    errors.warn_once(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
        "torch.set_default_dtype() and torch.set_default_device() as alternatives."
    )
    if isinstance(t, CudaTensorType) or str(t).startswith("torch.cuda."):
        name = t.__name__ if isinstance(t, type) else t
        raise _no_cuda_type(name.removeprefix("torch.cuda."))
    kind = dtype_of_legacy(t)
    if not kind.is_floating_point:
        raise TypeError(
            "only floating-point types are supported as the default type" + errors.at_user_line()
        )
    dtypes.set_default_dtype(kind)
