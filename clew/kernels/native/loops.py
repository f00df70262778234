"""Loops around expressions: the inner loops that NumPy's ufuncs call.

A ufunc's loop gets arrays of pointers, sizes and steps. The generated function puts these into a
context and runs the body over all elements, or has the thread team run it over pieces.
"""

from __future__ import annotations

from clew.kernels.native.emitter import ITEMSIZE, MEMORY_TYPE, Emitter
from clew.kernels.native.ir import Expr, Program, commonly, postorder

# Work below this many elements is not worth a second thread; more is cut into pieces of this size.
GRAIN = 16384
# However much each element costs.
LEAST_GRAIN = 1024
# Elements that are looked through for rare cases before they are computed: so few that the second
# time they come from the cache.
BLOCK = 1024
_GROUP = ", !llvm.access.group !0"
LOOP_SIGNATURE = "ptr %args, ptr %dims, ptr %steps, ptr %data"


def elementwise_module(name: str, program: Program, scalars: tuple[int, ...], cost: int) -> str:
    """The module of an elementwise kernel; inputs among `scalars` are usually single numbers."""
    emitter = Emitter()
    count = len(program.dtypes)
    _elementwise_body(emitter, program, scalars)
    entry(emitter, name, count, count, 0, str(max(GRAIN // cost, LEAST_GRAIN)))
    return emitter.text()


def entry(e: Emitter, name: str, pointers: int, steps: int, sizes: int, grain: str) -> None:
    """The function with a ufunc loop's signature: fills the context, then runs the body.

    The context holds the pointers, the steps, and the sizes of the core dimensions.
    """
    e.declare("void @clew_run(ptr, ptr, i64, i64)")
    e.lines.append(f"define void @{name}({LOOP_SIGNATURE}) {{")
    words = [("args", index) for index in range(pointers)]
    words += [("steps", index) for index in range(steps)]
    words += [("dims", 1 + index) for index in range(sizes)]
    e.line(f"%context = alloca i64, i64 {len(words)}, align 8")
    for place, (source, index) in enumerate(words):
        from_ = e.value(f"getelementptr i64, ptr %{source}, i64 {index}")
        word = e.value(f"load i64, ptr {from_}")
        to = e.value(f"getelementptr i64, ptr %context, i64 {place}")
        e.line(f"store i64 {word}, ptr {to}")
    e.line("%n = load i64, ptr %dims")
    e.line(f"%grain = add i64 0, {grain}" if grain.isdigit() else grain)
    e.line("%big = icmp sgt i64 %n, %grain")
    e.line("br i1 %big, label %shared, label %alone")
    e.label("shared")
    e.line("call void @clew_run(ptr @body, ptr %context, i64 %n, i64 %grain)")
    e.line("ret void")
    e.label("alone")
    e.line("call void @body(ptr %context, i64 0, i64 %n)")
    e.line("ret void")
    e.lines.append("}")


def _elementwise_body(e: Emitter, program: Program, scalars: tuple[int, ...]) -> None:
    """`body(context, begin, end)`, with a version for each usual layout and one for any."""
    dtypes, inputs = program.dtypes, len(program.inputs)
    count = len(dtypes)
    e.lines.append("define internal void @body(ptr %context, i64 %begin, i64 %end) #0 {")
    # In the first block, where it becomes a register.
    e.line("%found = alloca i32")
    pointers = [context_word(e, index, "ptr") for index in range(count)]
    steps = [context_word(e, count + index, "i64") for index in range(count)]
    usual = [frozenset(scalars)]
    if inputs == 2 and not scalars:
        # A number as one of the two. Kernels of more operands say which are numbers: a version for
        # each would take as much time to compile as the first.
        usual += [frozenset((0,)), frozenset((1,))]
    for version, zero in enumerate(usual):
        matches = "true"
        for index, (step, dtype) in enumerate(zip(steps, dtypes, strict=True)):
            wanted = 0 if index in zero else ITEMSIZE[dtype]
            same = e.value(f"icmp eq i64 {step}, {wanted}")
            matches = e.value(f"and i1 {matches}, {same}")
        e.line(f"br i1 {matches}, label %usual{version}, label %next{version}")
        e.label(f"usual{version}")
        layout: list[str | int] = [0 if i in zero else ITEMSIZE[d] for i, d in enumerate(dtypes)]
        Elements(e, program, pointers, layout).emit()
        e.line("ret void")
        e.label(f"next{version}")
    Elements(e, program, pointers, list(steps)).emit()
    e.line("ret void")
    e.lines.append("}")
    finish(e)


def finish(e: Emitter, start: str = "") -> None:
    """The end of a module, after a function of this name that has the team run the body."""
    if start:
        e.declare("void @clew_run(ptr, ptr, i64, i64)")
        e.lines.append(f"define void @{start}(ptr %context, i64 %pieces, i64 %grain) {{")
        e.line("call void @clew_run(ptr @body, ptr %context, i64 %pieces, i64 %grain)")
        e.line("ret void")
        e.lines.append("}")
    e.lines.append("!0 = distinct !{}")
    e.lines.append('attributes #0 = { "prefer-vector-width"="512" }')


def context_word(e: Emitter, index: int, llvm: str) -> str:
    place = e.value(f"getelementptr i64, ptr %context, i64 {index}")
    return e.value(f"load {llvm}, ptr {place}")


class Elements:
    """Loops over elements with known steps (numbers) or any (names of values)."""

    def __init__(
        self, e: Emitter, program: Program, pointers: list[str], layout: list[str | int]
    ) -> None:
        self.e, self.program, self.pointers, self.layout = e, program, pointers, layout
        self.known = {
            index: e.load(dtype, pointers[index])
            for index, dtype in enumerate(program.inputs)
            if layout[index] == 0
        }

    def emit(self, begin: str = "%begin", end: str = "%end") -> None:
        """for i in range(begin, end); rare cases are looked for in one block after another."""
        roots = self.program.roots
        rare = [expr.args[0] for expr in postorder(roots) if expr.op == "rare"]
        if not rare:
            self.store(roots, begin, end)
            return
        e, name = self.e, self.e.fresh("case")
        block = Loop(e, begin, end, BLOCK)
        stop = e.value(f"add i64 {block.i}, {BLOCK}")
        over = e.value(f"icmp sgt i64 {stop}, {end}")
        last = e.value(f"select i1 {over}, i64 {end}, i64 {stop}")
        found = self.any_of(commonly(rare), block.i, last)
        e.line(f"br i1 {found}, label %rare{name}, label %common{name}")
        for case, chosen in (("rare", roots), ("common", commonly(roots))):
            e.label(case + name)
            self.store(chosen, block.i, last)
            e.line(f"br label %either{name}")
        e.label(f"either{name}")
        block.close()

    def store(self, roots: list[Expr], begin: str, end: str) -> None:
        loop = Loop(self.e, begin, end, parallel=True)
        values = self.values(roots, loop.i)
        for number, root in enumerate(roots, len(self.program.inputs)):
            place = self.address(number, loop.i)
            self.e.store(self.program.dtypes[number], values[id(root)], place, _GROUP)
        loop.close()

    def any_of(self, conditions: list[Expr], begin: str, end: str) -> str:
        """Whether a condition holds for an element."""
        e = self.e
        e.line("store i32 0, ptr %found")
        loop = Loop(e, begin, end, parallel=True)
        values = self.values(conditions, loop.i)
        for condition in conditions:
            bit = e.value(f"zext i1 {values[id(condition)]} to i32")
            so_far = e.value("load i32, ptr %found")
            e.line(f"store i32 {e.value(f'or i32 {so_far}, {bit}')}, ptr %found")
        loop.close()
        return e.value(f"icmp ne i32 {e.value('load i32, ptr %found')}, 0")

    def values(self, roots: list[Expr], i: str) -> dict[int, str]:
        e = self.e
        values: dict[int, str] = {}
        for expr in postorder(roots):
            if expr.op != "input":
                values[id(expr)] = e.operation(expr, [values[id(arg)] for arg in expr.args])
            elif expr.value in self.known:
                values[id(expr)] = self.known[expr.value]
            else:
                dtype = self.program.inputs[expr.value]
                values[id(expr)] = e.load(dtype, self.address(expr.value, i), _GROUP)
        return values

    def address(self, index: int, i: str) -> str:
        e, step = self.e, self.layout[index]
        if isinstance(step, int):
            memory = MEMORY_TYPE[self.program.dtypes[index]]
            return e.value(f"getelementptr inbounds {memory}, ptr {self.pointers[index]}, i64 {i}")
        offset = e.value(f"mul i64 {i}, {step}")
        return e.value(f"getelementptr inbounds i8, ptr {self.pointers[index]}, i64 {offset}")


def loop_metadata(e: Emitter, whole_vectors: bool = False, one_by_one: bool = False) -> str:
    """No element of one turn depends on another turn: outputs may even be the inputs.

    With `whole_vectors` the last elements are computed as a vector, too, part of which is masked,
    and not one by one. With `one_by_one` none is: code without vectors is compiled sooner.
    """
    number = 100 + e.count
    e.count += 1
    hints = ['!{!"llvm.loop.parallel_accesses", !0}']
    if one_by_one:
        hints += ['!{!"llvm.loop.vectorize.enable", i1 false}', '!{!"llvm.loop.unroll.disable"}']
    elif whole_vectors:
        hints += [
            '!{!"llvm.loop.vectorize.enable", i1 true}',
            '!{!"llvm.loop.vectorize.predicate.enable", i1 true}',
        ]
    e.declarations[f"!{number} = distinct !{{!{number}, {', '.join(hints)}}}"] = None
    return f"!{number}"


class Loop:
    """for i in range(begin, end, by): what is emitted until `close`."""

    def __init__(
        self, e: Emitter, begin: str, end: str, by: int | str = 1, parallel: bool = False
    ) -> None:
        self.e, self.end, self.parallel, self.by = e, end, parallel, by
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
