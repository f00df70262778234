"""What programs ask about CUDA: there is none, so they choose the CPU."""

# ruff: noqa: F401  # the names here are for users

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable as _Callable
from typing import Any
from typing import NoReturn as _NoReturn

from clew.aliasing import on_request as _on_request
from clew.backend.device import device as _device
from clew.backend.device import no_such_device as _no_such_device
from clew.cuda import amp
from clew.cuda.graphs import (
    CUDAGraph,
    graph,
    graph_pool_handle,
    is_current_stream_capturing,
    make_graphed_callables,
)
from clew.cuda.streams import (
    Event,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    set_stream,
    stream,
)
from clew.ops.create.legacy_constructors import CudaTensorType as _CudaTensorType
from clew.ops.tensor.conversion import LEGACY_NAMES as _LEGACY_NAMES
from clew.ops.tensor.legacy_storages import CUDA_CLASSES as _CUDA_STORAGES

_initialized = False
default_generators: tuple[Any, ...] = ()


class OutOfMemoryError(RuntimeError):
    """What a GPU without enough memory raises: for `except`.

    Example:
        >>> issubclass(clew.cuda.OutOfMemoryError, RuntimeError)
        True
    """


class device:
    """`with device(0):`, which changes nothing: there is no GPU to choose.

    Args:
        device: the number of a GPU

    Example:
        >>> with clew.cuda.device(0):
        ...     clew.ones(1).device
        device(type='cpu')
    """

    def __init__(self, device: Any) -> None:
        self.idx = -1

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        return None


# `torch.cuda.FloatTensor`, `torch.cuda.FloatStorage` and the like: nothing is of these types, and
# calling one raises.
globals().update({name: _CudaTensorType(name) for name in _LEGACY_NAMES if "Complex" not in name})
globals().update(_CUDA_STORAGES)


def is_available() -> bool:
    """Whether tensors can be made on a GPU: no.

    Example:
        >>> "cuda" if clew.cuda.is_available() else "cpu"
        'cpu'
    """
    return False


def is_initialized() -> bool:
    """Whether anything has used CUDA: no.

    Example:
        >>> clew.cuda.is_initialized()
        False
    """
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether a GPU computes in bfloat16: there is none.

    Args:
        including_emulation: accepted

    Example:
        >>> clew.cuda.is_bf16_supported()
        False
    """
    return False


def device_count() -> int:
    """The number of GPUs that tensors can be made on: none.

    Example:
        >>> clew.cuda.device_count()
        0
    """
    return 0


def memory_allocated(device: Any = None) -> int:
    """The bytes that tensors hold on a GPU: none.

    Args:
        device: accepted; there is none to choose

    Example:
        >>> clew.cuda.memory_allocated()
        0
    """
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that tensors held on a GPU: none.

    Args:
        device: accepted; there is none to choose

    Example:
        >>> clew.cuda.max_memory_allocated()
        0
    """
    return 0


def memory_reserved(device: Any = None) -> int:
    """The bytes that are set aside on a GPU: none.

    Args:
        device: accepted; there is none to choose

    Example:
        >>> clew.cuda.memory_reserved()
        0
    """
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that were set aside on a GPU: none.

    Args:
        device: accepted; there is none to choose

    Example:
        >>> clew.cuda.max_memory_reserved()
        0
    """
    return 0


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """Counts of the GPU's memory allocator: there is none, so there are none.

    Args:
        device: accepted; there is none to choose

    Example:
        >>> clew.cuda.memory_stats()
        OrderedDict()
    """
    return OrderedDict()


def reset_peak_memory_stats(device: Any = None) -> None:
    """Begin to measure the GPU's peak memory again: it stays 0.

    Args:
        device: accepted; there is none to choose

    Example:
        >>> clew.cuda.reset_peak_memory_stats()
    """


def reset_max_memory_allocated(device: Any = None) -> None:
    """Begin to measure the GPU's peak memory again: it stays 0.

    Args:
        device: accepted; there is none to choose

    Example:
        >>> clew.cuda.reset_max_memory_allocated()
    """


def get_arch_list() -> list[str]:
    """The GPU architectures that this library was built for: none.

    Example:
        >>> clew.cuda.get_arch_list()
        []
    """
    return []


def get_rng_state_all() -> list[Any]:
    """The states of all GPUs' random streams: none.

    Example:
        >>> clew.cuda.get_rng_state_all()
        []
    """
    return []


def seed() -> None:
    """Seed the GPU's random stream: without one there is nothing to do, as in PyTorch.

    Example:
        >>> clew.cuda.seed()
    """


def seed_all() -> None:
    """Seed all GPUs' random streams: without one there is nothing to do, as in PyTorch.

    Example:
        >>> clew.cuda.seed_all()
    """


def manual_seed(seed: int) -> None:
    """Seed the GPU's random stream: without one there is nothing to do, as in PyTorch.

    Args:
        seed: accepted

    Example:
        >>> clew.cuda.manual_seed(0)
    """


def manual_seed_all(seed: int) -> None:
    """Seed all GPUs' random streams: without one there is nothing to do, as in PyTorch.

    Args:
        seed: accepted

    Example:
        >>> clew.cuda.manual_seed_all(0)
    """


def empty_cache() -> None:
    """Give cached GPU memory back: without any there is nothing to do, as in PyTorch.

    Example:
        >>> clew.cuda.empty_cache()
    """


_REFUSED_DOC = """Raises: there is no GPU.

Args:
    device: the GPU

Example:
    >>> clew.cuda.{}()
    Traceback (most recent call last):
    ...
    clew.backend.device.NoSuchDevice: Torch not compiled with CUDA enabled: ...
"""


def _refused(name: str) -> _Callable[..., _NoReturn]:
    def refused(device: Any = None) -> _NoReturn:
        raise _no_such_device(_device("cuda"))

    refused.__name__ = refused.__qualname__ = name
    refused.__doc__ = _REFUSED_DOC.format(name)
    return refused


current_device, set_device = _refused("current_device"), _refused("set_device")
get_device_name, get_device_properties = (
    _refused("get_device_name"),
    _refused("get_device_properties"),
)
get_device_capability = _refused("get_device_capability")
mem_get_info, synchronize, init = (
    _refused("mem_get_info"),
    _refused("synchronize"),
    _refused("init"),
)
get_rng_state, ipc_collect = _refused("get_rng_state"), _refused("ipc_collect")
initial_seed = _refused("initial_seed")


def set_rng_state(new_state: Any, device: Any = None) -> None:
    """Raises: there is no GPU.

    Args:
        new_state: a state of a GPU's random stream
        device: the GPU

    Example:
        >>> clew.cuda.set_rng_state(clew.get_rng_state())
        Traceback (most recent call last):
        ...
        clew.backend.device.NoSuchDevice: Torch not compiled with CUDA enabled: ...
    """
    raise _no_such_device(_device("cuda"))


def set_rng_state_all(new_states: list[Any]) -> None:
    """Continue all GPUs' random streams: of none, there is nothing to do.

    Args:
        new_states: what `get_rng_state_all` gave: an empty list

    Example:
        >>> clew.cuda.set_rng_state_all(clew.cuda.get_rng_state_all())
    """
    for state in new_states:
        set_rng_state(state)


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The GPU's memory as text: there is none.

    Args:
        device: accepted; there is none to choose
        abbreviated: accepted

    Example:
        >>> clew.cuda.memory_summary()
        'no GPU: tensors live on the CPU'
    """
    return "no GPU: tensors live on the CPU"


def _lazy_call(callable: _Callable[[], Any], **kwargs: Any) -> None:
    """Call a function once a GPU is used: never."""


__getattr__, __dir__ = _on_request(__name__, {"comm", "nvtx", "profiler", "random"})
