"""Kernels as NumPy ufuncs.

NumPy does broadcasting, strides, `out=` and the dispatch by dtype, as for its own ufuncs. A loop is
compiled on first use: until then NumPy's table has a stub that compiles it (lazy_compilation.py)
and jumps to it.

A kernel may have loops for float16 and bfloat16 as well: elements are converted to float32 when
they are loaded, and rounded when they are stored.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import ml_dtypes
import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]  # no stub for it

from clew.kernels import codegen
from clew.kernels.codegen import strided_table
from clew.kernels.codegen.ir import BF16, BOOL, F16, F32, F64, I32, I64, Program
from clew.kernels.codegen.tracing import trace
from clew.kernels.runtime import jit
from clew.kernels.runtime.compile_thread import compiler
from clew.kernels.runtime.cpu import vector_bytes
from clew.kernels.runtime.lazy_compilation import Records
from clew.kernels.runtime.numpy_capi import api_table

DTYPE = {
    F16: np.dtype(np.float16), BF16: np.dtype(ml_dtypes.bfloat16), F32: np.dtype(np.float32),
    F64: np.dtype(np.float64), I32: np.dtype(np.int32), I64: np.dtype(np.int64),
    BOOL: np.dtype(np.bool_),
}  # fmt: skip

jit.register_lazy_table(strided_table.TABLE, "of any size", strided_table.functions)

# Inputs and outputs of one loop.
Signature = tuple[list[str], list[str]]


_API = api_table(_multiarray_umath._UFUNC_API)
_new_ufunc = ctypes.PYFUNCTYPE(
    ctypes.py_object,
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, *[ctypes.c_int] * 4,
    ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p,
)(_API[31])  # fmt: skip
_add_loop = ctypes.PYFUNCTYPE(
    ctypes.c_int,
    ctypes.py_object, ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int), ctypes.c_void_p,
)(_API[2])  # fmt: skip
_NO_IDENTITY = -1


class Kernel:
    """The loops of one kernel, one for each type signature, and its ufunc."""

    in_rows = False
    # The NumPy dtypes of storage types.
    dtypes: ClassVar[dict[str, np.dtype]] = DTYPE

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        signatures: list[Signature],
        core: str | None = None,
        cost: int = 1,
    ) -> None:
        self.name = name
        self.function = function
        # NumPy takes the first loop that fits. The table has builtin dtypes only: the loop for
        # bfloat16, which is last, is registered when it has been compiled.
        self.signatures = sorted(signatures, key=self._is_registered)
        self.cost = cost
        self.ready: set[np.dtype] = set()
        self._by_dtype = {
            self.dtypes[ins[0]]: index for index, (ins, _) in enumerate(self.signatures)
        }
        self.core = core
        # The addresses that were asked for.
        self._loops: dict[int, int] = {}
        _KERNELS.append(self)

    def __getattr__(self, name: str) -> Any:
        """`ufunc` is made on first use: most programs use few of all kernels."""
        if name != "ufunc":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        machine = jit.machine()
        compiler.run(lambda: self._make_ufunc(machine))
        return self.ufunc

    def _make_ufunc(self, machine: jit.Machine) -> None:
        # Another thread may have been first.
        if "ufunc" not in self.__dict__:
            self.ufunc: Any = self._new_ufunc(machine)

    def _new_ufunc(self, machine: jit.Machine) -> Any:
        in_table = [
            [*each[0], *each[1]] for each in self.signatures if not self._is_registered(each)
        ]
        count = len(in_table)
        self._types = bytes(self.dtypes[t].num for row in in_table for t in row)
        self._table = (ctypes.c_void_p * count)()
        self._records = Records(count)
        self._data = (ctypes.c_void_p * count)(*[self._records[i] for i in range(count)])
        for index in range(count):
            self._table[index] = machine.requests.loop
            machine.compile_lazily(self._records[index], partial(self._make_loop, index))
        self._texts = self.name.encode(), (self.core or "").encode() or None
        inputs, outputs = self.signatures[0]
        return _new_ufunc(
            ctypes.addressof(self._table), ctypes.addressof(self._data), self._types,
            count, len(inputs), len(outputs), _NO_IDENTITY,
            self._texts[0], b"", 0, self._texts[1],
        )  # fmt: skip

    def _is_registered(self, signature: Signature) -> bool:
        """Whether a loop is for a dtype that is not builtin, and is registered separately."""
        return BF16 in signature[0] and self.dtypes[BF16] is DTYPE[BF16]

    def specialize(self, array: np.ndarray) -> Any:
        """The ufunc, compiled for the array's dtype; None if the kernel has no loop for it.

        It depends on the dtype only, never on the size, so that results have the same bits.
        """
        dtype = array.dtype
        if dtype in self.ready:
            return self.ufunc
        index = self._by_dtype.get(dtype)
        if index is None:
            return None
        self.make_ready(index)
        return self.ufunc

    def make_ready(self, index: int) -> None:
        """Compile one of the loops and put it into NumPy's table."""
        jit.machine()
        compiler.run(lambda: self._make_loop(index))

    def _make_loop(self, index: int) -> int:
        """The address of one of the loops, which is now in NumPy's table."""
        inputs, outputs = self.signatures[index]
        dtype = self.dtypes[inputs[0]]
        ufunc, address = self.ufunc, self.compile(index)
        if dtype not in self.ready:
            if index < len(self._table):
                self._table[index] = address
            else:
                numbers = [self.dtypes[each].num for each in (*inputs, *outputs)]
                types = (ctypes.c_int * len(numbers))(*numbers)
                if _add_loop(ufunc, dtype.num, address, types, None):
                    raise RuntimeError(f"NumPy refuses a loop over {dtype} for {self.name}")
            self.ready.add(dtype)
        return address

    def program(self, index: int) -> Program:
        """The kernel IR of one of the loops."""
        return trace(self.function, *self.signatures[index], self.in_rows)

    def module(self, program: Program) -> str:
        """The LLVM IR of one of the loops."""
        raise NotImplementedError

    def assembly(self, program: Program) -> str:
        """The machine code of one of the loops, as text."""
        return jit.machine().assembly(self.module(program))

    def compile(self, index: int) -> int:
        program = self.program(index)
        key = f"{type(self).__name__} {self.name} {self.options()}\n{program}"
        return jit.machine().function(key, lambda: self.module(program), self.name)

    def loop(self, dtypes: Sequence[np.dtype]) -> tuple[int, int] | None:
        """The address of the loop for operands of these dtypes, and its data; None if it has none.

        As `numpy_capi.ufunc_loop` for NumPy's own ufuncs.
        """
        for index, (inputs, outputs) in enumerate(self.signatures):
            if [self.dtypes[each] for each in (*inputs, *outputs)] == list(dtypes):
                if index not in self._loops:
                    self._loops[index] = self.compile(index)
                return self._loops[index], 0
        return None

    def options(self) -> str:
        """What the module depends on besides the program, for the key of the code cache."""
        return f"cost {self.cost}"


# Kernels live as long as the process: ufuncs point into their tables.
_KERNELS: list[Kernel] = []


def _over_floats(
    inputs: int, outputs: int, half: bool, scalars: tuple[int, ...] = ()
) -> list[Signature]:
    """All operands of one float type, narrow types first, as NumPy takes the first that fits.

    Scalars beside halves are float32, which is what is computed in.
    """
    signatures: list[Signature] = []
    for each in (F16, F32, F64, BF16) if half else (F32, F64):
        scalar = F32 if each in (F16, BF16) else each
        ins = [scalar if index in scalars else each for index in range(inputs)]
        signatures.append((ins, [each] * outputs))
    return signatures


class Elementwise(Kernel):
    """An elementwise kernel; the inputs `scalars` are usually scalars."""

    scalars: tuple[int, ...] = ()

    def module(self, program: Program) -> str:
        return codegen.loops.elementwise_module(self.name, program, self.scalars, self.cost)

    def options(self) -> str:
        return f"{super().options()} scalars {self.scalars}"


class OnBits(Elementwise):
    """An elementwise kernel for which bfloat16 is uint16 to NumPy, so that it may be an output."""

    dtypes = DTYPE | {BF16: np.dtype(np.uint16)}


def elementwise(
    name: str,
    inputs: int,
    outputs: int = 1,
    scalars: tuple[int, ...] = (),
    cost: int = 1,
    half: bool = False,
    types: list[Signature] | None = None,
) -> Callable[[Callable[..., Any]], Elementwise]:
    """The kernel of an elementwise formula over floats; with `half`, float16 and bfloat16, too.

    `types` are signatures of operands that are not all of one type.
    """

    def make(function: Callable[..., Any]) -> Elementwise:
        signatures = types or _over_floats(inputs, outputs, half, scalars)
        kernel = Elementwise(name, function, signatures, cost=cost)
        kernel.scalars = scalars
        return kernel

    return make


class Rows(Kernel):
    """A kernel over rows; `along` says which inputs and outputs have the dimension of the row."""

    in_rows = True
    along: list[bool]

    def module(self, program: Program) -> str:
        return codegen.rows.row_module(self.name, codegen.rows.Row(program, self.along), self.cost)

    def options(self) -> str:
        return f"{super().options()} along {self.along}"


_ROW_SHAPE = re.compile(r"\((n?)\)")


def over_rows(
    name: str, core: str, cost: int = 1, types: list[Signature] | None = None, half: bool = False
) -> Callable[[Callable[..., Any]], Rows]:
    """The generalized ufunc of a formula over rows, e.g. `@over_rows("softmax", "(n)->(n)")`."""

    def make(function: Callable[..., Any]) -> Rows:
        ins, outs = ([each == "n" for each in _ROW_SHAPE.findall(s)] for s in core.split("->"))
        signatures = types or _over_floats(len(ins), len(outs), half)
        kernel = Rows(name, function, signatures, core, cost)
        kernel.along = ins + outs
        return kernel

    return make


class StridedRows(Kernel):
    """A kernel over rows whose elements are strided and whose neighbours are contiguous."""

    in_rows = True
    along: list[bool]

    def module(self, program: Program) -> str:
        return codegen.strided_reductions.strided_row_module(
            self.name, codegen.rows.Row(program, self.along), self.cost
        )

    def options(self) -> str:
        return f"{super().options()} along {self.along} vectors of {vector_bytes()} bytes"


def across(rows: Rows) -> StridedRows:
    """The kernel for arrays (..., n, k) with rows along n, from the one for arrays (..., n)."""
    inputs = len(rows.signatures[0][0])
    shapes = ["(n,k)" if varies else "(k)" for varies in rows.along]
    core = f"{','.join(shapes[:inputs])}->{','.join(shapes[inputs:])}"
    signatures = [types for types in rows.signatures if types[0][0] in (F32, F64)]
    kernel = StridedRows(f"{rows.name}_across", rows.function, signatures, core, rows.cost)
    kernel.along = rows.along
    return kernel


class Columns(Kernel):
    """A kernel that sums an expression over the rows of matrices, for each column."""

    shapes: list[str]

    def module(self, program: Program) -> str:
        return codegen.columns.column_module(self.name, program, self.shapes)

    def options(self) -> str:
        return f"shapes {self.shapes}"


_MATRIX_SHAPE = re.compile(r"\(([mn,]*)\)")


def over_columns(
    name: str, core: str, cost: int = 1, types: list[Signature] | None = None, half: bool = False
) -> Callable[[Callable[..., Any]], Columns]:
    """The generalized ufunc that sums over rows, e.g. `@over_columns("f", "(m,n),(m)->(n)")`."""

    def make(function: Callable[..., Any]) -> Columns:
        ins, outs = (_MATRIX_SHAPE.findall(side) for side in core.split("->"))
        signatures = types or _over_floats(len(ins), len(outs), half)
        kernel = Columns(name, function, signatures, core, cost)
        kernel.shapes = [each.replace(",", "") for each in ins]
        return kernel

    return make


class Cascade(Kernel):
    """A kernel that sums an expression along rows, or down columns, in PyTorch's order."""

    over_columns = False

    def module(self, program: Program) -> str:
        if self.over_columns:
            return codegen.cascades.column_module(self.name, program, self.cost)
        return codegen.cascades.row_module(self.name, program, self.cost)

    def program(self, index: int) -> Program:
        return trace(self.function, *self.signatures[index], in_rows=False)

    def options(self) -> str:
        return f"{super().options()} columns {self.over_columns}"


def cascade(
    name: str, core: str, types: list[Signature] | None = None
) -> Callable[[Callable[..., Any]], Cascade]:
    """The generalized ufunc of sums of a formula: of `(n)->()` or `(n),(n)->()`, `(m,n)->(n)`."""

    def make(function: Callable[..., Any]) -> Cascade:
        signatures = types or _over_floats(core.split("->")[0].count("("), 1, half=False)
        kernel = Cascade(name, function, signatures, core)
        kernel.over_columns = "m" in core
        return kernel

    return make


class Scan(Kernel):
    """A scan: each result is the carry after its element."""

    start = 0.0
    is_associative = False

    def program(self, index: int) -> Program:
        inputs, _ = self.signatures[index]
        carried = codegen.scans.carried_type(inputs[0])

        def step(last: Any, *elements: Any) -> Any:
            return self.function(last, *[element.convert(carried) for element in elements])

        return trace(step, [carried, *inputs], [carried], in_rows=False)

    def module(self, program: Program) -> str:
        output = program.inputs[-1]
        return codegen.scans.scan_module(
            self.name, program, output, self.start, self.is_associative
        )

    def options(self) -> str:
        return f"start {self.start} associative {self.is_associative}"


def scan(
    name: str, inputs: int = 1, start: float = 0.0, is_associative: bool = False
) -> Callable[[Callable[..., Any]], Scan]:
    """The generalized ufunc of a scan, from the formula of the next carry: f(last, element)."""

    def make(function: Callable[..., Any]) -> Scan:
        core = ",".join(["(n)"] * inputs) + "->(n)"
        kernel = Scan(name, function, _over_floats(inputs, 1, half=True), core)
        kernel.start, kernel.is_associative = start, is_associative
        return kernel

    return make


def formulas() -> dict[str, Callable[..., Any]]:
    """The formulas of all elementwise kernels of floats, by name, for kernels that fuse them."""
    return {kernel.name: kernel.function for kernel in _KERNELS if type(kernel) is Elementwise}
