"""An IR builder: address arithmetic, branches and loops of LLVM IR, written as Python.

Methods have the names of llvmlite's `IRBuilder` where it has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.vectors import loop

SIZEOF = {"half": 2, "i16": 2, "float": 4, "double": 8, "i64": 8}
# A task of a parallel loop: what the thread pool runs over a part of a range.
BODY = "internal void @body(ptr %context, i64 %begin, i64 %end)"


class IRBuilder:
    """Appends instructions to the current function of an emitter.

    Operands are names of LLVM values, or integers as text; `llvm` is the kernel's element type.
    """

    def __init__(self, e: Emitter, llvm: str, attributes: str = "#0") -> None:
        self.e, self.llvm, self.itemsize = e, llvm, SIZEOF[llvm]
        # The default of `function`.
        self.attributes = attributes
        # The half (F16 or BF16) that results of `Real`s are rounded to, after each step.
        self.rounding: str | None = None

    # -- functions -------------------------------------------------------------------------------

    @contextmanager
    def function(self, head: str, attributes: str = "") -> Iterator[None]:
        """A function that returns void, e.g. `internal void @f(ptr %x)`."""
        with self.e.function(head, attributes or self.attributes):
            yield

    def load_context(self, *names: str, only: Sequence[str] = ()) -> dict[str, str]:
        """The words of `%context`, or `only` some of them, by name; pointers have a `*`."""
        words: dict[str, str] = {}
        for index, starred in enumerate(names):
            name = starred.lstrip("*")
            if not only or name in only:
                kind = "i64" if name == starred else "ptr"
                words[name] = self.load_word(self.gep_i64("%context", str(index)), kind)
        return words

    def store_context(self, context: str, names: Sequence[str], values: dict[str, str]) -> None:
        """Store the words that `load_context` loads; those without a value are 0."""
        if any(name.lstrip("*") not in values for name in names):
            self.fill_zeros(context, str(len(names) * 8 // self.itemsize))
        self.update_context(context, names, values)

    def update_context(self, context: str, names: Sequence[str], values: dict[str, str]) -> None:
        """Store the words that have a value; the others stay as they are."""
        for index, starred in enumerate(names):
            name = starred.lstrip("*")
            if name in values:
                kind = "i64" if name == starred else "ptr"
                self.store_word(self.gep_i64(context, str(index)), values[name], kind)

    # -- integers --------------------------------------------------------------------------------

    def _binary(self, how: str, first: str, others: tuple[str, ...]) -> str:
        for other in others:
            first = self.e.value(f"{how} i64 {first}, {other}")
        return first

    def add(self, first: str, *others: str) -> str:
        return self._binary("add", first, others)

    def sub(self, first: str, *others: str) -> str:
        return self._binary("sub", first, others)

    def mul(self, first: str, *others: str) -> str:
        return self._binary("mul", first, others)

    def udiv(self, a: str, b: str) -> str:
        return self.e.value(f"udiv i64 {a}, {b}")

    def urem(self, a: str, b: str) -> str:
        return self.e.value(f"urem i64 {a}, {b}")

    def ceil_div(self, a: str, b: str) -> str:
        """a / b rounded up, for a >= 0 and b > 0."""
        less_one = str(int(b) - 1) if b.isdigit() else self.sub(b, "1")
        return self.udiv(self.add(a, less_one), b)

    def round_up(self, a: str, b: str) -> str:
        """The least multiple of b that is not below a."""
        return self.mul(self.ceil_div(a, b), b)

    def round_down(self, a: str, b: str) -> str:
        """The greatest multiple of b that is not above a, for a >= 0."""
        return self.mul(self.udiv(a, b), b)

    # By comparison: LLVM's intrinsics are slow to compile at -O0.

    def min(self, a: str, b: str) -> str:
        return self.select(self.icmp("slt", a, b), a, b)

    def max(self, a: str, b: str) -> str:
        return self.select(self.icmp("sgt", a, b), a, b)

    def largest_fitting(self, left: str, sizes: Sequence[int]) -> str:
        """The first of decreasing sizes that is not above what is left; the last size is 1."""
        found = str(sizes[-1])
        for size in reversed(sizes[:-1]):
            found = self.select(self.icmp("sge", left, str(size)), str(size), found)
        return found

    # -- conditions ------------------------------------------------------------------------------

    def icmp(self, how: str, a: str, b: str) -> str:
        return self.e.value(f"icmp {how} i64 {a}, {b}")

    def and_(self, a: str, b: str) -> str:
        return self.e.value(f"and i1 {a}, {b}")

    def or_(self, a: str, b: str) -> str:
        return self.e.value(f"or i1 {a}, {b}")

    def not_(self, a: str) -> str:
        return self.e.value(f"xor i1 {a}, true")

    def select(self, condition: str, a: str, b: str, kind: str = "i64") -> str:
        return self.e.value(f"select i1 {condition}, {kind} {a}, {kind} {b}")

    # -- memory ----------------------------------------------------------------------------------

    def gep(self, base: str, index: str) -> str:
        """The address of an element."""
        return self.e.value(f"getelementptr inbounds {self.llvm}, ptr {base}, i64 {index}")

    def ptr_add(self, base: str, offset: str) -> str:
        """The address at an offset in bytes."""
        return self.e.value(f"getelementptr i8, ptr {base}, i64 {offset}")

    def load(self, address: str, kind: str = "") -> str:
        """An element, or a vector of elements, aligned as an element is."""
        return self.e.value(f"load {kind or self.llvm}, ptr {address}, align {self.itemsize}")

    def store(self, value: str, address: str, kind: str = "") -> None:
        self.e.line(f"store {kind or self.llvm} {value}, ptr {address}, align {self.itemsize}")

    def add_to(self, address: str, value: str, kind: str = "", how: str = "fadd") -> None:
        """*address += value."""
        kind = kind or self.llvm
        total = self.e.value(f"{how} {kind} {self.load(address, kind)}, {value}")
        self.store(total, address, kind)

    def gep_i64(self, base: str, index: str) -> str:
        """The address of an element of an array of int64."""
        return self.e.value(f"getelementptr inbounds i64, ptr {base}, i64 {index}")

    def load_i64(self, base: str, index: str) -> str:
        """An element of an array of int64."""
        return self.load_word(self.gep_i64(base, index))

    def load_word(self, address: str, kind: str = "i64") -> str:
        """An integer or a pointer, with the alignment of its type."""
        return self.e.value(f"load {kind}, ptr {address}")

    def store_word(self, address: str, value: str, kind: str = "i64") -> None:
        self.e.line(f"store {kind} {value}, ptr {address}")

    def local(self, kind: str, value: str) -> str:
        """The address of a local variable."""
        address = self.e.value(f"alloca {kind}")
        self.e.line(f"store {kind} {value}, ptr {address}")
        return address

    def malloc(self, elements: str) -> str:
        """A buffer on the heap, cache-line aligned, until `free`."""
        return self.e.aligned_malloc(self.mul(elements, str(self.itemsize)))

    def free(self, buffer: str) -> None:
        self.e.free(buffer)

    def fill_zeros(self, target: str, count: str) -> None:
        """Zero so many elements."""
        self.e.declare("void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        size = self.mul(count, str(self.itemsize))
        self.e.line(f"call void @llvm.memset.p0.i64(ptr {target}, i8 0, i64 {size}, i1 false)")

    def memcpy_words(self, target: str, source: str, count: int) -> None:
        self.e.declare("void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        given = f"ptr align 8 {target}, ptr align 8 {source}, i64 {8 * count}, i1 false"
        self.e.line(f"call void @llvm.memcpy.p0.p0.i64({given})")

    def shuffle_vector(self, vector: str, a: str, b: str, lanes: Sequence[int]) -> str:
        """A vector of lanes of two vectors."""
        mask = ", ".join(f"i32 {lane}" for lane in lanes)
        return self.e.value(
            f"shufflevector {vector} {a}, {vector} {b}, <{len(lanes)} x i32> <{mask}>"
        )

    # -- control flow ----------------------------------------------------------------------------

    @contextmanager
    def loop(self, begin: str, end: str, by: int | str = 1) -> Iterator[str]:
        """for i in range(begin, end, by)"""
        with loop(self.e, begin, end, by) as i:
            yield i

    @contextmanager
    def if_then(self, condition: str) -> Iterator[None]:
        name = self.e.fresh("then")
        self.e.line(f"br i1 {condition}, label %{name}, label %end{name}")
        self.e.label(name)
        yield
        self.e.line(f"br label %end{name}")
        self.e.label(f"end{name}")

    def branch_unless(self, condition: str, label: str) -> None:
        """Jump to a label if the condition is false."""
        name = self.e.fresh("else")
        self.e.line(f"br i1 {condition}, label %{name}, label %{label}")
        self.e.label(name)

    @contextmanager
    def loop_forever(self) -> Iterator[str]:
        """while True; a branch to the label that is given leaves the loop."""
        name = self.e.fresh("loop")
        self.e.line(f"br label %{name}")
        self.e.label(name)
        yield f"exit{name}"
        self.e.line(f"br label %{name}")
        self.e.label(f"exit{name}")
