"""PyTorch as an engine of the doctor's."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import numpy as np
import torch
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.parameter import is_lazy
from torch.utils.checkpoint import CheckpointError
from torch.utils.data import DataLoader, SequentialSampler, Subset, TensorDataset

from clew.doctor.engines.pytorch.hub import hub
from clew.doctor.engines.pytorch.seen import SeenTensor
from clew.doctor.facts.engine import Engine
from clew.doctor.facts.places import _runs_users_code


class TorchEngine(Engine):
    """Events come from PyTorch's hooks and modes; tensors are seen through `SeenTensor`s."""

    name = "torch"
    is_hushed = True  # by the hub, once for all that a call has to tell
    Module = torch.nn.Module
    Optimizer = torch.optim.Optimizer
    BatchNorm = _BatchNorm
    Dropout = _DropoutNd
    DataLoader = DataLoader
    Subset = Subset
    TensorDataset = TensorDataset
    SequentialSampler = SequentialSampler
    CheckpointError = CheckpointError

    def __init__(self, every: int | None = None) -> None:
        self.local = hub.local
        self.every = every

    def start(self, session: Any) -> None:
        hub.add(session, self.every)

    def stop(self, session: Any) -> None:
        hub.remove(session)

    def tensor(self, value: Any) -> SeenTensor | None:
        return hub.world.tensor(value) if isinstance(value, torch.Tensor) else None

    def actual(self, tensor: Any) -> Any:
        return tensor.actual

    def tensors(self) -> Iterator[SeenTensor]:
        return (each for each in hub.world.known() if each.actual is not None)

    def output(self, node: Any) -> Any:
        result = None if node._result is None else node._result()
        return None if result is None else result.actual

    def optimizer(self, optimizer: Any) -> Any:
        while isinstance(getattr(optimizer, "optimizer", None), torch.optim.Optimizer):
            optimizer = optimizer.optimizer  # accelerate's wrapper
        return optimizer

    def is_parameter(self, tensor: Any) -> bool:
        return isinstance(tensor.actual, torch.nn.Parameter)

    def is_lazy(self, tensor: Any) -> bool:
        actual = tensor.actual
        return actual is not None and is_lazy(actual)

    def is_layer(self, module: Any) -> bool:
        return type(module).__module__.startswith("torch.")

    def address(self, held: Any) -> int:
        if isinstance(held, np.ndarray):
            return int(held.__array_interface__["data"][0])
        actual = held.actual
        with torch._C.DisableTorchFunction():
            return 0 if actual is None else int(actual.data_ptr())

    def same_memory(self, one: Any, other: Any) -> bool:
        first, second = one.actual, other.actual
        with torch._C.DisableTorchFunction():
            return (
                first is not None
                and second is not None
                and (first is second or first.data_ptr() == second.data_ptr())
                and first.shape == second.shape
            )

    def next_number(self) -> int:
        return hub.next_number()

    def is_reshape(self) -> bool:
        return hub.calls.is_reshape

    def is_users_call(self) -> bool:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            package = frame.f_globals.get("__package__") or ""
            if not package.startswith(("clew.doctor", "clew.observer")):
                return _runs_users_code(frame)
            frame = frame.f_back
        return False
