"""The graph of a captured function: values, and the instructions that compute them, in order.

Instructions stand in the order in which they ran. Memory is part of the meaning: a view shares the
memory of what it was made from, and a write changes every value that lies there. Passes may move or
merge instructions only where no write comes between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from clew.compiler.side_effects import Clear
from clew.core.state import local
from clew.source import Place, describe

# Where a value comes from.
INPUT = "input"  # an argument of the call; `source` is its place among the tensors given
STATE = "state"  # a tensor that was there before the call; `source` is the tensor
GRAD = "grad"  # the `.grad` that one of these had before the call; `source` as of that one
CONSTANT = "constant"  # `source` is the array
COMPUTED = "computed"

# What an instruction does.
COMPUTE = "compute"  # run an operation on arrays
VIEW = "view"  # the same, with results that share memory with an operand
WRITE = "write"  # the in-place form of an operation: its first operand is written to
STORE = "store"  # copy the second operand to the memory of the first
BACKWARD = "backward"  # run the formulas of an operation's gradient
DRAW = "draw"  # draw random numbers
ACCUMULATE = "accumulate"  # give a gradient to a leaf
CHECK = "check"  # a value was read by Python: it must be the same again
CALL = "call"  # call Python: an optimizer's step
FUSED = "fused"  # a fused kernel
# These run whether or not their results are used.
EFFECTS = frozenset({WRITE, STORE, DRAW, ACCUMULATE, CHECK, CALL})
# Operations whose result has another shape for other values, which Python may have looked at.
DATA_DEPENDENT = frozenset({
    "nonzero", "masked_select", "unique", "unique_consecutive", "bincount", "repeat_interleave",
    "argwhere", "_unique2",
})  # fmt: skip
_MASKS = (np.dtype(np.bool_), np.dtype(np.uint8))
# Operations that raise for some values: they run even if nobody uses the result.
_RAISING = frozenset({
    "_ctc_loss", "binary_cross_entropy", "cholesky", "cholesky_inverse", "embedding",
    "embedding_bag", "gather", "index_add", "index_copy", "index_fill", "index_fill_tensor",
    "index_reduce", "index_select", "linalg_cholesky_ex", "linalg_eig", "linalg_eigh",
    "linalg_inv_ex", "linalg_ldl_solve", "linalg_lstsq", "linalg_lu_solve", "linalg_pinv",
    "linalg_solve_ex", "linalg_svd", "_linalg_svdvals", "masked_scatter", "max_unpool2d",
    "max_unpool3d", "multi_margin_loss", "multilabel_margin_loss", "nll_loss", "nll_loss2d",
    "one_hot", "put", "scatter", "scatter_add", "scatter_reduce", "scatter_value", "take",
})  # fmt: skip
# The same of integers, which cannot be divided by 0.
_RAISING_OF_INTEGERS = frozenset({"floor_divide", "fmod", "pow", "remainder"})


class Value:
    """An array that a graph takes, computes or knows."""

    __slots__ = ("address", "alias", "dtype", "kind", "number", "shape", "source", "strides")

    def __init__(
        self, number: int, array: np.ndarray, kind: str, source: Any = None, alias: Any = None
    ) -> None:
        self.number = number
        # Where it lay when it was captured: views of one memory are compared by it.
        self.address = array.__array_interface__["data"][0]
        self.shape = array.shape
        self.dtype = array.dtype
        self.strides = array.strides
        self.kind = kind
        self.source = source
        # The value whose memory it lies in: itself, unless it is a view.
        self.alias: Value = self if alias is None else alias.alias

    @property
    def size(self) -> int:
        size = 1
        for length in self.shape:
            size *= length
        return size

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __repr__(self) -> str:
        return f"v{self.number}"

    def describe(self) -> str:
        """`v3: float32[64, 10]`."""
        return f"{self!r}: {self.dtype}{list(self.shape)}"


class Instruction:
    """One step of a graph: operands are values, numbers, or nested tuples, lists and dicts."""

    __slots__ = (
        "_reads", "detail", "grad_enabled", "inputs", "is_random", "kind", "name", "outputs",
        "params", "scratch", "seconds", "where",
    )  # fmt: skip

    def __init__(
        self,
        kind: str,
        name: str,
        detail: Any,
        inputs: tuple[Any, ...],
        params: dict[str, Any],
        outputs: tuple[Value | None, ...],
        where: Place | None = None,
        is_random: bool = False,
    ) -> None:
        self.kind = kind
        self.name = name
        # The operation, the node's formulas, the function to call, the fused expression, ...
        self.detail = detail
        self.inputs = inputs
        self.params = params
        self.outputs = outputs
        self.where = where
        # Whether it moves a random stream: then it runs in its place, always.
        self.is_random = is_random
        # The grad mode in which it was captured: some operations keep more where it is on.
        self.grad_enabled = local.state.grad_enabled
        # The values among the operands, and the operands that these were found in.
        self._reads: tuple[Any, Any, list[Value]] = ((), None, [])
        # What it costs, where that was measured: time, and bytes that it needs besides its results.
        self.seconds = 0.0
        self.scratch = 0

    @property
    def has_effect(self) -> bool:
        return self.kind in EFFECTS or self.is_random or self.may_mismatch

    @property
    def is_index(self) -> bool:
        """Whether it reads at index tensors: `index`, or `index_2` and so on."""
        start, _, count = self.name.partition("_")
        return self.kind == COMPUTE and start == "index" and (not count or count.isdigit())

    @property
    def may_raise(self) -> bool:
        """Whether it refuses some values."""
        if self.kind != COMPUTE:
            return False
        if self.is_index:
            return True
        if self.name in _RAISING_OF_INTEGERS:
            return any(out is not None and out.dtype.kind in "iu" for out in self.outputs)
        return self.name in _RAISING

    @property
    def may_mismatch(self) -> bool:
        """Whether it may show that a replay must be another trace."""
        if self.is_index:
            # A mask picks as many elements as are true.
            return any(value.dtype in _MASKS for value in self.reads()[1:])
        return self.kind == CHECK or (self.kind == COMPUTE and self.name in DATA_DEPENDENT)

    def reads(self) -> list[Value]:
        """The values among the operands, which passes replace and never change."""
        inputs, params, found = self._reads
        if inputs is not self.inputs or params is not self.params:
            found = [*values_in(self.inputs), *values_in(self.params)]
            self._reads = self.inputs, self.params, found
        return found

    def writes(self) -> list[Value]:
        """The values whose memory it changes."""
        if self.kind in (WRITE, STORE):
            return [self.inputs[0]]
        if self.kind == ACCUMULATE and self.inputs[1] is not None:
            return [self.inputs[1]]
        return []

    def __str__(self) -> str:
        results = ", ".join("_" if out is None else out.describe() for out in self.outputs)
        operands = [show(each) for each in self.inputs]
        operands += [f"{name}={show(each)}" for name, each in self.params.items()]
        text = f"{self.kind} {self.name}({', '.join(operands)})"
        place = "" if self.where is None else f"  # {describe(self.where)}"
        return (f"{results} = {text}" if results else text) + place


class Graph:
    """A captured function as a list of instructions, with what goes in and comes out."""

    def __init__(self) -> None:
        self.instructions: list[Instruction] = []
        self.values: list[Value] = []
        # The values that must exist after the last instruction.
        self.results: list[Value] = []
        # The calls of kernels that instructions are lowered to, once all passes are done.
        self.lowered: dict[Instruction, Any] = {}

    def new_value(
        self, array: np.ndarray, kind: str, source: Any = None, alias: Value | None = None
    ) -> Value:
        """A new value with the shape, dtype and strides of an array."""
        value = Value(len(self.values), array, kind, source, alias)
        self.values.append(value)
        return value

    def copy_value(self, value: Value, alias: Value | None = None) -> Value:
        """A new value that is like another, in memory of its own or in that of `alias`."""
        copy = Value.__new__(Value)
        for slot in Value.__slots__:
            setattr(copy, slot, getattr(value, slot))
        copy.number = len(self.values)
        copy.alias = copy if alias is None else alias.alias
        self.values.append(copy)
        return copy

    def replace(self, same: dict[Value, Value]) -> None:
        """Let all instructions use other values in place of some."""

        def change(leaf: Any) -> Any:
            return same.get(leaf, leaf) if isinstance(leaf, Value) else leaf

        for instruction in self.instructions:
            instruction.inputs = mapped(instruction.inputs, change)
            instruction.params = mapped(instruction.params, change)
        self.results = [same.get(value, value) for value in self.results]

    def validate(self) -> None:
        """Raise if a value is read before it is computed, or computed twice."""
        known = {value for value in self.values if value.kind != COMPUTED}
        for instruction in self.instructions:
            for value in instruction.reads():
                if value not in known:
                    raise AssertionError(f"{value!r} is read before it is computed: {instruction}")
            if instruction.kind == FUSED and not known.isdisjoint(instruction.outputs):
                raise AssertionError(f"a value is computed twice: {instruction}")
            known.update(out for out in instruction.outputs if out is not None)
        for value in self.results:
            if value not in known:
                raise AssertionError(f"{value!r} is a result and is never computed")

    def __str__(self) -> str:
        given = {v for each in self.instructions for v in each.reads()} | set(self.results)
        lines = [
            f"{value.describe()} = {value.kind}"
            for value in self.values
            if value.kind != COMPUTED and value in given
        ]
        lines += [str(each) for each in self.instructions]
        lines.append("return " + ", ".join(map(repr, self.results)))
        return "\n".join(lines)


def is_barrier(instruction: Instruction) -> bool:
    """Whether an instruction may read and write whatever Python can reach."""
    return instruction.kind == CALL and not isinstance(instruction.detail, Clear)


def values_in(structure: Any) -> Iterator[Value]:
    """The values in nested tuples, lists, dicts and slices."""
    if isinstance(structure, Value):
        yield structure
    elif isinstance(structure, tuple | list):
        for each in structure:
            yield from values_in(each)
    elif isinstance(structure, dict):
        for each in structure.values():
            yield from values_in(each)


def mapped(structure: Any, change: Callable[[Any], Any]) -> Any:
    """The same structure with every leaf changed by a function."""
    if isinstance(structure, tuple):
        items = [mapped(each, change) for each in structure]
        if hasattr(structure, "_fields"):
            return type(structure)(*items)
        return tuple(items) if type(structure) is tuple else type(structure)(items)
    if isinstance(structure, list):
        return [mapped(each, change) for each in structure]
    if isinstance(structure, dict):
        return {key: mapped(each, change) for key, each in structure.items()}
    return change(structure)


def show(operand: Any) -> str:
    """An operand as text, short."""
    if isinstance(operand, Value):
        return repr(operand)
    if isinstance(operand, tuple | list):
        inner = ", ".join(show(each) for each in operand)
        return f"({inner})" if isinstance(operand, tuple) else f"[{inner}]"
    text = repr(operand)
    return text if len(text) <= 40 else f"<{type(operand).__name__}>"
