"""Loops that sum an expression over the rows of matrices, for all columns at once.

Each thread has columns of its own and goes through all rows, so that nothing is shared and the
order of additions does not depend on the number of threads. Rows are summed in blocks; the sums of
blocks are added up with the errors of these additions kept, so that long sums stay accurate.
"""

from __future__ import annotations

from clew.kernels.native.emitter import ITEMSIZE, LLVM_TYPE, MEMORY_TYPE, Emitter, literal
from clew.kernels.native.ir import Expr, Program, postorder
from clew.kernels.native.loops import Loop, context_word, finish

ROWS_PER_BLOCK = 32
COLUMNS_PER_PIECE = 64


def column_module(name: str, program: Program, shapes: list[str]) -> str:
    """The module; `shapes` says of each input whether it has rows ("m"), columns ("n"), or both."""
    e = Emitter()
    e.declare("void @clew_run(ptr, ptr, i64, i64)")
    body = _Body(e, program, shapes)
    body.emit()
    _entry(e, name, body)
    finish(e)
    return e.text()


_GROUP = ", !llvm.access.group !0"


class _Body:
    """`body(context, begin, end)` for the columns from begin to end, at most a piece's."""

    def __init__(self, e: Emitter, program: Program, shapes: list[str]) -> None:
        self.e, self.inputs, self.roots, self.shapes = e, program.inputs, program.roots, shapes
        self.dtypes = program.dtypes
        self.count = len(self.dtypes)
        # The context: pointers, the steps of each core dimension in NumPy's order, m and n.
        self.places: list[tuple[int, str]] = []
        for arg, shape in enumerate([*shapes, *["n"] * len(self.roots)]):
            self.places += [(arg, dim) for dim in shape]
        self.words = self.count + len(self.places) + 2
        self.pointers: list[str] = []
        self.steps: dict[tuple[int, str], str] = {}

    def emit(self) -> None:
        e = self.e
        e.lines.append("define internal void @body(ptr %context, i64 %begin, i64 %end) #0 {")
        self.pointers = [context_word(e, arg, "ptr") for arg in range(self.count)]
        self.steps = {
            place: context_word(e, self.count + k, "i64") for k, place in enumerate(self.places)
        }
        m = context_word(e, self.words - 2, "i64")
        dense = "true"
        for (arg, dim), step in self.steps.items():
            if dim == "n":
                same = e.value(f"icmp eq i64 {step}, {ITEMSIZE[self.dtypes[arg]]}")
                dense = e.value(f"and i1 {dense}, {same}")
        sums = [_Sums(e, root) for root in self.roots]
        e.line(f"br i1 {dense}, label %dense, label %strided")
        for label in ("dense", "strided"):
            e.label(label)
            self.piece(m, sums, label == "dense")
            e.line("ret void")
        e.lines.append("}")

    def over_columns(self) -> Loop:
        return Loop(self.e, "%begin", "%end", parallel=True)

    def column(self, arg: int, base: str, j: str, dense: bool) -> str:
        e = self.e
        if dense:
            memory = MEMORY_TYPE[self.dtypes[arg]]
            return e.value(f"getelementptr inbounds {memory}, ptr {base}, i64 {j}")
        offset = e.value(f"mul i64 {j}, {self.steps[arg, 'n']}")
        return e.value(f"getelementptr inbounds i8, ptr {base}, i64 {offset}")

    def piece(self, m: str, sums: list[_Sums], dense: bool) -> None:
        """out[j] = sum over blocks of (sum over the block's rows), for the piece's columns."""
        e = self.e
        columns = self.over_columns()
        for each in sums:
            each.clear(columns.i)
        columns.close()
        block = Loop(e, "0", m, by=ROWS_PER_BLOCK)
        stop = e.value(f"add i64 {block.i}, {ROWS_PER_BLOCK}")
        over = e.value(f"icmp sgt i64 {stop}, {m}")
        last = e.value(f"select i1 {over}, i64 {m}, i64 {stop}")
        row = Loop(e, block.i, last)
        self.add_row(row.i, sums, dense)
        row.close()
        columns = self.over_columns()
        for each in sums:
            each.end_block(columns.i)
        columns.close()
        block.close()
        columns = self.over_columns()
        for arg, each in enumerate(sums, len(self.inputs)):
            place = self.column(arg, self.pointers[arg], columns.i, dense)
            e.store(self.dtypes[arg], each.result(columns.i), place, _GROUP)
        columns.close()

    def add_row(self, r: str, sums: list[_Sums], dense: bool) -> None:
        e = self.e
        bases, whole = {}, {}
        for arg, shape in enumerate(self.shapes):
            base = self.pointers[arg]
            if "m" in shape:
                offset = e.value(f"mul i64 {r}, {self.steps[arg, 'm']}")
                base = e.value(f"getelementptr inbounds i8, ptr {base}, i64 {offset}")
            bases[arg] = base
            if "n" not in shape:
                whole[arg] = e.load(self.inputs[arg], base)
        columns = self.over_columns()
        values: dict[int, str] = {}
        for expr in postorder(self.roots):
            if expr.op == "input" and expr.value in whole:
                values[id(expr)] = whole[expr.value]
            elif expr.op == "input":
                place = self.column(expr.value, bases[expr.value], columns.i, dense)
                values[id(expr)] = e.load(self.inputs[expr.value], place, _GROUP)
            else:
                values[id(expr)] = e.operation(expr, [values[id(arg)] for arg in expr.args])
        for root, each in zip(self.roots, sums, strict=True):
            each.add(columns.i, values[id(root)])
        columns.close()


class _Sums:
    """The sums of one root for a piece's columns: of the block, of all blocks, and their errors."""

    def __init__(self, e: Emitter, root: Expr) -> None:
        self.e, self.dtype = e, root.dtype
        self.llvm = LLVM_TYPE[root.dtype]
        self.block, self.total, self.lost = (
            e.value(f"alloca {self.llvm}, i64 {COLUMNS_PER_PIECE}, align 64") for _ in range(3)
        )

    def at(self, memory: str, j: str) -> str:
        place = self.e.value(f"sub i64 {j}, %begin")
        return self.e.value(f"getelementptr inbounds {self.llvm}, ptr {memory}, i64 {place}")

    def get(self, memory: str, j: str) -> str:
        return self.e.load(self.dtype, self.at(memory, j), _GROUP)

    def put(self, memory: str, j: str, value: str) -> None:
        self.e.store(self.dtype, value, self.at(memory, j), _GROUP)

    def clear(self, j: str) -> None:
        for memory in (self.block, self.total, self.lost):
            self.put(memory, j, literal(0.0, self.dtype))

    def add(self, j: str, value: str) -> None:
        grown = self.e.arithmetic("fadd", self.dtype, self.get(self.block, j), value)
        self.put(self.block, j, grown)

    def end_block(self, j: str) -> None:
        e, dtype = self.e, self.dtype
        total, lost, block = (self.get(each, j) for each in (self.total, self.lost, self.block))
        total, lost = e.compensated(dtype, total, lost, block)
        self.put(self.total, j, total)
        self.put(self.lost, j, lost)
        self.put(self.block, j, literal(0.0, dtype))

    def result(self, j: str) -> str:
        total, lost = self.get(self.total, j), self.get(self.lost, j)
        return self.e.arithmetic("fadd", self.dtype, total, lost)


def _entry(e: Emitter, name: str, body: _Body) -> None:
    """NumPy's loop over the outer dimensions; each turn is one job for the team."""
    e.lines.append(f"define void @{name}(ptr %args, ptr %dims, ptr %steps, ptr %data) {{")
    e.line(f"%context = alloca i64, i64 {body.words}, align 8")

    def word(source: str, index: int) -> str:
        place = e.value(f"getelementptr i64, ptr %{source}, i64 {index}")
        return e.value(f"load i64, ptr {place}")

    def put(value: str, index: int) -> None:
        place = e.value(f"getelementptr i64, ptr %context, i64 {index}")
        e.line(f"store i64 {value}, ptr {place}")

    for k in range(len(body.places)):
        put(word("steps", body.count + k), body.count + k)
    has_rows = any("m" in shape for shape in body.shapes)
    m, n = (word("dims", 1), word("dims", 2)) if has_rows else ("1", word("dims", 1))
    put(m, body.words - 2)
    put(n, body.words - 1)
    outer = Loop(e, "0", word("dims", 0))
    for arg in range(body.count):
        offset = e.value(f"mul i64 {outer.i}, {word('steps', arg)}")
        put(e.value(f"add i64 {word('args', arg)}, {offset}"), arg)
    e.line(f"call void @clew_run(ptr @body, ptr %context, i64 {n}, i64 {COLUMNS_PER_PIECE})")
    outer.close()
    e.line("ret void")
    e.lines.append("}")
