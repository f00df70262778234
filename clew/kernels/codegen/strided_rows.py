"""Kernels over rows and matrices with strided operands, which are copied to buffers.

A kernel is compiled for operands whose elements follow each other along the last core dimension.
Those of other operands are copied, as many as are worth a thread at a time, and results are copied
from where the kernel has put them.
"""

from __future__ import annotations

from clew.kernels.codegen import strided_elementwise
from clew.kernels.codegen.builder import Code
from clew.kernels.codegen.emitter import ITEMSIZE, Emitter
from clew.kernels.codegen.lazy_call import call_lazily
from clew.kernels.codegen.loops import LOOP_SIGNATURE, word_of
from clew.kernels.runtime import jit
from clew.kernels.runtime.lazy_compilation import LazyFunction
from clew.kernels.runtime.optimization_levels import O0

# Elements that are copied before the kernel is called.
_ELEMENTS = 1 << 16
_MOST_OPERANDS = 32
_PARAMETERS = "ptr %dense, ptr %args, ptr %dims, ptr %steps, ptr %layout"
_PLACE = len(strided_elementwise.functions())
# What is kept of an operand: its buffer or 0, the size of an element, the outer step, and the sizes
# and steps of its core as a matrix.
_KEPT = ("buffer", "size", "outer", "rows", "columns", "row_step", "column_step")


def entry_for_any(
    e: Emitter, name: str, dense: str, inputs: int, dtypes: list[str], cores: list[str]
) -> None:
    """The ufunc loop `name`: calls the loop `dense`, with copies of operands where it has to.

    A core is the letters of an operand's dimensions, e.g. "mn".
    """
    e.lines.append(f"define void @{name}({LOOP_SIGNATURE}) #1 {{")
    is_dense, place = "true", len(dtypes)
    for dtype, core in zip(dtypes, cores, strict=True):
        place += len(core)
        if core:
            same = e.value(f"icmp eq i64 {word_of(e, 'steps', place - 1)}, {ITEMSIZE[dtype]}")
            is_dense = e.value(f"and i1 {is_dense}, {same}")
    e.line(f"br i1 {is_dense}, label %dense, label %apart")
    e.label("dense")
    e.line(f"call void @{dense}(ptr %args, ptr %dims, ptr %steps, ptr %data)")
    e.line("ret void")
    e.label("apart")
    given = f"ptr @{dense}, ptr %args, ptr %dims, ptr %steps, ptr @layout"
    call_lazily(e, strided_elementwise.TABLE, _PLACE, given)
    e.line("ret void")
    e.lines.append("}")
    # NumPy has the sizes of core dimensions in the order in which the signature names them.
    letters = list(dict.fromkeys("".join(cores)))
    words = [len(dtypes), inputs, len(letters)]
    for dtype, core in zip(dtypes, cores, strict=True):
        places = [1 + letters.index(letter) for letter in core]
        words += [ITEMSIZE[dtype], len(core), *[0] * (2 - len(core)), *places]
    text = ", ".join(f"i64 {word}" for word in words)
    e.lines.append(f"@layout = internal constant [{len(words)} x i64] [{text}]")


def _functions() -> list[LazyFunction | None]:
    """`cores(dense, args, dims, steps, layout)` comes after those for elementwise kernels."""
    return [*strided_elementwise.functions(), LazyFunction("cores", _module)]


jit.register_lazy_table(strided_elementwise.TABLE, "of any size", _functions)


def _module() -> str:
    e = Emitter()
    _Cores(e).emit()
    return e.text()


class _Cores(Code):
    """Writes the function. The layout has the number of operands, of inputs and of core dimensions;
    then for each operand the size of an element, its dimensions, and the places of their sizes."""

    def __init__(self, e: Emitter) -> None:
        super().__init__(e, "double")
        e.lines.append(f"define void @cores({_PARAMETERS}) {O0} {{")
        # What the kernel gets instead of args, dims and steps; a row of numbers for each operand.
        self.args, self.dims, self.steps, self.kept = (
            e.value(f"alloca i64, i64 {count}, align 8")
            for count in (_MOST_OPERANDS, 8, 3 * _MOST_OPERANDS, len(_KEPT) * _MOST_OPERANDS)
        )
        self.count, self.inputs, self.letters = (self.word("%layout", str(k)) for k in range(3))

    def word(self, base: str, index: str) -> str:
        return self.get(self.at(base, index))

    def set(self, base: str, index: str, value: str) -> None:
        self.put(self.at(base, index), value)

    def of(self, k: str, name: str) -> str:
        """Where something is kept of the k-th operand."""
        return self.at(self.kept, self.add(self.mul(k, str(len(_KEPT))), str(_KEPT.index(name))))

    def kept_of(self, k: str) -> dict[str, str]:
        return {name: self.get(self.of(k, name)) for name in _KEPT}

    def emit(self) -> None:
        most = self.variable("i64", "1")
        step_at = self.variable("i64", self.count)
        with self.loop("0", self.add(self.letters, "1")) as dim:
            self.set(self.dims, dim, self.word("%dims", dim))
        with self.loop("0", self.count) as k:
            self.measure(k, step_at, most)
        total = self.word("%dims", "0")
        some = self.most(self.quotient(str(_ELEMENTS), self.get(most)), "1")
        chunk = self.least(some, self.most(total, "1"))
        with self.loop("0", self.count) as k:
            self.make_buffer(k, chunk)
        with self.loop("0", total, chunk) as first:
            number = self.least(chunk, self.sub(total, first))
            self.set(self.dims, "0", number)
            with self.loop("0", self.count) as k:
                self.hand_in(k, first, number)
            given = f"ptr {self.args}, ptr {self.dims}, ptr {self.steps}, ptr null"
            self.e.line(f"call void %dense({given})")
            with self.loop(self.inputs, self.count) as k:
                self.hand_out(k, first, number)
        with self.loop("0", self.count) as k:
            self.e.declare("void @free(ptr)")
            self.e.line(f"call void @free(ptr {self.get(self.of(k, 'buffer'), 'ptr')})")
        self.e.line("ret void")
        self.e.lines.append("}")

    def measure(self, k: str, step_at: str, most: str) -> None:
        """The core as a matrix of one row at least, and whether it has to be copied."""
        first = self.add("3", self.mul(k, "4"))
        size, dims, rows_at, columns_at = (
            self.word("%layout", self.add(first, str(word))) for word in range(4)
        )
        before = self.get(step_at)
        self.put(step_at, self.add(before, dims))
        last = self.sub(self.get(step_at), "1")
        has_columns, has_rows = (self.compare("sge", dims, number) for number in "12")
        sizes, steps = [], []
        for has, place, step in (
            (has_rows, rows_at, self.sub(last, "1")), (has_columns, columns_at, last)
        ):  # fmt: skip
            sizes.append(self.choose(has, self.word("%dims", place), "1"))
            steps.append(self.choose(has, self.word("%steps", step), "0"))
        elements = self.mul(*sizes)
        self.put(most, self.most(self.get(most), elements))
        is_apart = self.both(has_columns, self.compare("ne", steps[1], size))
        outer = self.word("%steps", k)
        # 1 stands for the buffer that is still to be made.
        buffer = self.choose(is_apart, "1", "0")
        values = (buffer, size, outer, *sizes, *steps)
        for name, value in zip(_KEPT, values, strict=True):
            self.put(self.of(k, name), value)
        self.set(self.steps, k, self.choose(is_apart, self.mul(elements, size), outer))
        with self.when(has_rows):
            row = self.mul(sizes[1], size)
            self.set(self.steps, before, self.choose(is_apart, row, steps[0]))
        with self.when(has_columns):
            self.set(self.steps, last, self.choose(is_apart, size, steps[1]))

    def make_buffer(self, k: str, chunk: str) -> None:
        kept = self.kept_of(k)
        with self.when(self.compare("ne", kept["buffer"], "0")):
            size = self.mul(chunk, kept["rows"], kept["columns"], kept["size"])
            self.e.declare("ptr @malloc(i64)")
            buffer = self.e.value(f"call ptr @malloc(i64 {size})")
            self.put(self.of(k, "buffer"), buffer, "ptr")

    def place(self, k: str, first: str) -> str:
        operand = self.get(self.at("%args", k), "ptr")
        return self.past(operand, self.mul(first, self.get(self.of(k, "outer"))))

    def hand_in(self, k: str, first: str, number: str) -> None:
        kept = self.kept_of(k)
        is_apart = self.compare("ne", kept["buffer"], "0")
        buffer = self.get(self.of(k, "buffer"), "ptr")
        place = self.place(k, first)
        self.put(self.at(self.args, k), self.choose(is_apart, buffer, place, "ptr"), "ptr")
        with self.when(self.both(is_apart, self.compare("slt", k, self.inputs))):
            self.copy(kept, place, buffer, number, is_in=True)

    def hand_out(self, k: str, first: str, number: str) -> None:
        kept = self.kept_of(k)
        with self.when(self.compare("ne", kept["buffer"], "0")):
            buffer = self.get(self.of(k, "buffer"), "ptr")
            self.copy(kept, self.place(k, first), buffer, number, is_in=False)

    def copy(self, kept: dict[str, str], place: str, buffer: str, number: str, is_in: bool) -> None:
        """Between an operand and its buffer, where elements follow each other."""
        rows, columns, size = kept["rows"], kept["columns"], kept["size"]
        width = self.mul(columns, size)
        with (
            self.loop("0", number) as core,
            self.loop("0", rows) as row,
            self.when(self.compare("sgt", columns, "0")),
        ):
            offset = self.add(self.mul(core, kept["outer"]), self.mul(row, kept["row_step"]))
            there = self.past(place, offset)
            here = self.past(buffer, self.mul(self.add(self.mul(core, rows), row), width))
            ends = [(here, size), (there, kept["column_step"])]
            (to, to_step), (from_, from_step) = ends if is_in else ends[::-1]
            given = f"ptr {to}, i64 {to_step}, ptr {from_}, i64 {from_step}, i64 {columns}"
            call_lazily(self.e, strided_elementwise.TABLE, size, given)
