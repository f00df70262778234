"""Attention without a mask as generalized ufuncs: one head after another, in blocks of queries.

A block's scores stay in the cache, between products (product.py) and kernels over their rows, which
are given by name. What is kept of a row is the logarithm of its normaliser.
"""

from __future__ import annotations

from typing import Any

from clew.kernels.native import jit
from clew.kernels.native.code import Code
from clew.kernels.native.emitter import Emitter
from clew.kernels.native.ir import F32, F64
from clew.kernels.native.loops import finish
from clew.kernels.native.product import MULTIPLY_PARAMETERS, provide_multiply
from clew.kernels.native.ufunc import Kernel, Rows

# Queries in a block.
ROWS = 64

FORWARD = "(t,d),(s,d),(s,e),()->(t,e),(t)"
BACKWARD = "(t,e),(t,d),(s,d),(s,e),(t,e),(t),()->(t,d),(s,d),(s,e)"

# The operands, each with its core dimensions, in the order of the signatures.
_FORWARD_OPERANDS = {
    "q": "td", "k": "sd", "v": "se", "scale": "", "out": "te", "normaliser": "t",
}  # fmt: skip
_BACKWARD_OPERANDS = {
    "g": "te", "q": "td", "k": "sd", "v": "se", "out": "te", "normaliser": "t", "scale": "",
    "of_q": "td", "of_k": "sd", "of_v": "se",
}  # fmt: skip

Matrix = tuple[str, str, str]


def _fields(operands: dict[str, str]) -> tuple[str, ...]:
    """The words of the context, in the order in which a ufunc's loop is given them."""
    steps = [f"{name}_{each}" for name, dims in operands.items() for each in dims]
    return (
        *(f"*{name}" for name in operands), *(f"{name}_next" for name in operands), *steps,
        *_sizes(operands),
    )  # fmt: skip


def _sizes(operands: dict[str, str]) -> list[str]:
    return list(dict.fromkeys("".join(operands.values())))


class _Attention(Code):
    """What forward and backward have in common."""

    def __init__(self, e: Emitter, llvm: str, operands: dict[str, str], is_causal: bool) -> None:
        super().__init__(e, llvm)
        self.operands, self.is_causal = operands, is_causal
        self.f: dict[str, str] = {}

    def matrix(self, name: str, row: str = "0") -> Matrix:
        """An operand of one head, from a row on, with the distances of its rows and columns."""
        down, across = (self.f[f"{name}_{each}"] for each in self.operands[name])
        start = self.past(self.f[name], self.mul("%head", self.f[f"{name}_next"]))
        return self.past(start, self.mul(row, down)), down, across

    def scratch(self, columns: str) -> Matrix:
        """Memory for the rows of a block."""
        down = self.mul(columns, str(self.item))
        return self.buffer(self.mul(str(ROWS), columns)), down, str(self.item)

    def turned(self, matrix: Matrix) -> Matrix:
        return matrix[0], matrix[2], matrix[1]

    def element(self, matrix: Matrix, row: str, column: str) -> str:
        """The address of a number."""
        start, down, across = matrix
        return self.past(start, self.add(self.mul(row, down), self.mul(column, across)))

    def times(self, factor: str, place: str) -> None:
        """Multiply a number in memory."""
        self.store(self.e.value(f"fmul {self.llvm} {self.load(place)}, {factor}"), place)

    def multiply(
        self, a: Matrix, b: Matrix, c: Matrix, m: str, n: str, k: str, more: str = "0"
    ) -> None:
        given = [f"ptr {start}, i64 {row}, i64 {column}" for start, row, column in (a, b, c)]
        sizes = f"i64 {m}, i64 {n}, i64 {k}, i64 {more}"
        self.e.line(f"call void @clew_multiply_{self.llvm}({', '.join(given)}, {sizes})")

    def visible(self, first: str, rows: str) -> tuple[str, str]:
        """The most keys that a row of a block sees, and (in memory) how many each of them does."""
        f = self.f
        keys = self.least(f["s"], self.add(first, rows)) if self.is_causal else f["s"]
        with self.loop("0", rows) as row:
            count = self.least(keys, self.add(first, row, "1")) if self.is_causal else keys
            self.put(self.e.value(f"getelementptr i64, ptr %counts, i64 {row}"), count)
        return keys, "%counts"

    def scaled_queries(self, first: str, rows: str, scaled: Matrix) -> None:
        queries = self.matrix("q", first)
        factor = self.load(self.past(self.f["scale"], self.mul("%head", self.f["scale_next"])))
        with self.loop("0", rows) as row, self.loop("0", self.f["d"]) as column:
            number = self.load(self.element(queries, row, column))
            product = self.e.value(f"fmul {self.llvm} {number}, {factor}")
            self.store(product, self.element(scaled, row, column))

    def over_rows(self, name: str, rows: str, keys: str, operands: list[tuple[str, ...]]) -> None:
        """Call a kernel over rows as NumPy would: pointers, sizes, steps from row to row, and
        those along rows."""
        along = [operand for operand in operands if len(operand) > 2]
        words = {
            "args": [operand[0] for operand in operands],
            "dims": [rows, keys],
            "steps": [operand[1] for operand in operands] + [operand[2] for operand in along],
        }
        for array, values in words.items():
            for index, value in enumerate(values):
                place = self.e.value(f"getelementptr i64, ptr %row_{array}, i64 {index}")
                self.put(place, value, "ptr" if array == "args" else "i64")
        self.e.line(f"call void @{name}(ptr %row_args, ptr %row_dims, ptr %row_steps, ptr null)")

    def begin(self) -> None:
        """Places for what kernels over rows are given; in the first block of the function."""
        self.e.line(f"%counts = alloca i64, i64 {ROWS}, align 8")
        for array, size in (("args", 8), ("dims", 2), ("steps", 16)):
            self.e.line(f"%row_{array} = alloca i64, i64 {size}, align 8")
        self.f = self.context(*_fields(self.operands))


class _Forward(_Attention):
    def emit(self, weights: str) -> None:
        head = "internal void @head(ptr %context, i64 %head, i64 %first)"
        with self.function(head):
            self.begin()
            self.block(weights)
        with self.function("internal void @body(ptr %context, i64 %begin, i64 %end)"):
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
        self.scaled_queries("%first", rows, scaled)
        self.multiply(scaled, self.turned(self.matrix("k")), scores, rows, keys, f["d"])
        normaliser = self.past(f["normaliser"], self.mul("%head", f["normaliser_next"]))
        normaliser = self.past(normaliser, self.mul("%first", f["normaliser_t"]))
        self.over_rows(
            weights, rows, keys,
            [scores, (counts, "8"), scores, (shares, item), (normaliser, f["normaliser_t"])],
        )  # fmt: skip
        out = self.matrix("out", "%first")
        self.multiply(scores, self.matrix("v"), out, rows, f["e"], keys)
        with self.loop("0", rows) as row:
            share = self.load(self.at(shares, row))
            with self.loop("0", f["e"]) as column:
                self.times(share, self.element(out, row, column))
        for buffer in (scores[0], scaled[0], shares):
            self.release(buffer)


class _Backward(_Attention):
    def emit(self, gradient: str) -> None:
        with self.function("internal void @head(ptr %context, i64 %head)"):
            self.begin()
            self.whole(gradient)
        with (
            self.function("internal void @body(ptr %context, i64 %begin, i64 %end)"),
            self.loop("%begin", "%end") as head,
        ):
            self.e.line(f"call void @head(ptr %context, i64 {head})")

    def whole(self, gradient: str) -> None:
        f = self.f
        buffers = [self.scratch(f["s"]), self.scratch(f["s"]), self.scratch(f["d"])]
        along = self.buffer(str(ROWS))
        for name in ("of_k", "of_v"):
            self.clear(self.matrix(name), f["s"], f["d" if name == "of_k" else "e"])
        with self.loop("0", f["t"], by=ROWS) as first:
            self.block(gradient, first, buffers, along)
        for buffer in (*(each[0] for each in buffers), along):
            self.release(buffer)

    def clear(self, matrix: Matrix, rows: str, columns: str) -> None:
        with self.loop("0", rows) as row, self.loop("0", columns) as column:
            self.store("0.0", self.element(matrix, row, column))

    def block(self, gradient: str, first: str, buffers: list[Matrix], along: str) -> None:
        f, item = self.f, str(self.item)
        scores, of_weights, scaled = buffers
        rows = self.least(str(ROWS), self.sub(f["t"], first))
        keys, counts = self.visible(first, rows)
        g, k, v = self.matrix("g", first), self.matrix("k"), self.matrix("v")
        self.scaled_queries(first, rows, scaled)
        self.multiply(scaled, self.turned(k), scores, rows, keys, f["d"])
        self.multiply(g, self.turned(v), of_weights, rows, keys, f["e"])
        self.dots(g, self.matrix("out", first), rows, along)
        normaliser = self.past(f["normaliser"], self.mul("%head", f["normaliser_next"]))
        normaliser = self.past(normaliser, self.mul(first, f["normaliser_t"]))
        self.over_rows(
            gradient, rows, keys,
            [scores, of_weights, (normaliser, f["normaliser_t"]), (along, item), (counts, "8"),
             scores, of_weights],
        )  # fmt: skip
        of_q = self.matrix("of_q", first)
        self.multiply(of_weights, k, of_q, rows, f["d"], keys)
        self.scale(of_q, rows)
        of_scores, weights = self.turned(of_weights), self.turned(scores)
        self.multiply(of_scores, scaled, self.matrix("of_k"), keys, f["d"], rows, more="1")
        self.multiply(weights, g, self.matrix("of_v"), keys, f["e"], rows, more="1")

    def dots(self, a: Matrix, b: Matrix, rows: str, to: str) -> None:
        """The products of corresponding rows."""
        with self.loop("0", rows) as row:
            place = self.at(to, row)
            self.store("0.0", place)
            with self.loop("0", self.f["e"]) as column:
                numbers = [self.load(self.element(each, row, column)) for each in (a, b)]
                product = self.e.value(f"fmul {self.llvm} {numbers[0]}, {numbers[1]}")
                total = self.e.value(f"fadd {self.llvm} {self.load(place)}, {product}")
                self.store(total, place)

    def scale(self, matrix: Matrix, rows: str) -> None:
        factor = self.load(self.past(self.f["scale"], self.mul("%head", self.f["scale_next"])))
        with self.loop("0", rows) as row, self.loop("0", self.f["d"]) as column:
            self.times(factor, self.element(matrix, row, column))


class Attention(Kernel):
    """The ufunc of attention, or of its gradients; `rows` is the kernel over rows of scores."""

    def __init__(self, name: str, rows: Rows, is_causal: bool, backward: bool) -> None:
        self.rows, self.is_causal = rows, is_causal
        self.kind: type[Any] = _Backward if backward else _Forward
        self.operands = _BACKWARD_OPERANDS if backward else _FORWARD_OPERANDS
        core = BACKWARD if backward else FORWARD
        inputs, outputs = (side.count("(") for side in core.split("->"))
        types = [([t] * inputs, [t] * outputs) for t in (F32, F64)]
        super().__init__(name, self.kind, types, core)

    def compile(self, index: int) -> int:
        machine, llvm = jit.machine(), ("float", "double")[index]
        provide_multiply(llvm)
        rows = f"clew_{self.rows.name}_{llvm}"
        machine.provide(rows, self.rows.compile(index))
        code = machine.compiled(f"{self.name} {llvm}", lambda: self.text(llvm, rows))
        return machine.load(code, self.name)[0]

    def text(self, llvm: str, rows: str) -> str:
        e = Emitter()
        code: Any = self.kind(e, llvm, self.operands, self.is_causal)
        types = ", ".join(each.split()[0] for each in MULTIPLY_PARAMETERS.split(", "))
        e.declare(f"void @clew_multiply_{llvm}({types})")
        e.declare(f"void @{rows}(ptr, ptr, ptr, ptr)")
        e.declare("void @clew_run(ptr, ptr, i64, i64)")
        code.emit(rows)
        self.entry(code)
        finish(e)
        return e.text()

    def entry(self, c: Code) -> None:
        """The loop of the ufunc: the heads, or their blocks of queries, for the team."""
        count, steps = len(self.operands), sum(map(len, self.operands.values()))
        words = [("args", i) for i in range(count)]
        words += [("steps", i) for i in range(count + steps)]
        words += [("dims", 1 + i) for i in range(len(_sizes(self.operands)))]
        with c.function(f"void @{self.name}(ptr %args, ptr %dims, ptr %steps, ptr %data)"):
            context = c.e.value(f"alloca i64, i64 {len(words)}, align 8")
            for place, (source, index) in enumerate(words):
                word = c.get(c.e.value(f"getelementptr i64, ptr %{source}, i64 {index}"))
                c.put(c.e.value(f"getelementptr i64, ptr {context}, i64 {place}"), word)
            total = c.get("%dims")
            if self.kind is _Forward:
                queries = self.operands_size(c, "t")
                total = c.mul(total, c.pieces(queries, str(ROWS)))
            c.e.line(f"call void @clew_run(ptr @body, ptr {context}, i64 {total}, i64 1)")

    def operands_size(self, c: Code, name: str) -> str:
        index = 1 + _sizes(self.operands).index(name)
        return c.get(c.e.value(f"getelementptr i64, ptr %dims, i64 {index}"))
