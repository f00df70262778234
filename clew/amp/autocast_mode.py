"""`autocast`: regions in which functions run in the dtype that suits them."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from clew import errors
from clew.amp.settings import (
    autocast_decrement_nesting,
    autocast_increment_nesting,
    casting,
    clear_autocast_cache,
    device_type_of,
    eligible,
    get_autocast_cpu_dtype,
    get_autocast_dtype,
    get_autocast_gpu_dtype,
    is_autocast_available,
    is_autocast_cache_enabled,
    is_autocast_cpu_enabled,
    is_autocast_enabled,
    set_autocast_cache_enabled,
    set_autocast_cpu_dtype,
    set_autocast_cpu_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
    set_autocast_gpu_dtype,
)
from clew.backend import dtypes
from clew.core.state import local
from clew.interrupts import uninterrupted
from clew.observer import active
from clew.source import user_stacklevel

__all__ = [
    "autocast", "autocast_decrement_nesting", "autocast_increment_nesting",
    "clear_autocast_cache", "custom_bwd", "custom_fwd", "get_autocast_cpu_dtype",
    "get_autocast_dtype", "get_autocast_gpu_dtype", "is_autocast_available",
    "is_autocast_cache_enabled", "is_autocast_cpu_enabled", "is_autocast_enabled",
    "set_autocast_cache_enabled", "set_autocast_cpu_dtype", "set_autocast_cpu_enabled",
    "set_autocast_dtype", "set_autocast_enabled", "set_autocast_gpu_dtype",
]  # fmt: skip

CPU_DTYPES = (dtypes.bfloat16, dtypes.float16)


class autocast:
    """A region, or a function, in which autocast is on (or off) for a device type.

    Matrix products and convolutions run in the lower dtype, losses and other functions that need
    the range run in float32, and all others in the dtype of what they are given.

    Args:
        device_type: "cpu"; with "cuda", autocast is off, since there is no GPU
        dtype: the lower dtype, bfloat16 or float16; by default, bfloat16 on the CPU
        enabled: False switches autocast off inside
        cache_enabled: whether parameters that are used twice are cast once

    Example:
        >>> x, w = clew.ones(2, 3), clew.ones(3, 2)
        >>> with clew.autocast("cpu"):
        ...     product = x @ w
        >>> product.dtype, clew.autocast("cpu")(F.mse_loss)(product, product).dtype
        (torch.bfloat16, torch.float32)
    """

    def __init__(
        self,
        device_type: str,
        dtype: dtypes.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        self.device = device_type_of(device_type)
        self.fast_dtype = get_autocast_dtype(self.device) if dtype is None else dtype
        if not is_autocast_available(self.device):
            raise RuntimeError(
                f"User specified an unsupported autocast device_type '{self.device}'"
            )
        self._enabled = enabled and self._can_run()
        self._cache_enabled = (
            is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        )
        # What was before it was entered, and the same for the times it was entered before that.
        self._before: Any = None

    def _can_run(self) -> bool:
        if self.device == "cpu":
            if self.fast_dtype in CPU_DTYPES:
                return True
            _warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                "CPU Autocast only supports dtypes of "
                + ", ".join(map(str, CPU_DTYPES))
                + " currently."
            )
        elif self.device == "cuda":
            _warn("CUDA is not available or torch_xla is imported. Disabling autocast.")
        return False

    def __enter__(self) -> autocast:
        observer = active.observer
        if observer is not None:
            observer.autocast_entered(self)
        settings, state, device = casting(), local.state, self.device
        enabled = settings.enabled.get(device, False)
        casts = state.autocast
        if device == "cpu":
            casts = settings if self._enabled else None
        self._before = (
            settings, enabled, settings.dtype[device], settings.cache_enabled, state.autocast,
            self._before,
        )  # fmt: skip
        settings.enabled[device], settings.dtype[device] = self._enabled, self.fast_dtype
        settings.cache_enabled, state.autocast = self._cache_enabled, casts
        settings.nesting += 1
        return self

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        settings, enabled, dtype, cache_enabled, casts, self._before = self._before
        settings.enabled[self.device], settings.dtype[self.device] = enabled, dtype
        settings.cache_enabled, local.state.autocast = cache_enabled, casts
        settings.nesting -= 1
        if not settings.nesting:
            settings.cache.clear()

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you "
                "mean to use autocast as a context manager? For example:\n"
                "    with torch.autocast(device_type=...):\n        output = model(input)"
                + errors.at_user_line()
            )

        @functools.wraps(func)
        def inside_autocast(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return inside_autocast


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=user_stacklevel())


def autocast_as_it_is(device_type: str = "cpu") -> autocast:
    """A region like the one that this thread is in, for running something again later."""
    settings = casting()
    return autocast(
        device_type,
        dtype=settings.dtype[device_type],
        enabled=settings.enabled.get(device_type, False),
        cache_enabled=settings.cache_enabled,
    )


# -- custom functions ----------------------------------------------------------------------------


def _cast(value: Any, device_type: str, dtype: dtypes.dtype) -> Any:
    """The floats of a nested argument in another dtype."""
    if eligible(value):
        return value.to(dtype) if device_type == "cpu" else value
    if isinstance(value, Mapping):
        return {
            _cast(key, device_type, dtype): _cast(each, device_type, dtype)
            for key, each in value.items()
        }
    if isinstance(value, (list, tuple)):
        items = [_cast(each, device_type, dtype) for each in value]
        return type(value)(items)
    return value


def custom_fwd(
    fwd: Callable[..., Any] | None = None,
    *,
    device_type: str,
    cast_inputs: dtypes.dtype | None = None,
) -> Callable[..., Any]:
    """For `forward` of a custom function: remember autocast, or run without it in one dtype.

    Args:
        fwd: the method; left out, a decorator is returned
        device_type: the device type whose autocast is meant
        cast_inputs: the dtype that inputs are cast to inside autocast; it is then off in `forward`

    Example:
        >>> from clew.amp import custom_bwd, custom_fwd
        >>> class Product(clew.autograd.Function):
        ...     @staticmethod
        ...     @custom_fwd(device_type="cpu", cast_inputs=clew.float32)
        ...     def forward(ctx, a, b):
        ...         ctx.save_for_backward(a, b)
        ...         return a @ b
        ...     @staticmethod
        ...     @custom_bwd(device_type="cpu")
        ...     def backward(ctx, grad):
        ...         a, b = ctx.saved_tensors
        ...         return grad @ b.T, a.T @ grad
        >>> with clew.autocast("cpu"):
        ...     print(Product.apply(clew.ones(2, 2), clew.ones(2, 2)).dtype)
        torch.float32
    """
    kind = device_type_of(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=kind, cast_inputs=cast_inputs)
    forward = fwd

    @functools.wraps(forward)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        ctx._autocast_dtype = get_autocast_dtype(kind)
        enabled = is_autocast_enabled(kind)
        if cast_inputs is None:
            ctx._fwd_used_autocast = enabled
            return forward(*args, **kwargs)
        ctx._fwd_used_autocast = False
        if not enabled:
            return forward(*args, **kwargs)
        with autocast(kind, enabled=False):
            cast_kwargs = {name: _cast(each, kind, cast_inputs) for name, each in kwargs.items()}
            return forward(ctx, *_cast(args[1:], kind, cast_inputs), **cast_kwargs)

    return decorated


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """For `backward` of a custom function: run it with autocast as `custom_fwd` found it.

    Args:
        bwd: the method; left out, a decorator is returned
        device_type: the device type whose autocast is meant

    Example:
        >>> from clew.amp import custom_bwd, custom_fwd
        >>> class Twice(clew.autograd.Function):
        ...     @staticmethod
        ...     @custom_fwd(device_type="cpu")
        ...     def forward(ctx, x):
        ...         return 2 * x
        ...     @staticmethod
        ...     @custom_bwd(device_type="cpu")
        ...     def backward(ctx, grad):
        ...         print(clew.is_autocast_enabled("cpu"))
        ...         return 2 * grad
        >>> x = clew.ones(1, requires_grad=True)
        >>> with clew.autocast("cpu"):
        ...     y = Twice.apply(x)
        >>> y.backward()  # outside of autocast
        True
    """
    kind = device_type_of(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=kind)
    backward = bwd

    @functools.wraps(backward)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        with autocast(kind, enabled=ctx._fwd_used_autocast, dtype=ctx._autocast_dtype):
            return backward(*args, **kwargs)

    return decorated
