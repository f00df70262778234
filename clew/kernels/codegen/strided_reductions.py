"""Row kernels along another axis than the last, where the elements of a row are strided.

The formula is that of a kernel over rows. Here vectors run over neighbouring rows instead of along
one: every lane goes through the passes of a row of its own, and what is one number for a row is a
vector of them. So nothing is ever added up inside a vector.
"""

from __future__ import annotations

from clew.kernels.codegen.builder import Code
from clew.kernels.codegen.emitter import ITEMSIZE, LLVM_TYPE, Emitter
from clew.kernels.codegen.ir import F32, F64, I32, I64, Expr, Program
from clew.kernels.codegen.loops import LOOP_SIGNATURE, finish, word_of
from clew.kernels.codegen.rows import GRAIN, Row
from clew.kernels.codegen.strided_rows import entry_for_any
from clew.kernels.codegen.ufunc import Kernel, Rows
from clew.kernels.codegen.vectors import Carried, carrying_loop, numbered
from clew.kernels.runtime.cpu import vector_bytes

# Rows that are one piece of work, and elements that are added up before a compensated addition.
STRIP = 64
BLOCK = 128
# Vectors of rows that go together, so that the processor has something to do while one waits.
TOGETHER = 2
_START = {"sum": 0.0, "max": float("-inf"), "min": float("inf")}
_STEP = {"max": "maximum", "min": "minimum"}


class Strips(Kernel):
    """A kernel over rows that lie across memory."""

    in_rows = True
    along: list[bool]

    def module(self, program: Program) -> str:
        return strip_module(self.name, Row(program, self.along), self.cost)

    def options(self) -> str:
        return f"{super().options()} along {self.along} vectors of {vector_bytes()} bytes"


def across(rows: Rows) -> Strips:
    """The kernel for arrays (..., n, k) with rows along n, from the one for arrays (..., n)."""
    inputs = len(rows.signatures[0][0])
    shapes = ["(n,k)" if varies else "(k)" for varies in rows.along]
    core = f"{','.join(shapes[:inputs])}->{','.join(shapes[inputs:])}"
    signatures = [types for types in rows.signatures if types[0][0] in (F32, F64)]
    kernel = Strips(f"{rows.name}_across", rows.function, signatures, core, rows.cost)
    kernel.along = rows.along
    return kernel


def strip_module(name: str, row: Row, cost: int) -> str:
    """The module of a kernel over strips of rows."""
    e = Emitter(vector_bytes() // ITEMSIZE[row.dtypes[0]])
    code = Code(e, LLVM_TYPE[row.dtypes[0]])
    layout = Layout(row)
    _Group(code, layout, "several", TOGETHER, is_whole=True).emit()
    _Group(code, layout, "one", 1, is_whole=False).emit()
    _pieces(code, layout)
    _entry(code, "dense", layout, cost)
    cores = ["nk" if is_along else "k" for is_along in row.along]
    entry_for_any(e, name, "dense", len(row.inputs), row.dtypes, cores)
    finish(e)
    return e.text()


class Layout:
    """What the context has: pointers, outer steps, core steps in NumPy's order, and sizes."""

    def __init__(self, row: Row) -> None:
        self.row, self.count = row, len(row.dtypes)
        self.places = [
            (arg, dim) for arg in range(self.count) for dim in ("nk" if row.along[arg] else "k")
        ]
        self.names = [
            *(f"*{arg}" for arg in range(self.count)),
            *(f"outer{arg}" for arg in range(self.count)),
            *(f"{dim}{arg}" for arg, dim in self.places),
            "n", "k", "strips",
        ]  # fmt: skip


class _Group:
    """A function for some vectors of rows: name(context, outer, first row, rows).

    They are `whole`, or a mask says which lanes have a row.
    """

    def __init__(self, code: Code, layout: Layout, name: str, vectors: int, is_whole: bool) -> None:
        self.c, self.e, self.row, self.layout = code, code.e, layout.row, layout
        self.name, self.vectors = name, range(vectors)
        self.is_whole = is_whole
        self.f: dict[str, str] = {}
        # Where the rows of each vector begin, by operand; numbers of rows, by expression.
        self.starts: dict[tuple[int, int], str] = {}
        self.numbers: dict[tuple[int, int], str] = {}
        # Kept values: in memory of their own, or where an output will be that comes later.
        self.lent = self.outputs_to_lend()
        self.kept = [each for each in self.row.kept if self.row.varies[id(each)]]
        self.buffers: dict[int, str] = {}

    def emit(self) -> None:
        c, e = self.c, self.e
        head = f"internal void @{self.name}(ptr %context, i64 %outer, i64 %first, i64 %rows)"
        with c.function(head):
            self.f = c.context(*self.layout.names)
            self.find_lanes()
            for expr in self.kept:
                if id(expr) not in self.lent:
                    width = len(self.vectors) * e.lanes * ITEMSIZE[expr.dtype]
                    size = c.mul(self.f["n"], str(width))
                    self.buffers[id(expr)] = e.memory(size)
            for arg in range(self.layout.count):
                self.find_starts(arg)
            self.passes()
            e.mask = ""
            for buffer in self.buffers.values():
                c.release(buffer)

    def outputs_to_lend(self) -> dict[int, int]:
        """For kept values, the number of an output that is stored in a later pass."""
        row, found = self.row, dict[int, int]()
        for expr in row.kept:
            for number, root in enumerate(row.roots, len(row.inputs)):
                later = row.varies[id(root)] and row.level[id(root)] > row.level[id(expr)]
                if later and row.dtypes[number] == expr.dtype and number not in found.values():
                    found[id(expr)] = number
                    break
        return found

    def passes(self) -> None:
        row = self.row
        for level in range(row.last + 1):
            self.between(level)
            self.one_pass(level)
        self.between(row.last + 1)
        for number, root in enumerate(row.roots, len(row.inputs)):
            if not row.varies[id(root)]:
                for v in self.vectors:
                    self.store(number, self.starts[number, v], self.numbers[id(root), v])

    # -- memory ----------------------------------------------------------------------------------

    def find_lanes(self) -> None:
        """Which lanes have a row."""
        e = self.e
        if not self.is_whole:
            rows = e.spread(I64, "%rows")
            e.mask = e.value(f"icmp slt {e.of('i64')} {numbered('i64', e.lanes)}, {rows}")

    def find_starts(self, arg: int) -> None:
        c, f = self.c, self.f
        outer = c.mul("%outer", f[f"outer{arg}"])
        for v in self.vectors:
            first = c.add("%first", str(v * self.e.lanes))
            offset = c.add(outer, c.mul(first, f[f"k{arg}"]))
            self.starts[arg, v] = c.past(f[str(arg)], offset)

    def load(self, arg: int, start: str) -> str:
        return self.e.load(self.row.dtypes[arg], start)

    def store(self, arg: int, start: str, value: str) -> None:
        self.e.store(self.row.dtypes[arg], value, start)

    # -- numbers for whole rows ------------------------------------------------------------------

    def number(self, expr: Expr, v: int) -> str:
        if expr.op == "const":
            return self.e.constant(expr.value, expr.dtype)
        return self.numbers[id(expr), v]

    def between(self, level: int) -> None:
        """What is one number for a row and can be known before pass `level`."""
        row, e = self.row, self.e
        for expr in row.order:
            key = id(expr)
            known = row.varies[key] or row.level[key] > level or (key, 0) in self.numbers
            if known or expr.op in ("const", "reduce"):
                continue
            for v in self.vectors:
                if expr.op == "input":
                    value = self.load(expr.value, self.starts[expr.value, v])
                elif expr.op == "size":
                    element = LLVM_TYPE[expr.dtype]
                    size = e.value(f"sitofp i64 {self.f['n']} to {element}")
                    value = e.spread(expr.dtype, size)
                else:
                    args = [self.number(arg, v) for arg in expr.args]
                    value = args[0] if expr.op == "keep" else e.operation(expr, args)
                self.numbers[key, v] = value

    # -- passes ----------------------------------------------------------------------------------

    def one_pass(self, level: int) -> None:
        e, reductions = self.e, self.row.reductions(level)
        pairs = [(each, v) for each in reductions for v in self.vectors]
        starts = [
            (e.llvm(each.dtype), e.constant(_START[each.value], each.dtype)) for each, _ in pairs
        ]
        if any(each.value == "sum" for each in reductions):
            results = self.in_blocks(level, pairs, starts)
        else:
            results = self.elements(level, ("0", self.f["n"]), pairs, starts)
        for (each, v), value in zip(pairs, results, strict=True):
            self.numbers[id(each), v] = value

    def in_blocks(self, level: int, pairs: list[tuple[Expr, int]], starts: Carried) -> list[str]:
        """Sums of blocks are added up, and the errors of these additions are kept."""
        c, e, count = self.c, self.e, len(pairs)
        zeros = [(kind, "zeroinitializer") for kind, _ in starts]

        def block(first: str, so_far: list[str]) -> list[str]:
            end = c.least(c.add(first, str(BLOCK)), self.f["n"])
            begin = [
                (kind, start if each.value == "sum" else value)
                for (each, _), (kind, start), value in zip(pairs, starts, so_far, strict=False)
            ]
            parts = self.elements(level, (first, end), pairs, begin)
            totals, lost = so_far[:count], so_far[count:]
            for k, (each, _) in enumerate(pairs):
                if each.value == "sum":
                    totals[k], lost[k] = e.compensated(each.dtype, totals[k], lost[k], parts[k])
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
        """Some elements of every row; returns what the reductions have come to."""

        def body(i: str, so_far: list[str]) -> list[str]:
            values = [self.element_of(level, i, v) for v in self.vectors]
            return [
                self.reduced(each, value, values[v][id(each.args[0])])
                for (each, v), value in zip(pairs, so_far, strict=True)
            ]

        return carrying_loop(self.e, span, 1, body, starts)

    def element_of(self, level: int, i: str, v: int) -> dict[int, str]:
        """The i-th element of the rows of one vector."""
        c, row = self.c, self.row
        bases = {
            arg: c.past(self.starts[arg, v], c.mul(i, self.f[f"n{arg}"]))
            for arg in range(self.layout.count)
            if row.along[arg]
        }
        values: dict[int, str] = {}
        for expr in row.needed(level):
            for operand in expr.args:
                if not row.varies[id(operand)]:
                    values[id(operand)] = self.number(operand, v)
            values[id(expr)] = self.element(expr, level, i, v, bases, values)
        for number, root in enumerate(row.roots, len(row.inputs)):
            if row.varies[id(root)] and row.level[id(root)] == level:
                self.store(number, bases[number], values[id(root)])
        return values

    def reduced(self, each: Expr, so_far: str, item: str) -> str:
        if each.value == "sum":
            return self.e.arithmetic("fadd", each.dtype, so_far, item)
        return self.e.call(_STEP[each.value], each.dtype, [so_far, item])

    def element(
        self, expr: Expr, level: int, i: str, v: int, bases: dict[int, str], values: dict[int, str]
    ) -> str:
        e = self.e
        if expr.op == "input":
            return self.load(expr.value, bases[expr.value])
        if expr.op == "index":
            number = e.value(f"trunc i64 {i} to i32") if expr.dtype == I32 else i
            return e.spread(expr.dtype, number)
        if expr.op == "keep":
            return self.keep(expr, level, i, v, bases, values)
        return e.operation(expr, [values[id(arg)] for arg in expr.args])

    def keep(
        self, expr: Expr, level: int, i: str, v: int, bases: dict[int, str], values: dict[int, str]
    ) -> str:
        """A kept value: stored in the pass that computes it, loaded in later ones."""
        c, is_new = self.c, self.row.level[id(expr)] == level
        value = values[id(expr.args[0])] if is_new else ""
        if id(expr) in self.lent:
            number = self.lent[id(expr)]
            if not is_new:
                return self.load(number, bases[number])
            self.store(number, bases[number], value)
            return value
        llvm, size = self.e.llvm(expr.dtype), self.e.lanes * ITEMSIZE[expr.dtype]
        place = c.add(c.mul(i, str(len(self.vectors) * size)), str(v * size))
        place = c.past(self.buffers[id(expr)], place)
        if not is_new:
            return c.load(place, llvm)
        c.store(value, place, llvm)
        return value


def _pieces(c: Code, layout: Layout) -> None:
    """`body(context, begin, end)`: some strips, counted through all the matrices."""
    with c.function("internal void @body(ptr %context, i64 %begin, i64 %end)"):
        f, lanes = c.context(*layout.names), c.e.lanes
        with c.loop("%begin", "%end") as piece:
            outer = c.quotient(piece, f["strips"])
            begin = c.mul(c.remainder(piece, f["strips"]), str(STRIP))
            end = c.least(c.add(begin, str(STRIP)), f["k"])
            groups = c.quotient(c.sub(end, begin), str(TOGETHER * lanes))
            middle = c.add(begin, c.mul(groups, str(TOGETHER * lanes)))
            for name, first, last, width in (
                ("several", begin, middle, TOGETHER * lanes),
                ("one", middle, end, lanes),
            ):
                with c.loop(first, last, by=width) as at:
                    given = f"i64 {outer}, i64 {at}, i64 {c.sub(last, at)}"
                    c.e.line(f"call void @{name}(ptr %context, {given})")


def _entry(c: Code, name: str, layout: Layout, cost: int) -> None:
    """The function with a ufunc loop's signature: all strips of all matrices are one job."""
    e = c.e
    with c.function(f"void @{name}({LOOP_SIGNATURE})", "#1"):
        context = e.value(f"alloca i64, i64 {len(layout.names)}, align 8")

        n, k = word_of(e, "dims", 1), word_of(e, "dims", 2)
        strips = c.pieces(k, str(STRIP))
        words = [word_of(e, "args", arg) for arg in range(layout.count)]
        words += [word_of(e, "steps", place) for place in range(layout.count + len(layout.places))]
        for index, value in enumerate([*words, n, k, strips]):
            c.put(e.value(f"getelementptr i64, ptr {context}, i64 {index}"), value)
        total = c.mul(word_of(e, "dims", 0), strips)
        work = c.mul(c.most(n, "1"), str(STRIP * cost))
        grain = c.most(c.quotient(str(GRAIN), work), "1")
        e.declare("void @clew_parallel_for(ptr, ptr, i64, i64)")
        e.line(f"call void @clew_parallel_for(ptr @body, ptr {context}, i64 {total}, i64 {grain})")
