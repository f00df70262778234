"""Elementwise loops: the inner loops of NumPy's ufuncs, and the entry of every kernel's loop.

A ufunc's loop gets arrays of pointers, sizes and strides (`steps`). The generated entry copies them
to a context and calls `body(context, begin, end)` over the whole range, or has the thread pool call
it over parts of it.
"""

from __future__ import annotations

from collections.abc import Callable

from clew.kernels.codegen import strided_elementwise
from clew.kernels.codegen.builder import BODY
from clew.kernels.codegen.emitter import ITEMSIZE, Emitter
from clew.kernels.codegen.ir import BOOL, I64, Expr, Program, fast_path, postorder
from clew.kernels.codegen.vectors import block_end, lanes_for, loop, unroll_for, vector_loop

# The elements of a task: fewer are not worth a second thread.
GRAIN = 16384
# The least of them, however much each element costs.
LEAST_GRAIN = 1024
# The elements of a block that is tested for unlikely conditions before it is computed: it is still
# in the first-level cache when it is read again.
BLOCK = 1024
# With no more expressions than these, a specialization for a scalar operand is faster.
FEW_EXPRESSIONS = 8
# Attributes of functions: #0 is compiled at -O3, #1, which runs once for many elements, at -O0.
# There are no others (about vectors, say): LLVM takes a millisecond to set up each combination.
ATTRIBUTES = ("attributes #0 = { nounwind }", "attributes #1 = { nounwind noinline optnone }")
LOOP_SIGNATURE = "ptr %args, ptr %dims, ptr %steps, ptr %data"


def elementwise_module(name: str, program: Program, scalars: tuple[int, ...], cost: int) -> str:
    """The module of an elementwise kernel; the inputs `scalars` are usually scalars."""
    emitter = Emitter()
    count = len(program.dtypes)
    _elementwise_body(emitter, program, scalars)
    grain = str(max(GRAIN // cost, LEAST_GRAIN))
    entry(emitter, name, count, count, 0, lambda e: e.value(f"add i64 0, {grain}"))
    return emitter.text()


def entry(
    e: Emitter,
    name: str,
    pointers: int,
    steps: int,
    sizes: int,
    grain: Callable[[Emitter], str],
) -> None:
    """The function with the signature of a ufunc's loop: fills the context, then runs the body.

    The context has the pointers, the steps, and the sizes of the core dimensions. `grain` emits
    the number of outer elements of a task.
    """
    with e.function(f"void @{name}({LOOP_SIGNATURE})", "#1"):
        words = [("args", index) for index in range(pointers)]
        words += [("steps", index) for index in range(steps)]
        words += [("dims", 1 + index) for index in range(sizes)]
        e.line(f"%context = alloca i64, i64 {len(words)}, align 8")
        for index, (source, place) in enumerate(words):
            store_context_word(e, index, loop_argument(e, source, place))
        e.line("%n = load i64, ptr %dims")
        size = grain(e)
        e.line(f"%big = icmp sgt i64 %n, {size}")
        e.line("br i1 %big, label %parallel, label %serial")
        e.label("parallel")
        run_tasks(e, "%context", "%n", size)
        e.line("ret void")
        e.label("serial")
        e.line("call void @body(ptr %context, i64 0, i64 %n)")


def run_tasks(e: Emitter, context: str, count: str, grain: str) -> None:
    """Have the thread pool run `body(context, begin, end)` over range(count)."""
    e.declare("void @clew_parallel_for(ptr, ptr, i64, i64)")
    e.line(f"call void @clew_parallel_for(ptr @body, ptr {context}, i64 {count}, i64 {grain})")


def rows_per_task(e: Emitter, elements: int, size: str, least: str = "1") -> str:
    """How many rows of `size` elements make a task of so many elements."""
    some = e.call("smax", I64, [size, "1"])
    fit = e.value(f"udiv i64 {elements}, {some}")
    return e.call("smax", I64, [fit, least])


def _elementwise_body(e: Emitter, program: Program, scalars: tuple[int, ...]) -> None:
    """`body(context, begin, end)`: dispatches to a specialization for the operands' layout.

    The specializations take contiguous operands and multiples of their step. All other layouts and
    the remainder go through buffers (strided_elementwise.py), so that there is no masked code: LLVM
    would take as long for it as for the rest.
    """
    dtypes, inputs = program.dtypes, len(program.inputs)
    count = len(dtypes)
    layouts = [frozenset(scalars)]
    if inputs == 2 and not scalars and len(list(postorder(program.roots))) <= FEW_EXPRESSIONS:
        layouts += [frozenset((0,)), frozenset((1,))]
    for version, single in enumerate(layouts):
        head = f"internal void @contiguous{version}(ptr %context, i64 %begin, i64 %end)"
        with e.function(head, "#0"):
            pointers = [context_word(e, index, "ptr") for index in range(count)]
            elements = ElementwiseLoop(e, program, pointers, single, is_multiple=True)
            elements.emit()
    with e.function(BODY, "#1"):
        steps = [context_word(e, count + index, "i64") for index in range(count)]
        size = e.value("sub i64 %end, %begin")
        multiple = e.value(f"and i64 {size}, {-elements.step}")
        middle = e.value(f"add i64 %begin, {multiple}")
        for version, single in enumerate(layouts):
            matches = "true"
            for index, (step, dtype) in enumerate(zip(steps, dtypes, strict=True)):
                wanted = 0 if index in single else ITEMSIZE[dtype]
                same = e.value(f"icmp eq i64 {step}, {wanted}")
                matches = e.value(f"and i1 {matches}, {same}")
            e.line(f"br i1 {matches}, label %is{version}, label %not{version}")
            e.label(f"is{version}")
            e.line(f"call void @contiguous{version}(ptr %context, i64 %begin, i64 {middle})")
            e.line("br label %remainder")
            e.label(f"not{version}")
        strided_elementwise.call(e, "contiguous0", "%begin", "%end")
        e.line("ret void")
        e.label("remainder")
        is_done = e.value(f"icmp eq i64 {middle}, %end")
        e.line(f"br i1 {is_done}, label %done, label %left")
        e.label("left")
        strided_elementwise.call(e, "contiguous0", middle, "%end")
        e.line("br label %done")
        e.label("done")
    sizes = [0 if index in layouts[0] else ITEMSIZE[dtype] for index, dtype in enumerate(dtypes)]
    layout = strided_elementwise.layout(inputs, elements.step, sizes)
    e.constant_words("layout", layout)
    end_module(e)


def end_module(e: Emitter, start: str = "") -> None:
    """The end of a module; `start` names a function that runs the body on the thread pool."""
    if start:
        with e.function(f"void @{start}(ptr %context, i64 %count, i64 %grain)", "#1"):
            run_tasks(e, "%context", "%count", "%grain")
    e.lines += ATTRIBUTES


def context_word(e: Emitter, index: int, llvm: str) -> str:
    """One of the words of the context."""
    return e.value(f"load {llvm}, ptr {_word_address(e, 'context', index)}")


def store_context_word(e: Emitter, index: int, value: str) -> None:
    e.line(f"store i64 {value}, ptr {_word_address(e, 'context', index)}")


def loop_argument(e: Emitter, array: str, index: int) -> str:
    """A word of the arrays `args`, `dims` or `steps` that a ufunc's loop is called with."""
    return e.value(f"load i64, ptr {_word_address(e, array, index)}")


def _word_address(e: Emitter, array: str, index: int) -> str:
    return e.value(f"getelementptr i64, ptr %{array}, i64 {index}")


class ElementwiseLoop:
    """Vectorized loops over contiguous elements; the inputs `scalars` are scalars.

    With `is_multiple` the number of elements is a multiple of `step`.
    """

    def __init__(
        self,
        e: Emitter,
        program: Program,
        pointers: list[str],
        scalars: frozenset[int],
        is_multiple: bool = False,
    ) -> None:
        self.e, self.program, self.pointers, self.scalars = e, program, pointers, scalars
        self.is_multiple = is_multiple
        self.lanes = lanes_for(program.dtypes)
        unlikely = [expr.args[0] for expr in postorder(program.roots) if expr.op == "unlikely"]
        self.conditions = fast_path(unlikely)
        bodies = fast_path(program.roots), self.conditions
        self.step = self.lanes * max(*(unroll_for(postorder(each)) for each in bodies), 1)

    def emit(self, begin: str = "%begin", end: str = "%end") -> None:
        """for i in range(begin, end), in blocks that are tested for unlikely conditions first."""
        roots = self.program.roots
        if not self.conditions:
            self.store(roots, begin, end, unroll_for(postorder(roots)), self.lanes)
            return
        e, name = self.e, self.e.fresh("case")
        with loop(e, begin, end, BLOCK) as block:
            stop = block_end(e, block, BLOCK, end)
            found = self.any_of(self.conditions, block, stop)
            e.line(f"br i1 {found}, label %slow{name}, label %fast{name}")
            fast = fast_path(roots)
            # Gathers from tables take LLVM long to compile: the slow path has scalars instead.
            lanes = 0 if any(expr.op == "table" for expr in postorder(roots)) else self.lanes
            for case, chosen, unroll, at_once in (
                ("slow", roots, 0, lanes), ("fast", fast, unroll_for(postorder(fast)), self.lanes)
            ):  # fmt: skip
                e.label(case + name)
                self.store(chosen, block, stop, unroll, at_once)
                e.line(f"br label %end{name}")
            e.label(f"end{name}")

    def store(self, roots: list[Expr], begin: str, end: str, unroll: int, lanes: int) -> None:
        hoisted = self.hoisted(roots, lanes)

        def body(i: str, _: list[str]) -> list[str]:
            values = self.values(roots, hoisted, i)
            for number, root in enumerate(roots, len(self.program.inputs)):
                address = self.address(number, i)
                self.e.store(self.program.dtypes[number], values[id(root)], address)
            return []

        vector_loop(self.e, (begin, end), lanes, unroll, body, is_multiple=self.is_multiple)

    def any_of(self, conditions: list[Expr], begin: str, end: str) -> str:
        """Whether a condition holds for any element."""
        e, hoisted = self.e, self.hoisted(conditions, self.lanes)

        def body(i: str, found: list[str]) -> list[str]:
            values, truth = self.values(conditions, hoisted, i), e.value_type("i1")
            either = e.constant(False, BOOL)
            for condition in conditions:
                either = e.value(f"or {truth} {either}, {values[id(condition)]}")
            if e.mask:
                either = e.value(f"and {truth} {either}, {e.mask}")
            return [e.value(f"or {truth} {found[0]}, {either}")]

        lanes, unroll = self.lanes, unroll_for(postorder(conditions))
        truth = f"<{lanes} x i1>"
        start = [(truth, "zeroinitializer")]
        span = begin, end
        first, *others = vector_loop(e, span, lanes, unroll, body, start, self.is_multiple)
        for other in others:
            first = e.value(f"or {truth} {first}, {other}")
        e.declare(f"i1 @llvm.vector.reduce.or.v{lanes}i1({truth})")
        return e.value(f"call i1 @llvm.vector.reduce.or.v{lanes}i1({truth} {first})")

    def varying(self, roots: list[Expr]) -> dict[int, bool]:
        """Which expressions are not loop-invariant."""
        varies: dict[int, bool] = {}
        for expr in postorder(roots):
            of_args = any(varies[id(arg)] for arg in expr.args)
            varies[id(expr)] = expr.value not in self.scalars if expr.op == "input" else of_args
        return varies

    def hoisted(self, roots: list[Expr], lanes: int) -> dict[int, str]:
        """Loop-invariant values, computed before the loop, in all lanes."""
        e, values, splats = self.e, dict[int, str](), dict[int, str]()
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
                same = e.operation(expr, []) if is_const else e.splat(expr.dtype, values[key])
                splats[key] = same
                e.lanes = 0
        return splats

    def values(self, roots: list[Expr], hoisted: dict[int, str], i: str) -> dict[int, str]:
        e, values, varies = self.e, dict(hoisted), self.varying(roots)
        for expr in postorder(roots):
            if not varies[id(expr)]:
                continue
            if expr.op == "input":
                address = self.address(expr.value, i)
                values[id(expr)] = e.load(self.program.inputs[expr.value], address)
            else:
                values[id(expr)] = e.operation(expr, [values[id(arg)] for arg in expr.args])
        return values

    def address(self, index: int, i: str) -> str:
        return self.e.element_address(self.program.dtypes[index], self.pointers[index], i)
