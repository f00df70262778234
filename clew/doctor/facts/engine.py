"""An engine: the library whose programs the doctor watches, as far as collectors and rules ask it.

Collectors speak of tensors and nodes as `clew.observed` describes them. What they need besides, the
library's classes and the state of a thread, an engine tells them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from clew.observed import Node, Tensor

if TYPE_CHECKING:
    import numpy as np


class Engine:
    """A library; one object for each session that watches it."""

    name: str
    # The classes of the library that collectors tell apart.
    Module: Any
    Optimizer: Any
    BatchNorm: Any
    Dropout: Any
    DataLoader: Any
    Subset: Any
    TensorDataset: Any
    SequentialSampler: Any
    CheckpointError: Any
    # Whether what an event computes is told while NumPy says nothing of infinities.
    is_hushed = False
    # Its `state` is that of the running thread: `grad_enabled`, `no_grad_reason`, `backward_runs`,
    # `last_backward`.
    local: Any

    def start(self, session: Any) -> None:
        """Tell a session, an `Observer`, of every event from now on."""
        raise NotImplementedError  # every engine defines it

    def stop(self, session: Any) -> None:
        """End what `start` began."""
        raise NotImplementedError  # every engine defines it

    def tensor(self, value: Any) -> Tensor | None:
        """What the doctor sees of a value of the program's; None where it is no tensor."""
        raise NotImplementedError  # every engine defines it

    def actual(self, tensor: Tensor) -> Any:
        """The program's own object for a tensor that the doctor sees."""
        return tensor

    def tensors(self) -> Iterator[Tensor]:
        """The tensors that are alive, as far as the engine knows them."""
        raise NotImplementedError  # every engine defines it

    def output(self, node: Node) -> Any:
        """The program's own tensor that a node has made, if the engine remembers it."""
        return None

    def optimizer(self, optimizer: Any) -> Any:
        """The optimizer that makes the steps of one that may only stand for it."""
        return optimizer

    def is_parameter(self, tensor: Tensor) -> bool:
        """Whether a tensor is an `nn.Parameter`."""
        raise NotImplementedError  # every engine defines it

    def is_lazy(self, tensor: Tensor) -> bool:
        """Whether a tensor has no memory yet."""
        raise NotImplementedError  # every engine defines it

    def is_layer(self, module: Any) -> bool:
        """Whether a module is one of the library's, not of the program's."""
        raise NotImplementedError  # every engine defines it

    def address(self, held: Tensor | np.ndarray) -> int:
        """Where the memory of a tensor or an array begins."""
        raise NotImplementedError  # every engine defines it

    def same_memory(self, one: Tensor, other: Tensor) -> bool:
        """Whether two tensors are the same elements of one memory."""
        raise NotImplementedError  # every engine defines it

    def next_number(self) -> int:
        """The next number in the order of nodes."""
        raise NotImplementedError  # every engine defines it

    def is_reshape(self) -> bool:
        """Whether the running view is what the user asked for, not a part of another function."""
        return True

    def is_users_call(self) -> bool:
        """Whether the running operation was asked for by the user, not by a function of its own."""
        raise NotImplementedError  # every engine defines it
