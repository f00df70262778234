"""Backends: the names of what moves tensors between processes, and which of them there are."""

from __future__ import annotations

import enum
import os
from typing import Any, ClassVar

from clew import errors
from clew.distributed.runtime import world

__all__ = [
    "Backend", "BackendConfig", "DebugLevel", "get_backend_config",
    "get_debug_level", "get_default_backend_for_device", "get_pg_count", "is_available",
    "is_backend_available", "is_gloo_available", "is_mpi_available", "is_nccl_available",
    "is_torchelastic_launched", "is_ucc_available", "is_xccl_available", "known_backend",
]  # fmt: skip


# -- what there is ---------------------------------------------------------------------------------


def is_available() -> bool:
    """Whether processes can train together: yes."""
    return True


def is_torchelastic_launched() -> bool:
    """Whether the process was started by torchrun, for which `clew launch` stands."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def is_mpi_available() -> bool:
    """Whether the backend `mpi` can be asked for: yes; more than one process needs mpi4py."""
    return True


def is_gloo_available() -> bool:
    """Whether the backend `gloo` can be asked for: yes, it means MPI."""
    return True


def is_nccl_available() -> bool:
    """Whether GPUs can talk to each other: no."""
    return False


is_ucc_available = is_xccl_available = is_nccl_available


def is_backend_available(backend: str) -> bool:
    """Whether a backend can be asked for.

    Args:
        backend: its name

    Example:
        >>> import clew.distributed as dist
        >>> dist.is_backend_available("gloo"), dist.is_backend_available("nccl")
        (True, False)
    """
    return backend.lower() in ("mpi", "gloo")


class Backend(str):
    """The name of a way for processes to talk."""

    GLOO, NCCL, MPI, UCC, XCCL, UNDEFINED = "gloo", "nccl", "mpi", "ucc", "xccl", "undefined"
    default_device_backend_map: ClassVar[dict[str, str]] = {
        "cpu": "gloo", "cuda": "nccl", "xpu": "xccl", "mps": "gloo",
    }  # fmt: skip


class BackendConfig:
    """Which backend moves the tensors of which device.

    Args:
        backend: a name, or pairs of a device and a name
    """

    def __init__(self, backend: str) -> None:
        kind = known_backend(backend)
        self.device_backend_map = {"cpu": kind}

    def get_device_backend_map(self) -> dict[str, str]:
        """The backend by the name of the device."""
        return self.device_backend_map

    def __repr__(self) -> str:
        return ",".join(f"{device}:{kind}" for device, kind in self.device_backend_map.items())


def get_backend_config(group: Any = None) -> str:
    """The backend of each device, as `cpu:gloo`.

    Args:
        group: the ranks; None is all of them
    """
    found = world.resolve(group)
    if found is None:
        raise ValueError("Invalid process group specified")
    return repr(BackendConfig(found.backend))


def get_pg_count() -> int:
    """The number of groups that this process is in.

    Example:
        >>> import clew.distributed as dist
        >>> dist.get_pg_count()
        0
    """
    return len(world.GROUPS)


class DebugLevel(enum.IntEnum):
    """How often calls of ranks are compared: at `DETAIL` always."""

    OFF, INFO, DETAIL = range(3)


def get_debug_level() -> DebugLevel:
    """What `TORCH_DISTRIBUTED_DEBUG` says."""
    return DebugLevel[os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()]


def known_backend(backend: str | None) -> str:
    """The name of a backend that there is; others raise.

    Args:
        backend: a name, or pairs of a device and a name; None is `mpi`
    """
    name = (backend or "mpi").lower()
    # `cpu:gloo,cuda:nccl` says one for each device.
    pairs = [each.rpartition(":") for each in name.split(",")]
    chosen = {device or "cpu": kind for device, _, kind in pairs}.get("cpu", "")
    if chosen in ("mpi", "gloo"):
        return chosen
    if chosen in ("", "nccl", "xccl", "ucc"):
        raise RuntimeError(
            f"init_process_group: the backend {backend!r} moves tensors between GPUs, and those of "
            "clew are in main memory: use backend='gloo' or 'mpi' (both mean MPI)"
            + errors.at_user_line()
        )
    raise ValueError(
        f"Invalid backend: '{backend}'. Use 'mpi', or 'gloo', which means the same"
        + errors.at_user_line()
    )


def get_default_backend_for_device(device: Any) -> str:
    """The backend that moves the tensors of a device.

    Args:
        device: a device, or its name

    Example:
        >>> import clew.distributed as dist
        >>> dist.get_default_backend_for_device("cpu")
        'gloo'
    """
    kind = str(getattr(device, "type", device)).partition(":")[0]
    known = {"cpu": "gloo", "cuda": "nccl", "xpu": "xccl", "mps": "gloo"}
    if kind not in known:
        raise ValueError(f"Default backend not registered for device : {device}")
    return known[kind]
