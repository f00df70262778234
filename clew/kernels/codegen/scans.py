"""Loops that carry a value along the elements: running sums and products, recurrences.

What is carried has more digits than the results. Where the elements of one scan lie further apart
than the scans do, some scans go on side by side, as vectors.
"""

from __future__ import annotations

from clew.kernels.codegen.emitter import ITEMSIZE, LLVM_TYPE, MEMORY_TYPE, Emitter, literal
from clew.kernels.codegen.ir import F32, F64, Program, postorder
from clew.kernels.codegen.loops import Loop, context_word, entry, finish
from clew.kernels.codegen.vectors import carrying_loop, lanes_for, over_vectors

GRAIN = 16384
# Scans that go on side by side.
ABREAST = 64
# Elements of an associative scan that are combined before they meet what is carried: the chain of
# operations that wait for each other is so much shorter.
AHEAD = 4


def scan_module(
    name: str, program: Program, output: str, start: float, is_associative: bool
) -> str:
    """The module of a scan: the program makes the next carried value from the last and inputs."""
    e = Emitter()
    for which in ("smax", "abs"):
        more = ", i1" if which == "abs" else ", i64"
        e.declare(f"i64 @llvm.{which}.i64(i64{more})")
    scan = _Scan(e, program, output, start)
    count = len(scan.dtypes)
    e.lines.append("define internal void @body(ptr %context, i64 %begin, i64 %end) #0 {")
    e.line(f"%row = alloca {scan.llvm}, i64 {ABREAST}, align 64")
    scan.pointers = [context_word(e, arg, "ptr") for arg in range(count)]
    scan.outer = [context_word(e, count + arg, "i64") for arg in range(count)]
    scan.steps = [context_word(e, 2 * count + arg, "i64") for arg in range(count)]
    scan.size = context_word(e, 3 * count, "i64")
    e.line(f"br i1 {_side_by_side(e, scan.outer[-1], scan.steps[-1])}, label %abreast, label %rows")
    e.label("rows")
    scan.one_after_another(is_associative)
    e.line("ret void")
    e.label("abreast")
    e.line(f"br i1 {scan.are_dense()}, label %dense, label %apart")
    for layout in ("dense", "apart"):
        e.label(layout)
        scan.abreast(layout == "dense")
        e.line("ret void")
    e.lines.append("}")
    entry(e, name, count, 2 * count, 1, _grain(count))
    finish(e)
    return e.text()


def _side_by_side(e: Emitter, outer: str, step: str) -> str:
    """Whether neighbours in memory belong to different scans; a single scan has a step of 0."""
    outer, step = (
        e.value(f"call i64 @llvm.abs.i64(i64 {each}, i1 false)") for each in (outer, step)
    )
    several = e.value(f"icmp ne i64 {outer}, 0")
    return e.value(f"and i1 {several}, {e.value(f'icmp slt i64 {outer}, {step}')}")


def _grain(count: int) -> str:
    """Scans of one piece: so many that it is worth a thread, and enough to go side by side."""
    return (
        f"%outer_at = getelementptr i64, ptr %steps, i64 {count - 1}\n"
        "  %outer_step = load i64, ptr %outer_at\n"
        f"  %step_at = getelementptr i64, ptr %steps, i64 {2 * count - 1}\n"
        "  %step = load i64, ptr %step_at\n"
        "  %outer_size = call i64 @llvm.abs.i64(i64 %outer_step, i1 false)\n"
        "  %step_size = call i64 @llvm.abs.i64(i64 %step, i1 false)\n"
        "  %beside = icmp slt i64 %outer_size, %step_size\n"
        f"  %least = select i1 %beside, i64 {ABREAST}, i64 1\n"
        "  %size_at = getelementptr i64, ptr %dims, i64 1\n"
        "  %size = load i64, ptr %size_at\n"
        "  %some = call i64 @llvm.smax.i64(i64 %size, i64 1)\n"
        f"  %fit = udiv i64 {GRAIN}, %some\n"
        "  %grain = call i64 @llvm.smax.i64(i64 %fit, i64 %least)"
    )


class _Scan:
    """One scan's loops; the program's first input is what is carried, the others are elements."""

    def __init__(self, e: Emitter, program: Program, output: str, start: float) -> None:
        self.e, self.program = e, program
        self.carried = program.inputs[0]
        self.llvm = LLVM_TYPE[self.carried]
        self.start = literal(start, self.carried)
        self.inputs, self.output = program.inputs[1:], output
        self.dtypes = [*self.inputs, output]
        self.pointers: list[str] = []
        self.outer: list[str] = []
        self.steps: list[str] = []
        self.size = ""

    def are_dense(self) -> str:
        """Whether the first elements of all scans follow each other in memory."""
        dense = "true"
        for step, dtype in zip(self.outer, self.dtypes, strict=True):
            same = self.e.value(f"icmp eq i64 {step}, {ITEMSIZE[dtype]}")
            dense = self.e.value(f"and i1 {dense}, {same}")
        return dense

    def next(self, carried: str, elements: list[str]) -> str:
        """The program for one element."""
        values: dict[int, str] = {}
        given = [carried, *elements]
        for expr in postorder(self.program.roots):
            if expr.op == "input":
                values[id(expr)] = given[expr.value]
            else:
                values[id(expr)] = self.e.operation(expr, [values[id(arg)] for arg in expr.args])
        return values[id(self.program.roots[0])]

    def base(self, arg: int, scan: str) -> str:
        offset = self.e.value(f"mul i64 {scan}, {self.outer[arg]}")
        return self.e.value(f"getelementptr i8, ptr {self.pointers[arg]}, i64 {offset}")

    def along(self, base: str, arg: int, j: str) -> str:
        offset = self.e.value(f"mul i64 {j}, {self.steps[arg]}")
        return self.e.value(f"getelementptr inbounds i8, ptr {base}, i64 {offset}")

    def store(self, value: str, place: str) -> None:
        e = self.e
        if self.carried == F64 and self.output != F64:
            value = e.value(f"fptrunc {e.of('double')} {value} to {e.of('float')}")
        e.store(self.output, value, place)

    # -- one scan after the other ----------------------------------------------------------

    def one_after_another(self, is_associative: bool) -> None:
        e = self.e
        scan = Loop(e, "%begin", "%end")
        bases = [self.base(arg, scan.i) for arg in range(len(self.dtypes))]
        first, carried = "0", self.start
        if is_associative:
            first = e.value(f"and i64 {self.size}, {-AHEAD}")
            (carried,) = carrying_loop(
                e, ("0", first), AHEAD,
                lambda j, before: [self.combine_ahead(bases, j, before[0])],
                [(self.llvm, carried)],
            )  # fmt: skip

        def body(j: str, before: list[str]) -> list[str]:
            elements = [
                e.load(dtype, self.along(bases[arg], arg, j))
                for arg, dtype in enumerate(self.inputs)
            ]
            value = self.next(before[0], elements)
            self.store(value, self.along(bases[-1], len(self.inputs), j))
            return [value]

        carrying_loop(e, (first, self.size), 1, body, [(self.llvm, carried)])
        scan.close()

    def combine_ahead(self, bases: list[str], j: str, before: str) -> str:
        """Four elements a, b, c, d: (a), (ab), (ab)c, (ab)(cd), each after what is carried."""
        e = self.e
        places = [j, *(e.value(f"add i64 {j}, {k}") for k in range(1, AHEAD))]
        elements = [e.load(self.inputs[0], self.along(bases[0], 0, place)) for place in places]
        if self.carried == F64 and LLVM_TYPE.get(self.inputs[0]) != "double":
            wide = [e.value(f"fpext float {element} to double") for element in elements]
        else:
            wide = elements
        pair = self.next(wide[0], [elements[1]])
        triple = self.next(pair, [elements[2]])
        second = self.next(wide[2], [elements[3]])
        parts = [wide[0], pair, triple, self.joined(pair, second)]
        results = [self.joined(before, part) for part in parts]
        for place, result in zip(places, results, strict=True):
            self.store(result, self.along(bases[-1], 1, place))
        return results[-1]

    def joined(self, left: str, right: str) -> str:
        """Two carried values put together, by the program's own last operation."""
        return self.e.operation(self.program.roots[0], [left, right])

    # -- many side by side -----------------------------------------------------------------

    def abreast(self, dense: bool) -> None:
        e = self.e
        lanes = lanes_for(self.dtypes) if dense else 0
        block = Loop(e, "%begin", "%end", ABREAST)
        stop = e.value(f"add i64 {block.i}, {ABREAST}")
        over = e.value(f"icmp sgt i64 {stop}, %end")
        last = e.value(f"select i1 {over}, i64 %end, i64 {stop}")

        def begin(scan: str, _: list[str]) -> list[str]:
            start = e.repeated(self.start, self.llvm)
            e.store(self.carried, start, self.beside(scan, block.i))
            return []

        over_vectors(e, (block.i, last), lanes, 1, begin)
        along = Loop(e, "0", self.size)
        bases = []
        for pointer, step in zip(self.pointers, self.steps, strict=True):
            offset = e.value(f"mul i64 {along.i}, {step}")
            bases.append(e.value(f"getelementptr inbounds i8, ptr {pointer}, i64 {offset}"))

        def go_on(scan: str, _: list[str]) -> list[str]:
            places = [self.across(base, arg, scan, dense) for arg, base in enumerate(bases)]
            loads = zip(self.inputs, places[:-1], strict=True)
            elements = [e.load(dtype, place) for dtype, place in loads]
            kept = self.beside(scan, block.i)
            value = self.next(e.load(self.carried, kept), elements)
            e.store(self.carried, value, kept)
            self.store(value, places[-1])
            return []

        over_vectors(e, (block.i, last), lanes, 2, go_on)
        along.close()
        block.close()

    def across(self, base: str, arg: int, scan: str, dense: bool) -> str:
        e, memory = self.e, MEMORY_TYPE[self.dtypes[arg]]
        if dense:
            return e.value(f"getelementptr inbounds {memory}, ptr {base}, i64 {scan}")
        offset = e.value(f"mul i64 {scan}, {self.outer[arg]}")
        return e.value(f"getelementptr inbounds i8, ptr {base}, i64 {offset}")

    def beside(self, scan: str, first: str) -> str:
        number = self.e.value(f"sub i64 {scan}, {first}")
        return self.e.value(f"getelementptr inbounds {self.llvm}, ptr %row, i64 {number}")


def carried_type(dtype: str) -> str:
    """What is carried along elements of a type: a float with more digits, if there is one."""
    return F64 if dtype in (F32, F64) else F32
