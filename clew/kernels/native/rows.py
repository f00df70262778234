"""Loops over rows: kernels that reduce along the last axis and use the result along it again.

An expression's level says how many reductions must be finished before it can be computed. Pass p
over a row computes what has level p: it feeds the reductions that need it and stores the outputs
that are ready. What is the same for the whole row is computed once, between the passes.
"""

from __future__ import annotations

from collections.abc import Callable

from clew.kernels.native.emitter import ITEMSIZE, LLVM_TYPE, MEMORY_TYPE, Emitter, literal
from clew.kernels.native.ir import F64, I32, Expr, Program, postorder, show
from clew.kernels.native.loops import context_word, entry, finish, loop_metadata

# Elements of work per piece, and the rows' elements that are summed before a compensated addition.
GRAIN = 16384
BLOCK = 512
# With more operations than these for each element, the last ones of a row are worth a vector.
MUCH = 12


class Row:
    """One row kernel: which operands vary along the row, and when what can be computed."""

    def __init__(self, program: Program, along: list[bool]) -> None:
        self.inputs = program.inputs
        self.roots = roots = program.roots
        self.along = along
        self.dtypes = program.dtypes
        self.order = list(postorder(roots))
        self.level: dict[int, int] = {}
        self.varies: dict[int, bool] = {}
        for expr in self.order:
            key = id(expr)
            self.level[key] = max([self.level[id(arg)] for arg in expr.args], default=0)
            self.varies[key] = any(self.varies[id(arg)] for arg in expr.args)
            if expr.op == "reduce":
                self.level[key] += 1
                self.varies[key] = False
            elif expr.op == "input":
                self.varies[key] = along[expr.value]
            elif expr.op == "index":
                self.varies[key] = True
        for number, root in enumerate(roots, len(self.inputs)):
            if self.varies[id(root)] != along[number]:
                has = "one value for the whole row" if along[number] else "a value per element"
                raise TypeError(
                    f"the signature of output {number - len(self.inputs)} does not fit: "
                    f"its formula has {has}\n{show(root)}"
                )
        self.kept = [expr for expr in self.order if expr.op == "keep"]
        self.last = max(
            [self.level[id(e)] for e in roots if self.varies[id(e)]]
            + [self.level[id(e)] - 1 for e in self.order if e.op == "reduce"],
            default=0,
        )

    def reductions(self, level: int) -> list[Expr]:
        """What pass `level` accumulates."""
        return [e for e in self.order if e.op == "reduce" and self.level[id(e)] == level + 1]

    def needed(self, level: int) -> list[Expr]:
        """What varies and must be computed in pass `level`, operands first."""
        wanted = [e.args[0] for e in self.reductions(level)]
        wanted += [e for e in self.roots if self.varies[id(e)] and self.level[id(e)] == level]
        wanted += [e for e in self.kept if self.level[id(e)] == level]
        found: list[Expr] = []
        for expr in _down_to(wanted, lambda e: self.is_available(e, level)):
            if self.varies[id(expr)]:
                found.append(expr)
        return found

    def is_available(self, expr: Expr, level: int) -> bool:
        """Whether pass `level` finds the value without computing its operands."""
        if not self.varies[id(expr)]:
            return True
        return expr.op == "keep" and self.level[id(expr)] < level


def _down_to(roots: list[Expr], stops: Callable[[Expr], bool]) -> list[Expr]:
    """Postorder that does not go below expressions where `stops` says so."""
    order: list[Expr] = []
    done: set[int] = set()
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        expr, ready = stack.pop()
        if id(expr) in done:
            continue
        if ready or stops(expr):
            done.add(id(expr))
            order.append(expr)
        else:
            stack.append((expr, True))
            stack.extend((arg, False) for arg in reversed(expr.args))
    return order


def row_module(name: str, row: Row, cost: int) -> str:
    """The module of a row kernel."""
    e = Emitter()
    count, inner = len(row.dtypes), sum(row.along)
    e.declare("ptr @malloc(i64)")
    e.declare("void @free(ptr)")
    e.declare("i64 @llvm.smax.i64(i64, i64)")
    e.lines.append("define internal void @body(ptr %context, i64 %begin, i64 %end) #0 {")
    pointers = [context_word(e, index, "ptr") for index in range(count)]
    outer = [context_word(e, count + index, "i64") for index in range(count)]
    along = [index for index in range(count) if row.along[index]]
    steps = {arg: context_word(e, 2 * count + k, "i64") for k, arg in enumerate(along)}
    size = context_word(e, 2 * count + inner, "i64")
    dense = "true"
    for arg in along:
        same = e.value(f"icmp eq i64 {steps[arg]}, {ITEMSIZE[row.dtypes[arg]]}")
        dense = e.value(f"and i1 {dense}, {same}")
    buffers = {id(k): _buffer(e, k.dtype, size) for k in row.kept}
    e.line(f"br i1 {dense}, label %dense, label %strided")
    for label, inner_steps in (("dense", None), ("strided", steps)):
        e.label(label)
        _RowLoop(e, row, pointers, outer, inner_steps, size, buffers).emit()
        for buffer in buffers.values():
            e.line(f"call void @free(ptr {buffer})")
        e.line("ret void")
    e.lines.append("}")
    # A piece has so many rows that its elements are GRAIN / cost, at least one.
    entry(e, name, count, count + inner, 1, _grain(max(GRAIN // cost, 1)))
    finish(e)
    return e.text()


def _grain(elements: int) -> str:
    return (
        "%size_at = getelementptr i64, ptr %dims, i64 1\n"
        "  %size = load i64, ptr %size_at\n"
        "  %some = call i64 @llvm.smax.i64(i64 %size, i64 1)\n"
        f"  %fit = udiv i64 {elements}, %some\n"
        "  %grain = call i64 @llvm.smax.i64(i64 %fit, i64 1)"
    )


def _buffer(e: Emitter, dtype: str, size: str) -> str:
    length = e.value(f"mul i64 {size}, {ITEMSIZE[dtype]}")
    return e.value(f"call ptr @malloc(i64 {length})")


class _RowLoop:
    """for each row: pass after pass, with the row's elements one after another or at steps."""

    def __init__(
        self,
        e: Emitter,
        row: Row,
        pointers: list[str],
        outer: list[str],
        steps: dict[int, str] | None,
        size: str,
        buffers: dict[int, str],
    ) -> None:
        self.e, self.row, self.pointers, self.outer = e, row, pointers, outer
        self.steps, self.size, self.buffers = steps, size, buffers
        self.bases: list[str] = []
        self.uniform: dict[int, str] = {}

    def emit(self) -> None:
        e = self.e
        name = e.fresh("row")
        before, done = f"before{name}", f"done{name}"
        e.line(f"br label %{before}")
        e.label(before)
        e.line(f"%any{name} = icmp slt i64 %begin, %end")
        e.line(f"br i1 %any{name}, label %{name}, label %{done}")
        e.label(name)
        r, following = f"%r{name}", f"%following{name}"
        e.line(f"{r} = phi i64 [ %begin, %{before} ], [ {following}, %end{name} ]")
        self.bases = []
        for pointer, step in zip(self.pointers, self.outer, strict=True):
            offset = e.value(f"mul i64 {r}, {step}")
            self.bases.append(e.value(f"getelementptr i8, ptr {pointer}, i64 {offset}"))
        self.uniform = {}
        for level in range(self.row.last + 1):
            self.between(level)
            self.one_pass(level)
        self.between(self.row.last + 1)
        for number, root in enumerate(self.row.roots, len(self.row.inputs)):
            if not self.row.varies[id(root)]:
                e.store(self.row.dtypes[number], self.uniform[id(root)], self.bases[number])
        e.line(f"br label %end{name}")
        e.label(f"end{name}")
        e.line(f"{following} = add nuw nsw i64 {r}, 1")
        e.line(f"%last{name} = icmp eq i64 {following}, %end")
        e.line(f"br i1 %last{name}, label %{done}, label %{name}")
        e.label(done)

    def between(self, level: int) -> None:
        """What is the same for the whole row and can be known before pass `level`."""
        row, e = self.row, self.e
        for expr in row.order:
            key = id(expr)
            if row.varies[key] or row.level[key] > level or key in self.uniform:
                continue
            if expr.op == "reduce":
                continue  # its pass has put it there, or the row never needs it
            if expr.op == "input":
                self.uniform[key] = e.load(row.inputs[expr.value], self.bases[expr.value])
            elif expr.op == "size":
                llvm = LLVM_TYPE[expr.dtype]
                self.uniform[key] = e.value(f"sitofp i64 {self.size} to {llvm}")
            else:
                args = [self.uniform[id(arg)] for arg in expr.args]
                self.uniform[key] = args[0] if expr.op == "keep" else e.operation(expr, args)

    def one_pass(self, level: int) -> None:
        """Blocks of the row, so that long sums stay accurate; sums of blocks are compensated."""
        e, row = self.e, self.row
        reductions = row.reductions(level)
        name = e.fresh("pass")
        entered, block, ended = f"entered{name}", f"block{name}", f"ended{name}"
        e.line(f"br label %{entered}")
        e.label(entered)
        e.line(f"%some{name} = icmp sgt i64 {self.size}, 0")
        e.line(f"br i1 %some{name}, label %{block}, label %{ended}")
        e.label(block)
        at, next_at = f"%at{name}", f"%next{name}"
        e.line(f"{at} = phi i64 [ 0, %{entered} ], [ {next_at}, %join{name} ]")
        totals = [_Total(e, reduction) for reduction in reductions]
        for total in totals:
            total.begin(entered, f"join{name}")
        e.line(f"{next_at} = add nuw nsw i64 {at}, {BLOCK}")
        e.line(f"%over{name} = icmp sgt i64 {next_at}, {self.size}")
        e.line(f"%stop{name} = select i1 %over{name}, i64 {self.size}, i64 {next_at}")
        e.line(f"br label %body{name}")
        partial = self.elements(level, name, at, f"%stop{name}", block, reductions)
        e.line(f"br label %join{name}")
        e.label(f"join{name}")
        for total, value in zip(totals, partial, strict=True):
            total.add(value)
        e.line(f"%finished{name} = icmp sge i64 {next_at}, {self.size}")
        e.line(f"br i1 %finished{name}, label %{ended}, label %{block}")
        e.label(ended)
        for total in totals:
            total.end(entered, f"join{name}")
        for total, reduction in zip(totals, reductions, strict=True):
            self.uniform[id(reduction)] = total.result()

    def elements(
        self, level: int, name: str, begin: str, end: str, before: str, reductions: list[Expr]
    ) -> list[str]:
        """The innermost loop; returns what each reduction has come to."""
        e, row = self.e, self.row
        e.label(f"body{name}")
        j, following = f"%j{name}", f"%jnext{name}"
        e.line(f"{j} = phi i64 [ {begin}, %{before} ], [ {following}, %body{name} ]")
        sums = []
        for number, reduction in enumerate(reductions):
            llvm = LLVM_TYPE[self.accumulator(reduction)]
            value, updated = f"%acc{name}_{number}", f"%upd{name}_{number}"
            start = literal(_START[reduction.value], self.accumulator(reduction))
            e.line(f"{value} = phi {llvm} [ {start}, %{before} ], [ {updated}, %body{name} ]")
            sums.append((value, updated))
        values = dict(self.uniform)
        group = ", !llvm.access.group !0"
        needed = row.needed(level)
        for expr in needed:
            values[id(expr)] = self.element(expr, level, j, values, group)
        for number, root in enumerate(row.roots, len(row.inputs)):
            if row.varies[id(root)] and row.level[id(root)] == level:
                e.store(row.dtypes[number], values[id(root)], self.address(number, j), group)
        for (value, updated), reduction in zip(sums, reductions, strict=True):
            item = values[id(reduction.args[0])]
            if self.accumulator(reduction) != reduction.dtype:
                item = e.value(f"fpext float {item} to double")
            step = _step(e, reduction.value, self.accumulator(reduction), value, item)
            e.line(f"{updated} = {step}")
        e.line(f"{following} = add nuw nsw i64 {j}, 1")
        e.line(f"%jlast{name} = icmp eq i64 {following}, {end}")
        # Gathering elements at steps into vectors takes as long as computing one by one.
        at_steps = self.steps is not None
        loop = loop_metadata(e, whole_vectors=len(needed) > MUCH, one_by_one=at_steps)
        e.line(f"br i1 %jlast{name}, label %after{name}, label %body{name}, !llvm.loop {loop}")
        e.label(f"after{name}")
        return [
            updated
            if self.accumulator(reduction) == reduction.dtype
            else e.value(f"fptrunc double {updated} to float")
            for (_, updated), reduction in zip(sums, reductions, strict=True)
        ]

    def accumulator(self, reduction: Expr) -> str:
        """The type to add up a block in.

        Elements at steps are added one after another, not in many lanes: that takes more digits.
        """
        is_sum = reduction.value in ("sum", "prod")
        return F64 if is_sum and self.steps is not None else reduction.dtype

    def element(self, expr: Expr, level: int, j: str, values: dict[int, str], group: str) -> str:
        e = self.e
        if expr.op == "input":
            return e.load(self.row.inputs[expr.value], self.address(expr.value, j), group)
        if expr.op == "index":
            return e.value(f"trunc i64 {j} to i32") if expr.dtype == I32 else j
        if expr.op == "keep":
            memory = MEMORY_TYPE[expr.dtype]
            place = e.value(f"getelementptr {memory}, ptr {self.buffers[id(expr)]}, i64 {j}")
            if self.row.level[id(expr)] < level:
                return e.load(expr.dtype, place, group)
            value = values[id(expr.args[0])]
            e.store(expr.dtype, value, place, group)
            return value
        return e.operation(expr, [values[id(arg)] for arg in expr.args])

    def address(self, arg: int, j: str) -> str:
        e, base = self.e, self.bases[arg]
        if self.steps is None:
            return e.value(
                f"getelementptr inbounds {MEMORY_TYPE[self.row.dtypes[arg]]}, ptr {base}, i64 {j}"
            )
        offset = e.value(f"mul i64 {j}, {self.steps[arg]}")
        return e.value(f"getelementptr inbounds i8, ptr {base}, i64 {offset}")


_START = {"sum": 0.0, "prod": 1.0, "max": float("-inf"), "min": float("inf")}
_NAME = {"max": "maximum", "min": "minimum"}


def _step(e: Emitter, kind: str, dtype: str, value: str, item: str) -> str:
    """One turn of a reduction; sums may be reordered, which is what makes them vectors."""
    llvm = LLVM_TYPE[dtype]
    if kind in _NAME:
        intrinsic = f"@llvm.{_NAME[kind]}.{dtype}"
        e.declare(f"{llvm} {intrinsic}({llvm}, {llvm})")
        return f"call {llvm} {intrinsic}({llvm} {value}, {llvm} {item})"
    how = "fadd" if kind == "sum" else "fmul"
    return f"{how} reassoc nsz {llvm} {value}, {item}"


class _Total:
    """A reduction over the blocks of a row; a sum keeps the rounding errors of its additions."""

    def __init__(self, e: Emitter, reduction: Expr) -> None:
        self.e, self.reduction = e, reduction
        self.llvm = LLVM_TYPE[reduction.dtype]
        self.name = e.fresh("total")
        self.start = literal(_START[reduction.value], reduction.dtype)
        self.zero = literal(0.0, reduction.dtype)

    def begin(self, before: str, join: str) -> None:
        e, n, llvm = self.e, self.name, self.llvm
        e.line(f"%{n} = phi {llvm} [ {self.start}, %{before} ], [ %new{n}, %{join} ]")
        if self.reduction.value == "sum":
            e.line(f"%lost{n} = phi {llvm} [ {self.zero}, %{before} ], [ %newlost{n}, %{join} ]")

    def add(self, value: str) -> None:
        e, n = self.e, self.name
        if self.reduction.value != "sum":
            e.line(
                f"%new{n} = {_step(e, self.reduction.value, self.reduction.dtype, f'%{n}', value)}"
            )
            return
        names = f"%new{n}", f"%newlost{n}"
        e.compensated(self.reduction.dtype, f"%{n}", f"%lost{n}", value, names)

    def end(self, before: str, join: str) -> None:
        e, n, llvm = self.e, self.name, self.llvm
        e.line(f"%all{n} = phi {llvm} [ {self.start}, %{before} ], [ %new{n}, %{join} ]")
        if self.reduction.value == "sum":
            e.line(f"%alllost{n} = phi {llvm} [ {self.zero}, %{before} ], [ %newlost{n}, %{join} ]")

    def result(self) -> str:
        e, n = self.e, self.name
        if self.reduction.value != "sum":
            return f"%all{n}"
        return e.arithmetic("fadd", self.reduction.dtype, f"%all{n}", f"%alllost{n}")
