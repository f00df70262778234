"""Kernels over rows and matrices with strided operands, through contiguous buffers.

A kernel is compiled for operands that are contiguous along the last core dimension. Others are
copied to buffers, as many as are worth a parallel loop at a time, and strided results from one.
"""

from __future__ import annotations

from clew.kernels.codegen.builder import IRBuilder
from clew.kernels.codegen.emitter import ITEMSIZE, Emitter
from clew.kernels.codegen.lazy_call import call_lazily
from clew.kernels.codegen.loops import LOOP_SIGNATURE, loop_argument
from clew.kernels.codegen.strided_table import BUFFERED_INDEX, TABLE
from clew.kernels.runtime.optimization_levels import O0

# Elements that are copied before the kernel is called.
_ELEMENTS = 1 << 16
_MAX_OPERANDS = 32
_PARAMETERS = "ptr %contiguous, ptr %args, ptr %dims, ptr %steps, ptr %layout"
# A record of each operand: its buffer or 0, the itemsize, the outer step, and the sizes and steps
# of its core as a matrix.
_FIELDS = ("buffer", "size", "outer", "rows", "columns", "row_step", "column_step")


def strided_entry(
    e: Emitter, name: str, contiguous: str, inputs: int, dtypes: list[str], cores: list[str]
) -> None:
    """The ufunc's loop `name`: calls the loop `contiguous`, through buffers where it has to.

    A core is the letters of an operand's dimensions, e.g. "mn".
    """
    with e.function(f"void @{name}({LOOP_SIGNATURE})", "#1"):
        is_contiguous, step = "true", len(dtypes)
        for dtype, core in zip(dtypes, cores, strict=True):
            step += len(core)
            if core:
                last = loop_argument(e, "steps", step - 1)
                same = e.value(f"icmp eq i64 {last}, {ITEMSIZE[dtype]}")
                is_contiguous = e.value(f"and i1 {is_contiguous}, {same}")
        e.line(f"br i1 {is_contiguous}, label %contiguous, label %strided")
        e.label("contiguous")
        e.line(f"call void @{contiguous}(ptr %args, ptr %dims, ptr %steps, ptr %data)")
        e.line("ret void")
        e.label("strided")
        given = f"ptr @{contiguous}, ptr %args, ptr %dims, ptr %steps, ptr @layout"
        call_lazily(e, TABLE, BUFFERED_INDEX, given)
    # NumPy has the sizes of core dimensions in the order in which the signature names them.
    letters = list(dict.fromkeys("".join(cores)))
    words = [len(dtypes), inputs, len(letters)]
    for dtype, core in zip(dtypes, cores, strict=True):
        dims = [1 + letters.index(letter) for letter in core]
        words += [ITEMSIZE[dtype], len(core), *[0] * (2 - len(core)), *dims]
    e.constant_words("layout", words)


def buffered_module() -> str:
    """The module of `buffered(contiguous, args, dims, steps, layout)`."""
    e = Emitter()
    _Buffered(e).emit()
    return e.text()


class _Buffered(IRBuilder):
    """Emits `buffered`. The layout has the number of operands, of inputs and of core dimensions;
    then for each operand the itemsize, the number of its dimensions, and their indices in dims."""

    def __init__(self, e: Emitter) -> None:
        super().__init__(e, "double")
        e.lines.append(f"define void @buffered({_PARAMETERS}) {O0} {{")
        # What the kernel gets instead of args, dims and steps; and the records of operands.
        self.args, self.dims, self.steps, self.records = (
            e.value(f"alloca i64, i64 {count}, align 8")
            for count in (_MAX_OPERANDS, 8, 3 * _MAX_OPERANDS, len(_FIELDS) * _MAX_OPERANDS)
        )
        self.count, self.inputs, self.letters = (self.word("%layout", str(k)) for k in range(3))

    def word(self, base: str, index: str) -> str:
        return self.load_word(self.gep(base, index))

    def set_word(self, base: str, index: str, value: str) -> None:
        self.store_word(self.gep(base, index), value)

    def field(self, k: str, name: str) -> str:
        """The address of a field of the k-th operand's record."""
        return self.gep(
            self.records, self.add(self.mul(k, str(len(_FIELDS))), str(_FIELDS.index(name)))
        )

    def record(self, k: str) -> dict[str, str]:
        return {name: self.load_word(self.field(k, name)) for name in _FIELDS}

    def emit(self) -> None:
        most = self.local("i64", "1")
        step_index = self.local("i64", self.count)
        with self.loop("0", self.add(self.letters, "1")) as dim:
            self.set_word(self.dims, dim, self.word("%dims", dim))
        with self.loop("0", self.count) as k:
            self.make_record(k, step_index, most)
        total = self.word("%dims", "0")
        some = self.max(self.udiv(str(_ELEMENTS), self.load_word(most)), "1")
        chunk = self.min(some, self.max(total, "1"))
        with self.loop("0", self.count) as k:
            self.make_buffer(k, chunk)
        with self.loop("0", total, chunk) as first:
            number = self.min(chunk, self.sub(total, first))
            self.set_word(self.dims, "0", number)
            with self.loop("0", self.count) as k:
                self.copy_in(k, first, number)
            given = f"ptr {self.args}, ptr {self.dims}, ptr {self.steps}, ptr null"
            self.e.line(f"call void %contiguous({given})")
            with self.loop(self.inputs, self.count) as k:
                self.copy_out(k, first, number)
        with self.loop("0", self.count) as k:
            self.e.declare("void @free(ptr)")
            self.e.line(f"call void @free(ptr {self.load_word(self.field(k, 'buffer'), 'ptr')})")
        self.e.line("ret void")
        self.e.lines.append("}")

    def make_record(self, k: str, step_index: str, most: str) -> None:
        """The core as a matrix of at least one row, and whether it needs a buffer."""
        first = self.add("3", self.mul(k, "4"))
        size, dims, row_dim, column_dim = (
            self.word("%layout", self.add(first, str(word))) for word in range(4)
        )
        before = self.load_word(step_index)
        self.store_word(step_index, self.add(before, dims))
        last = self.sub(self.load_word(step_index), "1")
        has_columns, has_rows = (self.icmp("sge", dims, number) for number in "12")
        sizes, steps = [], []
        for has, dim, step in (
            (has_rows, row_dim, self.sub(last, "1")), (has_columns, column_dim, last)
        ):  # fmt: skip
            sizes.append(self.select(has, self.word("%dims", dim), "1"))
            steps.append(self.select(has, self.word("%steps", step), "0"))
        elements = self.mul(*sizes)
        self.store_word(most, self.max(self.load_word(most), elements))
        is_strided = self.and_(has_columns, self.icmp("ne", steps[1], size))
        outer = self.word("%steps", k)
        # 1 stands for the buffer that is still to be allocated.
        buffer = self.select(is_strided, "1", "0")
        values = (buffer, size, outer, *sizes, *steps)
        for name, value in zip(_FIELDS, values, strict=True):
            self.store_word(self.field(k, name), value)
        self.set_word(self.steps, k, self.select(is_strided, self.mul(elements, size), outer))
        with self.if_then(has_rows):
            row = self.mul(sizes[1], size)
            self.set_word(self.steps, before, self.select(is_strided, row, steps[0]))
        with self.if_then(has_columns):
            self.set_word(self.steps, last, self.select(is_strided, size, steps[1]))

    def make_buffer(self, k: str, chunk: str) -> None:
        record = self.record(k)
        with self.if_then(self.icmp("ne", record["buffer"], "0")):
            size = self.mul(chunk, record["rows"], record["columns"], record["size"])
            self.e.declare("ptr @malloc(i64)")
            buffer = self.e.value(f"call ptr @malloc(i64 {size})")
            self.store_word(self.field(k, "buffer"), buffer, "ptr")

    def operand(self, k: str, first: str) -> str:
        """The address of an operand's part of a chunk."""
        start = self.load_word(self.gep("%args", k), "ptr")
        return self.ptr_add(start, self.mul(first, self.load_word(self.field(k, "outer"))))

    def copy_in(self, k: str, first: str, number: str) -> None:
        """Give the kernel an operand: where it is, or its buffer, filled if it is an input."""
        record = self.record(k)
        is_strided = self.icmp("ne", record["buffer"], "0")
        buffer = self.load_word(self.field(k, "buffer"), "ptr")
        operand = self.operand(k, first)
        given = self.select(is_strided, buffer, operand, "ptr")
        self.store_word(self.gep(self.args, k), given, "ptr")
        with self.if_then(self.and_(is_strided, self.icmp("slt", k, self.inputs))):
            self.copy(record, operand, buffer, number, is_in=True)

    def copy_out(self, k: str, first: str, number: str) -> None:
        record = self.record(k)
        with self.if_then(self.icmp("ne", record["buffer"], "0")):
            buffer = self.load_word(self.field(k, "buffer"), "ptr")
            self.copy(record, self.operand(k, first), buffer, number, is_in=False)

    def copy(
        self, record: dict[str, str], operand: str, buffer: str, number: str, is_in: bool
    ) -> None:
        """Strided copies between an operand and its contiguous buffer."""
        rows, columns, size = record["rows"], record["columns"], record["size"]
        width = self.mul(columns, size)
        with (
            self.loop("0", number) as core,
            self.loop("0", rows) as row,
            self.if_then(self.icmp("sgt", columns, "0")),
        ):
            offset = self.add(self.mul(core, record["outer"]), self.mul(row, record["row_step"]))
            strided = self.ptr_add(operand, offset)
            packed = self.ptr_add(buffer, self.mul(self.add(self.mul(core, rows), row), width))
            ends = [(packed, size), (strided, record["column_step"])]
            (to, to_step), (from_, from_step) = ends if is_in else ends[::-1]
            given = f"ptr {to}, i64 {to_step}, ptr {from_}, i64 {from_step}, i64 {columns}"
            call_lazily(self.e, TABLE, size, given)
