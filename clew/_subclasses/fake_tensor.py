"""Fake tensors: a shape, a dtype, strides and the device that they pretend to be on; no elements.

A fake tensor is an object of a class with `__torch_dispatch__` whose operations run on the meta
device. Inside of a `FakeTensorMode` all tensors that are made are fake.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clew import errors
from clew.backend.device import CPU, META
from clew.core.interception import Interceptor, install, installed, remove, resume
from clew.core.meta import memory as meta_memory
from clew.core.overrides import disabled
from clew.core.state import local
from clew.core.tensor import Tensor, alias, retyped, wrap
from clew.interrupts import uninterrupted
from clew.ops import op_calls as op_calls  # handlers get operations by their names
from clew.utils._pytree import tree_map

__all__ = [
    "DataDependentOutputException", "DynamicOutputShapeException", "FakeTensor",
    "FakeTensorMode", "UnsupportedFakeTensorException", "is_fake", "unset_fake_temporarily",
]  # fmt: skip


class DataDependentOutputException(RuntimeError):
    """A program asked a fake tensor for its elements."""

    def __init__(self, func: Any) -> None:
        super().__init__(f"{func}: a fake tensor has no elements" + errors.at_user_line())
        self.func = func


class DynamicOutputShapeException(RuntimeError):
    """The shape of a result depends on elements, which fake tensors do not have."""

    def __init__(self, func: Any) -> None:
        super().__init__(f"{func}: its shape depends on elements" + errors.at_user_line())
        self.func = func


class UnsupportedFakeTensorException(RuntimeError):
    """A tensor that has no fake form."""


def _refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise DataDependentOutputException("aten._local_scalar_dense.default")


class FakeTensor(Tensor):
    """A tensor without elements that says it is on the CPU."""

    __torch_function__ = disabled

    fake_mode: FakeTensorMode

    item = tolist = __bool__ = __int__ = __float__ = __index__ = __complex__ = _refuse
    numpy = __array__ = _refuse

    @property
    def fake_device(self) -> Any:
        """The device that it says it is on."""
        return self.device

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        kind = "" if self.dtype.name == "float32" else f", dtype={self.dtype!r}"
        return f"FakeTensor(..., size={tuple(self.shape)}{kind})"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = [each for each in _tensors((args, kwargs or {})) if isinstance(each, FakeTensor)]
        mode = given[0].fake_mode
        with unset_fake_temporarily():
            try:
                result = func(*tree_map(_plain, args), **tree_map(_plain, kwargs or {}))
            except NotImplementedError as error:
                raise DynamicOutputShapeException(func) from error
        if getattr(func, "inplace", False):
            return args[0]
        return tree_map(mode._faked, result)


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors(each)
    elif isinstance(value, dict):
        yield from _tensors(tuple(value.values()))


def _plain(value: Any) -> Any:
    """A fake tensor as one of the meta device; a number on the CPU stays what it is."""
    if not isinstance(value, FakeTensor):
        return value
    return retyped(alias(value), Tensor)


class _Faking(Interceptor):
    """Makes the tensors fake that are made inside of a mode."""

    def __init__(self, mode: FakeTensorMode) -> None:
        self.mode = mode

    def __call__(
        self, op: Any, inputs: tuple[Any, ...], params: dict[str, Any], inplace: bool = False
    ) -> Any:
        outer = self.outer
        assert outer is not None  # that of the meta device: the mode holds a tensor of it
        state = local.state
        state.intercept = outer
        try:
            return outer(op, inputs, params, inplace) if inplace else outer(op, inputs, params)
        finally:
            resume(state, self)

    def constant(self, tensor: Any) -> None:
        self.mode._become_fake(tensor)


class FakeTensorMode:
    """Inside of the `with` block tensors are made without elements; operations give their shapes.

    Args:
        allow_fallback_kernels, allow_non_fake_inputs, shape_env, static_shapes, export: accepted;
            every operation has its shapes from its definition, and no length is symbolic

    Example:
        >>> from clew._subclasses.fake_tensor import FakeTensorMode
        >>> with FakeTensorMode():
        ...     x = clew.randn(4, 10_000_000_000)
        >>> (x @ x.t()).shape, x.device
        (torch.Size([4, 4]), device(type='cpu'))
    """

    def __init__(
        self,
        *,
        allow_fallback_kernels: bool = True,
        allow_non_fake_inputs: bool = False,
        shape_env: Any = None,
        static_shapes: bool | None = None,
        export: bool = False,
    ) -> None:
        self.allow_non_fake_inputs = allow_non_fake_inputs
        self.shape_env = shape_env
        self.static_shapes = True
        self._entered: tuple[Any, ...] = ()

    def __enter__(self) -> FakeTensorMode:
        # The interceptor of the meta device is there while a tensor of it is.
        kept = meta_memory.empty((), wrap(0.0)._array.dtype)
        link = _Faking(self)
        META.__enter__()
        install(link)
        self._entered = (*self._entered, (kept, link))
        return self

    @uninterrupted
    def __exit__(self, *exc: Any) -> None:
        _, link = self._entered[-1]
        self._entered = self._entered[:-1]
        remove(link)
        META.__exit__(None, None, None)

    def from_tensor(
        self, tensor: Tensor, *, static_shapes: Any = None, source: Any = None, **ignored: Any
    ) -> FakeTensor:
        """A fake tensor with the shape, strides and dtype of another."""
        if isinstance(tensor, FakeTensor):
            return tensor
        fake: Any = retyped(wrap(meta_memory.like(tensor._layout)), FakeTensor)
        fake.__dict__.update(_device=tensor.device, fake_mode=self)
        fake._requires_grad = tensor.requires_grad
        found: FakeTensor = fake
        return found

    def _faked(self, value: Any) -> Any:
        """A result of the meta device as a fake tensor."""
        if type(value) is Tensor:
            self._become_fake(value)
        return value

    def _become_fake(self, tensor: Any) -> None:
        if type(tensor) is not Tensor:
            return
        if not meta_memory.is_meta(tensor._array):
            tensor._array = meta_memory.like(tensor._array)
        tensor.__class__ = FakeTensor
        tensor.__dict__.update(_device=CPU, fake_mode=self)


def active_mode() -> FakeTensorMode | None:
    """The mode that this thread is in, or None."""
    link = installed(_Faking)
    return None if link is None else link.mode


def is_fake(x: Any) -> bool:
    """Whether a tensor is fake."""
    return isinstance(x, FakeTensor)


class unset_fake_temporarily:
    """Outside of a fake mode, also inside of one."""

    def __enter__(self) -> Any:
        self._link = link = installed(_Faking)
        if link is not None:
            remove(link)
            META.__exit__(None, None, None)
        return None if link is None else link.mode

    def __exit__(self, *exc: Any) -> None:
        if self._link is not None:
            META.__enter__()
            install(self._link)
