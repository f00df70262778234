"""Kernels as NumPy ufuncs.

NumPy does what it does for its own functions: broadcasting, strides, `out=`, choosing the loop by
dtype. A loop is compiled when it is first needed: until then NumPy's table points to a function
that compiles it, puts the result into the table, and goes on there.
"""

from __future__ import annotations

import ctypes
import os
import re
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]  # no stub for it

from clew.kernels.native import cache, columns, jit, loops, rows
from clew.kernels.native.functions import trace
from clew.kernels.native.ir import BOOL, F32, F64, I32, I64, show

TYPE_NUMBER = {
    F32: np.dtype(np.float32).num, F64: np.dtype(np.float64).num,
    I32: np.dtype(np.int32).num, I64: np.dtype(np.int64).num, BOOL: np.dtype(np.bool_).num,
}  # fmt: skip

# The loops of a kernel over floats, in this order.
_DTYPES = np.dtype(np.float32), np.dtype(np.float64)
_FLOATS = {dtype: index for index, dtype in enumerate(_DTYPES)}
LARGE, OFTEN = 4096, 100

Loop = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)


def _api() -> Any:
    """NumPy's table of functions for makers of ufuncs, a stable part of its C interface."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = pointer(_multiarray_umath._UFUNC_API, None)
    return ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))


_new_ufunc = ctypes.PYFUNCTYPE(
    ctypes.py_object,
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, *[ctypes.c_int] * 4,
    ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p,
)(_api()[31])  # fmt: skip
_NO_IDENTITY = -1


class Kernel:
    """A family of loops of one kernel, one for each combination of types, and its ufunc."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        signatures: list[list[str]],
        outputs: list[list[str]],
        core: str | None = None,
    ) -> None:
        self.name = name
        self.function = function
        self.signatures = signatures
        count = len(signatures)
        types = [[*ins, *outs] for ins, outs in zip(signatures, outputs, strict=True)]
        self._types = bytes(TYPE_NUMBER[t] for row in types for t in row)
        self._table = (ctypes.c_void_p * count)()
        self._data = (ctypes.c_void_p * count)(*range(count))
        # Called by NumPy through the table, so it must live as long as the ufunc: for ever.
        self._compiling = Loop(self._compile_and_go_on)
        address = ctypes.cast(self._compiling, ctypes.c_void_p).value
        for index in range(count):
            self._table[index] = address
        self.calls = 0
        self.ready: set[np.dtype] = set()
        self._texts = name.encode(), (core or "").encode() or None
        self.ufunc: Any = _new_ufunc(
            ctypes.addressof(self._table), ctypes.addressof(self._data), self._types,
            count, len(signatures[0]), len(outputs[0]), _NO_IDENTITY,
            self._texts[0], b"", 0, self._texts[1],
        )  # fmt: skip
        _KERNELS.append(self)

    def when(self, array: np.ndarray) -> Any:
        """The ufunc, where it pays to have it: for large arrays, or when it is called often.

        None for other dtypes than the kernel's, and where it does not pay: a short program over
        small arrays should not wait for a compiler.
        """
        dtype = array.dtype
        if dtype in self.ready:
            return self.ufunc
        index = _FLOATS.get(dtype)
        if index is None:
            return None
        self.calls += 1
        if array.size < LARGE and self.calls <= OFTEN:
            return None
        self.make_ready(index)
        return self.ufunc

    def make_ready(self, index: int) -> int:
        """Compile one of the loops and put it into NumPy's table."""
        address = self.compile(index)
        self._table[index] = address
        self.ready.add(_DTYPES[index])
        return address

    def _compile_and_go_on(self, args: Any, dims: Any, steps: Any, data: Any) -> None:
        try:
            address = self.make_ready(data or 0)
        except BaseException:
            # NumPy waits for results and cannot be told of an error: going on would be wrong.
            traceback.print_exc()
            os.abort()
        Loop(address)(args, dims, steps, data)

    def module(self, index: int) -> str:
        """The LLVM IR of one of the loops."""
        raise NotImplementedError

    def program(self, index: int) -> str:
        """Kernel IR, as text, of one of the loops."""
        return show(*trace(self.function, self.signatures[index]))

    def compile(self, index: int) -> int:
        machine = jit.machine()
        key = f"{type(self).__name__} {self.name} {self.signatures[index]}\n{self.program(index)}"
        code = cache.through(key, machine.identity, lambda: machine.object_code(self.module(index)))
        return machine.load(code, self.name)[0]


# Ufuncs refer to the tables of their kernels.
_KERNELS: list[Kernel] = []


class Elementwise(Kernel):
    """A kernel that makes each element of the outputs from the same element of the inputs."""

    scalars: tuple[int, ...] = ()
    cost = 1

    def module(self, index: int) -> str:
        inputs = self.signatures[index]
        roots = trace(self.function, inputs)
        return loops.elementwise_module(self.name, inputs, roots, self.scalars, self.cost)


class Columns(Kernel):
    """A kernel that sums, for each column of matrices, an expression over the rows."""

    shapes: list[str]
    cost = 1

    def module(self, index: int) -> str:
        inputs = self.signatures[index]
        roots = trace(self.function, inputs)
        return columns.column_module(self.name, inputs, roots, self.shapes, self.cost)


def over_columns(name: str, core: str, cost: int = 1) -> Callable[..., Any]:
    """The generalized ufunc that sums over rows, e.g. `@over_columns("f", "(m,n),(m)->(n)")`."""

    def make(function: Callable[..., Any]) -> Columns:
        ins, outs = (_SHAPE.findall(side) for side in core.split("->"))
        signatures = [[t] * len(ins) for t in (F32, F64)]
        kernel = Columns(name, function, signatures, [[t] * len(outs) for t in (F32, F64)], core)
        kernel.shapes = [each.replace(",", "") for each in ins]
        kernel.cost = cost
        return kernel

    return make


_SHAPE = re.compile(r"\(([mn,]*)\)")


class Rows(Kernel):
    """A kernel over rows; `along` says which inputs and outputs have the row's dimension."""

    along: list[bool]
    cost = 1

    def module(self, index: int) -> str:
        inputs = self.signatures[index]
        row = rows.Row(inputs, trace(self.function, inputs), self.along)
        return rows.row_module(self.name, row, self.cost)


def over_rows(name: str, core: str, cost: int = 1, types: Any = None) -> Callable[..., Any]:
    """The generalized ufunc of a formula over rows, e.g. `@over_rows("softmax", "(n)->(n)")`."""

    def make(function: Callable[..., Any]) -> Any:
        sides = [[part == "n" for part in _CORE.findall(side)] for side in core.split("->")]
        signatures = [[t] * len(sides[0]) for t in (F32, F64)]
        outputs = [[t] * len(sides[1]) for t in (F32, F64)]
        if types is not None:
            signatures, outputs = [t[0] for t in types], [t[1] for t in types]
        kernel = Rows(name, function, signatures, outputs, core)
        kernel.along = sides[0] + sides[1]
        kernel.cost = cost
        return kernel

    return make


_CORE = re.compile(r"\((n?)\)")


def elementwise(name: str, inputs: int, outputs: int = 1, **options: Any) -> Callable[..., Any]:
    """The ufunc of a formula over floats."""

    def make(function: Callable[..., Any]) -> Any:
        kernel = Elementwise(
            name, function, [[t] * inputs for t in (F32, F64)], [[t] * outputs for t in (F32, F64)]
        )
        kernel.scalars = options.get("scalars", ())
        kernel.cost = options.get("cost", 1)
        return kernel

    return make
