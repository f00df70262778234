"""An ONNX graph in the making: nodes, constants, names."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.backend import dtypes
from clew.export.sizes import Axis, Expression, Unexplained, explain_all
from clew.onnx.tape import Tape, Value

# ONNX's numbers of element types, by NumPy's names.
ELEMENT = {
    "float32": 1, "uint8": 2, "int8": 3, "int16": 5, "int32": 6, "int64": 7, "bool": 9,
    "float16": 10, "float64": 11, "uint32": 12, "uint64": 13, "complex64": 14, "complex128": 15,
    "bfloat16": 16,
}  # fmt: skip


class GraphWriter:
    """Collects what becomes a model."""

    def __init__(self, onnx: Any, tapes: list[Tape], axes: tuple[Axis, ...]) -> None:
        self.onnx = onnx
        self.tapes, self.tape, self.axes = tapes, tapes[0], axes
        self.nodes: list[Any] = []
        self.initializers: dict[str, np.ndarray] = {}
        # The names of values, and of constants by what they are.
        self.names: dict[int, str] = {}
        self.input_names: list[str] = []
        # Results that no node gives, with the operation: using one is an error.
        self.unwritten: dict[int, str] = {}
        self._known: dict[Any, str] = {}
        self._count = 0
        # What the model calls its tensors, by the identity of their arrays.
        self.tensor_names: dict[int, str] = {}

    def fresh(self, hint: str) -> str:
        self._count += 1
        return f"{hint}_{self._count}"

    def node(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """Add a node; its output's name, or those of several."""
        names = [self.fresh(kind.lower()) for _ in range(outputs)]
        given = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), names, **given))
        return names[0] if outputs == 1 else names

    def constant(self, value: Any, dtype: Any = None) -> str:
        """The name of a constant."""
        array = np.asarray(value, dtype)
        key = (str(array.dtype), array.shape, array.tobytes())
        if key not in self._known:
            self._known[key] = self.initializer(self.fresh("constant"), array)
        return self._known[key]

    def ints(self, *values: int) -> str:
        return self.constant(list(values), np.int64)

    def initializer(self, name: str, array: np.ndarray) -> str:
        self.initializers[name] = array
        return name

    # -- values ------------------------------------------------------------------------------------

    def array(self, value: Value) -> np.ndarray:
        return self.tape.arrays[value.number]

    def rank(self, value: Value) -> int:
        return self.array(value).ndim

    def name(self, value: Any, like: Value | None = None) -> str:
        """The name of a value; of a number, that of a constant of the other operand's dtype."""
        if isinstance(value, Expression):
            number = str(self.node("Squeeze", self.number(value)))
            return number if like is None else self.cast(number, self.array(like).dtype)
        if not isinstance(value, Value):
            return self.constant(value, None if like is None else self.array(like).dtype)
        known = self.names.get(value.number)
        if known is None:
            if value.number in self.unwritten:
                raise Unexplained(f"a further result of {self.unwritten[value.number]}")
            known = self.names[value.number] = self._constant_value(value.number)
        return known

    def _constant_value(self, number: int) -> str:
        """A tensor that no operation made, and no input is."""
        array = self.tape.arrays[number]
        shapes = [tape.arrays[number].shape for tape in self.tapes]
        if all(shape == array.shape for shape in shapes):
            if array.dtype.kind == "c":
                array = np.stack([array.real, array.imag], -1)
            name = self.tensor_names.get(id(array)) or self.fresh("tensor")
            return self.initializer(name, np.asarray(array, order="C"))
        others = [tape.arrays[number] for tape in self.tapes[1:]]
        shape = explain_all(shapes, self.axes)
        if array.size and (array == array.flat[0]).all():
            value = self.onnx.numpy_helper.from_array(array.reshape(-1)[:1])
            return str(self.node("ConstantOfShape", self.size(shape), value=value))
        if array.ndim == 1 and array.dtype.kind == "i" and len(array) > 1:
            start, step = array[0], array[1] - array[0]
            if all((np.diff(a) == step).all() and a[0] == start for a in (array, *others)):
                length = self.node("Squeeze", self.size(shape))
                limit = self.node("Add", self.node("Mul", length, self.constant(step, np.int64)),
                                  self.constant(start, np.int64))  # fmt: skip
                made = self.node("Range", self.constant(start, np.int64), limit,
                                 self.constant(step, np.int64))  # fmt: skip
                return self.cast(made, array.dtype)
        raise Unexplained(f"a constant tensor of shape {array.shape} whose size changes")

    def shape(self, value: Value) -> Any:
        """The shape of a value, with sizes that change as expressions."""
        return explain_all([tape.arrays[value.number].shape for tape in self.tapes], self.axes)

    def fixed_shape(self, value: Value) -> tuple[int, ...]:
        """The shape of a value that must not change."""
        shape = self.shape(value)
        if any(isinstance(size, Expression) for size in shape):
            raise Unexplained(f"elements of a tensor of shape {self.array(value).shape}, by number")
        return tuple(shape)

    def element(self, value: Value) -> int:
        """ONNX's number of a value's dtype."""
        return ELEMENT[dtypes.BY_NUMPY[self.array(value).dtype].name]

    def cast(self, name: str, dtype: Any) -> str:
        return str(self.node("Cast", name, to=ELEMENT[dtypes.BY_NUMPY[np.dtype(dtype)].name]))

    # -- sizes -------------------------------------------------------------------------------------

    def number(self, value: int | Expression) -> str:
        """A whole number as a vector of one."""
        if not isinstance(value, Expression):
            return self.ints(value)
        key = ("expression", value)
        if key not in self._known:
            total: Any = None
            for axis in value.axes:
                shape = self.node("Shape", self.input_names[axis.input])
                size = self.node("Gather", shape, self.ints(axis.dim))
                total = size if total is None else self.node("Mul", total, size)
            if value.factor != 1:
                total = self.node("Mul", total, self.ints(value.factor))
            if value.divisor != 1:
                total = self.node("Div", total, self.ints(value.divisor))
            if value.offset:
                total = self.node("Add", total, self.ints(value.offset))
            self._known[key] = str(total)
        return self._known[key]

    def size(self, shape: Any) -> str:
        """A shape as a vector."""
        if not any(isinstance(n, Expression) for n in shape):
            return self.ints(*shape)
        return str(self.node("Concat", *[self.number(n) for n in shape], axis=0))
