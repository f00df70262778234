"""Loops around expressions: the inner loops that NumPy's ufuncs call.

A ufunc's loop gets arrays of pointers, sizes and steps. The generated function puts these into a
context and runs the body over all elements, or has the thread pool run it over pieces.
"""

from __future__ import annotations

from clew.kernels.codegen import strided_elementwise
from clew.kernels.codegen.emitter import ITEMSIZE, MEMORY_TYPE, Emitter
from clew.kernels.codegen.ir import BOOL, Expr, Program, commonly, postorder
from clew.kernels.codegen.vectors import lanes_for, over_vectors, turns_for

# Work below this many elements is not worth a second thread; more is cut into pieces of this size.
GRAIN = 16384
# However much each element costs.
LEAST_GRAIN = 1024
# Elements that are looked through for rare cases before they are computed: so few that the second
# time they come from the cache.
BLOCK = 1024
# With no more expressions than these it counts that a number need not be read again and again.
LITTLE = 8
# Attributes of functions: of the usual ones, and of those that run once for many elements: to
# improve them would take longer than they ever run. What is about vectors would be of no use, as
# they are written out, and each new combination takes LLVM a millisecond to prepare for.
ATTRIBUTES = ("attributes #0 = { nounwind }", "attributes #1 = { nounwind noinline optnone }")
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
    e.declare("void @clew_parallel_for(ptr, ptr, i64, i64)")
    e.lines.append(f"define void @{name}({LOOP_SIGNATURE}) #1 {{")
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
    e.line("call void @clew_parallel_for(ptr @body, ptr %context, i64 %n, i64 %grain)")
    e.line("ret void")
    e.label("alone")
    e.line("call void @body(ptr %context, i64 0, i64 %n)")
    e.line("ret void")
    e.lines.append("}")


def _elementwise_body(e: Emitter, program: Program, scalars: tuple[int, ...]) -> None:
    """`body(context, begin, end)`: a version for each usual layout, `blocks` for all others.

    Versions take whole vectors only. `blocks` copies what is left into some, so that there is no
    code for parts of vectors: LLVM would take as long for it as for all else.
    """
    dtypes, inputs = program.dtypes, len(program.inputs)
    count = len(dtypes)
    usual = [frozenset(scalars)]
    if inputs == 2 and not scalars and len(list(postorder(program.roots))) <= LITTLE:
        # A number as one of the two. With more to do, it makes no difference.
        usual += [frozenset((0,)), frozenset((1,))]
    for version, single in enumerate(usual):
        e.lines.append(
            f"define internal void @usual{version}(ptr %context, i64 %begin, i64 %end) #0 {{"
        )
        pointers = [context_word(e, index, "ptr") for index in range(count)]
        elements = Elements(e, program, pointers, single, is_whole=True)
        elements.emit()
        e.line("ret void")
        e.lines.append("}")
    e.lines.append("define internal void @body(ptr %context, i64 %begin, i64 %end) #1 {")
    steps = [context_word(e, count + index, "i64") for index in range(count)]
    size = e.value("sub i64 %end, %begin")
    whole = e.value(f"and i64 {size}, {-elements.step}")
    middle = e.value(f"add i64 %begin, {whole}")
    for version, single in enumerate(usual):
        matches = "true"
        for index, (step, dtype) in enumerate(zip(steps, dtypes, strict=True)):
            wanted = 0 if index in single else ITEMSIZE[dtype]
            same = e.value(f"icmp eq i64 {step}, {wanted}")
            matches = e.value(f"and i1 {matches}, {same}")
        e.line(f"br i1 {matches}, label %as{version}, label %not{version}")
        e.label(f"as{version}")
        e.line(f"call void @usual{version}(ptr %context, i64 %begin, i64 {middle})")
        e.line("br label %rest")
        e.label(f"not{version}")
    strided_elementwise.call(e, "usual0", "%begin", "%end")
    e.line("ret void")
    e.label("rest")
    over = e.value(f"icmp eq i64 {middle}, %end")
    e.line(f"br i1 {over}, label %over, label %left")
    e.label("left")
    strided_elementwise.call(e, "usual0", middle, "%end")
    e.line("br label %over")
    e.label("over")
    e.line("ret void")
    e.lines.append("}")
    sizes = [0 if index in usual[0] else ITEMSIZE[dtype] for index, dtype in enumerate(dtypes)]
    layout = strided_elementwise.layout(inputs, elements.step, sizes)
    words = ", ".join(f"i64 {word}" for word in layout)
    e.lines.append(f"@layout = internal constant [{len(layout)} x i64] [{words}]")
    finish(e)


def finish(e: Emitter, start: str = "") -> None:
    """The end of a module, after a function of this name that has the thread pool run the body."""
    if start:
        e.declare("void @clew_parallel_for(ptr, ptr, i64, i64)")
        e.lines.append(f"define void @{start}(ptr %context, i64 %pieces, i64 %grain) #1 {{")
        e.line("call void @clew_parallel_for(ptr @body, ptr %context, i64 %pieces, i64 %grain)")
        e.line("ret void")
        e.lines.append("}")
    e.lines += ATTRIBUTES


def context_word(e: Emitter, index: int, llvm: str) -> str:
    place = e.value(f"getelementptr i64, ptr %context, i64 {index}")
    return e.value(f"load {llvm}, ptr {place}")


def word_of(e: Emitter, array: str, index: int) -> str:
    """One of the words that a ufunc's loop is given."""
    return e.value(f"load i64, ptr {e.value(f'getelementptr i64, ptr %{array}, i64 {index}')}")


class Elements:
    """Loops over elements that follow each other; inputs among `single` are one number each.

    With `is_whole` there are as many as go into a whole number of steps.
    """

    def __init__(
        self,
        e: Emitter,
        program: Program,
        pointers: list[str],
        single: frozenset[int],
        is_whole: bool = False,
    ) -> None:
        self.e, self.program, self.pointers, self.single = e, program, pointers, single
        self.is_whole = is_whole
        self.lanes = lanes_for(program.dtypes)
        rare = [expr.args[0] for expr in postorder(program.roots) if expr.op == "rare"]
        # What tells rare cases from common ones.
        self.conditions = commonly(rare)
        turns = [turns_for(postorder(each)) for each in (commonly(program.roots), self.conditions)]
        self.step = self.lanes * max(*turns, 1)

    def emit(self, begin: str = "%begin", end: str = "%end") -> None:
        """for i in range(begin, end); rare cases are looked for in one block after another."""
        roots = self.program.roots
        if not self.conditions:
            self.store(roots, begin, end, turns_for(postorder(roots)), self.lanes)
            return
        e, name = self.e, self.e.fresh("case")
        block = Loop(e, begin, end, BLOCK)
        stop = e.value(f"add i64 {block.i}, {BLOCK}")
        over = e.value(f"icmp sgt i64 {stop}, {end}")
        last = e.value(f"select i1 {over}, i64 {end}, i64 {stop}")
        found = self.any_of(self.conditions, block.i, last)
        e.line(f"br i1 {found}, label %rare{name}, label %common{name}")
        common = commonly(roots)
        # Vectors that look numbers up in tables take LLVM long, and hardly anybody needs them.
        lanes = 0 if any(expr.op == "table" for expr in postorder(roots)) else self.lanes
        for case, chosen, turns, at_once in (
            ("rare", roots, 0, lanes), ("common", common, turns_for(postorder(common)), self.lanes)
        ):  # fmt: skip
            e.label(case + name)
            self.store(chosen, block.i, last, turns, at_once)
            e.line(f"br label %either{name}")
        e.label(f"either{name}")
        block.close()

    def store(self, roots: list[Expr], begin: str, end: str, turns: int, lanes: int) -> None:
        known = self.known(roots, lanes)

        def body(i: str, _: list[str]) -> list[str]:
            values = self.values(roots, known, i)
            for number, root in enumerate(roots, len(self.program.inputs)):
                place = self.address(number, i)
                self.e.store(self.program.dtypes[number], values[id(root)], place)
            return []

        over_vectors(self.e, (begin, end), lanes, turns, body, is_whole=self.is_whole)

    def any_of(self, conditions: list[Expr], begin: str, end: str) -> str:
        """Whether a condition holds for an element."""
        e, known = self.e, self.known(conditions, self.lanes)

        def body(i: str, found: list[str]) -> list[str]:
            values, truth = self.values(conditions, known, i), e.of("i1")
            either = e.constant(False, BOOL)
            for condition in conditions:
                either = e.value(f"or {truth} {either}, {values[id(condition)]}")
            if e.mask:
                either = e.value(f"and {truth} {either}, {e.mask}")
            return [e.value(f"or {truth} {found[0]}, {either}")]

        lanes, turns = self.lanes, turns_for(postorder(conditions))
        truth = f"<{lanes} x i1>"
        start = [(truth, "zeroinitializer")]
        span = begin, end
        first, *others = over_vectors(e, span, lanes, turns, body, start, self.is_whole)
        for other in others:
            first = e.value(f"or {truth} {first}, {other}")
        e.declare(f"i1 @llvm.vector.reduce.or.v{lanes}i1({truth})")
        return e.value(f"call i1 @llvm.vector.reduce.or.v{lanes}i1({truth} {first})")

    def varying(self, roots: list[Expr]) -> dict[int, bool]:
        """Which expressions differ from element to element."""
        varies: dict[int, bool] = {}
        for expr in postorder(roots):
            of_args = any(varies[id(arg)] for arg in expr.args)
            varies[id(expr)] = expr.value not in self.single if expr.op == "input" else of_args
        return varies

    def known(self, roots: list[Expr], lanes: int) -> dict[int, str]:
        """What is the same for all elements, in all lanes; computed once, before the loop."""
        e, values, spread = self.e, dict[int, str](), dict[int, str]()
        varies = self.varying(roots)
        wanted = {id(arg) for expr in postorder(roots) if varies[id(expr)] for arg in expr.args}
        wanted.update(map(id, roots))
        for expr in postorder(roots):
            key = id(expr)
            if varies[key]:
                continue
            if expr.op == "input":
                values[key] = e.load(self.program.inputs[expr.value], self.pointers[expr.value])
            else:
                values[key] = e.operation(expr, [values[id(arg)] for arg in expr.args])
            if key in wanted:
                e.lanes = lanes
                is_const = expr.op == "const"
                same = e.operation(expr, []) if is_const else e.spread(expr.dtype, values[key])
                spread[key] = same
                e.lanes = 0
        return spread

    def values(self, roots: list[Expr], known: dict[int, str], i: str) -> dict[int, str]:
        e, values, varies = self.e, dict(known), self.varying(roots)
        for expr in postorder(roots):
            if not varies[id(expr)]:
                continue
            if expr.op == "input":
                place = self.address(expr.value, i)
                values[id(expr)] = e.load(self.program.inputs[expr.value], place)
            else:
                values[id(expr)] = e.operation(expr, [values[id(arg)] for arg in expr.args])
        return values

    def address(self, index: int, i: str) -> str:
        memory = MEMORY_TYPE[self.program.dtypes[index]]
        return self.e.value(f"getelementptr inbounds {memory}, ptr {self.pointers[index]}, i64 {i}")


class Loop:
    """for i in range(begin, end, by): what is emitted until `close`."""

    def __init__(self, e: Emitter, begin: str, end: str, by: int | str = 1) -> None:
        self.e, self.end, self.by = e, end, by
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
        e.line(f"%next{n} = {e.opaque(f'add nuw nsw i64 {self.i}, {self.by}')}")
        e.line(f"%more{n} = icmp slt i64 %next{n}, {self.end}")
        e.line(f"br i1 %more{n}, label %{n}, label %done{n}")
        e.label(f"done{n}")
