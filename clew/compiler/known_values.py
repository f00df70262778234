"""What a capture knows of arrays: where each comes from, and which value of the graph it is.

Arrays are followed by identity. Each must come from an argument, from state that was there before
(parameters, buffers), from a constant, or from an instruction.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from clew.compiler.graph import CALL, COMPUTED, GRAD, INPUT, STATE, VIEW, Graph, Instruction, Value
from clew.compiler.reachable import WITHOUT_STRIDES
from clew.compiler.read_numbers import GivenNumbers, Readings, used
from clew.compiler.side_effects import Clear, Written, likeness, strided_view
from clew.core.interception import Interceptor
from clew.core.storage import Storage
from clew.core.tensor import Tensor, wrap
from clew.source import Place, describe, user_where


class Refused(Exception):
    """Something cannot be captured; the text says what, and where."""


class KnownValues(Interceptor):
    """The arrays that a capture knows, and the graph that it makes."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.problem: str | None = None
        self.thread = threading.get_ident()
        # Arrays by identity, as long as they live: a capture needs no more memory than the call.
        self.values: dict[int, Value] = {}
        self.arrays: dict[int, weakref.ref[np.ndarray]] = {}
        self.storages: dict[int, Written] = {}
        # The version that each storage had before the call, for those that were there.
        self.before: dict[int, Written] = {}
        # The tensors that were made in this call: none may outlive it unnoticed.
        self.made: list[weakref.ref[Tensor]] = []
        # Leaves whose gradient was given or taken.
        self.leaves: dict[int, Tensor] = {}
        # For leaves that get a gradient: whether they had one before. None: it is cleared first.
        self.grad_before: dict[int, bool | None] = {}
        # The memory of these gradients, what they are like, and which storage they have.
        self.grads_before: dict[int, tuple[Any, tuple[Any, ...], int]] = {}
        # The memory that the program has assigned to `.grad`, and when.
        self.given_as_gradients: dict[Value, int] = {}
        self.state_tensors: dict[int, Tensor] = {}
        # The arguments by identity.
        self.places: dict[int, int] = {}
        # What all these tensors are like, which the call must not change.
        self.likenesses: list[tuple[Tensor, Any, tuple[Any, ...]]] = []
        self.readings = Readings()
        self.numbers = GivenNumbers(())
        # Tensors of one element that stand for numbers.
        self.number_tensors: list[Tensor] = []
        self.arguments = 0
        # Values on which a decision was captured.
        self.decided: set[Value | None] = set()
        # Inside of an optimizer's step, and the versions of all storages when it began.
        self.depth = 0
        self.versions: dict[int, int] = {}
        # The gradients that it uses.
        self.gradients: tuple[Value, ...] = ()

    # -- what is there before the call ---------------------------------------------------------

    def given(self, tensors: Sequence[Tensor], numbers: GivenNumbers) -> None:
        """The tensors among the arguments, and the floats."""
        self.numbers, self.arguments = numbers, len(tensors)
        for place, tensor in enumerate(tensors):
            self.know(tensor, INPUT, place)
            self.places[id(tensor)] = place

    def number(self, number: Any, dtype: np.dtype) -> Tensor:
        """A float of the arguments as a tensor, which is an input of the graph."""
        place = self.arguments + len(self.numbers.inputs)
        tensor = wrap(self.numbers.add(number, dtype))
        self.number_tensors.append(tensor)
        self.put(tensor._array, self.graph.new_value(tensor._array, INPUT, place))
        self.follow(tensor._storage)
        return tensor

    def known_before(self, tensor: Tensor) -> None:
        """A tensor that the function can reach: a parameter, a buffer, a global."""
        self.know(tensor, STATE, tensor)

    def know(self, tensor: Tensor, kind: str, source: Any) -> None:
        array = tensor._array
        if id(array) not in self.values:
            alias = self._overlapping(array)
            self.put(array, self.graph.new_value(array, kind, source, alias))
        if kind == STATE:
            self.state_tensors[id(tensor)] = tensor
        self.likenesses.append((tensor, array, likeness(tensor)))
        self.follow(tensor._storage, before=True)
        grad = tensor._grad
        if grad is not None:
            self.grads_before[id(tensor)] = grad._array, likeness(grad), id(grad._storage)
        if grad is not None and id(grad._array) not in self.values:
            alias = self._overlapping(grad._array)
            self.put(grad._array, self.graph.new_value(grad._array, GRAD, source, alias))
            self.follow(grad._storage, before=True)

    def _overlapping(self, array: np.ndarray) -> Value | None:
        """A value that lies in the same memory, if there is one: tied weights, views as state."""
        is_whole = array.base is None and array.flags.owndata
        for reference in list(self.arrays.values()):
            other = reference()
            if other is None or (is_whole and other.base is None and other is not array):
                continue
            if np.may_share_memory(array, other):
                return self.values[id(other)]
        return None

    def put(self, array: np.ndarray, value: Value) -> Value:
        key, capture = id(array), weakref.ref(self)

        def forget(gone: weakref.ref[np.ndarray]) -> None:
            """Another array may get the place of one that is gone."""
            this = capture()
            if this is not None and this.arrays.get(key) is gone:
                del this.values[key], this.arrays[key]

        self.values[key] = value
        self.arrays[key] = weakref.ref(array, forget)
        return value

    def follow(self, storage: Storage, before: bool = False) -> None:
        if id(storage) not in self.storages:
            self.storages[id(storage)] = Written(storage)
            if before:
                self.before[id(storage)] = Written(storage)

    # -- refusing --------------------------------------------------------------------------------

    def refuse(self, reason: str, where: Place | None = None) -> None:
        """End the capture; the first reason counts."""
        if self.problem is None:
            self.problem = f"{reason} at {describe(where or user_where())}"

    # -- operands --------------------------------------------------------------------------------

    def operand(self, leaf: Any) -> Any:
        """A leaf of an operation's arguments as the graph has it."""
        if isinstance(leaf, Tensor):
            # Tangents are moved by operations of their own, which are captured as well.
            if leaf._is_lifted:
                is_sparse = leaf._is_unstrided
                raise Refused(WITHOUT_STRIDES if is_sparse else "a tensor of a function transform")
            self.follow(leaf._storage)
            return self.value_of(leaf._array)
        if isinstance(leaf, np.ndarray):
            return self.value_of(leaf)
        return used(leaf)

    def value_of(self, array: np.ndarray) -> Value:
        value = self.values.get(id(array))
        if value is not None:
            return value
        source: Any = array
        while type(source.base) is np.ndarray:
            source = source.base
            known = self.values.get(id(source))
            if known is not None and source.dtype == array.dtype:
                return self._view_by_address(known, source, array)
        raise Refused(f"an array {array.dtype}{list(array.shape)} whose origin is not known")

    def _view_by_address(self, known: Value, source: np.ndarray, array: np.ndarray) -> Value:
        """A view that no operation made: its place in the memory of a value that is known."""
        offset = (array.ctypes.data - source.ctypes.data) // array.itemsize
        value = self.put(array, self.graph.new_value(array, COMPUTED, alias=known))
        self.graph.instructions.append(
            Instruction(
                VIEW, "as_strided", strided_view, (known,),
                {"shape": array.shape, "strides": array.strides, "offset": offset}, (value,),
                user_where(),
            )
        )  # fmt: skip
        return value

    def results(self, outs: Sequence[Any], operands: Sequence[Any]) -> tuple[Value | None, ...]:
        """The values of what an operation returned."""
        values: list[Value | None] = []
        for out in outs:
            if out is None:
                values.append(None)
                continue
            if out._is_unstrided:
                self.refuse(f"{WITHOUT_STRIDES} is made")
                return ()
            array = out._array
            have = self.values.get(id(array))
            if have is not None:
                values.append(have)
                continue
            alias = None
            for other in operands:
                if isinstance(other, np.ndarray) and np.may_share_memory(array, other):
                    alias = self.values.get(id(other))
                    break
            for earlier, before in zip(outs, values, strict=False):
                if before is not None and np.may_share_memory(array, earlier._array):
                    alias = before
            values.append(self.put(array, self.graph.new_value(array, COMPUTED, alias=alias)))
            self.follow(out._storage)
            self.made.append(weakref.ref(out))
        return tuple(values)

    def wrote(self, storage: Storage, before: int, counts_itself: bool = False) -> None:
        """A captured write: its part in the storage's version is explained."""
        record = self.storages.get(id(storage))
        if record is not None:
            record.version += storage.version - before
            if not counts_itself:
                record.captured += storage.version - before

    def holder(self, leaf: Tensor) -> Tensor | int:
        """A tensor as instructions refer to it: an argument by its place."""
        return self.places.get(id(leaf), leaf)

    def cleared(self, leaves: list[Tensor]) -> None:
        """The gradients of these leaves are dropped."""
        if self.problem is not None:
            return
        known = [leaf for leaf in leaves if id(leaf) in self.state_tensors]
        if any(id(leaf) in self.places for leaf in leaves):
            self.refuse("the gradient of an argument is cleared")
        for leaf in known:
            self.leaves[id(leaf)] = leaf
            self.grad_before.setdefault(id(leaf), None)
        self.graph.instructions.append(
            Instruction(CALL, "zero_grad", Clear(known), (), {}, (), user_where())
        )

    def grad_read(self, tensor: Tensor) -> None:
        """The program looks at a gradient, or whether there is one."""
        if id(tensor) in self.state_tensors:
            self.grad_before.setdefault(id(tensor), tensor._grad is not None)

    # -- the end ---------------------------------------------------------------------------------

    def unexplained(self) -> str | None:
        """The write that was not captured, if there is one."""
        for record in self.storages.values():
            storage = record.storage
            if storage.version != record.version or storage.untracked is not record.untracked:
                writer = storage.writer or "a write that is not tracked"
                return f"{writer} at {describe(storage.written_at)} was not captured"
        for root, place in self.given_as_gradients.items():
            later = self.graph.instructions[place:]
            if any(each.alias is root for instruction in later for each in instruction.writes()):
                return "a tensor that is assigned to `.grad` is written to afterwards"
        for tensor, array, before in self.likenesses:
            if likeness(tensor) != before:
                return "the call changes requires_grad, a shape or hooks of a tensor from outside"
            if tensor._array is not array:
                return "the call gives a tensor from outside other memory"
        return None
