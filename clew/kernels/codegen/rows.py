"""Loops over rows: kernels that reduce along the last axis and may use the result along it again.

The level of an expression is the number of reductions that must be complete before it. Pass p over
a row computes the expressions of level p: it accumulates reductions and stores the outputs of that
level. Values that are uniform along the row are computed once, between passes.
"""

from __future__ import annotations

from collections.abc import Callable

from clew.kernels.codegen.builder import BODY
from clew.kernels.codegen.emitter import ITEMSIZE, LLVM_TYPE, MEMORY_TYPE, Emitter, literal
from clew.kernels.codegen.ir import I32, Expr, Program, postorder, show
from clew.kernels.codegen.loops import (
    GRAIN,
    context_word,
    end_module,
    entry,
    loop_argument,
    rows_per_task,
)
from clew.kernels.codegen.strided_rows import strided_entry
from clew.kernels.codegen.vectors import lane_indices, lanes_for, unroll_for, vector_loop

# Elements that are summed before a compensated addition.
BLOCK = 512


class Row:
    """The analysis of a row kernel: the level of each expression, and whether it is uniform.

    `along` says which inputs and outputs have the dimension of the row.
    """

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
        self.materialized = [expr for expr in self.order if expr.op == "materialize"]
        self.last = max(
            [self.level[id(e)] for e in roots if self.varies[id(e)]]
            + [self.level[id(e)] - 1 for e in self.order if e.op == "reduce"],
            default=0,
        )

    def reductions(self, level: int) -> list[Expr]:
        """The reductions that pass `level` accumulates."""
        return [e for e in self.order if e.op == "reduce" and self.level[id(e)] == level + 1]

    def needed(self, level: int) -> list[Expr]:
        """The expressions that pass `level` computes for each element, operands first."""
        wanted = [e.args[0] for e in self.reductions(level)]
        wanted += [e for e in self.roots if self.varies[id(e)] and self.level[id(e)] == level]
        wanted += [e for e in self.materialized if self.level[id(e)] == level]
        found: list[Expr] = []
        for expr in _down_to(wanted, lambda e: self.is_available(e, level)):
            if self.varies[id(expr)]:
                found.append(expr)
        return found

    def is_available(self, expr: Expr, level: int) -> bool:
        """Whether pass `level` has the value without computing its operands."""
        if not self.varies[id(expr)]:
            return True
        return expr.op == "materialize" and self.level[id(expr)] < level


def _down_to(roots: list[Expr], stops: Callable[[Expr], bool]) -> list[Expr]:
    """Postorder that does not descend below expressions for which `stops` holds."""
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
    with e.function(BODY, "#0"):
        pointers = [context_word(e, index, "ptr") for index in range(count)]
        outer = [context_word(e, count + index, "i64") for index in range(count)]
        size = context_word(e, 2 * count + inner, "i64")
        buffers = {id(each): _buffer(e, each.dtype, size) for each in row.materialized}
        _RowLoop(e, row, pointers, outer, size, buffers).emit()
        for buffer in buffers.values():
            e.free(buffer)
    entry(e, "contiguous", count, count + inner, 1, row_grain(max(GRAIN // cost, 1)))
    core = ["n" if is_along else "" for is_along in row.along]
    strided_entry(e, name, "contiguous", len(row.inputs), row.dtypes, core)
    end_module(e)
    return e.text()


def row_grain(elements: int) -> Callable[[Emitter], str]:
    """The grain of a kernel over rows whose tasks have so many elements, at least one row."""
    return lambda e: rows_per_task(e, elements, loop_argument(e, "dims", 1))


def _buffer(e: Emitter, dtype: str, size: str) -> str:
    length = e.value(f"mul i64 {size}, {ITEMSIZE[dtype]}")
    return e.aligned_malloc(length)


class _RowLoop:
    """for each row: all passes."""

    def __init__(
        self,
        e: Emitter,
        row: Row,
        pointers: list[str],
        outer: list[str],
        size: str,
        buffers: dict[int, str],
    ) -> None:
        self.e, self.row, self.pointers, self.outer = e, row, pointers, outer
        self.size, self.buffers = size, buffers
        self.bases: list[str] = []
        self.uniform: dict[int, str] = {}
        along = [dtype for dtype, is_along in zip(row.dtypes, row.along, strict=True) if is_along]
        self.lanes = lanes_for(along)

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
            self.bases.append(e.strided_address(pointer, r, step))
        self.uniform = {}
        for level in range(self.row.last + 1):
            self.compute_uniform(level)
            self.one_pass(level)
        self.compute_uniform(self.row.last + 1)
        for number, root in enumerate(self.row.roots, len(self.row.inputs)):
            if not self.row.varies[id(root)]:
                e.store(self.row.dtypes[number], self.uniform[id(root)], self.bases[number])
        e.line(f"br label %end{name}")
        e.label(f"end{name}")
        e.line(f"{following} = add nuw nsw i64 {r}, 1")
        e.line(f"%last{name} = icmp eq i64 {following}, %end")
        e.line(f"br i1 %last{name}, label %{done}, label %{name}")
        e.label(done)

    def compute_uniform(self, level: int) -> None:
        """The values that are uniform along the row and needed by pass `level`."""
        row, e = self.row, self.e
        for expr in row.order:
            key = id(expr)
            if row.varies[key] or row.level[key] > level or key in self.uniform:
                continue
            if expr.op == "reduce":
                continue  # its pass has set it, or nothing needs it
            if expr.op == "input":
                self.uniform[key] = e.load(row.inputs[expr.value], self.bases[expr.value])
            elif expr.op == "size":
                llvm = LLVM_TYPE[expr.dtype]
                self.uniform[key] = e.value(f"sitofp i64 {self.size} to {llvm}")
            else:
                args = [self.uniform[id(arg)] for arg in expr.args]
                is_stored = expr.op == "materialize"
                self.uniform[key] = args[0] if is_stored else e.operation(expr, args)

    def one_pass(self, level: int) -> None:
        """One loop over the row; sums and products are in blocks, with compensated additions."""
        reductions, splats = self.row.reductions(level), self.splats(level)
        if any(each.value in ("sum", "prod") for each in reductions):
            results = self.in_blocks(level, splats, reductions)
        else:
            results = self.elements(level, splats, ("0", self.size), reductions)
        self.uniform |= {id(each): value for each, value in zip(reductions, results, strict=True)}

    def in_blocks(self, level: int, splats: dict[int, str], reductions: list[Expr]) -> list[str]:
        e = self.e
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
        partial = self.elements(level, splats, (at, f"%stop{name}"), reductions)
        e.line(f"br label %join{name}")
        e.label(f"join{name}")
        for total, value in zip(totals, partial, strict=True):
            total.add(value)
        e.line(f"%finished{name} = icmp sge i64 {next_at}, {self.size}")
        e.line(f"br i1 %finished{name}, label %{ended}, label %{block}")
        e.label(ended)
        for total in totals:
            total.end(entered, f"join{name}")
        return [total.result() for total in totals]

    def splats(self, level: int) -> dict[int, str]:
        """The uniform values that pass `level` uses, in all lanes."""
        e, splats = self.e, dict[int, str]()
        e.lanes = self.lanes
        for expr in self.row.needed(level):
            for arg in expr.args:
                if not self.row.varies[id(arg)] and id(arg) not in splats:
                    is_const = arg.op == "const"
                    value = self.uniform[id(arg)]
                    splats[id(arg)] = (
                        e.operation(arg, []) if is_const else e.splat(arg.dtype, value)
                    )
        e.lanes = 0
        return splats

    def elements(
        self, level: int, splats: dict[int, str], span: tuple[str, str], reductions: list[Expr]
    ) -> list[str]:
        """The innermost loop; returns the results of the reductions."""
        e, row = self.e, self.row
        needed = row.needed(level)

        def body(j: str, accumulators: list[str]) -> list[str]:
            values = dict(splats)
            for expr in needed:
                values[id(expr)] = self.element(expr, level, j, values)
            for number, root in enumerate(row.roots, len(row.inputs)):
                if row.varies[id(root)] and row.level[id(root)] == level:
                    e.store(row.dtypes[number], values[id(root)], self.address(number, j))
            return [
                self.accumulate(each, value, values[id(each.args[0])])
                for each, value in zip(reductions, accumulators, strict=True)
            ]

        starts = []
        e.lanes = self.lanes
        for each in reductions:
            start = e.constant(_IDENTITY[each.value], each.dtype)
            starts.append((e.value_type(LLVM_TYPE[each.dtype]), start))
        e.lanes = 0
        found = vector_loop(e, span, self.lanes, unroll_for(needed), body, starts)
        count = len(reductions)
        return [self.reduce_lanes(each, found[k::count]) for k, each in enumerate(reductions)]

    def accumulate(self, reduction: Expr, accumulator: str, items: str) -> str:
        """One more vector of items; masked lanes get the identity."""
        e, kind = self.e, self.e.value_type(LLVM_TYPE[reduction.dtype])
        if e.mask:
            none = e.constant(_IDENTITY[reduction.value], reduction.dtype)
            items = e.value(f"select {e.value_type('i1')} {e.mask}, {kind} {items}, {kind} {none}")
        return _step(e, reduction.value, reduction.dtype, accumulator, items)

    def reduce_lanes(self, reduction: Expr, parts: list[str]) -> str:
        """The reduction of all lanes of the accumulators, pairwise and then horizontally."""
        e, dtype = self.e, reduction.dtype
        e.lanes = self.lanes
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = [_step(e, reduction.value, dtype, *pair) for pair in pairs]
        llvm, vector = LLVM_TYPE[dtype], e.value_type(LLVM_TYPE[dtype])
        name = f"@llvm.vector.reduce.{_VECTOR_REDUCE[reduction.value]}.{e.suffix(dtype)}"
        e.lanes = 0
        if reduction.value in _INTRINSIC:
            e.declare(f"{llvm} {name}({vector})")
            return e.value(f"call {llvm} {name}({vector} {parts[0]})")
        e.declare(f"{llvm} {name}({llvm}, {vector})")
        start = literal(_IDENTITY[reduction.value], dtype)
        return e.value(f"call reassoc nsz {llvm} {name}({llvm} {start}, {vector} {parts[0]})")

    def element(self, expr: Expr, level: int, j: str, values: dict[int, str]) -> str:
        e = self.e
        if expr.op == "input":
            return e.load(self.row.inputs[expr.value], self.address(expr.value, j))
        if expr.op == "index":
            return self.position(expr.dtype, j)
        if expr.op == "materialize":
            memory = MEMORY_TYPE[expr.dtype]
            address = e.value(f"getelementptr {memory}, ptr {self.buffers[id(expr)]}, i64 {j}")
            if self.row.level[id(expr)] < level:
                return e.load(expr.dtype, address)
            value = values[id(expr.args[0])]
            e.store(expr.dtype, value, address)
            return value
        return e.operation(expr, [values[id(arg)] for arg in expr.args])

    def position(self, dtype: str, j: str) -> str:
        e, llvm = self.e, LLVM_TYPE[dtype]
        first = e.value(f"trunc i64 {j} to i32") if dtype == I32 else j
        firsts = e.splat(dtype, first)
        return e.value(f"add {e.value_type(llvm)} {firsts}, {lane_indices(llvm, e.lanes)}")

    def address(self, arg: int, j: str) -> str:
        return self.e.element_address(self.row.dtypes[arg], self.bases[arg], j)


# The identity of each reduction, its intrinsic if it is no arithmetic, and LLVM's reduction of the
# lanes of a vector.
_IDENTITY = {"sum": 0.0, "prod": 1.0, "max": float("-inf"), "min": float("inf")}
_INTRINSIC = {"max": "maximum", "min": "minimum"}
_VECTOR_REDUCE = {"sum": "fadd", "prod": "fmul", "max": "fmaximum", "min": "fminimum"}


def _step(e: Emitter, kind: str, dtype: str, value: str, item: str, name: str = "") -> str:
    """The reduction of two values."""
    llvm = e.value_type(LLVM_TYPE[dtype])
    if kind in _INTRINSIC:
        intrinsic = f"@llvm.{_INTRINSIC[kind]}.{e.suffix(dtype)}"
        e.declare(f"{llvm} {intrinsic}({llvm}, {llvm})")
        return e.value(f"call {llvm} {intrinsic}({llvm} {value}, {llvm} {item})", name)
    return e.value(f"{'fadd' if kind == 'sum' else 'fmul'} {llvm} {value}, {item}", name)


class _Total:
    """A reduction over the blocks of a row; sums are compensated."""

    def __init__(self, e: Emitter, reduction: Expr) -> None:
        self.e, self.reduction = e, reduction
        self.llvm = LLVM_TYPE[reduction.dtype]
        self.name = e.fresh("total")
        self.start = literal(_IDENTITY[reduction.value], reduction.dtype)
        self.zero = literal(0.0, reduction.dtype)

    def begin(self, before: str, join: str) -> None:
        e, n, llvm = self.e, self.name, self.llvm
        e.line(f"%{n} = phi {llvm} [ {self.start}, %{before} ], [ %new{n}, %{join} ]")
        if self.reduction.value == "sum":
            e.line(f"%lost{n} = phi {llvm} [ {self.zero}, %{before} ], [ %newlost{n}, %{join} ]")

    def add(self, value: str) -> None:
        e, n = self.e, self.name
        if self.reduction.value != "sum":
            kind, dtype = self.reduction.value, self.reduction.dtype
            _step(e, kind, dtype, f"%{n}", value, f"%new{n}")
            return
        names = f"%new{n}", f"%newlost{n}"
        e.compensated_add(self.reduction.dtype, f"%{n}", f"%lost{n}", value, names)

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
