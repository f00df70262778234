"""Loops that sum an expression over the rows of matrices, for all columns at once.

Each thread has columns of its own and goes through all rows, so that nothing is shared and the
order of additions does not depend on the number of threads. Rows are summed in blocks, and blocks
added up: the error grows with the number of blocks, not of rows.
"""

from __future__ import annotations

from clew.kernels.native.emitter import ITEMSIZE, LLVM_TYPE, MEMORY_TYPE, Emitter, literal
from clew.kernels.native.ir import Expr, postorder
from clew.kernels.native.loops import context_word, finish, loop_metadata

ROWS_PER_BLOCK = 128
COLUMNS_PER_PIECE = 64


def column_module(
    name: str, inputs: list[str], roots: list[Expr], shapes: list[str], cost: int
) -> str:
    """The module; `shapes` says of each input whether it has rows ("m"), columns ("n"), or both."""
    e = Emitter()
    e.declare("void @clew_run(ptr, ptr, i64, i64)")
    body = _Body(e, inputs, roots, shapes)
    body.emit()
    _entry(e, name, body, cost)
    finish(e)
    return e.text()


class _Body:
    """`body(context, begin, end)` for the columns from begin to end."""

    def __init__(self, e: Emitter, inputs: list[str], roots: list[Expr], shapes: list[str]) -> None:
        self.e, self.inputs, self.roots, self.shapes = e, inputs, roots, shapes
        self.dtypes = [*inputs, *(root.dtype for root in roots)]
        self.count = len(self.dtypes)
        # The context: pointers, the steps of each core dimension in NumPy's order, m and n.
        self.places: list[tuple[int, str]] = []
        for arg, shape in enumerate([*shapes, *["n"] * len(roots)]):
            self.places += [(arg, dim) for dim in shape]
        self.words = self.count + len(self.places) + 2

    def emit(self) -> None:
        e = self.e
        e.lines.append("define internal void @body(ptr %context, i64 %begin, i64 %end) #0 {")
        pointers = [context_word(e, arg, "ptr") for arg in range(self.count)]
        steps = {
            place: context_word(e, self.count + k, "i64") for k, place in enumerate(self.places)
        }
        m = context_word(e, self.words - 2, "i64")
        dense = "true"
        for (arg, dim), step in steps.items():
            if dim == "n":
                same = e.value(f"icmp eq i64 {step}, {ITEMSIZE[self.dtypes[arg]]}")
                dense = e.value(f"and i1 {dense}, {same}")
        sums = [
            e.value(f"alloca {LLVM_TYPE[root.dtype]}, i64 {COLUMNS_PER_PIECE}, align 64")
            for root in self.roots
        ]
        e.line(f"br i1 %{dense.removeprefix('%')}, label %dense, label %strided")
        for label in ("dense", "strided"):
            e.label(label)
            self.piece(pointers, steps, m, sums, label == "dense")
            e.line("ret void")
        e.lines.append("}")

    def loop(self, begin: str, end: str, parallel: bool = False) -> _Loop:
        return _Loop(self.e, begin, end, parallel)

    def column(self, arg: int, base: str, j: str, steps: dict, dense: bool) -> str:
        e = self.e
        if dense:
            memory = MEMORY_TYPE[self.dtypes[arg]]
            return e.value(f"getelementptr inbounds {memory}, ptr {base}, i64 {j}")
        offset = e.value(f"mul i64 {j}, {steps[arg, 'n']}")
        return e.value(f"getelementptr inbounds i8, ptr {base}, i64 {offset}")

    def piece(self, pointers: list[str], steps: dict, m: str, sums: list[str], dense: bool) -> None:
        """out[j] = sum over blocks of (sum over the block's rows), for the piece's columns."""
        e, first = self.e, len(self.inputs)
        group = ", !llvm.access.group !0"
        cleared = self.loop("%begin", "%end", parallel=True)
        for number, root in enumerate(self.roots):
            place = self.column(first + number, pointers[first + number], cleared.i, steps, dense)
            e.store(root.dtype, literal(0.0, root.dtype), place, group)
        cleared.close()
        block = self.loop("0", m)
        block.by = ROWS_PER_BLOCK
        stop = e.value(f"add i64 {block.i}, {ROWS_PER_BLOCK}")
        over = e.value(f"icmp sgt i64 {stop}, {m}")
        last = e.value(f"select i1 {over}, i64 {m}, i64 {stop}")
        emptied = self.loop("%begin", "%end", parallel=True)
        at = e.value(f"sub i64 {emptied.i}, %begin")
        for root, memory in zip(self.roots, sums, strict=True):
            place = e.value(f"getelementptr {LLVM_TYPE[root.dtype]}, ptr {memory}, i64 {at}")
            e.store(root.dtype, literal(0.0, root.dtype), place, group)
        emptied.close()
        row = self.loop(block.i, last)
        self.add_row(row.i, pointers, steps, sums, dense)
        row.close()
        added = self.loop("%begin", "%end", parallel=True)
        at = e.value(f"sub i64 {added.i}, %begin")
        for number, (root, memory) in enumerate(zip(self.roots, sums, strict=True)):
            llvm = LLVM_TYPE[root.dtype]
            part = e.load(
                root.dtype, e.value(f"getelementptr {llvm}, ptr {memory}, i64 {at}"), group
            )
            place = self.column(first + number, pointers[first + number], added.i, steps, dense)
            total = e.value(f"fadd {llvm} {e.load(root.dtype, place, group)}, {part}")
            e.store(root.dtype, total, place, group)
        added.close()
        block.close()

    def add_row(
        self, r: str, pointers: list[str], steps: dict, sums: list[str], dense: bool
    ) -> None:
        e = self.e
        group = ", !llvm.access.group !0"
        bases, whole = {}, {}
        for arg, shape in enumerate(self.shapes):
            base = pointers[arg]
            if "m" in shape:
                offset = e.value(f"mul i64 {r}, {steps[arg, 'm']}")
                base = e.value(f"getelementptr inbounds i8, ptr {base}, i64 {offset}")
            bases[arg] = base
            if "n" not in shape:
                whole[arg] = e.load(self.inputs[arg], base)
        columns = self.loop("%begin", "%end", parallel=True)
        values: dict[int, str] = {}
        for expr in postorder(self.roots):
            if expr.op == "input" and expr.value in whole:
                values[id(expr)] = whole[expr.value]
            elif expr.op == "input":
                place = self.column(expr.value, bases[expr.value], columns.i, steps, dense)
                values[id(expr)] = e.load(expr.dtype, place, group)
            else:
                values[id(expr)] = e.operation(expr, [values[id(arg)] for arg in expr.args])
        at = e.value(f"sub i64 {columns.i}, %begin")
        for root, memory in zip(self.roots, sums, strict=True):
            llvm = LLVM_TYPE[root.dtype]
            place = e.value(f"getelementptr inbounds {llvm}, ptr {memory}, i64 {at}")
            have = e.load(root.dtype, place, group)
            e.store(root.dtype, e.value(f"fadd {llvm} {have}, {values[id(root)]}"), place, group)
        columns.close()


class _Loop:
    """for i in range(begin, end, by): what is emitted until `close`."""

    def __init__(self, e: Emitter, begin: str, end: str, parallel: bool) -> None:
        self.e, self.end, self.parallel, self.by = e, end, parallel, 1
        self.name = e.fresh("loop")
        n = self.name
        e.line(f"br label %before{n}")
        e.label(f"before{n}")
        e.line(f"%any{n} = icmp slt i64 {begin}, {end}")
        e.line(f"br i1 %any{n}, label %{n}, label %done{n}")
        e.label(n)
        self.i = f"%i{n}"
        e.line(f"{self.i} = phi i64 [ {begin}, %before{n} ], [ %next{n}, %close{n} ]")

    def close(self) -> None:
        e, n = self.e, self.name
        e.line(f"br label %close{n}")
        e.label(f"close{n}")
        e.line(f"%next{n} = add nuw nsw i64 {self.i}, {self.by}")
        e.line(f"%more{n} = icmp slt i64 %next{n}, {self.end}")
        metadata = f", !llvm.loop {loop_metadata(e)}" if self.parallel else ""
        e.line(f"br i1 %more{n}, label %{n}, label %done{n}{metadata}")
        e.label(f"done{n}")


def _entry(e: Emitter, name: str, body: _Body, cost: int) -> None:
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
    outer = _Loop(e, "0", word("dims", 0), False)
    for arg in range(body.count):
        offset = e.value(f"mul i64 {outer.i}, {word('steps', arg)}")
        put(e.value(f"add i64 {word('args', arg)}, {offset}"), arg)
    e.line(f"call void @clew_run(ptr @body, ptr %context, i64 {n}, i64 {COLUMNS_PER_PIECE})")
    outer.close()
    e.line("ret void")
    e.lines.append("}")
