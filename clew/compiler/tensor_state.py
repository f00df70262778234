"""Guards of tensors: parameters, buffers and gradients that a trace was captured with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clew.compiler.capture import Capture
from clew.compiler.graph import INPUT, STATE, Value
from clew.compiler.side_effects import likeness, root_of
from clew.core.storage import INFERENCE, Storage
from clew.core.tensor import Tensor


class TensorState:
    """A tensor that a trace refers to, and what must hold of it."""

    __slots__ = ("array", "grad", "grad_like", "like", "needs_grad", "tensor")

    def __init__(self, tensor: Tensor, capture: Capture) -> None:
        self.tensor = tensor
        self.array = tensor._array
        self.like = likeness(tensor)
        # Whether `.grad` must be there before the call (True), must not (False), or is cleared.
        self.needs_grad = capture.grad_before.get(id(tensor))
        # The memory of that gradient, and what it is like.
        self.grad: Any = None
        self.grad_like: Any = None
        if id(tensor) in capture.grads_before:
            self.grad, self.grad_like, _ = capture.grads_before[id(tensor)]

    def holds(self) -> bool:
        """Whether nothing has changed."""
        tensor = self.tensor
        if tensor._array is not self.array or tensor._requires_grad is not self.like[3]:
            return False
        needs = self.needs_grad
        if needs is None:
            return True
        grad = tensor._grad
        if grad is None or not needs:
            return (grad is not None) is needs
        return grad._array is self.grad or likeness(grad) == self.grad_like

    def grad_root(self) -> int:
        """What the memory of its gradient belongs to, which is there."""
        grad = self.tensor._grad
        assert grad is not None
        return root_of(grad._array)

    def has_moved(self, roots: set[int]) -> bool:
        """Whether only its memory is another: one of its own, as after `p.data = ...`."""
        array = self.tensor._array
        if array is self.array or array.base is not None or id(array) in roots:
            return False
        if likeness(self.tensor) != self.like:
            return False
        before, self.array = self.array, array
        if not self.holds():
            self.array = before
            return False
        return True

    def why(self) -> str:
        """What has changed."""
        if likeness(self.tensor) != self.like:
            return "a parameter or buffer has another shape, dtype, requires_grad or hooks"
        if self.tensor._array is not self.array:
            return "a parameter or buffer has other memory"
        if self.needs_grad and self.tensor._grad is not None:
            return "a gradient has another layout"
        return "a gradient " + ("is missing" if self.needs_grad else "was not there before")


def storage_of(holder: Tensor | int, tensors: Sequence[Tensor]) -> Storage:
    """The storage of a tensor, or of an argument by its place."""
    return (tensors[holder] if isinstance(holder, int) else holder)._storage


def grad_storage_of(holder: Tensor | int, tensors: Sequence[Tensor]) -> Storage:
    """The storage of its gradient."""
    grad = (tensors[holder] if isinstance(holder, int) else holder)._grad
    # Where the call itself has dropped it, nobody sees.
    return INFERENCE if grad is None else grad._storage


def array_of(value: Value, tensors: Sequence[Tensor]) -> np.ndarray:
    """The array that a value of a graph is now: of an argument, or of state."""
    if value.kind == INPUT:
        return tensors[value.source]._array
    holder = value.source
    tensor: Tensor = tensors[holder] if isinstance(holder, int) else holder
    if value.kind == STATE:
        return tensor._array
    assert tensor._grad is not None
    return tensor._grad._array
