"""Loops that sum an expression over the rows of matrices, for all columns at once.

Each thread has columns of its own and goes through all rows, so that nothing is shared and the
order of additions does not depend on the number of threads. Rows are summed in blocks; the sums of
blocks are added up with the errors of these additions kept, so that long sums stay accurate.
"""

from __future__ import annotations

from collections.abc import Callable

from clew.kernels.codegen.emitter import LLVM_TYPE, MEMORY_TYPE, Emitter
from clew.kernels.codegen.ir import COMPUTED_IN, Expr, Program, postorder
from clew.kernels.codegen.loops import GRAIN, LOOP_SIGNATURE, Loop, context_word, finish, word_of
from clew.kernels.codegen.strided_rows import entry_for_any
from clew.kernels.codegen.vectors import lanes_for, over_vectors

ROWS_PER_BLOCK, ROWS_TOGETHER = 32, 4
# A piece of work has an eighth of the columns, but so many at least and at most: fewer are too
# short for vectors, and the sums of more would not stay in the nearest cache.
FEWEST_COLUMNS, MOST_COLUMNS = 64, 512


def column_module(name: str, program: Program, shapes: list[str]) -> str:
    """The module; `shapes` says of each input whether it has rows ("m"), columns ("n"), or both."""
    e = Emitter()
    e.declare("void @clew_parallel_for(ptr, ptr, i64, i64)")
    for which in ("smax", "smin"):
        e.declare(f"i64 @llvm.{which}.i64(i64, i64)")
    body = _Body(e, program, shapes)
    body.emit()
    _pieces(e, body)
    _entry(e, "dense", body)
    cores = [*shapes, *["n"] * len(program.roots)]
    entry_for_any(e, name, "dense", len(shapes), body.dtypes, cores)
    finish(e)
    return e.text()


class _Body:
    """`piece(context, outer, begin, end)`: columns from begin to end of one of the matrices."""

    def __init__(self, e: Emitter, program: Program, shapes: list[str]) -> None:
        self.e, self.inputs, self.roots, self.shapes = e, program.inputs, program.roots, shapes
        self.dtypes = program.dtypes
        self.count = len(self.dtypes)
        self.lanes = lanes_for(self.dtypes)
        # The context: pointers, the steps of the outer dimension, those of each core dimension in
        # NumPy's order, m, n, the columns of a piece, and the pieces of a matrix.
        self.places: list[tuple[int, str]] = []
        for arg, shape in enumerate([*shapes, *["n"] * len(self.roots)]):
            self.places += [(arg, dim) for dim in shape]
        self.sizes = 2 * self.count + len(self.places)
        self.words = self.sizes + 4
        self.pointers: list[str] = []
        self.steps: dict[tuple[int, str], str] = {}

    def emit(self) -> None:
        e = self.e
        e.lines.append(
            "define internal void @piece(ptr %context, i64 %outer, i64 %begin, i64 %end) #0 {"
        )
        self.pointers = []
        for arg in range(self.count):
            first = context_word(e, arg, "ptr")
            step = context_word(e, self.count + arg, "i64")
            offset = e.value(f"mul i64 %outer, {step}")
            self.pointers.append(e.value(f"getelementptr inbounds i8, ptr {first}, i64 {offset}"))
        self.steps = {
            place: context_word(e, 2 * self.count + k, "i64") for k, place in enumerate(self.places)
        }
        m = context_word(e, self.sizes, "i64")
        self.piece(m, [_Sums(e, root) for root in self.roots])
        e.line("ret void")
        e.lines.append("}")

    def over_columns(self, *bodies: Callable[[str], None]) -> None:
        def turn(j: str, _: list[str]) -> list[str]:
            for body in bodies:
                body(j)
            return []

        over_vectors(self.e, ("%begin", "%end"), self.lanes, 1, turn)

    def column(self, arg: int, base: str, j: str) -> str:
        memory = MEMORY_TYPE[self.dtypes[arg]]
        return self.e.value(f"getelementptr inbounds {memory}, ptr {base}, i64 {j}")

    def piece(self, m: str, sums: list[_Sums]) -> None:
        """out[j] = sum over blocks of (sum over the block's rows), for the piece's columns."""
        e = self.e
        self.over_columns(*(each.clear for each in sums))
        block = Loop(e, "0", m, by=ROWS_PER_BLOCK)
        stop = e.value(f"add i64 {block.i}, {ROWS_PER_BLOCK}")
        over = e.value(f"icmp sgt i64 {stop}, {m}")
        last = e.value(f"select i1 {over}, i64 {m}, i64 {stop}")
        together = e.value(f"sub i64 {last}, {ROWS_TOGETHER - 1}")
        row = Loop(e, block.i, together, by=ROWS_TOGETHER)
        following = [e.value(f"add i64 {row.i}, {k}") for k in range(1, ROWS_TOGETHER)]
        self.add_rows([row.i, *following], sums)
        row.close()
        count = e.value(f"sub i64 {last}, {block.i}")
        rest = e.value(f"and i64 {count}, {ROWS_TOGETHER - 1}")
        row = Loop(e, e.value(f"sub i64 {last}, {rest}"), last)
        self.add_rows([row.i], sums)
        row.close()
        self.over_columns(*(each.end_block for each in sums))
        block.close()
        self.over_columns(lambda j: self.store(sums, j))

    def store(self, sums: list[_Sums], j: str) -> None:
        for arg, each in enumerate(sums, len(self.inputs)):
            place = self.column(arg, self.pointers[arg], j)
            self.e.store(self.dtypes[arg], each.result(j), place)

    def add_rows(self, rows: list[str], sums: list[_Sums]) -> None:
        """Add rows to the block's sums, first to each other: what is read and written is less."""
        operands = [self.row_operands(row) for row in rows]

        def add(j: str) -> None:
            values = [self.row_values(bases, whole, j) for bases, whole in operands]
            for number, each in enumerate(sums):
                terms = [of_row[number] for of_row in values]
                while len(terms) > 1:
                    pairs = zip(terms[::2], terms[1::2], strict=True)
                    terms = [self.e.arithmetic("fadd", each.dtype, a, b) for a, b in pairs]
                each.add(j, terms[0])

        self.over_columns(add)

    def row_operands(self, r: str) -> tuple[dict[int, str], dict[int, str]]:
        """Where a row of each input begins, and the value of those with one for the whole row."""
        e = self.e
        bases, whole = {}, {}
        for arg, shape in enumerate(self.shapes):
            base = self.pointers[arg]
            if "m" in shape:
                offset = e.value(f"mul i64 {r}, {self.steps[arg, 'm']}")
                base = e.value(f"getelementptr inbounds i8, ptr {base}, i64 {offset}")
            bases[arg] = base
            if "n" not in shape:
                value = e.load(self.inputs[arg], base)
                e.lanes = self.lanes
                whole[arg] = e.spread(COMPUTED_IN.get(self.inputs[arg], self.inputs[arg]), value)
                e.lanes = 0
        return bases, whole

    def row_values(self, bases: dict[int, str], whole: dict[int, str], j: str) -> list[str]:
        """What is to be added of one row, in column j."""
        e = self.e
        values: dict[int, str] = {}
        for expr in postorder(self.roots):
            if expr.op == "input" and expr.value in whole:
                values[id(expr)] = whole[expr.value]
            elif expr.op == "input":
                place = self.column(expr.value, bases[expr.value], j)
                values[id(expr)] = e.load(self.inputs[expr.value], place)
            else:
                values[id(expr)] = e.operation(expr, [values[id(arg)] for arg in expr.args])
        return [values[id(root)] for root in self.roots]


class _Sums:
    """The sums of one root for a piece's columns: of the block, of all blocks, and their errors."""

    def __init__(self, e: Emitter, root: Expr) -> None:
        self.e, self.dtype = e, root.dtype
        self.llvm = LLVM_TYPE[root.dtype]
        self.block, self.total, self.lost = (
            e.value(f"alloca {self.llvm}, i64 {MOST_COLUMNS}, align 64") for _ in range(3)
        )

    def at(self, memory: str, j: str) -> str:
        place = self.e.value(f"sub i64 {j}, %begin")
        return self.e.value(f"getelementptr inbounds {self.llvm}, ptr {memory}, i64 {place}")

    def get(self, memory: str, j: str) -> str:
        return self.e.load(self.dtype, self.at(memory, j))

    def put(self, memory: str, j: str, value: str) -> None:
        self.e.store(self.dtype, value, self.at(memory, j))

    def clear(self, j: str) -> None:
        for memory in (self.block, self.total, self.lost):
            self.put(memory, j, self.e.constant(0.0, self.dtype))

    def add(self, j: str, value: str) -> None:
        grown = self.e.arithmetic("fadd", self.dtype, self.get(self.block, j), value)
        self.put(self.block, j, grown)

    def end_block(self, j: str) -> None:
        e, dtype = self.e, self.dtype
        total, lost, block = (self.get(each, j) for each in (self.total, self.lost, self.block))
        total, lost = e.compensated(dtype, total, lost, block)
        self.put(self.total, j, total)
        self.put(self.lost, j, lost)
        self.put(self.block, j, e.constant(0.0, dtype))

    def result(self, j: str) -> str:
        total, lost = self.get(self.total, j), self.get(self.lost, j)
        return self.e.arithmetic("fadd", self.dtype, total, lost)


def _pieces(e: Emitter, body: _Body) -> None:
    """`body(context, begin, end)`: some pieces, counted through all the matrices."""
    e.lines.append("define internal void @body(ptr %context, i64 %begin, i64 %end) #1 {")
    n, width, pieces = (context_word(e, body.sizes + k, "i64") for k in (1, 2, 3))
    piece = Loop(e, "%begin", "%end")
    outer = e.value(f"sdiv i64 {piece.i}, {pieces}")
    number = e.value(f"srem i64 {piece.i}, {pieces}")
    begin = e.value(f"mul i64 {number}, {width}")
    stop = e.value(f"add i64 {begin}, {width}")
    end = e.value(f"call i64 @llvm.smin.i64(i64 {stop}, i64 {n})")
    e.line(f"call void @piece(ptr %context, i64 {outer}, i64 {begin}, i64 {end})")
    piece.close()
    e.line("ret void")
    e.lines.append("}")


def _entry(e: Emitter, name: str, body: _Body) -> None:
    """The function with a ufunc loop's signature: all pieces of all matrices are one job."""
    e.lines.append(f"define void @{name}({LOOP_SIGNATURE}) #1 {{")
    e.line(f"%context = alloca i64, i64 {body.words}, align 8")

    def put(value: str, index: int) -> None:
        place = e.value(f"getelementptr i64, ptr %context, i64 {index}")
        e.line(f"store i64 {value}, ptr {place}")

    for arg in range(body.count):
        put(word_of(e, "args", arg), arg)
    for k in range(body.count + len(body.places)):
        put(word_of(e, "steps", k), body.count + k)
    has_rows = any("m" in shape for shape in body.shapes)
    m, n = (
        (word_of(e, "dims", 1), word_of(e, "dims", 2)) if has_rows else ("1", word_of(e, "dims", 1))
    )
    eighth = e.value(f"lshr i64 {n}, 3")
    eighth = e.value(f"and i64 {eighth}, {-FEWEST_COLUMNS}")
    width = e.value(f"call i64 @llvm.smax.i64(i64 {eighth}, i64 {FEWEST_COLUMNS})")
    width = e.value(f"call i64 @llvm.smin.i64(i64 {width}, i64 {MOST_COLUMNS})")
    beyond = e.value(f"add i64 {n}, {e.value(f'sub i64 {width}, 1')}")
    pieces = e.value(f"udiv i64 {beyond}, {width}")
    for k, value in enumerate((m, n, width, pieces)):
        put(value, body.sizes + k)
    total = e.value(f"mul i64 {word_of(e, 'dims', 0)}, {pieces}")
    # Pieces of little work go together, so that handing them out stays cheap.
    work = e.value(f"mul i64 {e.value(f'call i64 @llvm.smax.i64(i64 {m}, i64 1)')}, {width}")
    together = e.value(f"udiv i64 {GRAIN}, {work}")
    grain = e.value(f"call i64 @llvm.smax.i64(i64 {together}, i64 1)")
    e.line(f"call void @clew_parallel_for(ptr @body, ptr %context, i64 {total}, i64 {grain})")
    e.line("ret void")
    e.lines.append("}")
