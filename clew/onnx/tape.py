"""What a forward pass computes, as a list of operations.

Writes go to values of their own: a tensor that is written to gets a new number, what it is a view
of gets one too (the operation `_written_view` joins the old base with the new part), and other
views of that base are taken again when they are read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from clew.core.inplace import apply_inplace
from clew.core.interception import Interceptor, install, remove
from clew.core.op import OPS, Op
from clew.core.state import local
from clew.core.tensor import Tensor

# Suffixes of operations that take their operands in another form and compute the same.
_SAME = frozenset(["number", "numbers", "of_number", "tensor", "in_place", "unrounded", "stable"])


@dataclass
class Call:
    """One operation: its name, what it got, what it gave. Tensors are numbers of values."""

    name: str
    inputs: tuple[Any, ...]
    params: dict[str, Any]
    outputs: tuple[Value, ...]


@dataclass(frozen=True)
class Value:
    """A tensor of the run, by its number."""

    number: int


class Tape(Interceptor):
    """Writes down every operation of its thread, by the arrays that it reads and makes."""

    captures = True

    def __init__(self) -> None:
        self.calls: list[Call] = []
        # For each value its array; those of constants are copied before a write.
        self.arrays: list[np.ndarray] = []
        # Arrays are known by their identity, and kept alive: the number of each, and back.
        self._numbers: dict[int, int] = {}
        self._kept: list[np.ndarray] = []
        # For a value that is a view, the operation that made it, and which of its results it is.
        self._views: dict[int, tuple[Call, int]] = {}
        self._made: set[int] = set()
        self._names = {id(op): name for name, op in OPS.items()}

    def value(self, tensor: Tensor) -> Value:
        """The number of a tensor; one that no operation made is a constant."""
        array = tensor._array
        if id(array) not in self._numbers:
            return Value(self._add(array))
        return Value(self._newest(id(array)))

    def _add(self, array: np.ndarray) -> int:
        self.arrays.append(array)
        self._kept.append(array)
        self._numbers[id(array)] = len(self.arrays) - 1
        return len(self.arrays) - 1

    def _append(self, call: Call) -> None:
        self.calls.append(call)
        self._made.update(value.number for value in call.outputs)

    # -- views -------------------------------------------------------------------------------------

    def _newest(self, array: int) -> int:
        """The number of an array; a view whose base was written to is taken again."""
        number = self._numbers[array]
        if number not in self._views:
            return number
        call, place = self._views[number]
        base = call.inputs[0].number
        newest = self._newest(id(self._kept[base]))
        if newest == base:
            return number
        outputs = tuple(Value(self._add(self._kept[each.number])) for each in call.outputs)
        self._view(Call(call.name, (Value(newest), *call.inputs[1:]), call.params, outputs))
        return outputs[place].number

    def _view(self, call: Call) -> None:
        self._append(call)
        base = self._kept[call.inputs[0].number]
        for place, value in enumerate(call.outputs):
            if self._kept[value.number] is not base:
                self._views[value.number] = call, place

    def _write_through(self, before: int, after: int) -> None:
        """Tell what a view is of that the view has other values now."""
        if before not in self._views:
            return
        call, place = self._views[before]
        base = call.inputs[0]
        joined = Value(self._add(self._kept[base.number]))
        params = {"of": call.name, "place": place, **call.params}
        self._append(Call("_written_view", (base, Value(after)), params, (joined,)))
        outputs = tuple(Value(after) if n == place else each for n, each in enumerate(call.outputs))
        again = Call(call.name, (joined, *call.inputs[1:]), call.params, outputs)
        self._views[after] = again, place
        self._write_through(base.number, joined.number)

    def _keep_constants(self, number: int) -> None:
        """Copy what the graph takes for a constant before the program writes to it."""
        while True:
            if number not in self._made and self.arrays[number] is self._kept[number]:
                self.arrays[number] = self._kept[number].copy()
            if number not in self._views:
                return
            number = self._views[number][0].inputs[0].number

    # -- what the engine tells ---------------------------------------------------------------------

    def __call__(
        self, op: Any, inputs: tuple[Any, ...], params: dict[str, Any], inplace: bool = False
    ) -> Any:
        if not isinstance(op, Op):
            return params["outputs"] if self.outer is None else self.outer(op, inputs, params)
        given = tuple(self._described(value) for value in inputs)
        if inplace:
            self._keep_constants(given[0].number)
        state = local.state
        state.intercept = self.outer
        try:
            result = apply_inplace(op, *inputs, **params) if inplace else op(*inputs, **params)
        finally:
            state.intercept = self
        results = result if isinstance(result, (tuple, list)) else (result,)
        outputs = tuple(Value(self._add(e._array)) for e in results if isinstance(e, Tensor))
        call = Call(self._name(op), given, dict(params), outputs)
        if getattr(op, "is_view", False) and not inplace:
            self._view(call)
        else:
            self._append(call)
        if inplace:
            self._write_through(given[0].number, outputs[0].number)
        return result

    def draw(self, shape: tuple[int, ...], make: Callable[[tuple[int, ...]], Any]) -> Any:
        result = super().draw(shape, make)
        if isinstance(result, Tensor):
            params = {"shape": tuple(shape), "function": make.__name__}
            self._append(Call("_drawn", (), params, (Value(self._add(result._array)),)))
        return result

    def _name(self, op: Op) -> str:
        """The name of an operation, with the suffix of a variant that computes something else."""
        _, _, suffix = self._names.get(id(op), op.name).partition(".")
        stem = op.name.partition(".")[0]
        return f"{stem}.{suffix}" if suffix and suffix not in _SAME else stem

    def _described(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self.value(value)
        if isinstance(value, (list, tuple)):
            return tuple(self._described(each) for each in value)
        return value

    def __enter__(self) -> Tape:
        install(self)
        return self

    def __exit__(self, *exc: object) -> None:
        remove(self)
