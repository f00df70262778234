"""Row kernels for rows that lie across memory: along another axis than the last.

The formula is that of a kernel over rows. Here vectors run over neighbouring rows instead of along
one: a strip of them goes through the passes together, element by element, and each reduction is a
short array with a number for every row of the strip.
"""

from __future__ import annotations

from clew.kernels.native.emitter import ITEMSIZE, LLVM_TYPE, MEMORY_TYPE, Emitter, literal
from clew.kernels.native.ir import F32, F64, I32, Expr, Program
from clew.kernels.native.loops import LOOP_SIGNATURE, Loop, context_word, finish
from clew.kernels.native.rows import GRAIN, Row
from clew.kernels.native.ufunc import Kernel, Rows

# Rows that go together, and elements that are added up before a compensated addition.
STRIP = 64
BLOCK = 128
_GROUP = ", !llvm.access.group !0"
_START = {"sum": 0.0, "max": float("-inf"), "min": float("inf")}


class Strips(Kernel):
    """A kernel over rows that lie across memory."""

    in_rows = True
    along: list[bool]

    def module(self, program: Program) -> str:
        return strip_module(self.name, Row(program, self.along), self.cost)

    def options(self) -> str:
        return f"{super().options()} along {self.along}"


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
    e = Emitter()
    for function in ("ptr @malloc(i64)", "void @free(ptr)", "void @clew_run(ptr, ptr, i64, i64)"):
        e.declare(function)
    for which in ("smax", "smin"):
        e.declare(f"i64 @llvm.{which}.i64(i64, i64)")
    strip = _Strip(e, row)
    strip.emit()
    _pieces(e, strip)
    _entry(e, name, strip, cost)
    finish(e)
    return e.text()


class _Strip:
    """`strip(context, outer, begin, end)`: the rows from begin to end of one of the matrices."""

    def __init__(self, e: Emitter, row: Row) -> None:
        self.e, self.row = e, row
        self.count = len(row.dtypes)
        # The context: pointers, outer steps, core steps in NumPy's order, n, k, strips in a matrix.
        self.places = [
            (arg, dim) for arg in range(self.count) for dim in ("nk" if row.along[arg] else "k")
        ]
        self.sizes = 2 * self.count + len(self.places)
        self.words = self.sizes + 3
        self.steps: dict[tuple[int, str], str] = {}
        self.pointers: list[str] = []
        # Short arrays with a number for every row: of sums also what is needed on the way.
        self.numbers: dict[int, str] = {}
        self.partial: dict[int, tuple[str, str]] = {}
        # Kept values: in memory of their own, or where an output will be that comes later.
        self.buffers: dict[int, str] = {}
        self.lent = self.outputs_to_lend()
        self.n = self.width = ""
        self.dense = True

    def emit(self) -> None:
        e, row = self.e, self.row
        e.lines.append(
            "define internal void @strip(ptr %context, i64 %outer, i64 %begin, i64 %end) #0 {"
        )
        self.steps = {
            place: context_word(e, 2 * self.count + k, "i64") for k, place in enumerate(self.places)
        }
        self.n = context_word(e, self.sizes, "i64")
        self.width = e.value("sub i64 %end, %begin")
        self.pointers = [self.first(arg) for arg in range(self.count)]
        for expr in row.order:
            if not row.varies[id(expr)] and expr.op != "const":
                self.numbers[id(expr)] = self.array(expr.dtype)
            if expr.op == "reduce" and expr.value == "sum":
                self.partial[id(expr)] = self.array(expr.dtype), self.array(expr.dtype)
            if expr.op == "keep" and row.varies[id(expr)] and id(expr) not in self.lent:
                size = e.value(f"mul i64 {self.n}, {STRIP * ITEMSIZE[expr.dtype]}")
                self.buffers[id(expr)] = e.value(f"call ptr @malloc(i64 {size})")
        dense = "true"
        for (arg, dim), step in self.steps.items():
            if dim == "k":
                same = e.value(f"icmp eq i64 {step}, {ITEMSIZE[row.dtypes[arg]]}")
                dense = e.value(f"and i1 {dense}, {same}")
        e.line(f"br i1 {dense}, label %dense, label %apart")
        for label in ("dense", "apart"):
            e.label(label)
            self.dense = label == "dense"
            self.passes()
            for buffer in self.buffers.values():
                e.line(f"call void @free(ptr {buffer})")
            e.line("ret void")
        e.lines.append("}")

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

    def first(self, arg: int) -> str:
        """Where the strip begins in one of the arrays."""
        e = self.e
        base, outer = context_word(e, arg, "ptr"), context_word(e, self.count + arg, "i64")
        offset = e.value(f"mul i64 %outer, {outer}")
        along = e.value(f"mul i64 %begin, {self.steps[arg, 'k']}")
        total = e.value(f"add i64 {offset}, {along}")
        return e.value(f"getelementptr inbounds i8, ptr {base}, i64 {total}")

    def array(self, dtype: str) -> str:
        return self.e.value(f"alloca {MEMORY_TYPE[dtype]}, i64 {STRIP}, align 64")

    def over_rows(self) -> Loop:
        return Loop(self.e, "0", self.width, parallel=True)

    def passes(self) -> None:
        done: set[int] = set()
        for level in range(self.row.last + 1):
            self.between(level, done)
            self.one_pass(level)
        self.between(self.row.last + 1, done)
        rows = self.over_rows()
        for number, root in enumerate(self.row.roots, len(self.row.inputs)):
            if not self.row.varies[id(root)]:
                place = self.place(number, self.pointers[number], rows.i)
                self.e.store(self.row.dtypes[number], self.number(root, rows.i), place, _GROUP)
        rows.close()

    # -- numbers for whole rows ------------------------------------------------------------------

    def at(self, memory: str, dtype: str, j: str) -> str:
        return self.e.value(f"getelementptr inbounds {MEMORY_TYPE[dtype]}, ptr {memory}, i64 {j}")

    def number(self, expr: Expr, j: str) -> str:
        if expr.op == "const":
            return literal(expr.value, expr.dtype)
        return self.e.load(expr.dtype, self.at(self.numbers[id(expr)], expr.dtype, j), _GROUP)

    def between(self, level: int, done: set[int]) -> None:
        """What is one number for a row and can be known before pass `level`."""
        row, e = self.row, self.e
        fresh = [
            expr for expr in row.order
            if id(expr) in self.numbers and id(expr) not in done and row.level[id(expr)] <= level
        ]  # fmt: skip
        done.update(map(id, fresh))
        fresh = [expr for expr in fresh if expr.op != "reduce"]
        if not fresh:
            return
        rows = self.over_rows()
        for expr in fresh:
            if expr.op == "input":
                place = self.place(expr.value, self.pointers[expr.value], rows.i)
                value = e.load(row.inputs[expr.value], place, _GROUP)
            elif expr.op == "size":
                value = e.value(f"sitofp i64 {self.n} to {LLVM_TYPE[expr.dtype]}")
            else:
                args = [self.number(arg, rows.i) for arg in expr.args]
                value = args[0] if expr.op == "keep" else e.operation(expr, args)
            goal = self.at(self.numbers[id(expr)], expr.dtype, rows.i)
            e.store(expr.dtype, value, goal, _GROUP)
        rows.close()

    # -- passes ----------------------------------------------------------------------------------

    def one_pass(self, level: int) -> None:
        e, reductions = self.e, self.row.reductions(level)
        sums = [each for each in reductions if each.value == "sum"]
        rows = self.over_rows()
        for each in reductions:
            start = literal(_START[each.value], each.dtype)
            for memory in (self.numbers[id(each)], *self.partial.get(id(each), ())):
                e.store(each.dtype, start, self.at(memory, each.dtype, rows.i), _GROUP)
        rows.close()
        block = Loop(e, "0", self.n, by=BLOCK)
        stop = e.value(f"add i64 {block.i}, {BLOCK}")
        last = e.value(f"call i64 @llvm.smin.i64(i64 {stop}, i64 {self.n})")
        element = Loop(e, block.i, last)
        self.elements(level, element.i, reductions)
        element.close()
        if sums:
            rows = self.over_rows()
            for each in sums:
                self.end_block(each, rows.i)
            rows.close()
        block.close()
        if sums:
            rows = self.over_rows()
            for each in sums:
                total = self.at(self.numbers[id(each)], each.dtype, rows.i)
                lost = self.at(self.partial[id(each)][1], each.dtype, rows.i)
                parts = [e.load(each.dtype, place, _GROUP) for place in (total, lost)]
                e.store(each.dtype, e.arithmetic("fadd", each.dtype, *parts), total, _GROUP)
            rows.close()

    def end_block(self, each: Expr, j: str) -> None:
        """Add the block's sum to the total, and keep the error of this addition."""
        e, dtype = self.e, each.dtype
        memories = (self.numbers[id(each)], self.partial[id(each)][1], self.partial[id(each)][0])
        places = [self.at(memory, dtype, j) for memory in memories]
        total, lost, block = (e.load(dtype, place, _GROUP) for place in places)
        results = (*e.compensated(dtype, total, lost, block), literal(0.0, dtype))
        for value, place in zip(results, places, strict=True):
            e.store(dtype, value, place, _GROUP)

    def elements(self, level: int, i: str, reductions: list[Expr]) -> None:
        """The i-th element of every row."""
        e, row = self.e, self.row
        bases = {}
        for arg in range(self.count):
            if row.along[arg]:
                offset = e.value(f"mul i64 {i}, {self.steps[arg, 'n']}")
                start = self.pointers[arg]
                bases[arg] = e.value(f"getelementptr inbounds i8, ptr {start}, i64 {offset}")
        kept = e.value(f"mul i64 {i}, {STRIP}")
        rows = self.over_rows()
        j = rows.i
        values: dict[int, str] = {}
        for expr in row.needed(level):
            for operand in expr.args:
                if not row.varies[id(operand)] and id(operand) not in values:
                    values[id(operand)] = self.number(operand, j)
            values[id(expr)] = self.element(expr, level, i, j, kept, bases, values)
        for number, root in enumerate(row.roots, len(row.inputs)):
            if row.varies[id(root)] and row.level[id(root)] == level:
                place = self.place(number, bases[number], j)
                e.store(row.dtypes[number], values[id(root)], place, _GROUP)
        for each in reductions:
            self.reduce(each, j, values[id(each.args[0])])
        rows.close()

    def element(
        self, expr: Expr, level: int, i: str, j: str, kept: str, bases: dict[int, str],
        values: dict[int, str],
    ) -> str:  # fmt: skip
        e = self.e
        if expr.op == "input":
            place = self.place(expr.value, bases[expr.value], j)
            return e.load(self.row.inputs[expr.value], place, _GROUP)
        if expr.op == "index":
            return e.value(f"trunc i64 {i} to i32") if expr.dtype == I32 else i
        if expr.op == "keep":
            if id(expr) in self.lent:
                number = self.lent[id(expr)]
                place = self.place(number, bases[number], j)
            else:
                where = e.value(f"add i64 {kept}, {j}")
                place = self.at(self.buffers[id(expr)], expr.dtype, where)
            if self.row.level[id(expr)] < level:
                return e.load(expr.dtype, place, _GROUP)
            value = values[id(expr.args[0])]
            e.store(expr.dtype, value, place, _GROUP)
            return value
        return e.operation(expr, [values[id(arg)] for arg in expr.args])

    def reduce(self, each: Expr, j: str, item: str) -> None:
        e, dtype = self.e, each.dtype
        memory = self.partial[id(each)][0] if each.value == "sum" else self.numbers[id(each)]
        place = self.at(memory, dtype, j)
        so_far = e.load(dtype, place, _GROUP)
        if each.value == "sum":
            value = e.arithmetic("fadd", dtype, so_far, item)
        else:
            value = e.call({"max": "maximum", "min": "minimum"}[each.value], dtype, [so_far, item])
        e.store(dtype, value, place, _GROUP)

    def place(self, arg: int, base: str, j: str) -> str:
        e = self.e
        if self.dense:
            return self.at(base, self.row.dtypes[arg], j)
        offset = e.value(f"mul i64 {j}, {self.steps[arg, 'k']}")
        return e.value(f"getelementptr inbounds i8, ptr {base}, i64 {offset}")


def _pieces(e: Emitter, strip: _Strip) -> None:
    """`body(context, begin, end)`: some strips, counted through all the matrices."""
    e.lines.append("define internal void @body(ptr %context, i64 %begin, i64 %end) {")
    k, strips = (context_word(e, strip.sizes + place, "i64") for place in (1, 2))
    piece = Loop(e, "%begin", "%end")
    outer = e.value(f"sdiv i64 {piece.i}, {strips}")
    begin = e.value(f"mul i64 {e.value(f'srem i64 {piece.i}, {strips}')}, {STRIP}")
    stop = e.value(f"add i64 {begin}, {STRIP}")
    end = e.value(f"call i64 @llvm.smin.i64(i64 {stop}, i64 {k})")
    e.line(f"call void @strip(ptr %context, i64 {outer}, i64 {begin}, i64 {end})")
    piece.close()
    e.line("ret void")
    e.lines.append("}")


def _entry(e: Emitter, name: str, strip: _Strip, cost: int) -> None:
    """The function with a ufunc loop's signature: all strips of all matrices are one job."""
    e.lines.append(f"define void @{name}({LOOP_SIGNATURE}) {{")
    e.line(f"%context = alloca i64, i64 {strip.words}, align 8")

    def word(source: str, index: int) -> str:
        return e.value(f"load i64, ptr {e.value(f'getelementptr i64, ptr %{source}, i64 {index}')}")

    n, k = word("dims", 1), word("dims", 2)
    strips = e.value(f"udiv i64 {e.value(f'add i64 {k}, {STRIP - 1}')}, {STRIP}")
    words = [word("args", arg) for arg in range(strip.count)]
    words += [word("steps", place) for place in range(strip.count + len(strip.places))]
    for index, value in enumerate([*words, n, k, strips]):
        place = e.value(f"getelementptr i64, ptr %context, i64 {index}")
        e.line(f"store i64 {value}, ptr {place}")
    total = e.value(f"mul i64 {word('dims', 0)}, {strips}")
    work = e.value(f"mul i64 {e.value(f'call i64 @llvm.smax.i64(i64 {n}, i64 1)')}, {STRIP * cost}")
    together = e.value(f"udiv i64 {GRAIN}, {work}")
    grain = e.value(f"call i64 @llvm.smax.i64(i64 {together}, i64 1)")
    e.line(f"call void @clew_run(ptr @body, ptr %context, i64 {total}, i64 {grain})")
    e.line("ret void")
    e.lines.append("}")
