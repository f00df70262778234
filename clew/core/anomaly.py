"""Anomaly mode: the first NaN that backward produces names the forward line it came from.

Every gradient is tested when a node returns it, by one product with itself. Deferred gradients,
which a worker still computes, are tested later, at the latest before the user's code runs. If one
has a NaN then, the leaves that have got their gradients since lose them again: the error leaves
behind what it would leave without deferring.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.core.node import Node
from clew.core.state import State
from clew.core.tensor import Tensor, _ndarray, every_value
from clew.kernels.gemm.products import finish

_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
# From how many elements on it is worth looking whether some of them share memory.
_MANY = 4096


def _elements(grad: Tensor) -> np.ndarray:
    """All elements of a gradient: of a sparse or nested one its values."""
    return every_value(grad._parts[-1] if grad._is_unstrided else grad)


class NanChecks:
    """The tests of one backward pass."""

    def __init__(self, state: State, seeds: Sequence[Tensor]) -> None:
        self.state = state
        # Deferred gradients that are not tested yet: the node, which of its gradients it is, the
        # array, and how many leaves came before.
        self.deferred: list[tuple[Node, int, np.ndarray, int]] = []
        # The leaves that have got a gradient meanwhile.
        self.leaves: list[Any] = []
        # The nodes that return views of such a gradient, which is tested under another's name.
        self.views: set[Node] = set()
        # Whether nodes may get a NaN that no node has returned.
        self.nan_given = False
        for seed in seeds:
            self.nan_given = self.nan_given or has_nan(_elements(seed))

    def returned(self, node: Node, results: Sequence[Any], given: Any = None) -> None:
        """Look at what a node returned: tensors or bare arrays.

        If `given` is its gradient and was tested when it was returned, its memory need not be
        tested again.
        """
        if given is not None and node.grad_is_view:
            return
        for number, grad in enumerate(results):
            if grad is None or grad is given:
                continue
            array = grad if type(grad) is _ndarray else _elements(grad)
            base = array.base
            if base is not None and given is not None and (base is given or base is given.base):
                continue
            # As `has_nan` does it: the call would take as long as the test of a small array.
            if array.dtype is _FLOAT32 and array.size < _MANY:
                flat = array.ravel("K")
                total = flat.dot(flat)
                if total == total:
                    continue
            if has_nan(array) and node not in self.views:
                self.settle()
                raise errors.nan_in_backward(node, number)

    def returned_deferred(self, node: Any, results: Sequence[Any], given: Any) -> None:
        """The same where one of the gradients may be deferred."""
        if not self.state.pending_products:
            self.returned(node, results, given)
            return
        deferred_edge = node.plan.deferred_edge
        following = node._edges[deferred_edge][0]
        if following.grad_is_view:
            self.views.add(following)
        numbers = range(len(results))
        self.returned(node, [results[n] if n < deferred_edge else None for n in numbers], given)
        self.deferred.append((node, deferred_edge, results[deferred_edge], len(self.leaves)))
        self.returned(node, [results[n] if n > deferred_edge else None for n in numbers], given)

    def before_leaf(self, node: Any) -> None:
        """A leaf gets its gradient while others are not tested yet: it may lose it again."""
        if node.is_plain():
            self.leaves.append(node)
        else:
            self.settle()

    def settle(self) -> None:
        """Wait for the deferred gradients and test them, in the order of their nodes."""
        if not self.deferred:
            return
        finish(self.state.pending_products)
        deferred, leaves = self.deferred, self.leaves
        self.deferred, self.leaves = [], []
        for node, number, array, leaves_before in deferred:
            if has_nan(array):
                for leaf in leaves[leaves_before:]:
                    leaf.reset_grad()
                raise errors.nan_in_backward(node, number)


def has_nan(array: np.ndarray) -> bool:
    """Whether an element is NaN: then, and only then, the sum of squares is."""
    if array.size == 1:
        value = array.item()
        return bool(value != value)
    if array.dtype is not _FLOAT32 and array.dtype is not _FLOAT64:
        return bool(np.isnan(array).any())
    if array.size >= _MANY and 0 in array.strides:
        # One of the elements that share memory is enough.
        array = array[tuple([slice(None if step else 1) for step in array.strides])]
    flat = array.ravel("K")
    total = flat.dot(flat)
    return bool(total != total)
