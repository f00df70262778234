"""What a captured call returns, and how a replay makes it again."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from operator import is_
from typing import Any

import numpy as np

from clew.backend import device, dtypes
from clew.compiler.capture import Capture
from clew.compiler.graph import COMPUTED, Instruction, Value
from clew.compiler.guards import SCALARS
from clew.compiler.reachable import Reached
from clew.compiler.read_numbers import reading_of, used
from clew.core.node import Node, restore
from clew.core.storage import INFERENCE, Storage
from clew.core.tensor import Tensor
from clew.errors import Freed, backward_twice
from clew.source import Place, user_where

_CONSTANTS = (*SCALARS, dtypes.dtype, device.device, type, range, slice, np.generic, type(...))


class SpentNode(Node):
    """The history of a result whose graph a backward inside of the function has used up."""

    __slots__ = ("freed",)

    def __init__(self, array: np.ndarray, where: Place | None) -> None:
        self._edges = ()
        self._outputs = None
        self._shape, self._dtype = array.shape, array.dtype
        self._extras = None
        self._where = where
        self._seq = 0
        self.module_path = None
        self.freed = Freed(where)

    def apply_tensors(self, grads: tuple[Tensor | None, ...]) -> Sequence[Tensor | None]:
        raise backward_twice(self, self.freed)

    def _name(self) -> str:
        return "CompiledFunctionBackward"


class Output:
    """How one result of the function is made again."""

    __slots__ = (
        "constant",
        "kind",
        "number",
        "requires_grad",
        "result",
        "root",
        "version",
        "where",
    )

    def __init__(self, kind: str, constant: Any = None, result: int = -1) -> None:
        # "constant" (any object), "input" (the tensor given), "state" (a tensor that was there),
        # "grad" (what the leaf `constant` has as its gradient now; an argument by its place),
        # "made" (a new tensor around a result of the program), "number" (that is read from one),
        # "same" (as an earlier result)
        self.kind = kind
        self.constant = constant
        self.result = result
        self.requires_grad = False
        self.where: Place | None = None
        # Its place among the results that still have a graph, or -1.
        self.number = -1
        # The memory that it lies in, and how often the call has written to that; -1: it does not
        # count, as in inference mode.
        self.root: Value | None = None
        self.version = 0

    def make(self, array: np.ndarray, node: Any, storages: dict[Value | None, Storage]) -> Tensor:
        """The tensor around an array that a replay has computed."""
        if self.version < 0:
            storage: Storage = INFERENCE
        else:
            known = storages.get(self.root)
            storage = storages[self.root] = Storage() if known is None else known
            if self.version:
                storage.version = self.version
        result = restore(array, storage, None, 0)
        if self.number >= 0:
            result._node, result._output_nr = node, self.number
            result._requires_grad = True
        elif self.requires_grad:
            result._node = SpentNode(array, self.where)
            result._requires_grad = True
        return result


def outputs_of(
    capture: Capture, leaves: list[Any], tensors: list[Tensor], reached: Reached
) -> tuple[list[Output], str | None]:
    """How all results are made, or why one cannot be."""
    outputs: list[Output] = []
    unused: set[Instruction] = set()
    given = {id(tensor): place for place, tensor in enumerate(tensors)}
    gradients = {
        id(each._grad): capture.holder(each)
        for each in (*capture.state_tensors.values(), *tensors)
        if each._grad is not None
    }
    places: dict[int, int] = {}
    for place, leaf in enumerate(leaves):
        reading = reading_of(leaf)
        if reading is not None:
            outputs.append(Output("number", result=len(capture.graph.results)))
            capture.graph.results.append(reading.value)
            unused.add(reading.check)
        elif not isinstance(leaf, Tensor):
            constant = used(leaf)
            if not isinstance(constant, _CONSTANTS) and id(constant) not in reached.seen:
                return outputs, f"a {type(constant).__name__} that the call makes is returned"
            outputs.append(Output("constant", constant))
        elif id(leaf) in given:
            outputs.append(Output("input", result=given[id(leaf)]))
        elif id(leaf) in capture.state_tensors:
            outputs.append(Output("state", leaf))
        elif id(leaf) in places:
            outputs.append(Output("same", result=places[id(leaf)]))
        elif id(leaf) in gradients:
            outputs.append(Output("grad", gradients[id(leaf)]))
        else:
            places[id(leaf)] = place
            output, problem = _made(capture, leaf, outputs)
            if output is None:
                return outputs, problem
            outputs.append(output)
    graph = capture.graph
    # What is read only to be returned is read anew.
    graph.instructions = [each for each in graph.instructions if each not in unused]
    return outputs, None


def _made(
    capture: Capture, leaf: Tensor, outputs: list[Output]
) -> tuple[Output | None, str | None]:
    """A tensor that the call has made."""
    value = capture.values.get(id(leaf._array))
    if value is None:
        return None, "a result whose origin is not known"
    if type(leaf) is not Tensor:
        return None, "a result of a subclass of Tensor"
    if value.alias.kind != COMPUTED:
        return None, "a result shares memory with an argument or with state"
    output = Output("made", result=len(capture.graph.results))
    output.root = value.alias
    output.version = -1 if leaf._storage is INFERENCE else leaf._storage.version
    capture.graph.results.append(value)
    if leaf.requires_grad:
        output.requires_grad = True
        output.where = user_where()
        if not is_spent(leaf):
            output.number = sum(each.number >= 0 for each in outputs)
    for other in outputs:
        if other.root is output.root and (other.requires_grad or output.requires_grad):
            # A write to one of them would change the history of the other.
            return None, "two results with a graph share memory"
    return output, None


def is_spent(tensor: Tensor) -> bool:
    """Whether the graph of a tensor was used up by a backward."""
    node: Any = tensor._node
    seen = 0
    while node is not None and seen < 64:
        if type(getattr(node, "saved", None)) is Freed:
            return True
        edge = next((edge for edge in node._edges if edge is not None), None)
        node = None if edge is None else edge[0]
        seen += 1
    return False


def escaped(capture: Capture, leaves: list[Any], tensors: Sequence[Tensor]) -> str | None:
    """A tensor that was made in the call and lives on where nobody would update it."""
    known = {id(leaf) for leaf in leaves if isinstance(leaf, Tensor)}
    known |= {
        id(leaf._view.base)
        for leaf in leaves
        if isinstance(leaf, Tensor) and leaf._view is not None
    }
    holders = (*capture.leaves.values(), *tensors)
    known |= {id(holder._grad) for holder in holders if holder._grad is not None}
    shape = _kept(capture, known)
    if shape is not None:
        # Perhaps only in cycles, which are garbage.
        gc.collect()
        shape = _kept(capture, known)
    return shape and f"a tensor of shape {shape} that the call makes is kept somewhere"


def _kept(capture: Capture, known: set[int]) -> str | None:
    """The shape of a tensor that was made in the call and is still there, but for known ones."""
    for made in capture.made:
        tensor = made()
        if tensor is not None and id(tensor) not in known:
            return str(list(tensor._array.shape))
    return None


def is_same_tree(before: Any, after: Any) -> bool:
    """Whether containers hold the same objects."""
    return bool(before[1] == after[1]) and all(map(is_, before[0], after[0]))


def is_made_by_call(arguments: Any, result: Any, reached: Reached) -> bool:
    """Whether all containers in a result are new ones."""
    old = set(map(id, _containers(arguments)))
    new = list(map(id, _containers(result)))
    return len(set(new)) == len(new) and not any(
        each in old or each in reached.seen for each in new
    )


def _containers(tree: Any) -> Iterator[Any]:
    if isinstance(tree, list | dict | tuple):
        if not isinstance(tree, tuple):
            yield tree
        for each in tree.values() if isinstance(tree, dict) else tree:
            yield from _containers(each)
