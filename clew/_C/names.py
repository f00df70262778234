"""Names of PyTorch's compiled part that packages reach: states that are asked for, and classes.

Questions about tracing, compilation and devices have one answer here. Settings of PyTorch's own
compiler are accepted, because there is none that they could change.
"""

from __future__ import annotations

import enum
from typing import Any
from zipfile import ZipFile

from clew import errors
from clew._C import _functorch, _nn
from clew.backend import dtypes
from clew.backend.device import device, get_default_device
from clew.core.size import Size
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.library.dispatch import AutoDispatchBelowAutograd
from clew.ops.create.random import Generator
from clew.ops.tensor.untyped_storage import UntypedStorage

__all__ = [
    "DispatchKey", "DispatchKeySet", "Generator", "Graph", "PyTorchFileReader", "ScriptFunction",
    "ScriptMethod",
    "ScriptModule", "Size", "StorageBase", "TensorType", "Value", "_AutoDispatchBelowAutograd",
    "_ExcludeDispatchKeyGuard", "_TensorMeta", "_are_functorch_transforms_active",
    "_cuda_isInBadFork", "_functorch", "_has_cuda", "_has_cudnn", "_has_magma", "_has_mps",
    "_has_xpu", "_get_accelerator", "_get_default_device",
    "_get_privateuse1_backend_name", "_get_tracing_state", "_is_alias_of", "_is_tracing",
    "_jit_can_fuse_on_cpu", "_jit_can_fuse_on_gpu", "_jit_get_profiling_executor",
    "_jit_override_can_fuse_on_cpu", "_jit_override_can_fuse_on_gpu",
    "_jit_set_bailout_depth", "_jit_set_nvfuser_enabled", "_jit_set_nvfuser_guard_mode",
    "_jit_set_profiling_executor", "_jit_set_profiling_mode", "_jit_set_texpr_fuser_enabled",
    "_nn", "_set_math_sdp_allow_fp16_bf16_reduction", "device", "dtype",
]  # fmt: skip

_TensorMeta = type(Tensor)
StorageBase = UntypedStorage
dtype = dtypes.dtype
_AutoDispatchBelowAutograd = AutoDispatchBelowAutograd


# -- states ----------------------------------------------------------------------------------------


def _get_tracing_state() -> None:
    """The tracer that records a program: there is none."""
    return None


def _is_tracing() -> bool:
    """Whether a program is being traced: no."""
    return False


def _are_functorch_transforms_active() -> bool:
    """Whether the code runs inside `grad`, `vmap` or another transform."""
    return local.state.transforms > 0


def _cuda_isInBadFork() -> bool:
    """Whether a GPU was used before this process was forked: there is none."""
    return False


def _get_accelerator(check: bool = False) -> device:
    """The device that computes: the CPU."""
    return device("cpu")


def _get_default_device() -> str:
    """The name of the device that tensors are made on."""
    return str(get_default_device())


def _get_privateuse1_backend_name() -> str:
    """What the device of an extension is called."""
    return "privateuseone"


def _is_alias_of(data: Tensor, other: Tensor) -> bool:
    """Whether two tensors share a storage."""
    return data._storage is other._storage


# Devices that PyTorch may be built for, and clew is not.
_has_cuda = _has_cudnn = _has_magma = _has_mps = _has_xpu = False


# -- settings of a compiler that does not exist ----------------------------------------------------


def _jit_can_fuse_on_cpu() -> bool:
    """Whether operations are fused: no."""
    return False


_jit_can_fuse_on_gpu = _jit_can_fuse_on_cpu


def _jit_get_profiling_executor() -> bool:
    """Whether programs are profiled to be compiled: no."""
    return False


def _accepted(name: str) -> Any:
    def setting(value: Any = None) -> bool:
        """Accepted: there is no compiler to set. What was set before is False."""
        return False

    setting.__name__ = setting.__qualname__ = name
    return setting


_jit_set_profiling_executor = _accepted("_jit_set_profiling_executor")
_jit_set_profiling_mode = _accepted("_jit_set_profiling_mode")
_jit_set_texpr_fuser_enabled = _accepted("_jit_set_texpr_fuser_enabled")
_jit_override_can_fuse_on_cpu = _accepted("_jit_override_can_fuse_on_cpu")
_jit_override_can_fuse_on_gpu = _accepted("_jit_override_can_fuse_on_gpu")
_jit_set_nvfuser_enabled = _accepted("_jit_set_nvfuser_enabled")
_jit_set_nvfuser_guard_mode = _accepted("_jit_set_nvfuser_guard_mode")
_jit_set_bailout_depth = _accepted("_jit_set_bailout_depth")
_set_math_sdp_allow_fp16_bf16_reduction = _accepted("_set_math_sdp_allow_fp16_bf16_reduction")


# -- classes ---------------------------------------------------------------------------------------


class Graph:
    """A TorchScript program: for annotations."""


class Value:
    """A value of a TorchScript program: for annotations."""


class ScriptModule:
    """A compiled module: for annotations."""


class ScriptMethod:
    """A compiled method: for annotations."""


class ScriptFunction:
    """A compiled function: for annotations."""


class TensorType:
    """The type of tensors in TorchScript: for annotations."""


class DispatchKey(enum.Enum):
    """What a kernel may be registered for."""

    CPU = "CPU"
    CUDA = "CUDA"
    XPU = "XPU"
    MPS = "MPS"
    HPU = "HPU"
    Meta = "Meta"
    Autograd = "Autograd"
    AutogradCPU = "AutogradCPU"
    AutogradCUDA = "AutogradCUDA"
    AutogradXPU = "AutogradXPU"
    AutogradMPS = "AutogradMPS"
    AutogradMeta = "AutogradMeta"
    AutogradOther = "AutogradOther"
    AutocastCPU = "AutocastCPU"
    AutocastCUDA = "AutocastCUDA"
    AutocastXPU = "AutocastXPU"
    AutocastMPS = "AutocastMPS"
    CompositeImplicitAutograd = "CompositeImplicitAutograd"
    CompositeExplicitAutograd = "CompositeExplicitAutograd"
    FuncTorchBatched = "FuncTorchBatched"
    Python = "Python"
    ADInplaceOrView = "ADInplaceOrView"
    BackendSelect = "BackendSelect"
    Functionalize = "Functionalize"
    PrivateUse1 = "PrivateUse1"
    AutogradPrivateUse1 = "AutogradPrivateUse1"
    AutocastPrivateUse1 = "AutocastPrivateUse1"


class DispatchKeySet:
    """Several dispatch keys."""

    def __init__(self, key: DispatchKey, *more: DispatchKey) -> None:
        self._keys = frozenset({key, *more})

    def has(self, key: DispatchKey) -> bool:
        """Whether a key is one of them."""
        return key in self._keys

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys, *other._keys)


_AUTOGRAD = {key for key in DispatchKey if key.value.startswith(("Autograd", "ADInplace"))}
_AUTOCAST = {key for key in DispatchKey if key.value.startswith("Autocast")}


class _ExcludeDispatchKeyGuard(AutoDispatchBelowAutograd):
    """Inside, kernels of some dispatch keys are passed by: those of autograd, or of autocast."""

    def __init__(self, keys: DispatchKeySet) -> None:
        unknown = keys._keys - _AUTOGRAD - _AUTOCAST
        if unknown:
            raise NotImplementedError(
                f"clew has no kernels for {sorted(key.value for key in unknown)} to exclude"
                + errors.at_user_line()
            )
        self._skips_autograd = bool(keys._keys & _AUTOGRAD)
        self._skips_autocast = bool(keys._keys & _AUTOCAST)

    def __enter__(self) -> None:
        if self._skips_autograd:
            super().__enter__()
        if self._skips_autocast:
            self._autocast, local.state.autocast = local.state.autocast, None

    def __exit__(self, *exc: Any) -> None:
        if self._skips_autocast:
            local.state.autocast = self._autocast
        if self._skips_autograd:
            super().__exit__(*exc)


class PyTorchFileReader:
    """The parts of a file that `torch.save` wrote, by name.

    Args:
        path: the file, by its name or open for reading
    """

    def __init__(self, path: Any) -> None:
        self._file = ZipFile(path)
        names = self._file.namelist()
        self._root = names[0].partition("/")[0] if names else ""

    def get_all_records(self) -> list[str]:
        """The names of all parts."""
        start = len(self._root) + 1
        return [name[start:] for name in self._file.namelist()]

    def has_record(self, name: str) -> bool:
        """Whether there is a part of that name."""
        return f"{self._root}/{name}" in self._file.namelist()

    def get_record(self, name: str) -> bytes:
        """The bytes of a part."""
        return self._file.read(f"{self._root}/{name}")

    def archive_name(self) -> str:
        """The name that begins the names of all parts in the file."""
        return self._root
