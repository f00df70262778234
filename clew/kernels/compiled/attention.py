"""Attention without a mask as generalized ufuncs: in blocks of queries, as in FlashAttention.

The scores of a block stay in the cache, between GEMMs and row kernels (softmax and its gradient).
Scores are key-major, so that vectors run across queries: rows of scores are strided
(strided_reductions.py). Of a row, the logarithm of its normaliser is saved for backward.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew.kernels.codegen.builder import BODY, IRBuilder
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.ir import F32, F64
from clew.kernels.codegen.loops import LOOP_SIGNATURE, end_module, run_tasks
from clew.kernels.codegen.ufunc import Kernel, Rows, across
from clew.kernels.codegen.vectors import lanes_for, vector_loop
from clew.kernels.gemm.inline_gemm import Matrix, call_multiply, provide_multiply
from clew.kernels.runtime import jit
from clew.kernels.runtime.optimization_levels import O0

# Queries of a block, and lanes of the widest vector, a multiple of which is computed.
ROWS = 64
LANES = 16

# The operands, each with its dimensions: batch, heads, positions, and head size. Batch and heads
# are core dimensions: NumPy would call the loop again for every few heads.
_FORWARD_OPERANDS = {
    "q": "bhtd", "k": "bhsd", "v": "bhse", "scale": "", "out": "bhte", "normaliser": "bht",
}  # fmt: skip
_BACKWARD_OPERANDS = {
    "g": "bhte", "q": "bhtd", "k": "bhsd", "v": "bhse", "out": "bhte", "normaliser": "bht",
    "scale": "", "grad_q": "bhtd", "grad_k": "bhsd", "grad_v": "bhse",
}  # fmt: skip

# The body of a loop along a row: given addresses and accumulators, it returns the new ones.
RowBody = Callable[[list[str], list[str]], list[str]]


def _fields(operands: dict[str, str]) -> tuple[str, ...]:
    """The words of the context, in the order of a ufunc's arguments."""
    steps = [f"{name}_{each}" for name, dims in operands.items() for each in dims]
    return (*(f"*{name}" for name in operands), *steps, *_sizes(operands))


def _sizes(operands: dict[str, str]) -> list[str]:
    return list(dict.fromkeys("".join(operands.values())))


# A matrix as parameters: its address, row and column strides in bytes, and sizes.
_MATRIX = "ptr %m, i64 %row_stride, i64 %column_stride, i64 %rows, i64 %columns"
_M: Matrix = "%m", "%row_stride", "%column_stride"


class _Attention(IRBuilder):
    """What forward and backward have in common.

    Loops over elements are in functions of their own; what calls them and GEMM is compiled at -O0.
    """

    def __init__(self, e: Emitter, llvm: str, operands: dict[str, str], is_causal: bool) -> None:
        super().__init__(e, llvm)
        self.operands, self.is_causal = operands, is_causal
        self.dtype = F32 if llvm == "float" else F64
        self.f: dict[str, str] = {}

    def matrix(self, name: str, row: str = "0") -> Matrix:
        """An operand of one head, from a row on, with its row and column strides."""
        row_stride, column_stride = (self.f[f"{name}_{each}"] for each in self.operands[name][2:])
        start = self.ptr_add(self.head(name), self.mul(row, row_stride))
        return start, row_stride, column_stride

    def head(self, name: str) -> str:
        """The address of an operand's part for this head."""
        steps = (
            self.mul(self.f["in_batch"], self.f[f"{name}_b"]),
            self.mul(self.f["in_heads"], self.f[f"{name}_h"]),
        )
        return self.ptr_add(self.f[name], self.add(*steps))

    def scratch(self, columns: str) -> Matrix:
        """A column-major buffer with a row for each query of a block."""
        return self.column_major(self.malloc(self.mul(str(ROWS), columns)))

    def column_major(self, buffer: str) -> Matrix:
        return buffer, str(self.itemsize), str(ROWS * self.itemsize)

    def transposed(self, matrix: Matrix) -> Matrix:
        return matrix[0], matrix[2], matrix[1]

    def element(self, matrix: Matrix, row: str, column: str) -> str:
        """The address of an element."""
        start, row_stride, column_stride = matrix
        offset = self.add(self.mul(row, row_stride), self.mul(column, column_stride))
        return self.ptr_add(start, offset)

    def along_row(
        self, matrices: list[Matrix], row: str, columns: str, body: RowBody, sum_address: str = ""
    ) -> None:
        """A loop along the same row of some matrices, vectorized where all are contiguous.

        With `sum_address`, the body accumulates a sum, which is stored there.
        """
        starts = [self.ptr_add(start, self.mul(row, stride)) for start, stride, _ in matrices]
        contiguous = "true"
        for _, _, stride in matrices:
            contiguous = self.and_(contiguous, self.icmp("eq", stride, str(self.itemsize)))

        def at_column(column: str, accumulators: list[str]) -> list[str]:
            offsets = [self.mul(column, stride) for _, _, stride in matrices]
            pairs = zip(starts, offsets, strict=True)
            return body([self.ptr_add(start, offset) for start, offset in pairs], accumulators)

        layouts = (lanes_for([self.dtype]), contiguous), (0, self.not_(contiguous))
        for lanes, condition in layouts:
            with self.if_then(condition):
                kind = f"<{lanes} x {self.llvm}>" if lanes else self.llvm
                start = [(kind, "zeroinitializer" if lanes else "0.0")] if sum_address else []
                sums = vector_loop(self.e, ("0", columns), lanes, 1, at_column, start)
                if sums:
                    self.store(self.sum_lanes(sums[0], lanes), sum_address)

    def sum_lanes(self, sums: str, lanes: int) -> str:
        """The sum of all lanes."""
        if not lanes:
            return sums
        name, vector = f"@llvm.vector.reduce.fadd.v{lanes}{self.dtype}", f"<{lanes} x {self.llvm}>"
        self.e.declare(f"{self.llvm} {name}({self.llvm}, {vector})")
        given = f"{self.llvm} 0.0, {vector} {sums}"
        return self.e.value(f"call reassoc nsz {self.llvm} {name}({given})")

    def scale_row(self, matrix: Matrix, row: str, columns: str, factor: str) -> None:
        e = self.e

        def scale(addresses: list[str], _: list[str]) -> list[str]:
            values, factors = e.load(self.dtype, addresses[0]), e.splat(self.dtype, factor)
            e.store(self.dtype, e.arithmetic("fmul", self.dtype, values, factors), addresses[0])
            return []

        self.along_row([matrix], row, columns, scale)

    def factor(self) -> str:
        return self.load(self.f["scale"])

    def multiply(
        self, a: Matrix, b: Matrix, c: Matrix, m: str, n: str, k: str, more: str = "0"
    ) -> None:
        call_multiply(self.e, self.llvm, (a, b, c), (m, n, k), more)

    def visible(self, first: str, rows: str) -> tuple[str, str]:
        """The most keys that a query of a block attends to, and an array with the count of each."""
        f = self.f
        keys = self.min(f["s"], self.add(first, rows)) if self.is_causal else f["s"]
        self.e.line(f"call void @count(ptr %counts, i64 {first}, i64 {rows}, i64 {keys})")
        return keys, "%counts"

    def count_function(self) -> None:
        """`count`: how many keys each query of a block attends to."""
        head = "internal void @count(ptr %counts, i64 %first, i64 %rows, i64 %keys)"
        with self.function(head), self.loop("0", "%rows") as row:
            visible = self.min("%keys", self.add("%first", row, "1")) if self.is_causal else "%keys"
            short = self.e.value(f"trunc i64 {visible} to i32")
            self.store_word(
                self.e.value(f"getelementptr i32, ptr %counts, i64 {row}"), short, "i32"
            )

    def pack_function(self) -> None:
        """`pack`: the rows of a block of queries times a factor, column-major, padded with zeros to
        full vectors of queries."""
        packed = self.column_major("%packed")
        with (
            self.function(f"internal void @pack({_MATRIX}, {self.llvm} %factor, ptr %packed)"),
            self.loop("0", "%columns") as column,
        ):
            with self.loop("0", "%rows") as row:
                value = self.load(self.element(_M, row, column))
                product = self.e.value(f"fmul {self.llvm} {value}, %factor")
                self.store(product, self.element(packed, row, column))
            with self.loop("%rows", self.full_vectors("%rows")) as row:
                self.store("0.0", self.element(packed, row, column))

    def call(self, name: str, matrix: Matrix, *more: str) -> None:
        """Call a function that takes a matrix."""
        self.e.line(f"call void @{name}({', '.join([*self.given(matrix), *more])})")

    def given(self, matrix: Matrix) -> list[str]:
        start, row_stride, column_stride = matrix
        return [f"ptr {start}", f"i64 {row_stride}", f"i64 {column_stride}"]

    def pack(self, matrix: Matrix, packed: Matrix, rows: str, columns: str, factor: str) -> None:
        more = f"i64 {columns}", f"{self.llvm} {factor}", f"ptr {packed[0]}"
        self.call("pack", matrix, f"i64 {rows}", *more)

    def full_vectors(self, rows: str) -> str:
        return self.round_up(rows, str(LANES))

    def scores(self, queries: Matrix, keys: str, out: Matrix, rows: str, count: str) -> None:
        """The dot product of each query and key."""
        size = self.f["d" if keys == "k" else "e"]
        width = self.full_vectors(rows)
        queries, out = self.transposed(queries), self.transposed(out)
        self.multiply(self.matrix(keys), queries, out, count, width, size)

    def over_rows(self, name: str, rows: str, keys: str, operands: list[tuple[str, ...]]) -> None:
        """Call a row kernel on scores as NumPy would; operands are matrices, or vectors with a
        value for each row and their stride."""
        steps = ["0"] * len(operands)
        for _, row_stride, *column_stride in operands:
            steps += [*column_stride, row_stride]
        words = {
            "args": [operand[0] for operand in operands],
            "dims": ["1", keys, rows],
            "steps": steps,
        }
        for array, values in words.items():
            for index, value in enumerate(values):
                address = self.e.value(f"getelementptr i64, ptr %row_{array}, i64 {index}")
                self.store_word(address, value, "ptr" if array == "args" else "i64")
        self.e.line(f"call void @{name}(ptr %row_args, ptr %row_dims, ptr %row_steps, ptr null)")

    def begin(self) -> None:
        """Local arrays for the arguments of row kernels; allocas in the entry block."""
        self.e.line(f"%counts = alloca i32, i64 {ROWS}, align 8")
        for array, size in (("args", 8), ("dims", 3), ("steps", 24)):
            self.e.line(f"%row_{array} = alloca i64, i64 {size}, align 8")
        self.f = self.load_context(*_fields(self.operands))
        self.f["in_batch"] = self.udiv("%head", self.f["h"])
        self.f["in_heads"] = self.urem("%head", self.f["h"])


class _Forward(_Attention):
    def emit(self, weights: str) -> None:
        self.count_function()
        self.pack_function()
        with (
            self.function(f"internal void @scale({_MATRIX}, ptr %factors)"),
            self.loop("0", "%rows") as row,
        ):
            self.scale_row(_M, row, "%columns", self.load(self.gep("%factors", row)))
        head = "internal void @head(ptr %context, i64 %head, i64 %first)"
        with self.function(head, O0):
            self.begin()
            self.block(weights)
        with self.function(BODY, O0):
            f = self.load_context(*_fields(self.operands))
            blocks = self.ceil_div(f["t"], str(ROWS))
            with self.loop("%begin", "%end") as task:
                first = self.mul(self.urem(task, blocks), str(ROWS))
                head = self.udiv(task, blocks)
                self.e.line(f"call void @head(ptr %context, i64 {head}, i64 {first})")

    def block(self, weights: str) -> None:
        f, item = self.f, str(self.itemsize)
        rows = self.min(str(ROWS), self.sub(f["t"], "%first"))
        scores, scaled = self.scratch(f["s"]), self.scratch(f["d"])
        shares = self.malloc(str(ROWS))
        keys, counts = self.visible("%first", rows)
        self.pack(self.matrix("q", "%first"), scaled, rows, f["d"], self.factor())
        self.scores(scaled, "k", scores, rows, keys)
        normaliser = self.ptr_add(self.head("normaliser"), self.mul("%first", f["normaliser_t"]))
        self.over_rows(
            weights, rows, keys,
            [scores, (counts, "4"), scores, (shares, item), (normaliser, f["normaliser_t"])],
        )  # fmt: skip
        out = self.matrix("out", "%first")
        self.multiply(scores, self.matrix("v"), out, rows, f["e"], keys)
        self.call("scale", out, f"i64 {rows}", f"i64 {f['e']}", f"ptr {shares}")
        for buffer in (scores[0], scaled[0], shares):
            self.free(buffer)


class _Backward(_Attention):
    def emit(self, gradient: str) -> None:
        self.functions()
        with self.function("internal void @head(ptr %context, i64 %head)", O0):
            self.begin()
            self.blocks(gradient)
        with (
            self.function(BODY, O0),
            self.loop("%begin", "%end") as head,
        ):
            self.e.line(f"call void @head(ptr %context, i64 {head})")

    def blocks(self, gradient: str) -> None:
        f = self.f
        buffers = [self.scratch(f[size]) for size in ("s", "s", "d", "e")]
        dots = self.malloc(str(ROWS))
        for name in ("grad_k", "grad_v"):
            size = f["d" if name == "grad_k" else "e"]
            self.call("clear", self.matrix(name), f"i64 {f['s']}", f"i64 {size}")
        with self.loop("0", f["t"], by=ROWS) as first:
            self.block(gradient, first, buffers, dots)
        self.scale(self.matrix("grad_k"), f["s"])
        for buffer in (*(each[0] for each in buffers), dots):
            self.free(buffer)

    def functions(self) -> None:
        """Loops over the elements of matrices."""
        e = self.e

        def clear(addresses: list[str], _: list[str]) -> list[str]:
            e.store(self.dtype, e.constant(0.0, self.dtype), addresses[0])
            return []

        self.count_function()
        self.pack_function()
        with self.function(f"internal void @clear({_MATRIX})"), self.loop("0", "%rows") as row:
            self.along_row([_M], row, "%columns", clear)
        with (
            self.function(f"internal void @scale({_MATRIX}, {self.llvm} %factor)"),
            self.loop("0", "%rows") as row,
        ):
            self.scale_row(_M, row, "%columns", "%factor")
        other = "%other", "%other_row_stride", "%other_column_stride"
        with (
            self.function(
                f"internal void @dot_rows({_MATRIX}, {', '.join(self.given(other))}, ptr %out)"
            ),
            self.loop("0", "%rows") as row,
        ):
            self.dot_row(_M, other, row)

    def scale(self, matrix: Matrix, rows: str) -> None:
        factor = f"{self.llvm} {self.factor()}"
        self.call("scale", matrix, f"i64 {rows}", f"i64 {self.f['d']}", factor)

    def block(self, gradient: str, first: str, buffers: list[Matrix], dots: str) -> None:
        f, item = self.f, str(self.itemsize)
        scores, grad_weights, scaled, packed_g = buffers
        rows = self.min(str(ROWS), self.sub(f["t"], first))
        keys, counts = self.visible(first, rows)
        g, q = self.matrix("g", first), self.matrix("q", first)
        self.pack(q, scaled, rows, f["d"], self.factor())
        self.pack(g, packed_g, rows, f["e"], "1.0")
        self.scores(scaled, "k", scores, rows, keys)
        self.scores(packed_g, "v", grad_weights, rows, keys)
        other = self.given(self.matrix("out", first))
        self.call("dot_rows", g, f"i64 {rows}", f"i64 {f['e']}", *other, f"ptr {dots}")
        normaliser = self.ptr_add(self.head("normaliser"), self.mul(first, f["normaliser_t"]))
        self.over_rows(
            gradient, rows, keys,
            [scores, grad_weights, (normaliser, f["normaliser_t"]), (dots, item), (counts, "4"),
             scores, grad_weights],
        )  # fmt: skip
        grad_q = self.matrix("grad_q", first)
        self.multiply(grad_weights, self.matrix("k"), grad_q, rows, f["d"], keys)
        self.scale(grad_q, rows)
        grad_scores, weights = self.transposed(grad_weights), self.transposed(scores)
        self.multiply(grad_scores, q, self.matrix("grad_k"), keys, f["d"], rows, more="1")
        self.multiply(weights, g, self.matrix("grad_v"), keys, f["e"], rows, more="1")

    def dot_row(self, a: Matrix, b: Matrix, row: str) -> None:
        """The dot product of corresponding rows."""
        e = self.e

        def multiply_add(addresses: list[str], accumulators: list[str]) -> list[str]:
            values = [e.load(self.dtype, address) for address in addresses]
            product = e.arithmetic("fmul", self.dtype, *values)
            return [e.arithmetic("fadd", self.dtype, accumulators[0], product)]

        self.along_row([a, b], row, "%columns", multiply_add, self.gep("%out", row))


class Attention(Kernel):
    """The ufunc of attention, or of its gradients; `rows` is the row kernel over scores."""

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
        code.emit(rows)
        self.entry(code)
        end_module(e)
        return e.text()

    def entry(self, c: IRBuilder) -> None:
        """The loop of the ufunc; a task is a head, or in forward a block of its queries."""
        count, steps = len(self.operands), sum(map(len, self.operands.values()))
        sizes = len(_sizes(self.operands))
        with c.function(f"void @{self.name}({LOOP_SIGNATURE})", O0):
            context = c.e.value(f"alloca i64, i64 {count + steps + sizes}, align 8")
            given = (("%args", 0, count), ("%steps", count, steps), ("%dims", 1, sizes))
            index = 0
            for source, first, words in given:
                target = c.gep_i64(context, str(index))
                c.memcpy_words(target, c.gep_i64(source, str(first)), words)
                index += words
            total = c.mul(self.size(c, "b"), self.size(c, "h"))
            if self.kind is _Forward:
                total = c.mul(total, c.ceil_div(self.size(c, "t"), str(ROWS)))
            run_tasks(c.e, context, total, "1")

    def size(self, c: IRBuilder, name: str) -> str:
        index = 1 + _sizes(self.operands).index(name)
        return c.load_word(c.e.value(f"getelementptr i64, ptr %dims, i64 {index}"))
