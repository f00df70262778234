"""Column reductions: sums of an expression over the rows of matrices, for all columns at once.

A task has a range of columns and goes through all rows, so that no sums are shared, and the order
of additions does not depend on the number of threads. Rows are summed in blocks, and the sums of
blocks by compensated additions, so that long sums stay accurate.
"""

from __future__ import annotations

from collections.abc import Callable

from clew.kernels.codegen.builder import BODY
from clew.kernels.codegen.emitter import LLVM_TYPE, Emitter
from clew.kernels.codegen.ir import COMPUTED_IN, I64, Expr, Program
from clew.kernels.codegen.loops import (
    GRAIN,
    LOOP_SIGNATURE,
    context_word,
    end_module,
    loop_argument,
    run_tasks,
    store_context_word,
)
from clew.kernels.codegen.strided_rows import strided_entry
from clew.kernels.codegen.vectors import block_end, lanes_for, loop, vector_loop

# Rows that are summed before a compensated addition, and those of one iteration.
ROWS_PER_BLOCK, UNROLLED_ROWS = 32, 4
# A task has an eighth of the columns within these limits: fewer do not fill vectors, and the sums
# of more would not stay in the first-level cache.
MIN_COLUMNS, MAX_COLUMNS = 64, 512


def column_module(name: str, program: Program, shapes: list[str]) -> str:
    """The module; `shapes` says of each input whether it has rows ("m"), columns ("n"), or both."""
    e = Emitter()
    body = _Body(e, program, shapes)
    body.emit()
    _tasks(e, body)
    _entry(e, "contiguous", body)
    cores = [*shapes, *["n"] * len(program.roots)]
    strided_entry(e, name, "contiguous", len(shapes), body.dtypes, cores)
    end_module(e)
    return e.text()


class _Body:
    """`columns(context, outer, begin, end)`: the columns begin to end of one matrix."""

    def __init__(self, e: Emitter, program: Program, shapes: list[str]) -> None:
        self.e, self.inputs, self.roots, self.shapes = e, program.inputs, program.roots, shapes
        self.dtypes = program.dtypes
        self.count = len(self.dtypes)
        self.lanes = lanes_for(self.dtypes)
        # The context: pointers, steps of the outer dimension, steps of each core dimension in
        # NumPy's order, m, n, the columns of a task, and the tasks of a matrix.
        self.core_dims: list[tuple[int, str]] = []
        for arg, shape in enumerate([*shapes, *["n"] * len(self.roots)]):
            self.core_dims += [(arg, dim) for dim in shape]
        self.sizes = 2 * self.count + len(self.core_dims)
        self.words = self.sizes + 4
        self.pointers: list[str] = []
        self.steps: dict[tuple[int, str], str] = {}

    def emit(self) -> None:
        e = self.e
        head = "internal void @columns(ptr %context, i64 %outer, i64 %begin, i64 %end)"
        with e.function(head, "#0"):
            self.pointers = []
            for arg in range(self.count):
                first = context_word(e, arg, "ptr")
                step = context_word(e, self.count + arg, "i64")
                self.pointers.append(e.strided_address(first, "%outer", step))
            self.steps = {
                dim: context_word(e, 2 * self.count + k, "i64")
                for k, dim in enumerate(self.core_dims)
            }
            m = context_word(e, self.sizes, "i64")
            self.sum_columns(m, [_Sums(e, root) for root in self.roots])

    def over_columns(self, *bodies: Callable[[str], None]) -> None:
        def all_bodies(j: str, _: list[str]) -> list[str]:
            for body in bodies:
                body(j)
            return []

        vector_loop(self.e, ("%begin", "%end"), self.lanes, 1, all_bodies)

    def sum_columns(self, m: str, sums: list[_Sums]) -> None:
        """out[j] = sum over blocks of (sum over the block's rows)."""
        e = self.e
        self.over_columns(*(each.clear for each in sums))
        with loop(e, "0", m, by=ROWS_PER_BLOCK) as block:
            last = block_end(e, block, ROWS_PER_BLOCK, m)
            unrolled_end = e.value(f"sub i64 {last}, {UNROLLED_ROWS - 1}")
            with loop(e, block, unrolled_end, by=UNROLLED_ROWS) as row:
                following = [e.value(f"add i64 {row}, {k}") for k in range(1, UNROLLED_ROWS)]
                self.add_rows([row, *following], sums)
            count = e.value(f"sub i64 {last}, {block}")
            rest = e.value(f"and i64 {count}, {UNROLLED_ROWS - 1}")
            with loop(e, e.value(f"sub i64 {last}, {rest}"), last) as row:
                self.add_rows([row], sums)
            self.over_columns(*(each.end_block for each in sums))
        self.over_columns(lambda j: self.store(sums, j))

    def store(self, sums: list[_Sums], j: str) -> None:
        for arg, each in enumerate(sums, len(self.inputs)):
            address = self.e.element_address(self.dtypes[arg], self.pointers[arg], j)
            self.e.store(self.dtypes[arg], each.result(j), address)

    def add_rows(self, rows: list[str], sums: list[_Sums]) -> None:
        """Add rows pairwise, and their sum to the block's: one load and store for all of them."""
        operands = [self.row_operands(row) for row in rows]

        def add(j: str) -> None:
            values = [self.row_values(bases, uniform, j) for bases, uniform in operands]
            for number, each in enumerate(sums):
                terms = [of_row[number] for of_row in values]
                while len(terms) > 1:
                    pairs = zip(terms[::2], terms[1::2], strict=True)
                    terms = [self.e.arithmetic("fadd", each.dtype, a, b) for a, b in pairs]
                each.add(j, terms[0])

        self.over_columns(add)

    def row_operands(self, r: str) -> tuple[dict[int, str], dict[int, str]]:
        """The address of each input's row, and the values of inputs that are uniform along it."""
        e = self.e
        bases, uniform = {}, {}
        for arg, shape in enumerate(self.shapes):
            base = self.pointers[arg]
            if "m" in shape:
                base = e.strided_address(base, r, self.steps[arg, "m"])
            bases[arg] = base
            if "n" not in shape:
                value = e.load(self.inputs[arg], base)
                e.lanes = self.lanes
                uniform[arg] = e.splat(COMPUTED_IN.get(self.inputs[arg], self.inputs[arg]), value)
                e.lanes = 0
        return bases, uniform

    def row_values(self, bases: dict[int, str], uniform: dict[int, str], j: str) -> list[str]:
        """The terms of one row, in column j."""

        def load(expr: Expr) -> str:
            arg = expr.value
            if arg in uniform:
                return uniform[arg]
            dtype = self.inputs[arg]
            return self.e.load(dtype, self.e.element_address(dtype, bases[arg], j))

        return self.e.evaluate(self.roots, load)


class _Sums:
    """The sums of one root for a task's columns: of the block, of all blocks, rounding errors."""

    def __init__(self, e: Emitter, root: Expr) -> None:
        self.e, self.dtype = e, root.dtype
        llvm = LLVM_TYPE[root.dtype]
        self.block, self.total, self.lost = (
            e.value(f"alloca {llvm}, i64 {MAX_COLUMNS}, align 64") for _ in range(3)
        )

    def address(self, array: str, j: str) -> str:
        index = self.e.value(f"sub i64 {j}, %begin")
        return self.e.element_address(self.dtype, array, index)

    def load(self, array: str, j: str) -> str:
        return self.e.load(self.dtype, self.address(array, j))

    def store(self, array: str, j: str, value: str) -> None:
        self.e.store(self.dtype, value, self.address(array, j))

    def clear(self, j: str) -> None:
        for array in (self.block, self.total, self.lost):
            self.store(array, j, self.e.constant(0.0, self.dtype))

    def add(self, j: str, value: str) -> None:
        total = self.e.arithmetic("fadd", self.dtype, self.load(self.block, j), value)
        self.store(self.block, j, total)

    def end_block(self, j: str) -> None:
        e, dtype = self.e, self.dtype
        total, lost, block = (self.load(each, j) for each in (self.total, self.lost, self.block))
        total, lost = e.compensated_add(dtype, total, lost, block)
        self.store(self.total, j, total)
        self.store(self.lost, j, lost)
        self.store(self.block, j, e.constant(0.0, dtype))

    def result(self, j: str) -> str:
        total, lost = self.load(self.total, j), self.load(self.lost, j)
        return self.e.arithmetic("fadd", self.dtype, total, lost)


def _tasks(e: Emitter, body: _Body) -> None:
    """`body(context, begin, end)`: tasks are counted through all matrices."""
    with e.function(BODY, "#1"):
        n, width, tasks = (context_word(e, body.sizes + k, "i64") for k in (1, 2, 3))
        with loop(e, "%begin", "%end") as task:
            outer = e.value(f"sdiv i64 {task}, {tasks}")
            number = e.value(f"srem i64 {task}, {tasks}")
            begin = e.value(f"mul i64 {number}, {width}")
            stop = e.value(f"add i64 {begin}, {width}")
            end = e.call("smin", I64, [stop, n])
            e.line(f"call void @columns(ptr %context, i64 {outer}, i64 {begin}, i64 {end})")


def _entry(e: Emitter, name: str, body: _Body) -> None:
    """The ufunc's loop: the tasks of all matrices are one parallel loop."""
    with e.function(f"void @{name}({LOOP_SIGNATURE})", "#1"):
        e.line(f"%context = alloca i64, i64 {body.words}, align 8")
        for arg in range(body.count):
            store_context_word(e, arg, loop_argument(e, "args", arg))
        for k in range(body.count + len(body.core_dims)):
            store_context_word(e, body.count + k, loop_argument(e, "steps", k))
        if any("m" in shape for shape in body.shapes):
            m, n = loop_argument(e, "dims", 1), loop_argument(e, "dims", 2)
        else:
            m, n = "1", loop_argument(e, "dims", 1)
        eighth = e.value(f"lshr i64 {n}, 3")
        eighth = e.value(f"and i64 {eighth}, {-MIN_COLUMNS}")
        width = e.call("smax", I64, [eighth, str(MIN_COLUMNS)])
        width = e.call("smin", I64, [width, str(MAX_COLUMNS)])
        beyond = e.value(f"add i64 {n}, {e.value(f'sub i64 {width}, 1')}")
        tasks = e.value(f"udiv i64 {beyond}, {width}")
        for k, value in enumerate((m, n, width, tasks)):
            store_context_word(e, body.sizes + k, value)
        total = e.value(f"mul i64 {loop_argument(e, 'dims', 0)}, {tasks}")
        # Small tasks are handed out several at a time.
        work = e.value(f"mul i64 {e.call('smax', I64, [m, '1'])}, {width}")
        several = e.value(f"udiv i64 {GRAIN}, {work}")
        run_tasks(e, "%context", total, e.call("smax", I64, [several, "1"]))
