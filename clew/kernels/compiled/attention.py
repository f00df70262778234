"""Attention without a mask as generalized ufuncs: one head after another, in blocks of queries.

A block's scores stay in the cache, between products (gemm.py) and kernels over their rows, which
are given by name. The scores of a key lie side by side, so that vectors run over queries: rows of
scores are strided (strided_reductions.py). Of a row, the logarithm of its normaliser is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew.kernels.codegen.builder import Code
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.ir import F32, F64
from clew.kernels.codegen.loops import LOOP_SIGNATURE, finish
from clew.kernels.codegen.strided_reductions import across
from clew.kernels.codegen.ufunc import Kernel, Rows
from clew.kernels.codegen.vectors import lanes_for, over_vectors
from clew.kernels.gemm.inline_gemm import Matrix, call_multiply, provide_multiply
from clew.kernels.runtime import jit
from clew.kernels.runtime.optimization_levels import O0

# Queries in a block, and those that the widest vectors have place for: a part of a block's rows.
ROWS = 64
WHOLE = 16

# The operands, each with its dimensions: batch, heads, positions, and the size of a vector. Batch
# and heads are not left to NumPy, which would call the loop again and again for a few heads.
_FORWARD_OPERANDS = {
    "q": "bhtd", "k": "bhsd", "v": "bhse", "scale": "", "out": "bhte", "normaliser": "bht",
}  # fmt: skip
_BACKWARD_OPERANDS = {
    "g": "bhte", "q": "bhtd", "k": "bhsd", "v": "bhse", "out": "bhte", "normaliser": "bht",
    "scale": "", "of_q": "bhtd", "of_k": "bhsd", "of_v": "bhse",
}  # fmt: skip

# What is done with numbers at some places; from sums so far, it makes those that include them.
Numbers = Callable[[list[str], list[str]], list[str]]


def _fields(operands: dict[str, str]) -> tuple[str, ...]:
    """The words of the context, in the order in which a ufunc's loop is given them."""
    steps = [f"{name}_{each}" for name, dims in operands.items() for each in dims]
    return (*(f"*{name}" for name in operands), *steps, *_sizes(operands))


def _sizes(operands: dict[str, str]) -> list[str]:
    return list(dict.fromkeys("".join(operands.values())))


# What functions are given that are about a matrix.
_GIVEN = "ptr %m, i64 %down, i64 %across, i64 %rows, i64 %columns"


class _Attention(Code):
    """What forward and backward have in common.

    Arithmetic is in functions of its own; what calls them and products is compiled in a hurry.
    """

    def __init__(self, e: Emitter, llvm: str, operands: dict[str, str], is_causal: bool) -> None:
        super().__init__(e, llvm)
        self.operands, self.is_causal = operands, is_causal
        self.dtype = F32 if llvm == "float" else F64
        self.f: dict[str, str] = {}

    def matrix(self, name: str, row: str = "0") -> Matrix:
        """An operand of one head, from a row on, with the distances of its rows and columns."""
        down, across = (self.f[f"{name}_{each}"] for each in self.operands[name][2:])
        return self.past(self.head(name), self.mul(row, down)), down, across

    def head(self, name: str) -> str:
        """Where an operand's part for this head begins."""
        steps = (
            self.mul(self.f["in_batch"], self.f[f"{name}_b"]),
            self.mul(self.f["in_heads"], self.f[f"{name}_h"]),
        )
        return self.past(self.f[name], self.add(*steps))

    def scratch(self, columns: str) -> Matrix:
        """Memory for a row of each query of a block, whose first numbers lie side by side."""
        return self.on_side(self.buffer(self.mul(str(ROWS), columns)))

    def on_side(self, memory: str) -> Matrix:
        return memory, str(self.item), str(ROWS * self.item)

    def turned(self, matrix: Matrix) -> Matrix:
        return matrix[0], matrix[2], matrix[1]

    def element(self, matrix: Matrix, row: str, column: str) -> str:
        """The address of a number."""
        start, down, across = matrix
        return self.past(start, self.add(self.mul(row, down), self.mul(column, across)))

    def along_row(
        self, matrices: list[Matrix], row: str, columns: str, do: Numbers, sum_at: str = ""
    ) -> None:
        """Do something with the numbers of a row, given their places: with vectors of them where
        they lie side by side, as usual. A sum that it makes is stored."""
        starts = [self.past(start, self.mul(row, down)) for start, down, _ in matrices]
        dense = "true"
        for _, _, step in matrices:
            dense = self.both(dense, self.compare("eq", step, str(self.item)))

        def turn(column: str, so_far: list[str]) -> list[str]:
            steps = [self.mul(column, step) for _, _, step in matrices]
            places = [self.past(start, step) for start, step in zip(starts, steps, strict=True)]
            return do(places, so_far)

        for lanes, is_meant in ((lanes_for([self.dtype]), dense), (0, self.negated(dense))):
            with self.when(is_meant):
                kind = f"<{lanes} x {self.llvm}>" if lanes else self.llvm
                start = [(kind, "zeroinitializer" if lanes else "0.0")] if sum_at else []
                sums = over_vectors(self.e, ("0", columns), lanes, 1, turn, start)
                if sums:
                    self.store(self.total(sums[0], lanes), sum_at)

    def total(self, sums: str, lanes: int) -> str:
        """The sum of all lanes."""
        if not lanes:
            return sums
        name, vector = f"@llvm.vector.reduce.fadd.v{lanes}{self.dtype}", f"<{lanes} x {self.llvm}>"
        self.e.declare(f"{self.llvm} {name}({self.llvm}, {vector})")
        given = f"{self.llvm} 0.0, {vector} {sums}"
        return self.e.value(f"call reassoc nsz {self.llvm} {name}({given})")

    def scale_row(self, matrix: Matrix, row: str, columns: str, factor: str) -> None:
        e = self.e

        def scale(places: list[str], _: list[str]) -> list[str]:
            numbers, factors = e.load(self.dtype, places[0]), e.spread(self.dtype, factor)
            e.store(self.dtype, e.arithmetic("fmul", self.dtype, numbers, factors), places[0])
            return []

        self.along_row([matrix], row, columns, scale)

    def factor(self) -> str:
        return self.load(self.f["scale"])

    def multiply(
        self, a: Matrix, b: Matrix, c: Matrix, m: str, n: str, k: str, more: str = "0"
    ) -> None:
        call_multiply(self.e, self.llvm, (a, b, c), (m, n, k), more)

    def visible(self, first: str, rows: str) -> tuple[str, str]:
        """The most keys that a row of a block sees, and (in memory) how many each of them does."""
        f = self.f
        keys = self.least(f["s"], self.add(first, rows)) if self.is_causal else f["s"]
        self.e.line(f"call void @count(ptr %counts, i64 {first}, i64 {rows}, i64 {keys})")
        return keys, "%counts"

    def count_function(self) -> None:
        """`count`: how many keys each row of a block sees."""
        head = "internal void @count(ptr %counts, i64 %first, i64 %rows, i64 %keys)"
        with self.function(head), self.loop("0", "%rows") as row:
            seen = self.least("%keys", self.add("%first", row, "1")) if self.is_causal else "%keys"
            short = self.e.value(f"trunc i64 {seen} to i32")
            self.put(self.e.value(f"getelementptr i32, ptr %counts, i64 {row}"), short, "i32")

    def turn_function(self) -> None:
        """`turn`: rows of a block of queries, times a factor, to memory where vectors run over
        queries."""
        matrix, to = ("%m", "%down", "%across"), self.on_side("%to")
        with (
            self.function(f"internal void @turn({_GIVEN}, {self.llvm} %factor, ptr %to)"),
            self.loop("0", "%columns") as column,
        ):
            with self.loop("0", "%rows") as row:
                number = self.load(self.element(matrix, row, column))
                product = self.e.value(f"fmul {self.llvm} {number}, %factor")
                self.store(product, self.element(to, row, column))
            with self.loop("%rows", self.whole_vectors("%rows")) as row:
                self.store("0.0", self.element(to, row, column))

    def call(self, name: str, matrix: Matrix, *more: str) -> None:
        """Call a function that is about a matrix."""
        start, down, across = matrix
        given = ", ".join([f"ptr {start}", f"i64 {down}", f"i64 {across}", *more])
        self.e.line(f"call void @{name}({given})")

    def turn(self, matrix: Matrix, to: Matrix, rows: str, columns: str, factor: str) -> None:
        more = f"i64 {columns}", f"{self.llvm} {factor}", f"ptr {to[0]}"
        self.call("turn", matrix, f"i64 {rows}", *more)

    def whole_vectors(self, rows: str) -> str:
        return self.multiple(rows, str(WHOLE))

    def scores(self, queries: Matrix, keys: str, to: Matrix, rows: str, count: str) -> None:
        """A number for each query and key: the product of their vectors."""
        size = self.f["d" if keys == "k" else "e"]
        width = self.whole_vectors(rows)
        self.multiply(self.matrix(keys), self.turned(queries), self.turned(to), count, width, size)

    def over_rows(self, name: str, rows: str, keys: str, operands: list[tuple[str, ...]]) -> None:
        """Call a kernel over rows of scores as NumPy would; operands are matrices, or one number
        for each row with the distance from one to the next."""
        steps = ["0"] * len(operands)
        for _, down, *along in operands:
            steps += [*along, down]
        words = {
            "args": [operand[0] for operand in operands],
            "dims": ["1", keys, rows],
            "steps": steps,
        }
        for array, values in words.items():
            for index, value in enumerate(values):
                place = self.e.value(f"getelementptr i64, ptr %row_{array}, i64 {index}")
                self.put(place, value, "ptr" if array == "args" else "i64")
        self.e.line(f"call void @{name}(ptr %row_args, ptr %row_dims, ptr %row_steps, ptr null)")

    def begin(self) -> None:
        """Places for what kernels over rows are given; in the first block of the function."""
        self.e.line(f"%counts = alloca i32, i64 {ROWS}, align 8")
        for array, size in (("args", 8), ("dims", 3), ("steps", 24)):
            self.e.line(f"%row_{array} = alloca i64, i64 {size}, align 8")
        self.f = self.context(*_fields(self.operands))
        self.f["in_batch"] = self.quotient("%head", self.f["h"])
        self.f["in_heads"] = self.remainder("%head", self.f["h"])


class _Forward(_Attention):
    def emit(self, weights: str) -> None:
        self.count_function()
        self.turn_function()
        matrix = "%m", "%down", "%across"
        with (
            self.function(f"internal void @scale({_GIVEN}, ptr %factors)"),
            self.loop("0", "%rows") as row,
        ):
            self.scale_row(matrix, row, "%columns", self.load(self.at("%factors", row)))
        head = "internal void @head(ptr %context, i64 %head, i64 %first)"
        with self.function(head, O0):
            self.begin()
            self.block(weights)
        with self.function("internal void @body(ptr %context, i64 %begin, i64 %end)", O0):
            f = self.context(*_fields(self.operands))
            blocks = self.pieces(f["t"], str(ROWS))
            with self.loop("%begin", "%end") as piece:
                first = self.mul(self.remainder(piece, blocks), str(ROWS))
                head = self.quotient(piece, blocks)
                self.e.line(f"call void @head(ptr %context, i64 {head}, i64 {first})")

    def block(self, weights: str) -> None:
        f, item = self.f, str(self.item)
        rows = self.least(str(ROWS), self.sub(f["t"], "%first"))
        scores, scaled = self.scratch(f["s"]), self.scratch(f["d"])
        shares = self.buffer(str(ROWS))
        keys, counts = self.visible("%first", rows)
        self.turn(self.matrix("q", "%first"), scaled, rows, f["d"], self.factor())
        self.scores(scaled, "k", scores, rows, keys)
        normaliser = self.past(self.head("normaliser"), self.mul("%first", f["normaliser_t"]))
        self.over_rows(
            weights, rows, keys,
            [scores, (counts, "4"), scores, (shares, item), (normaliser, f["normaliser_t"])],
        )  # fmt: skip
        out = self.matrix("out", "%first")
        self.multiply(scores, self.matrix("v"), out, rows, f["e"], keys)
        self.call("scale", out, f"i64 {rows}", f"i64 {f['e']}", f"ptr {shares}")
        for buffer in (scores[0], scaled[0], shares):
            self.release(buffer)


class _Backward(_Attention):
    def emit(self, gradient: str) -> None:
        self.functions()
        with self.function("internal void @head(ptr %context, i64 %head)", O0):
            self.begin()
            self.whole(gradient)
        with (
            self.function("internal void @body(ptr %context, i64 %begin, i64 %end)", O0),
            self.loop("%begin", "%end") as head,
        ):
            self.e.line(f"call void @head(ptr %context, i64 {head})")

    def whole(self, gradient: str) -> None:
        f = self.f
        buffers = [self.scratch(f[size]) for size in ("s", "s", "d", "e")]
        along = self.buffer(str(ROWS))
        for name in ("of_k", "of_v"):
            size = f["d" if name == "of_k" else "e"]
            self.call("clear", self.matrix(name), f"i64 {f['s']}", f"i64 {size}")
        with self.loop("0", f["t"], by=ROWS) as first:
            self.block(gradient, first, buffers, along)
        self.scale(self.matrix("of_k"), f["s"])
        for buffer in (*(each[0] for each in buffers), along):
            self.release(buffer)

    def functions(self) -> None:
        """What is done with matrices."""
        e, matrix = self.e, ("%m", "%down", "%across")

        def clear(places: list[str], _: list[str]) -> list[str]:
            e.store(self.dtype, e.constant(0.0, self.dtype), places[0])
            return []

        self.count_function()
        self.turn_function()
        with self.function(f"internal void @clear({_GIVEN})"), self.loop("0", "%rows") as row:
            self.along_row([matrix], row, "%columns", clear)
        with (
            self.function(f"internal void @scale({_GIVEN}, {self.llvm} %factor)"),
            self.loop("0", "%rows") as row,
        ):
            self.scale_row(matrix, row, "%columns", "%factor")
        other = "ptr %other, i64 %other_down, i64 %other_across"
        with (
            self.function(f"internal void @dots({_GIVEN}, {other}, ptr %to)"),
            self.loop("0", "%rows") as row,
        ):
            self.dots_of_row(matrix, ("%other", "%other_down", "%other_across"), row)

    def scale(self, matrix: Matrix, rows: str) -> None:
        factor = f"{self.llvm} {self.factor()}"
        self.call("scale", matrix, f"i64 {rows}", f"i64 {self.f['d']}", factor)

    def block(self, gradient: str, first: str, buffers: list[Matrix], along: str) -> None:
        f, item = self.f, str(self.item)
        scores, of_weights, scaled, turned_g = buffers
        rows = self.least(str(ROWS), self.sub(f["t"], first))
        keys, counts = self.visible(first, rows)
        g, q = self.matrix("g", first), self.matrix("q", first)
        self.turn(q, scaled, rows, f["d"], self.factor())
        self.turn(g, turned_g, rows, f["e"], "1.0")
        self.scores(scaled, "k", scores, rows, keys)
        self.scores(turned_g, "v", of_weights, rows, keys)
        start, down, across = self.matrix("out", first)
        other = f"ptr {start}", f"i64 {down}", f"i64 {across}"
        self.call("dots", g, f"i64 {rows}", f"i64 {f['e']}", *other, f"ptr {along}")
        normaliser = self.past(self.head("normaliser"), self.mul(first, f["normaliser_t"]))
        self.over_rows(
            gradient, rows, keys,
            [scores, of_weights, (normaliser, f["normaliser_t"]), (along, item), (counts, "4"),
             scores, of_weights],
        )  # fmt: skip
        of_q = self.matrix("of_q", first)
        self.multiply(of_weights, self.matrix("k"), of_q, rows, f["d"], keys)
        self.scale(of_q, rows)
        of_scores, weights = self.turned(of_weights), self.turned(scores)
        self.multiply(of_scores, q, self.matrix("of_k"), keys, f["d"], rows, more="1")
        self.multiply(weights, g, self.matrix("of_v"), keys, f["e"], rows, more="1")

    def dots_of_row(self, a: Matrix, b: Matrix, row: str) -> None:
        """The product of corresponding rows."""
        e = self.e

        def multiply(places: list[str], so_far: list[str]) -> list[str]:
            numbers = [e.load(self.dtype, place) for place in places]
            product = e.arithmetic("fmul", self.dtype, *numbers)
            return [e.arithmetic("fadd", self.dtype, so_far[0], product)]

        self.along_row([a, b], row, "%columns", multiply, sum_at=self.at("%to", row))


class Attention(Kernel):
    """The ufunc of attention, or of its gradients; `rows` is the kernel over rows of scores."""

    def __init__(self, name: str, rows: Rows, is_causal: bool, backward: bool) -> None:
        self.across, self.is_causal = across(rows), is_causal
        self.kind: type[Any] = _Backward if backward else _Forward
        self.operands = _BACKWARD_OPERANDS if backward else _FORWARD_OPERANDS
        outputs = 3 if backward else 2
        shapes = [f"({','.join(dims)})" for dims in self.operands.values()]
        core = f"{','.join(shapes[:-outputs])}->{','.join(shapes[-outputs:])}"
        types = [([t] * (len(shapes) - outputs), [t] * outputs) for t in (F32, F64)]
        super().__init__(name, self.kind, types, core)

    def compile(self, index: int) -> int:
        machine, llvm = jit.machine(), ("float", "double")[index]
        provide_multiply(llvm)
        rows = f"clew_{self.across.name}_{llvm}"
        machine.define_symbol(rows, self.across.compile(index))
        key = f"{self.name} all heads {llvm}"
        return machine.function(key, lambda: self.text(llvm, rows), self.name)

    def text(self, llvm: str, rows: str) -> str:
        e = Emitter()
        code: Any = self.kind(e, llvm, self.operands, self.is_causal)
        e.declare(f"void @{rows}(ptr, ptr, ptr, ptr)")
        e.declare("void @clew_parallel_for(ptr, ptr, i64, i64)")
        code.emit(rows)
        self.entry(code)
        finish(e)
        return e.text()

    def entry(self, c: Code) -> None:
        """The loop of the ufunc: the heads, or their blocks of queries, on the thread pool."""
        count, steps = len(self.operands), sum(map(len, self.operands.values()))
        sizes = len(_sizes(self.operands))
        with c.function(f"void @{self.name}({LOOP_SIGNATURE})", O0):
            context = c.e.value(f"alloca i64, i64 {count + steps + sizes}, align 8")
            given = (("%args", 0, count), ("%steps", count, steps), ("%dims", 1, sizes))
            place = 0
            for source, first, words in given:
                target = c.integer_at(context, str(place))
                c.copy_words(target, c.integer_at(source, str(first)), words)
                place += words
            total = c.mul(self.size(c, "b"), self.size(c, "h"))
            if self.kind is _Forward:
                total = c.mul(total, c.pieces(self.size(c, "t"), str(ROWS)))
            c.e.line(f"call void @clew_parallel_for(ptr @body, ptr {context}, i64 {total}, i64 1)")

    def size(self, c: Code, name: str) -> str:
        index = 1 + _sizes(self.operands).index(name)
        return c.get(c.e.value(f"getelementptr i64, ptr %dims, i64 {index}"))
