"""Row kernels along another axis than the last, where the elements of a row are strided.

The formula is that of a kernel over rows. Here vectors run across neighbouring rows instead of
along one: every lane has a row of its own, and values that are uniform along a row are vectors. So
there are no reductions of the lanes of a vector.
"""

from __future__ import annotations

from clew.kernels.codegen.builder import BODY, IRBuilder
from clew.kernels.codegen.emitter import ITEMSIZE, LLVM_TYPE, Emitter
from clew.kernels.codegen.ir import I32, I64, Expr
from clew.kernels.codegen.loops import (
    GRAIN,
    LOOP_SIGNATURE,
    end_module,
    loop_argument,
    run_tasks,
    store_context_word,
)
from clew.kernels.codegen.rows import Row
from clew.kernels.codegen.strided_rows import strided_entry
from clew.kernels.codegen.vectors import Carried, carrying_loop, lane_indices
from clew.kernels.runtime.cpu import vector_bytes

# The rows of a task, and elements that are summed before a compensated addition.
ROWS_PER_TASK = 64
BLOCK = 128
# Vectors of rows that are unrolled, to hide the latency of operations.
UNROLL = 2
_IDENTITY = {"sum": 0.0, "max": float("-inf"), "min": float("inf")}
_INTRINSIC = {"max": "maximum", "min": "minimum"}


def strided_row_module(name: str, row: Row, cost: int) -> str:
    """The module of a kernel over strided rows."""
    e = Emitter(vector_bytes() // ITEMSIZE[row.dtypes[0]])
    code = IRBuilder(e, LLVM_TYPE[row.dtypes[0]])
    layout = Layout(row)
    _RowVectors(code, layout, "unrolled", UNROLL, masked=False).emit()
    _RowVectors(code, layout, "masked", 1, masked=True).emit()
    _tasks(code, layout)
    _entry(code, "contiguous", layout, cost)
    cores = ["nk" if is_along else "k" for is_along in row.along]
    strided_entry(e, name, "contiguous", len(row.inputs), row.dtypes, cores)
    end_module(e)
    return e.text()


class Layout:
    """The context: pointers, outer steps, core steps in NumPy's order, and sizes."""

    def __init__(self, row: Row) -> None:
        self.row, self.count = row, len(row.dtypes)
        self.core_dims = [
            (arg, dim) for arg in range(self.count) for dim in ("nk" if row.along[arg] else "k")
        ]
        self.names = [
            *(f"*{arg}" for arg in range(self.count)),
            *(f"outer{arg}" for arg in range(self.count)),
            *(f"{dim}{arg}" for arg, dim in self.core_dims),
            "n", "k", "tasks",
        ]  # fmt: skip


class _RowVectors:
    """A function for some vectors of rows: name(context, outer, first row, rows).

    If it is `masked`, only the first `rows` lanes have a row.
    """

    def __init__(
        self, code: IRBuilder, layout: Layout, name: str, vectors: int, masked: bool
    ) -> None:
        self.c, self.e, self.row, self.layout = code, code.e, layout.row, layout
        self.name, self.vectors = name, range(vectors)
        self.masked = masked
        self.f: dict[str, str] = {}
        # The addresses of the rows of each vector, by operand; uniform values, by expression.
        self.starts: dict[tuple[int, int], str] = {}
        self.uniform: dict[tuple[int, int], str] = {}
        # Materialized values are in a buffer, or in an output that a later pass stores.
        self.reused = self.reused_outputs()
        self.materialized = [each for each in self.row.materialized if self.row.varies[id(each)]]
        self.buffers: dict[int, str] = {}

    def emit(self) -> None:
        c, e = self.c, self.e
        head = f"internal void @{self.name}(ptr %context, i64 %outer, i64 %first, i64 %rows)"
        with c.function(head):
            self.f = c.load_context(*self.layout.names)
            if self.masked:
                rows = e.splat(I64, "%rows")
                indices = lane_indices("i64", e.lanes)
                e.mask = e.value(f"icmp slt {e.value_type('i64')} {indices}, {rows}")
            for expr in self.materialized:
                if id(expr) not in self.reused:
                    width = len(self.vectors) * e.lanes * ITEMSIZE[expr.dtype]
                    size = c.mul(self.f["n"], str(width))
                    self.buffers[id(expr)] = e.aligned_malloc(size)
            for arg in range(self.layout.count):
                self.find_starts(arg)
            self.passes()
            e.mask = ""
            for buffer in self.buffers.values():
                c.free(buffer)

    def reused_outputs(self) -> dict[int, int]:
        """For materialized values, the number of an output that a later pass stores."""
        row, found = self.row, dict[int, int]()
        for expr in row.materialized:
            for number, root in enumerate(row.roots, len(row.inputs)):
                later = row.varies[id(root)] and row.level[id(root)] > row.level[id(expr)]
                if later and row.dtypes[number] == expr.dtype and number not in found.values():
                    found[id(expr)] = number
                    break
        return found

    def passes(self) -> None:
        row = self.row
        for level in range(row.last + 1):
            self.compute_uniform(level)
            self.one_pass(level)
        self.compute_uniform(row.last + 1)
        for number, root in enumerate(row.roots, len(row.inputs)):
            if not row.varies[id(root)]:
                for v in self.vectors:
                    self.store(number, self.starts[number, v], self.uniform[id(root), v])

    # -- memory ----------------------------------------------------------------------------------

    def find_starts(self, arg: int) -> None:
        c, f = self.c, self.f
        outer = c.mul("%outer", f[f"outer{arg}"])
        for v in self.vectors:
            first = c.add("%first", str(v * self.e.lanes))
            offset = c.add(outer, c.mul(first, f[f"k{arg}"]))
            self.starts[arg, v] = c.ptr_add(f[str(arg)], offset)

    def load(self, arg: int, start: str) -> str:
        return self.e.load(self.row.dtypes[arg], start)

    def store(self, arg: int, start: str, value: str) -> None:
        self.e.store(self.row.dtypes[arg], value, start)

    # -- uniform values --------------------------------------------------------------------------

    def uniform_value(self, expr: Expr, v: int) -> str:
        if expr.op == "const":
            return self.e.constant(expr.value, expr.dtype)
        return self.uniform[id(expr), v]

    def compute_uniform(self, level: int) -> None:
        """The values that are uniform along a row and needed by pass `level`."""
        row, e = self.row, self.e
        for expr in row.order:
            key = id(expr)
            skipped = row.varies[key] or row.level[key] > level or (key, 0) in self.uniform
            if skipped or expr.op in ("const", "reduce"):
                continue
            for v in self.vectors:
                if expr.op == "input":
                    value = self.load(expr.value, self.starts[expr.value, v])
                elif expr.op == "size":
                    element = LLVM_TYPE[expr.dtype]
                    size = e.value(f"sitofp i64 {self.f['n']} to {element}")
                    value = e.splat(expr.dtype, size)
                else:
                    args = [self.uniform_value(arg, v) for arg in expr.args]
                    value = args[0] if expr.op == "materialize" else e.operation(expr, args)
                self.uniform[key, v] = value

    # -- passes ----------------------------------------------------------------------------------

    def one_pass(self, level: int) -> None:
        e, reductions = self.e, self.row.reductions(level)
        pairs = [(each, v) for each in reductions for v in self.vectors]
        starts = [
            (e.type_of(each.dtype), e.constant(_IDENTITY[each.value], each.dtype))
            for each, _ in pairs
        ]
        if any(each.value == "sum" for each in reductions):
            results = self.in_blocks(level, pairs, starts)
        else:
            results = self.elements(level, ("0", self.f["n"]), pairs, starts)
        for (each, v), value in zip(pairs, results, strict=True):
            self.uniform[id(each), v] = value

    def in_blocks(self, level: int, pairs: list[tuple[Expr, int]], starts: Carried) -> list[str]:
        """Sums of blocks, by compensated additions; other reductions just go on."""
        c, e, count = self.c, self.e, len(pairs)
        zeros = [(kind, "zeroinitializer") for kind, _ in starts]

        def block(first: str, so_far: list[str]) -> list[str]:
            end = c.min(c.add(first, str(BLOCK)), self.f["n"])
            begin = [
                (kind, start if each.value == "sum" else value)
                for (each, _), (kind, start), value in zip(pairs, starts, so_far, strict=False)
            ]
            parts = self.elements(level, (first, end), pairs, begin)
            totals, lost = so_far[:count], so_far[count:]
            for k, (each, _) in enumerate(pairs):
                if each.value == "sum":
                    totals[k], lost[k] = e.compensated_add(each.dtype, totals[k], lost[k], parts[k])
                else:
                    totals[k] = parts[k]
            return totals + lost

        found = carrying_loop(e, ("0", self.f["n"]), BLOCK, block, starts + zeros)
        return [
            e.arithmetic("fadd", each.dtype, total, lost) if each.value == "sum" else total
            for (each, _), total, lost in zip(pairs, found[:count], found[count:], strict=True)
        ]

    def elements(
        self, level: int, span: tuple[str, str], pairs: list[tuple[Expr, int]], starts: Carried
    ) -> list[str]:
        """The innermost loop; returns the results of the reductions."""

        def body(i: str, accumulators: list[str]) -> list[str]:
            values = [self.elements_at(level, i, v) for v in self.vectors]
            return [
                self.accumulate(each, value, values[v][id(each.args[0])])
                for (each, v), value in zip(pairs, accumulators, strict=True)
            ]

        return carrying_loop(self.e, span, 1, body, starts)

    def elements_at(self, level: int, i: str, v: int) -> dict[int, str]:
        """Element i of the rows of one vector."""
        c, row = self.c, self.row
        bases = {
            arg: c.ptr_add(self.starts[arg, v], c.mul(i, self.f[f"n{arg}"]))
            for arg in range(self.layout.count)
            if row.along[arg]
        }
        values: dict[int, str] = {}
        for expr in row.needed(level):
            for operand in expr.args:
                if not row.varies[id(operand)]:
                    values[id(operand)] = self.uniform_value(operand, v)
            values[id(expr)] = self.element(expr, level, i, v, bases, values)
        for number, root in enumerate(row.roots, len(row.inputs)):
            if row.varies[id(root)] and row.level[id(root)] == level:
                self.store(number, bases[number], values[id(root)])
        return values

    def accumulate(self, each: Expr, accumulator: str, item: str) -> str:
        if each.value == "sum":
            return self.e.arithmetic("fadd", each.dtype, accumulator, item)
        return self.e.call(_INTRINSIC[each.value], each.dtype, [accumulator, item])

    def element(
        self, expr: Expr, level: int, i: str, v: int, bases: dict[int, str], values: dict[int, str]
    ) -> str:
        e = self.e
        if expr.op == "input":
            return self.load(expr.value, bases[expr.value])
        if expr.op == "index":
            number = e.value(f"trunc i64 {i} to i32") if expr.dtype == I32 else i
            return e.splat(expr.dtype, number)
        if expr.op == "materialize":
            return self.materialize(expr, level, i, v, bases, values)
        return e.operation(expr, [values[id(arg)] for arg in expr.args])

    def materialize(
        self, expr: Expr, level: int, i: str, v: int, bases: dict[int, str], values: dict[int, str]
    ) -> str:
        """A materialized value: stored in the pass that computes it, loaded in later ones."""
        c, is_new = self.c, self.row.level[id(expr)] == level
        value = values[id(expr.args[0])] if is_new else ""
        if id(expr) in self.reused:
            number = self.reused[id(expr)]
            if not is_new:
                return self.load(number, bases[number])
            self.store(number, bases[number], value)
            return value
        llvm, size = self.e.type_of(expr.dtype), self.e.lanes * ITEMSIZE[expr.dtype]
        offset = c.add(c.mul(i, str(len(self.vectors) * size)), str(v * size))
        address = c.ptr_add(self.buffers[id(expr)], offset)
        if not is_new:
            return c.load(address, llvm)
        c.store(value, address, llvm)
        return value


def _tasks(c: IRBuilder, layout: Layout) -> None:
    """`body(context, begin, end)`: tasks are counted through all matrices."""
    with c.function(BODY):
        f, lanes = c.load_context(*layout.names), c.e.lanes
        with c.loop("%begin", "%end") as task:
            outer = c.udiv(task, f["tasks"])
            begin = c.mul(c.urem(task, f["tasks"]), str(ROWS_PER_TASK))
            end = c.min(c.add(begin, str(ROWS_PER_TASK)), f["k"])
            middle = c.add(begin, c.round_down(c.sub(end, begin), str(UNROLL * lanes)))
            for name, first, last, width in (
                ("unrolled", begin, middle, UNROLL * lanes),
                ("masked", middle, end, lanes),
            ):
                with c.loop(first, last, by=width) as row:
                    given = f"i64 {outer}, i64 {row}, i64 {c.sub(last, row)}"
                    c.e.line(f"call void @{name}(ptr %context, {given})")


def _entry(c: IRBuilder, name: str, layout: Layout, cost: int) -> None:
    """The ufunc's loop: the tasks of all matrices are one parallel loop."""
    e = c.e
    with c.function(f"void @{name}({LOOP_SIGNATURE})", "#1"):
        e.line(f"%context = alloca i64, i64 {len(layout.names)}, align 8")
        n, k = loop_argument(e, "dims", 1), loop_argument(e, "dims", 2)
        tasks = c.ceil_div(k, str(ROWS_PER_TASK))
        words = [loop_argument(e, "args", arg) for arg in range(layout.count)]
        steps = layout.count + len(layout.core_dims)
        words += [loop_argument(e, "steps", index) for index in range(steps)]
        for index, value in enumerate([*words, n, k, tasks]):
            store_context_word(e, index, value)
        total = c.mul(loop_argument(e, "dims", 0), tasks)
        work = c.mul(c.max(n, "1"), str(ROWS_PER_TASK * cost))
        run_tasks(e, "%context", total, c.max(c.udiv(str(GRAIN), work), "1"))
