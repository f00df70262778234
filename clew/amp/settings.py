"""What autocast is set to in the running thread, and the conversion of a function's arguments."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from clew.backend import dtypes
from clew.backend.device import device
from clew.core.casting import FIRST, FLOAT32, LOWER, UNCHANGED
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.source import user_stacklevel

_DEFAULT_DTYPES = {
    "cpu": dtypes.bfloat16,
    "xla": dtypes.bfloat16,
    "hpu": dtypes.bfloat16,
    "cuda": dtypes.float16,
    "xpu": dtypes.float16,
    "mps": dtypes.float16,
    "mtia": dtypes.float16,
    "maia": dtypes.float16,
    "ipu": dtypes.float16,
    "privateuseone": dtypes.float16,
}


def eligible(value: Any) -> bool:
    """Whether autocast converts a value: tensors of floats other than float64."""
    return (
        isinstance(value, Tensor)
        and value.dtype.is_floating_point
        and value.dtype is not dtypes.float64
    )


def tensors_in(values: Iterable[Any]) -> Iterator[Tensor]:
    """The tensors among arguments and in lists of arguments."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)


class Casting:
    """Converts arguments while autocast is on for the CPU: what `State.autocast` then refers to."""

    def __init__(self) -> None:
        self.enabled: dict[str, bool] = {}
        self.dtype = dict(_DEFAULT_DTYPES)
        self.cache_enabled = True
        self.nesting = 0
        # Converted parameters by identity: the parameter, what it was like, the conversion.
        self.cache: dict[int, tuple[Tensor, tuple[Any, ...], Tensor]] = {}

    def enable(self, device_type: str, enabled: bool) -> None:
        self.enabled[device_type] = enabled
        if device_type == "cpu":
            local.state.autocast = self if enabled else None

    def __call__(self, policy: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run a function over converted arguments; what it is made of runs as it stands."""
        state = local.state
        target = self.target(policy, args, kwargs)
        args = tuple([self.converted(value, target) for value in args])
        kwargs = {name: self.converted(value, target) for name, value in kwargs.items()}
        state.autocast = None
        try:
            return function(*args, **kwargs)
        finally:
            state.autocast = self

    def target(
        self, policy: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> dtypes.dtype | None:
        lower = self.dtype["cpu"]
        if policy == LOWER:
            return lower
        if policy == FLOAT32:
            return dtypes.float32
        if policy == UNCHANGED:
            return None
        found = [each for each in tensors_in((*args, *kwargs.values())) if eligible(each)]
        if policy == FIRST:
            return found[0].dtype if found else None
        widest = lower
        for each in found:
            widest = dtypes.promote_types(widest, each.dtype)
        return widest

    def converted(self, value: Any, target: dtypes.dtype | None) -> Any:
        if isinstance(value, (list, tuple)):
            items = [self.converted(each, target) for each in value]
            return items if isinstance(value, list) else tuple(items)
        if target is None or not eligible(value) or value.dtype is target:
            return value
        return self.parameter(value, target) if self.keeps(value, target) else value.to(target)

    def keeps(self, tensor: Tensor, target: dtypes.dtype) -> bool:
        """Parameters are converted once in a region, and used many times."""
        return (
            self.cache_enabled
            and target is self.dtype["cpu"]
            and tensor.dtype is dtypes.float32
            and tensor.requires_grad
            and tensor.is_leaf
            and tensor._view is None
        )

    def parameter(self, tensor: Tensor, target: dtypes.dtype) -> Tensor:
        state = local.state
        # A conversion made under no_grad has no history, and one from before a write is stale.
        like = target, state.grad_enabled, state.inference, tensor._storage.version
        entry = self.cache.get(id(tensor))
        if entry is None or entry[1] != like:
            entry = self.cache[id(tensor)] = tensor, like, tensor.to(target)
        return entry[2]


class _Local(threading.local):
    def __init__(self) -> None:
        self.casting = Casting()


_local = _Local()


def casting() -> Casting:
    """The running thread's settings."""
    return _local.casting


def device_type_of(name: str) -> str:
    """A device type that exists, or PyTorch's error."""
    if not isinstance(name, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(name)}`")
    return str(device(name).type)


# -- PyTorch's functions -------------------------------------------------------------------------


def is_autocast_available(device_type: str) -> bool:
    """Whether PyTorch knows autocast for a device type (not: whether there is such a device).

    Args:
        device_type: a name such as "cpu"

    Example:
        >>> clew.amp.is_autocast_available("cpu"), clew.amp.is_autocast_available("meta")
        (True, False)
    """
    return device_type_of(device_type) in _DEFAULT_DTYPES


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on in this thread for a device type; CUDA if none is named."""
    return casting().enabled.get(device_type_of(device_type), False)


def set_autocast_enabled(device_type: str | bool, enabled: bool | None = None) -> None:
    """Switch autocast for a device type; CUDA if none is named."""
    if isinstance(device_type, bool):
        casting().enable("cuda", device_type)
    else:
        casting().enable(device_type_of(device_type), bool(enabled))


def get_autocast_dtype(device_type: str) -> dtypes.dtype:
    """The dtype that autocast converts to on a device type."""
    kind = device_type_of(device_type)
    if kind not in _DEFAULT_DTYPES:
        raise RuntimeError(f"unsupported scalarType\n  There is no autocast for {kind!r}.")
    return casting().dtype[kind]


def set_autocast_dtype(device_type: str, dtype: dtypes.dtype) -> None:
    """Choose the dtype that autocast converts to on a device type."""
    casting().dtype[device_type_of(device_type)] = dtype


def is_autocast_cache_enabled() -> bool:
    """Whether converted parameters are kept until the outermost region ends."""
    return casting().cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Choose whether converted parameters are kept until the outermost region ends."""
    casting().cache_enabled = enabled


def clear_autocast_cache() -> None:
    """Forget the converted parameters."""
    casting().cache.clear()


def autocast_increment_nesting() -> int:
    """Count a region that was entered; returns how many this thread is in."""
    casting().nesting += 1
    return casting().nesting


def autocast_decrement_nesting() -> int:
    """Count a region that was left; returns how many this thread is still in."""
    casting().nesting -= 1
    return casting().nesting


# -- older names ---------------------------------------------------------------------------------


def _deprecated(old: str, new: str) -> None:
    warnings.warn(
        f"torch.{old} is deprecated. Please use torch.{new} instead.",
        DeprecationWarning,
        stacklevel=user_stacklevel(),
    )


def warn_of_older_name(old: str, new: str) -> None:
    """For `cpu.amp` and `cuda.amp`, of which PyTorch says it in other words."""
    warnings.warn(
        f"`torch.{old}(args...)` is deprecated. Please use `torch.amp.{new}` instead.",
        FutureWarning,
        stacklevel=user_stacklevel(),
    )


def is_autocast_cpu_enabled() -> bool:
    """`is_autocast_enabled("cpu")`."""
    _deprecated("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """`set_autocast_enabled("cpu", enabled)`."""
    _deprecated("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> dtypes.dtype:
    """`get_autocast_dtype("cpu")`."""
    _deprecated("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: dtypes.dtype) -> None:
    """`set_autocast_dtype("cpu", dtype)`."""
    _deprecated("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> dtypes.dtype:
    """`get_autocast_dtype("cuda")`."""
    _deprecated("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')")
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: dtypes.dtype) -> None:
    """`set_autocast_dtype("cuda", dtype)`."""
    _deprecated("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)")
    set_autocast_dtype("cuda", dtype)
