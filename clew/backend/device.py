"""Devices: where a tensor lives. This build has the CPU, and the meta device, which has no memory.

Other devices can be named, not used.
"""

from __future__ import annotations

import re
import threading
from typing import Any

from clew import errors
from clew.interrupts import uninterrupted

_TYPES = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia",
    "xla", "lazy", "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip
_DEVICE_STRING = re.compile(r"([a-zA-Z_]+)(?::(0|[1-9][0-9]*))?")


class device:
    """A device's type and, where there are several of it, its index.

    As a `with` block it is the default device. Tensors can be made on the CPU, and without elements
    on the meta device.

    Args:
        type: the name, such as "cpu" or "cuda:0"
        index: which one, where the name does not say

    Example:
        >>> clew.device("cpu"), clew.device("cuda", 1)
        (device(type='cpu'), device(type='cuda', index=1))
    """

    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __new__(cls, type: str | int | device | None = None, index: int | None = None) -> device:
        if isinstance(type, device):
            return type
        self = super().__new__(cls)
        self.type, self.index = _parse(type, index)
        return self

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and self.type == other.type and self.index == other.index

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> Any:
        arguments = (self.type,) if self.index is None else (self.type, self.index)
        return device, arguments

    def __enter__(self) -> device:
        _local.entered = _local.default, _local.entered
        _local.default = self
        return self

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        _local.default, _local.entered = _local.entered


def _parse(kind: object, index: int | None) -> tuple[str, int | None]:
    if isinstance(kind, int) and not isinstance(kind, bool):
        raise RuntimeError(
            "Cannot access accelerator device when none is available. A number names an "
            f"accelerator, and this build runs on the CPU: got {kind}" + errors.at_user_line()
        )
    if not isinstance(kind, str):
        raise TypeError(
            "device() received an invalid combination of arguments - got "
            f"({type(kind).__name__}), but expected a device, or a str and an optional index"
            + errors.at_user_line()
        )
    match = _DEVICE_STRING.fullmatch(kind)
    if match is None or not kind:
        raise RuntimeError(f"Invalid device string: '{kind}'" + errors.at_user_line())
    name, number = match.groups()
    if name not in _TYPES:
        raise RuntimeError(
            f"Expected one of {', '.join(_TYPES)} device type at start of device string: {kind}"
            + errors.at_user_line()
        )
    if number is not None and index is not None:
        raise RuntimeError(
            "type (string) must not include an index because index was passed explicitly: "
            f"{kind}" + errors.at_user_line()
        )
    return name, index if number is None else int(number)


CPU = device("cpu")
META = device("meta")


class _Local(threading.local):
    def __init__(self) -> None:
        self.default: device | None = None
        # The defaults around the blocks that the thread is in, innermost first: linked pairs.
        self.entered: Any = None


_local = _Local()


def set_default_device(wanted: Any) -> None:
    """Set where tensors are made when nobody says where.

    Args:
        wanted: a device or its name; None means the CPU

    Example:
        >>> clew.set_default_device("cpu")
        >>> clew.set_default_device(None)
    """
    _local.default = None if wanted is None else device(wanted)


def get_default_device() -> device:
    """Where tensors are made when nobody says where.

    Example:
        >>> clew.get_default_device()
        device(type='cpu')
    """
    return _local.default or CPU


def check_device(wanted: Any) -> None:
    """Refuse any device but the CPU, unless it is only the default."""
    if names_meta(wanted) and wanted is not None:
        raise no_such_device(META)


def names_meta(wanted: Any) -> bool:
    """Whether tensors are to be made on the meta device, not on the CPU; refuse all others."""
    if wanted is None:
        wanted = _local.default
        if wanted is None:
            return False
    if wanted == "cpu" or wanted is CPU:
        return False
    found = device(wanted)
    if found.type not in ("cpu", "meta"):
        raise no_such_device(found)
    return found.type == "meta"


class NoSuchDevice(RuntimeError, AssertionError):
    """A device was asked for that this build has not: PyTorch asserts that it has CUDA."""


def no_such_device(found: device) -> NoSuchDevice:
    name = found.type.upper()
    asserted = f"Torch not compiled with {name} enabled: " if name in ("CUDA", "XPU") else ""
    return NoSuchDevice(
        f"{asserted}this build has no {name} support: tensors live on the CPU. Choose the device "
        "with `'cuda' if torch.cuda.is_available() else 'cpu'`, or leave it out."
        + errors.at_user_line()
    )
