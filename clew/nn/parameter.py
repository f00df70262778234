"""Parameters and buffers: the tensors that a module owns, also before their shape is known."""

from __future__ import annotations

import builtins
from typing import Any, NoReturn

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.backend.device import check_device
from clew.core.overrides import disabled
from clew.core.state import local
from clew.core.storage import INFERENCE, Storage
from clew.core.tensor import Tensor, alias, retyped, wrap
from clew.observer import active
from clew.ops.tensor.conversion import dtype_of_legacy


class _ParameterMeta(type(Tensor)):  # type: ignore[misc]  # the metaclass of Tensor is an ordinary class
    """Tensors of other classes count as instances when they carry the class's mark."""

    _mark: str

    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        base = cls is Parameter or cls is Buffer
        return base and isinstance(instance, Tensor) and getattr(instance, cls._mark, False)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that a module registers, trains and saves when it is set as an attribute.

    Args:
        data: the values, which the parameter shares; None is an empty tensor
        requires_grad: whether it is trained

    Example:
        >>> layer = nn.Module()
        >>> layer.scale = nn.Parameter(clew.ones(2))
        >>> [name for name, _ in layer.named_parameters()]
        ['scale']
    """

    __slots__ = ()
    __torch_function__ = disabled
    _mark = "_is_param"

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = wrap(np.empty(0, dtypes.get_default_dtype().np))
        if not isinstance(data, Tensor):
            raise TypeError(
                f"_make_subclass(): argument 'data' (position 2) must be Tensor, not "
                f"{type(data).__name__}" + errors.at_user_line()
            )
        if data._is_unstrided or (data.__class__ is not Tensor and not isinstance(data, Parameter)):
            # A tensor class stays what it is, and says itself what a detached one carries along.
            marked: Any = data.detach()
            kind: Any = type(marked)
            if kind is not type(data):
                raise RuntimeError(
                    f"Creating a Parameter from an instance of type {type(data).__name__} requires "
                    "that detach() returns an instance of the same type, but return type "
                    f"{kind.__name__} was found instead." + errors.at_user_line()
                )
            marked.requires_grad = requires_grad
            marked._is_param = True
            return _told(marked, data)
        if requires_grad and not (data.dtype.is_floating_point or data.dtype.is_complex):
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients\n"
                f"  This one is {data.dtype!r}: pass requires_grad=False, or convert it with "
                ".float()" + errors.at_user_line()
            )
        if requires_grad and data._storage.is_inference and not local.state.inference:
            raise errors.inference_requires_grad()
        result = retyped(data, cls)
        result._requires_grad = bool(requires_grad)
        result._reason = None
        return _told(result, data)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) in memo:
            return memo[id(self)]
        copied = type(self)(self.detach().clone(), self.requires_grad)
        memo[id(self)] = copied
        return copied

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        plain = alias(self)
        plain._requires_grad = self._requires_grad
        return "Parameter containing:\n" + repr(plain)

    __str__ = __repr__


def _told(parameter: Any, data: Tensor) -> Any:
    """A new parameter, after whoever watches has seen it."""
    observer = active.observer
    if observer is not None:
        observer.parameter_made(parameter, data)
    return parameter


class Buffer(Tensor, metaclass=_ParameterMeta):
    """A tensor that a module saves and moves, but does not train, when set as an attribute.

    Args:
        data: the values, which the buffer shares
        persistent: whether it is part of the module's `state_dict`

    Example:
        >>> layer = nn.Module()
        >>> layer.steps = nn.Buffer(clew.zeros(1))
        >>> layer.state_dict()
        OrderedDict([('steps', tensor([0.]))])
    """

    __slots__ = ()
    __torch_function__ = disabled
    _mark = "_is_buffer"

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = wrap(np.empty(0, dtypes.get_default_dtype().np))
        result: Any = retyped(data, type(data))
        result.requires_grad = data.requires_grad
        result.persistent = persistent
        result._is_buffer = True
        return result


_SHAPE_UNKNOWN = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
    "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. "
    "Call `forward` to initialize the parameters before accessing their attributes."
)


class UninitializedTensorMixin(Tensor):
    """A tensor whose dtype is known and whose shape is not: it has no array yet."""

    __slots__ = ()
    __torch_function__ = disabled
    # `type` is a method of tensors.
    cls_to_become: builtins.type[Tensor] = Tensor
    _kind: dtypes.dtype

    @property
    def _array(self) -> Any:  # type: ignore[override]  # every operation asks for it
        raise ValueError(
            "Attempted to use an uninitialized parameter in an operation. This error happens when "
            "you are using a `LazyModule` or explicitly manipulating "
            "`torch.nn.parameter.UninitializedParameter` objects. When using LazyModules Call "
            "`forward` with a dummy batch to initialize the parameters before calling torch "
            "functions" + errors.at_user_line()
        )

    _layout = _array

    @property
    def shape(self) -> NoReturn:
        raise RuntimeError(_SHAPE_UNKNOWN + errors.at_user_line())

    @property
    def dtype(self) -> dtypes.dtype:
        return self._kind

    @property
    def data(self) -> Any:
        return self

    @data.setter
    def data(self, value: Tensor) -> None:
        if isinstance(value, UninitializedTensorMixin):
            self._kind = value._kind
        else:
            raise ValueError(
                "an uninitialized parameter gets its memory from materialize()"
                + errors.at_user_line()
            )

    def materialize(
        self, shape: Any, device: Any = None, dtype: dtypes.dtype | None = None
    ) -> None:
        """Become an ordinary tensor of this shape, with undefined values."""
        check_device(device)
        kind = self._kind if dtype is None else dtype
        del self._kind
        self.__class__ = self.cls_to_become  # type: ignore[assignment]  # same layout
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        self._array = np.empty(sizes, kind.np)  # type: ignore[misc]  # now a slot again
        self._storage = INFERENCE if local.state.inference else local.state.new_storage()

    def is_floating_point(self) -> bool:
        return self._kind.is_floating_point

    def is_complex(self) -> bool:
        return self._kind.is_complex

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """The same in another dtype."""
        kind = wrap(np.empty(0, self._kind.np)).to(*args, **kwargs).dtype
        return self if kind is self._kind else _uninitialized(type(self), kind, self)

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        if dtype is None:
            return f"torch.{self._kind.scalar_name}Tensor"
        return self.to(dtype_of_legacy(dtype))

    def float(self, memory_format: Any = None) -> Any:
        return self.to(dtypes.float32)

    def double(self, memory_format: Any = None) -> Any:
        return self.to(dtypes.float64)

    def half(self, memory_format: Any = None) -> Any:
        return self.to(dtypes.float16)

    def bfloat16(self, memory_format: Any = None) -> Any:
        return self.to(dtypes.bfloat16)

    def cpu(self, memory_format: Any = None) -> Any:
        return self

    def detach(self) -> Any:
        return self

    def share_memory_(self) -> NoReturn:
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to "
            "initialize the parameters before calling `module.share_memory()`."
            + errors.at_user_line()
        )

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"<{type(self).__name__}>"

    __str__ = __repr__

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _restore_uninitialized, (type(self), self._kind, self._requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = _uninitialized(type(self), self._kind, self)
        return memo[id(self)]


def _uninitialized(kind: type[Tensor], dtype: dtypes.dtype, like: Any = None) -> Any:
    result: Any = object.__new__(kind)
    result._storage = Storage()
    result._requires_grad = like is not None and like._requires_grad
    result._node = result._view = result._reason = result._grad = None
    result._output_nr = 0
    result._kind = dtype
    return result


def _restore_uninitialized(kind: type[Tensor], dtype: dtypes.dtype, requires_grad: bool) -> Any:
    result = _uninitialized(kind, dtype)
    result._requires_grad = requires_grad
    return result


# The first base's `__repr__` is meant: there are no contents to ask for.
class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]
    """A parameter whose shape the first forward will tell.

    Args:
        requires_grad: whether it will be trained
        device, dtype: those that it will have

    Example:
        >>> weight = nn.UninitializedParameter()
        >>> weight.materialize((2, 3))
        >>> weight.shape
        torch.Size([2, 3])
    """

    __slots__ = ()
    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        check_device(device)
        kind = dtypes.get_default_dtype() if dtype is None else dtype
        return _restore_uninitialized(cls, kind, bool(requires_grad))


class UninitializedBuffer(UninitializedTensorMixin):
    """A buffer whose shape the first forward will tell.

    Args:
        requires_grad: whether gradients are recorded for it
        device, dtype: those that it will have
        persistent: whether it is part of the module's `state_dict`

    Example:
        >>> mean = nn.UninitializedBuffer()
        >>> nn.parameter.is_lazy(mean)
        True
    """

    __slots__ = ()
    cls_to_become = Tensor

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> Any:
        check_device(device)
        kind = dtypes.get_default_dtype() if dtype is None else dtype
        result = _restore_uninitialized(cls, kind, bool(requires_grad))
        result.persistent = persistent
        result._is_buffer = True
        return result


def is_lazy(param: Any) -> bool:
    """Whether a parameter or buffer still waits for its shape.

    Args:
        param: any tensor

    Example:
        >>> nn.parameter.is_lazy(nn.LazyLinear(3).weight)
        True
        >>> nn.parameter.is_lazy(nn.Linear(2, 3).weight)
        False
    """
    return isinstance(param, UninitializedTensorMixin)
