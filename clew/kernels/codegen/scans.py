"""Scans: cumulative sums and products, and recurrences along the last axis.

The carry has more digits than the results. Where neighbours in memory belong to different scans, a
block of scans advances together, in vectors.
"""

from __future__ import annotations

from clew.kernels.codegen.builder import BODY
from clew.kernels.codegen.emitter import ITEMSIZE, LLVM_TYPE, Emitter, literal
from clew.kernels.codegen.ir import F32, F64, Program
from clew.kernels.codegen.loops import (
    GRAIN,
    context_word,
    end_module,
    entry,
    loop_argument,
    rows_per_task,
)
from clew.kernels.codegen.vectors import block_end, carrying_loop, lanes_for, loop, vector_loop

# Scans of a block that advances together.
BLOCK = 64
# Elements of an associative scan that are combined before they meet the carry: the chain of
# dependent operations is so much shorter.
UNROLL = 4


def scan_module(
    name: str, program: Program, output: str, start: float, is_associative: bool
) -> str:
    """The module of a scan: the program computes the next carry from the last and the inputs."""
    e = Emitter()
    scan = _Scan(e, program, output, start)
    count = len(scan.dtypes)
    with e.function(BODY, "#0"):
        e.line(f"%carry = alloca {scan.llvm}, i64 {BLOCK}, align 64")
        scan.pointers = [context_word(e, arg, "ptr") for arg in range(count)]
        scan.outer = [context_word(e, count + arg, "i64") for arg in range(count)]
        scan.steps = [context_word(e, 2 * count + arg, "i64") for arg in range(count)]
        scan.size = context_word(e, 3 * count, "i64")
        outer, step = _absolute(e, scan.outer[-1]), _absolute(e, scan.steps[-1])
        # A single scan has an outer step of 0.
        several = e.value(f"icmp ne i64 {outer}, 0")
        side_by_side = e.value(f"and i1 {several}, {e.value(f'icmp slt i64 {outer}, {step}')}")
        e.line(f"br i1 {side_by_side}, label %blocks, label %rows")
        e.label("rows")
        scan.one_by_one(is_associative)
        e.line("ret void")
        e.label("blocks")
        e.line(f"br i1 {scan.are_contiguous()}, label %contiguous, label %strided")
        e.label("contiguous")
        scan.in_blocks(is_contiguous=True)
        e.line("ret void")
        e.label("strided")
        scan.in_blocks(is_contiguous=False)
    entry(e, name, count, 2 * count, 1, lambda e: _grain(e, count))
    end_module(e)
    return e.text()


def _absolute(e: Emitter, value: str) -> str:
    e.declare("i64 @llvm.abs.i64(i64, i1)")
    return e.value(f"call i64 @llvm.abs.i64(i64 {value}, i1 false)")


def _grain(e: Emitter, count: int) -> str:
    """The scans of a task: at least a block where they lie side by side."""
    outer_step = loop_argument(e, "steps", count - 1)
    step = loop_argument(e, "steps", 2 * count - 1)
    outer, inner = _absolute(e, outer_step), _absolute(e, step)
    side_by_side = e.value(f"icmp slt i64 {outer}, {inner}")
    least = e.value(f"select i1 {side_by_side}, i64 {BLOCK}, i64 1")
    return rows_per_task(e, GRAIN, loop_argument(e, "dims", 1), least)


class _Scan:
    """The loops of a scan; the program's first input is the carry, the others are elements."""

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

    def are_contiguous(self) -> str:
        """Whether the first elements of neighbouring scans are neighbours in memory."""
        contiguous = "true"
        for step, dtype in zip(self.outer, self.dtypes, strict=True):
            same = self.e.value(f"icmp eq i64 {step}, {ITEMSIZE[dtype]}")
            contiguous = self.e.value(f"and i1 {contiguous}, {same}")
        return contiguous

    def next(self, carry: str, elements: list[str]) -> str:
        """The carry after one element."""
        given = [carry, *elements]
        return self.e.evaluate(self.program.roots, lambda expr: given[expr.value])[0]

    def address(self, base: str, arg: int, j: str) -> str:
        """The address of element j of a scan."""
        return self.e.strided_address(base, j, self.steps[arg])

    def store(self, value: str, address: str) -> None:
        e = self.e
        if self.carried == F64 and self.output != F64:
            value = e.value(f"fptrunc {e.value_type('double')} {value} to {e.value_type('float')}")
        e.store(self.output, value, address)

    # -- one scan after the other ----------------------------------------------------------

    def one_by_one(self, is_associative: bool) -> None:
        e = self.e
        with loop(e, "%begin", "%end") as scan:
            bases = [
                e.strided_address(pointer, scan, step)
                for pointer, step in zip(self.pointers, self.outer, strict=True)
            ]
            first, carry = "0", self.start
            if is_associative:
                first = e.value(f"and i64 {self.size}, {-UNROLL}")
                (carry,) = carrying_loop(
                    e, ("0", first), UNROLL,
                    lambda j, before: [self.unrolled(bases, j, before[0])],
                    [(self.llvm, carry)],
                )  # fmt: skip

            def body(j: str, before: list[str]) -> list[str]:
                elements = [
                    e.load(dtype, self.address(bases[arg], arg, j))
                    for arg, dtype in enumerate(self.inputs)
                ]
                value = self.next(before[0], elements)
                self.store(value, self.address(bases[-1], len(self.inputs), j))
                return [value]

            carrying_loop(e, (first, self.size), 1, body, [(self.llvm, carry)])

    def unrolled(self, bases: list[str], j: str, carry: str) -> str:
        """Four elements a, b, c, d: (a), (ab), (ab)c, (ab)(cd), each combined with the carry."""
        e = self.e
        indices = [j, *(e.value(f"add i64 {j}, {k}") for k in range(1, UNROLL))]
        elements = [e.load(self.inputs[0], self.address(bases[0], 0, each)) for each in indices]
        if self.carried == F64 and LLVM_TYPE.get(self.inputs[0]) != "double":
            wide = [e.value(f"fpext float {element} to double") for element in elements]
        else:
            wide = elements
        pair = self.next(wide[0], [elements[1]])
        triple = self.next(pair, [elements[2]])
        second = self.next(wide[2], [elements[3]])
        parts = [wide[0], pair, triple, self.combined(pair, second)]
        results = [self.combined(carry, part) for part in parts]
        for index, result in zip(indices, results, strict=True):
            self.store(result, self.address(bases[-1], 1, index))
        return results[-1]

    def combined(self, left: str, right: str) -> str:
        """Two carries, combined by the program's last operation."""
        return self.e.operation(self.program.roots[0], [left, right])

    # -- blocks of scans -------------------------------------------------------------------

    def in_blocks(self, is_contiguous: bool) -> None:
        e = self.e
        lanes = lanes_for(self.dtypes) if is_contiguous else 0
        with loop(e, "%begin", "%end", BLOCK) as block:
            last = block_end(e, block, BLOCK, "%end")

            def start(scan: str, _: list[str]) -> list[str]:
                value = e.splat_literal(self.start, self.llvm)
                e.store(self.carried, value, self.carry_address(scan, block))
                return []

            vector_loop(e, (block, last), lanes, 1, start)
            with loop(e, "0", self.size) as j:
                bases = [
                    e.strided_address(pointer, j, step)
                    for pointer, step in zip(self.pointers, self.steps, strict=True)
                ]

                def advance(scan: str, _: list[str]) -> list[str]:
                    addresses = [
                        self.neighbour(base, arg, scan, is_contiguous)
                        for arg, base in enumerate(bases)
                    ]
                    loads = zip(self.inputs, addresses[:-1], strict=True)
                    elements = [e.load(dtype, address) for dtype, address in loads]
                    carry = self.carry_address(scan, block)
                    value = self.next(e.load(self.carried, carry), elements)
                    e.store(self.carried, value, carry)
                    self.store(value, addresses[-1])
                    return []

                vector_loop(e, (block, last), lanes, 2, advance)

    def neighbour(self, base: str, arg: int, scan: str, is_contiguous: bool) -> str:
        """The address of a scan's element, from that of the first scan."""
        if is_contiguous:
            return self.e.element_address(self.dtypes[arg], base, scan)
        return self.e.strided_address(base, scan, self.outer[arg])

    def carry_address(self, scan: str, first: str) -> str:
        index = self.e.value(f"sub i64 {scan}, {first}")
        return self.e.element_address(self.carried, "%carry", index)


def carried_type(dtype: str) -> str:
    """The type of the carry for elements of a type: with more digits, if there is one."""
    return F64 if dtype in (F32, F64) else F32
