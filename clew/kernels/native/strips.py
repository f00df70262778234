"""Row kernels for rows that lie across memory: along another axis than the last.

The formula is that of a kernel over rows. Here vectors run over neighbouring rows instead of along
one: every lane goes through the passes of a row of its own, and what is one number for a row is a
vector of them. So nothing is ever added up inside a vector.
"""

from __future__ import annotations

from clew.kernels.native import jit
from clew.kernels.native.code import Code
from clew.kernels.native.emitter import ITEMSIZE, LLVM_TYPE, MEMORY_TYPE, SHORT, Emitter
from clew.kernels.native.ir import BOOL, F32, F64, I32, Expr, Program
from clew.kernels.native.loops import LOOP_SIGNATURE, finish
from clew.kernels.native.rows import GRAIN, Row
from clew.kernels.native.ufunc import Kernel, Rows

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
    passes = jit.QUICK
    along: list[bool]

    def module(self, program: Program) -> str:
        return strip_module(self.name, Row(program, self.along), self.cost)

    def options(self) -> str:
        return f"{super().options()} along {self.along} vectors of {jit.vector_bytes()} bytes"


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
    e = Emitter(jit.vector_bytes() // ITEMSIZE[row.dtypes[0]])
    code = Code(e, LLVM_TYPE[row.dtypes[0]])
    layout = Layout(row)
    _Group(code, layout, "several", TOGETHER, is_dense=True, is_whole=True).emit()
    _Group(code, layout, "one", 1, is_dense=True, is_whole=False).emit()
    _Group(code, layout, "apart", 1, is_dense=False, is_whole=False).emit()
    _pieces(code, layout)
    _entry(code, name, layout, cost)
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

    They are `whole`, or a mask says which lanes have a row; where neighbouring rows are not
    `dense` in memory, vectors are gathered and scattered.
    """

    def __init__(
        self, code: Code, layout: Layout, name: str, vectors: int, is_dense: bool, is_whole: bool
    ) -> None:
        self.c, self.e, self.row, self.layout = code, code.e, layout.row, layout
        self.name, self.vectors = name, range(vectors)
        self.is_dense, self.is_whole = is_dense, is_whole
        self.f: dict[str, str] = {}
        # Where the rows of each vector begin, by operand; numbers of rows, by expression.
        self.starts: dict[tuple[int, int], str] = {}
        self.numbers: dict[tuple[int, int], str] = {}
        # Memory for reductions on their way: their value, and of sums what was lost and a block.
        self.running: dict[tuple[int, int], list[str]] = {}
        # Kept values: in memory of their own, or where an output will be that comes later.
        self.lent = self.outputs_to_lend()
        self.kept = [each for each in self.row.kept if self.row.varies[id(each)]]
        self.buffers: dict[int, str] = {}

    def emit(self) -> None:
        c, e, row = self.c, self.e, self.row
        head = f"internal void @{self.name}(ptr %context, i64 %outer, i64 %first, i64 %rows)"
        with c.function(head):
            for expr in row.order:
                if expr.op == "reduce":
                    places = 3 if expr.value == "sum" else 1
                    for v in self.vectors:
                        self.running[id(expr), v] = [
                            e.value(f"alloca {e.llvm(expr.dtype)}") for _ in range(places)
                        ]
            self.f = c.context(*self.layout.names)
            self.find_lanes()
            for expr in self.kept:
                if id(expr) not in self.lent:
                    width = len(self.vectors) * e.lanes * ITEMSIZE[expr.dtype]
                    size = c.mul(self.f["n"], str(width))
                    e.declare("ptr @malloc(i64)")
                    self.buffers[id(expr)] = e.value(f"call ptr @malloc(i64 {size})")
            for arg in range(self.layout.count):
                self.find_starts(arg)
            self.passes()
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
        """The number of each lane, and which lanes have a row."""
        e = self.e
        self.lane = f"<{', '.join(f'i64 {lane}' for lane in range(e.lanes))}>"
        self.mask = e.constant(True, BOOL)
        if not self.is_whole:
            rows = self.repeat("i64", "%rows")
            self.mask = e.value(f"icmp slt {e.of('i64')} {self.lane}, {rows}")

    def repeat(self, element: str, number: str) -> str:
        """A number in all lanes."""
        e, vector = self.e, self.e.of(element)
        one = e.value(f"insertelement {vector} poison, {element} {number}, i32 0")
        zeros = f"<{e.lanes} x i32> zeroinitializer"
        return e.value(f"shufflevector {vector} {one}, {vector} poison, {zeros}")

    def find_starts(self, arg: int) -> None:
        c, f = self.c, self.f
        outer = c.mul("%outer", f[f"outer{arg}"])
        for v in self.vectors:
            first = c.add("%first", str(v * self.e.lanes))
            offset = c.add(outer, c.mul(first, f[f"k{arg}"]))
            self.starts[arg, v] = c.past(f[str(arg)], offset)

    def scattered(self, arg: int, start: str) -> str:
        """The address of every lane's element."""
        e = self.e
        steps = self.repeat("i64", self.f[f"k{arg}"])
        offsets = e.value(f"mul {e.of('i64')} {self.lane}, {steps}")
        return e.value(f"getelementptr i8, ptr {start}, {e.of('i64')} {offsets}")

    def load(self, arg: int, start: str) -> str:
        e, dtype = self.e, self.row.dtypes[arg]
        memory, align = MEMORY_TYPE[dtype], ITEMSIZE[dtype]
        if not self.is_dense:
            loaded = e.gather(memory, self.scattered(arg, start), align, self.mask)
        elif self.is_whole:
            loaded = e.value(f"load {e.of(memory)}, ptr {start}, align {align}")
        else:
            name, vector = f"@llvm.masked.load.v{e.lanes}{SHORT[memory]}.p0", e.of(memory)
            e.declare(f"{vector} {name}(ptr, i32, {e.of('i1')}, {vector})")
            loaded = e.value(
                f"call {vector} {name}(ptr {start}, i32 {align}, {e.of('i1')} {self.mask}, "
                f"{vector} zeroinitializer)"
            )
        if dtype == BOOL:
            return e.value(f"icmp ne {e.of('i8')} {loaded}, zeroinitializer")
        return loaded

    def store(self, arg: int, start: str, value: str) -> None:
        e, dtype = self.e, self.row.dtypes[arg]
        memory, align = MEMORY_TYPE[dtype], ITEMSIZE[dtype]
        vector = e.of(memory)
        if dtype == BOOL:
            value = e.value(f"zext {e.of('i1')} {value} to {vector}")
        if self.is_dense and self.is_whole:
            e.line(f"store {vector} {value}, ptr {start}, align {align}")
            return
        kind, places, to = f"v{e.lanes}{SHORT[memory]}", "ptr", start
        name = f"@llvm.masked.store.{kind}.p0"
        if not self.is_dense:
            name, places = f"@llvm.masked.scatter.{kind}.v{e.lanes}p0", e.of("ptr")
            to = self.scattered(arg, start)
        e.declare(f"void {name}({vector}, {places}, i32, {e.of('i1')})")
        e.line(
            f"call void {name}({vector} {value}, {places} {to}, i32 {align}, "
            f"{e.of('i1')} {self.mask})"
        )

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
                    value = self.repeat(element, e.value(f"sitofp i64 {self.f['n']} to {element}"))
                else:
                    args = [self.number(arg, v) for arg in expr.args]
                    value = args[0] if expr.op == "keep" else e.operation(expr, args)
                self.numbers[key, v] = value

    # -- passes ----------------------------------------------------------------------------------

    def one_pass(self, level: int) -> None:
        c, e, reductions = self.c, self.e, self.row.reductions(level)
        for each in reductions:
            start = e.constant(_START[each.value], each.dtype)
            for v in self.vectors:
                for place in self.running[id(each), v]:
                    c.put(place, start, e.llvm(each.dtype))
        with c.loop("0", self.f["n"], by=BLOCK) as block:
            end = c.least(c.add(block, str(BLOCK)), self.f["n"])
            with c.loop(block, end) as i:
                self.elements(level, i, reductions)
            for each in reductions:
                if each.value == "sum":
                    self.end_block(each)
        for each in reductions:
            llvm = e.llvm(each.dtype)
            for v in self.vectors:
                values = [c.get(place, llvm) for place in self.running[id(each), v][:2]]
                if each.value == "sum":
                    values = [e.arithmetic("fadd", each.dtype, *values)]
                self.numbers[id(each), v] = values[0]

    def end_block(self, each: Expr) -> None:
        """Add the block's sum to the total, and keep the error of this addition."""
        c, e, llvm = self.c, self.e, self.e.llvm(each.dtype)
        for v in self.vectors:
            places = self.running[id(each), v]
            total, lost, block = (c.get(place, llvm) for place in places)
            results = *e.compensated(each.dtype, total, lost, block), e.constant(0.0, each.dtype)
            for place, value in zip(places, results, strict=True):
                c.put(place, value, llvm)

    def elements(self, level: int, i: str, reductions: list[Expr]) -> None:
        """The i-th element of every row."""
        c, row = self.c, self.row
        for v in self.vectors:
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
            for each in reductions:
                self.reduce(each, v, values[id(each.args[0])])

    def element(
        self, expr: Expr, level: int, i: str, v: int, bases: dict[int, str], values: dict[int, str]
    ) -> str:
        e = self.e
        if expr.op == "input":
            return self.load(expr.value, bases[expr.value])
        if expr.op == "index":
            number = e.value(f"trunc i64 {i} to i32") if expr.dtype == I32 else i
            return self.repeat(LLVM_TYPE[expr.dtype], number)
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

    def reduce(self, each: Expr, v: int, item: str) -> None:
        c, e, llvm = self.c, self.e, self.e.llvm(each.dtype)
        place = self.running[id(each), v][-1]
        so_far = c.get(place, llvm)
        if each.value == "sum":
            value = e.arithmetic("fadd", each.dtype, so_far, item)
        else:
            value = e.call(_STEP[each.value], each.dtype, [so_far, item])
        c.put(place, value, llvm)


def _pieces(c: Code, layout: Layout) -> None:
    """`body(context, begin, end)`: some strips, counted through all the matrices."""
    with c.function("internal void @body(ptr %context, i64 %begin, i64 %end)"):
        f, lanes = c.context(*layout.names), c.e.lanes
        dense = "true"
        for arg in range(layout.count):
            size = str(ITEMSIZE[layout.row.dtypes[arg]])
            dense = c.both(dense, c.compare("eq", f[f"k{arg}"], size))
        with c.loop("%begin", "%end") as piece:
            outer = c.quotient(piece, f["strips"])
            begin = c.mul(c.remainder(piece, f["strips"]), str(STRIP))
            end = c.least(c.add(begin, str(STRIP)), f["k"])
            groups = c.quotient(c.sub(end, begin), str(TOGETHER * lanes))
            together = c.choose(dense, c.mul(groups, str(TOGETHER * lanes)), "0")
            middle = c.add(begin, together)
            for name, first, last, is_meant, width in (
                ("several", begin, middle, dense, TOGETHER * lanes),
                ("one", middle, end, dense, lanes),
                ("apart", begin, end, c.negated(dense), lanes),
            ):
                with c.when(is_meant), c.loop(first, last, by=width) as at:
                    given = f"i64 {outer}, i64 {at}, i64 {c.sub(last, at)}"
                    c.e.line(f"call void @{name}(ptr %context, {given})")


def _entry(c: Code, name: str, layout: Layout, cost: int) -> None:
    """The function with a ufunc loop's signature: all strips of all matrices are one job."""
    e = c.e
    with c.function(f"void @{name}({LOOP_SIGNATURE})"):
        context = e.value(f"alloca i64, i64 {len(layout.names)}, align 8")

        def word(source: str, index: int) -> str:
            return c.get(e.value(f"getelementptr i64, ptr %{source}, i64 {index}"))

        n, k = word("dims", 1), word("dims", 2)
        strips = c.pieces(k, str(STRIP))
        words = [word("args", arg) for arg in range(layout.count)]
        words += [word("steps", place) for place in range(layout.count + len(layout.places))]
        for index, value in enumerate([*words, n, k, strips]):
            c.put(e.value(f"getelementptr i64, ptr {context}, i64 {index}"), value)
        total = c.mul(word("dims", 0), strips)
        work = c.mul(c.most(n, "1"), str(STRIP * cost))
        grain = c.most(c.quotient(str(GRAIN), work), "1")
        e.declare("void @clew_run(ptr, ptr, i64, i64)")
        e.line(f"call void @clew_run(ptr @body, ptr {context}, i64 {total}, i64 {grain})")
