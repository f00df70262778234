"""clew itself: it tells an observer what happens."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import numpy as np

from clew import aliasing
from clew.core.state import local
from clew.core.storage import next_sequence_number
from clew.core.tensor import Tensor
from clew.doctor.facts.engine import Engine
from clew.kernels.runtime.numpy_capi import address_of
from clew.nn.modules.batchnorm import _BatchNorm
from clew.nn.modules.dropout import _DropoutNd
from clew.nn.modules.module import Module
from clew.nn.parameter import Parameter, is_lazy
from clew.observer import install, remove
from clew.optim.optimizer import Optimizer
from clew.source import INTERNAL_PACKAGES, LOOKS_FIRST

# Classes that a program has objects of only if it has imported their modules itself: loading them
# for every program would cost each start a thirtieth of a second.
_OF_PROGRAMS = {
    "CheckpointError": "clew.utils.checkpoint",
    "DataLoader": "clew.utils.data.dataloader",
    "SequentialSampler": "clew.utils.data.sampler",
    "Subset": "clew.utils.data.dataset",
    "TensorDataset": "clew.utils.data.dataset",
}


class _Nothing:
    """A class without objects."""


class NativeEngine(Engine):
    """Events come from clew's observer interface, and tensors are what they are."""

    name = "clew"
    Module = Module
    Optimizer = Optimizer
    BatchNorm = _BatchNorm
    Dropout = _DropoutNd
    local = local

    def __init__(self, every: int | None = None) -> None:
        if every is not None:
            raise ValueError("on clew, `every` is an option of the session, not of the engine")

    def __getattr__(self, name: str) -> Any:
        if name not in _OF_PROGRAMS:
            raise AttributeError(f"an engine has no attribute {name!r}")
        return getattr(sys.modules.get(_OF_PROGRAMS[name]), name, _Nothing)

    def start(self, session: Any) -> None:
        install(session)

    def stop(self, session: Any) -> None:
        remove(session)

    def tensor(self, value: Any) -> Any:
        return value if isinstance(value, Tensor) else None

    def tensors(self) -> Iterator[Any]:
        return (each for each in gc.get_objects() if isinstance(each, Tensor))

    def is_parameter(self, tensor: Any) -> bool:
        return isinstance(tensor, Parameter)

    def is_lazy(self, tensor: Any) -> bool:
        return is_lazy(tensor)

    def is_layer(self, module: Any) -> bool:
        return aliasing.is_own(type(module).__module__)

    def address(self, held: Any) -> int:
        return address_of(held if isinstance(held, np.ndarray) else held._array)

    def same_memory(self, one: Any, other: Any) -> bool:
        return one._array is other._array

    def next_number(self) -> int:
        return next_sequence_number()

    def is_users_call(self) -> bool:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            package = frame.f_globals.get("__package__") or ""
            looks_first = frame.f_code.co_filename == LOOKS_FIRST
            if not looks_first and not package.startswith(("clew.doctor", "clew.core")):
                return package not in INTERNAL_PACKAGES
            frame = frame.f_back
        return False
