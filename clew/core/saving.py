"""What a node saves for backward and how it gets it back: checked, through the user's hooks."""

from __future__ import annotations

import gc
from copy import copy
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.node import Edge, Node, recorded_edge, restore
from clew.core.state import local
from clew.core.storage import Storage
from clew.core.tensor import Tensor, WeakTensorRef, placed, refuse_lost, tangents_of
from clew.kernels.gemm.products import finish
from clew.observer import active
from clew.source import describe

# A saved tensor is a plain tuple (array, storage, version, edge): making an object for each would
# cost more than the check that it serves. For a node's own output the edge is (OWN, output_nr).
Saved = tuple[np.ndarray, Storage, int, Any]
OWN: Any = "own output"
OWN_EDGE = OWN, 0


class SavedDual:
    """A saved tensor with the forward-mode tangents that it had."""

    __slots__ = ("saved", "tangents")

    def __init__(self, saved: Any, tangents: dict[Any, Tensor]) -> None:
        self.saved = saved
        self.tangents = tangents


class SavedLifted:
    """A saved tensor that is more than its array, as inside vmap: the tensor without history."""

    __slots__ = ("saved", "tensor")

    def __init__(self, saved: Saved, tensor: Any) -> None:
        self.saved = saved
        self.tensor = tensor

    def unpack(self, holder: Node, name: str) -> Tensor:
        _, storage, version, edge = self.saved
        if storage.version != version or storage.is_suspect:
            check_unwritten(holder, name, self.saved)
        node, output_nr = edge or (None, 0)
        result: Tensor = self.tensor.with_history(holder if node is OWN else node, output_nr)
        return result


class SavedWrapper(SavedLifted):
    """A saved object of a class that takes over operations."""

    __slots__ = ()

    def unpack(self, holder: Node, name: str) -> Tensor:
        _, storage, version, edge = self.saved
        if storage.version != version:
            check_unwritten(holder, name, self.saved)
        node, output_nr = edge or (None, 0)
        return placed(self.tensor, holder if node is OWN else node, output_nr)


class SavedObject:
    """A saved tensor that comes back as the very object, as long as that is what it was."""

    __slots__ = ("saved", "tensor")

    def __init__(self, tensor: Tensor) -> None:
        self.saved = save(tensor)
        # Weakly: it may come to hold the node that saved it.
        self.tensor = WeakTensorRef(tensor)

    def unpack(self, holder: Node, name: str) -> Tensor:
        found: Tensor = unpack(self.saved, holder, name)
        given = self.tensor()
        is_same = (
            given is not None
            and type(self.saved) is not Packed
            and not given._is_lifted
            and given._array is found._array
            and given._requires_grad == found._requires_grad
            and given._node is found._node
            and given._output_nr == found._output_nr
            and not tangents_of(given)
        )
        return given if given is not None and is_same else found


class Packed:
    """A saved tensor that went through the user's pack hook."""

    __slots__ = ("edge", "packed", "unpack")

    def __init__(self, tensor: Tensor, hooks: Any, edge: Any) -> None:
        pack, self.unpack = hooks
        self.edge = edge
        state = local.state
        version = tensor._storage.version
        # The hook may compute, and what it computes is not part of the graph it serves.
        outer, state.saved_hooks = state.saved_hooks, ()
        try:
            self.packed = pack(tensor)
        finally:
            state.saved_hooks = outer
        if tensor._storage.version != version:
            raise errors.pack_hook_wrote(tensor._storage)


def save(tensor: Tensor, output_of: bool = False) -> Saved | Packed | SavedDual | SavedLifted:
    """What a node saves of a tensor: its memory, its version, its edge."""
    storage = tensor._storage
    if storage.is_inference and not local.state.transforms:
        raise errors.inference_saved()
    edge: Any = None
    if output_of:
        edge = OWN, tensor._output_nr
    elif tensor._requires_grad:
        edge = recorded_edge(tensor)
    state = local.state
    if state.saved_hooks:
        own_view = restore_like(tensor, None, 0)
        return Packed(own_view if output_of else tensor, state.saved_hooks[-1], edge)
    array = tensor._layout if tensor._is_lifted else tensor._array
    saved: Any = (array, storage, storage.version, edge)
    if tensor._is_lifted:
        saved = SavedLifted(saved, tensor.without_history())
    elif type(tensor) is not Tensor and getattr(type(tensor), "__torch_dispatch__", None):
        # An object of a class that takes over operations is more than its array.
        saved = SavedWrapper(saved, placed(tensor, None, 0))
    if state.dual:
        tangents = tangents_of(tensor)
        if tangents:
            return SavedDual(saved, tangents)
    return saved


def check_unwritten(holder: Node, name: str, saved: Saved) -> None:
    """Raise if a saved tensor was overwritten; warn if that happened behind autograd's back."""
    array, storage, version, edge = saved
    observer = active.observer
    if storage.detached and holder._is_op and _was_detached(storage, edge) and holder.needs(name):
        raise RuntimeError(
            "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_()."
            "This is not supported, please use out-of-place `.detach()` instead\n"
            f"  `{name}` of {holder._name()}, saved at {describe(holder._where)}"
        )
    if storage.version != version and holder.needs(name):
        if observer is not None:
            writer = storage.writer or "a write"
            observer.saved_tensor_modified(holder, writer, storage.written_at)
        is_output = edge is not None and edge[0] is OWN
        if not is_output:
            _refuse_lost_views(array)
        made_by = (holder, edge[1]) if is_output else edge
        shape = errors.shape_list(array.shape)
        kind = f"torch.{dtypes.of_array(array).scalar_name}Tensor {shape}"
        raise errors.modified_in_place(holder, name, kind, storage, version, made_by)
    if storage.untracked is not None and storage.untracked[0] > holder._seq:
        if observer is not None:
            observer.saved_tensor_modified_untracked(holder, *storage.untracked[1:])
        errors.warn_untracked_write(holder, name, array, storage.untracked)


def _was_detached(storage: Storage, edge: Any) -> bool:
    """Whether a tensor that was saved as an input has left its place in the graph since."""
    if edge is None or edge[0] is OWN:
        return False
    return (edge[0]._seq, edge[1]) in storage.detached


def _refuse_lost_views(array: np.ndarray) -> None:
    """Raise if the array is that of a view which a write has also cost its history.

    A node keeps memory only; the tensor, if the program still has it, refers to the array.
    """
    for owner in gc.get_referrers(array):
        if isinstance(owner, Tensor):
            refuse_lost(owner)


def with_output_edge(saved: Any, edge: Edge) -> Any:
    """What a node saved, with another edge where it is the node's own output."""
    if type(saved) is tuple and saved[3] is not None and saved[3][0] is OWN:
        return (*saved[:3], edge)
    if type(saved) is Packed and saved.edge is not None and saved.edge[0] is OWN:
        result = copy(saved)
        result.edge = edge
        return result
    return saved


def unpack(saved: Any, holder: Node, name: str) -> Any:
    """The tensor back from what was saved; numbers and None were saved as they are."""
    if type(saved) is tuple:
        array, storage, version, edge = saved
        if storage.version != version or storage.is_suspect:
            check_unwritten(holder, name, saved)
        node, output_nr = edge or (None, 0)
        if node is OWN:
            node = holder
        elif node is not None and node.is_accumulator:
            leaf = node._variable()
            if leaf is not None and leaf._array is array:
                return leaf
        return restore(array, storage, node, output_nr)
    if type(saved) is Packed:
        # User code, which may read gradients.
        state = local.state
        finish(state.pending_products)
        if state.backward_runs and state.backward_runs[-1].checks is not None:
            state.backward_runs[-1].checks.settle()
        return _unpack_hooked(saved, holder)
    if isinstance(saved, (SavedLifted, SavedObject)):
        return saved.unpack(holder, name)
    if type(saved) is SavedDual:
        tensor = unpack(saved.saved, holder, name)
        for level, tangent in saved.tangents.items():
            if level.is_open and level not in tangents_of(tensor):
                level.give(tensor, tangent)
        return tensor
    return saved


def _unpack_hooked(saved: Packed, holder: Node) -> Tensor:
    result = saved.unpack(saved.packed)
    if not isinstance(result, Tensor):
        raise TypeError(
            "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
            f"{type(result)}"
        )
    if saved.edge is None and not result._requires_grad:
        return result
    node, output_nr = saved.edge or (None, 0)
    node = holder if node is OWN else node
    tensor = restore_like(result, node, output_nr)
    for level, tangent in tangents_of(result).items():
        level.give(tensor, tangent)
    return tensor


def restore_like(tensor: Tensor, node: Node | None, output_nr: int) -> Tensor:
    """The same tensor at another place in the graph."""
    if tensor._is_lifted:
        lifted: Tensor = tensor.with_history(node, output_nr)
        return lifted
    return restore(tensor._array, tensor._storage, node, output_nr)
