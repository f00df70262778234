"""An IR builder: sizes, addresses, branches and loops of LLVM IR, written as Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.loops import Loop

ITEM = {"float": 4, "double": 8}
# The dtypes of arrays that such code is written for, and what LLVM calls their elements.
TYPES = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}


class Code:
    """What is written here is appended to an emitter's current function.

    Operands are names of LLVM values or numbers as text; `llvm` is the type of the elements that
    the kernel is about.
    """

    def __init__(self, e: Emitter, llvm: str, attributes: str = "#0") -> None:
        self.e, self.llvm, self.item = e, llvm, ITEM[llvm]
        # Of functions of which nothing else is said.
        self.attributes = attributes

    # -- functions -------------------------------------------------------------------------------

    @contextmanager
    def function(self, head: str, attributes: str = "") -> Iterator[None]:
        """A function without a result, e.g. `internal void @f(ptr %x)`."""
        self.e.lines.append(f"define {head} {attributes or self.attributes} {{")
        self.e.label("entry")
        yield
        self.e.line("ret void")
        self.e.lines.append("}")

    def context(self, *names: str, only: Sequence[str] = ()) -> dict[str, str]:
        """The words of `%context`, or some of them, by their names; `*` is before pointers."""
        words: dict[str, str] = {}
        for index, starred in enumerate(names):
            name = starred.lstrip("*")
            if not only or name in only:
                kind = "i64" if name == starred else "ptr"
                words[name] = self.get(self.integer_at("%context", str(index)), kind)
        return words

    def tell(self, context: str, names: Sequence[str], values: dict[str, str]) -> None:
        """Write the words that `context` will find; what has no value is 0."""
        if any(name.lstrip("*") not in values for name in names):
            self.put_zeros(context, str(len(names) * 8 // self.item))
        self.tell_more(context, names, values)

    def tell_more(self, context: str, names: Sequence[str], values: dict[str, str]) -> None:
        """Write words that have values now; the others stay as they are."""
        for index, starred in enumerate(names):
            name = starred.lstrip("*")
            if name in values:
                kind = "i64" if name == starred else "ptr"
                self.put(self.integer_at(context, str(index)), values[name], kind)

    # -- numbers ---------------------------------------------------------------------------------

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

    def quotient(self, a: str, b: str) -> str:
        return self.e.value(f"udiv i64 {a}, {b}")

    def remainder(self, a: str, b: str) -> str:
        return self.e.value(f"urem i64 {a}, {b}")

    def pieces(self, a: str, b: str) -> str:
        """a / b rounded up, for a >= 0 and b > 0."""
        most_left = str(int(b) - 1) if b.isdigit() else self.sub(b, "1")
        return self.quotient(self.add(a, most_left), b)

    def multiple(self, a: str, b: str) -> str:
        """The least multiple of b that is not below a."""
        return self.mul(self.pieces(a, b), b)

    # Without LLVM's own functions for it, which are slow to compile where it hardly tries.

    def least(self, a: str, b: str) -> str:
        return self.choose(self.compare("slt", a, b), a, b)

    def most(self, a: str, b: str) -> str:
        return self.choose(self.compare("sgt", a, b), a, b)

    def tallest(self, left: str, sizes: Sequence[int]) -> str:
        """The first of decreasing sizes that is not above what is left; the last is 1."""
        found = str(sizes[-1])
        for size in reversed(sizes[:-1]):
            found = self.choose(self.compare("sge", left, str(size)), str(size), found)
        return found

    # -- truth -----------------------------------------------------------------------------------

    def compare(self, how: str, a: str, b: str) -> str:
        return self.e.value(f"icmp {how} i64 {a}, {b}")

    def both(self, a: str, b: str) -> str:
        return self.e.value(f"and i1 {a}, {b}")

    def either(self, a: str, b: str) -> str:
        return self.e.value(f"or i1 {a}, {b}")

    def negated(self, a: str) -> str:
        return self.e.value(f"xor i1 {a}, true")

    def choose(self, condition: str, a: str, b: str, kind: str = "i64") -> str:
        return self.e.value(f"select i1 {condition}, {kind} {a}, {kind} {b}")

    # -- memory ----------------------------------------------------------------------------------

    def at(self, base: str, index: str) -> str:
        """The address of an element."""
        return self.e.value(f"getelementptr inbounds {self.llvm}, ptr {base}, i64 {index}")

    def past(self, base: str, size: str) -> str:
        """The address that lies some bytes further on."""
        return self.e.value(f"getelementptr i8, ptr {base}, i64 {size}")

    def load(self, address: str, kind: str = "") -> str:
        return self.e.value(f"load {kind or self.llvm}, ptr {address}, align {self.item}")

    def integer_at(self, base: str, index: str) -> str:
        """The address of a whole number."""
        return self.e.value(f"getelementptr inbounds i64, ptr {base}, i64 {index}")

    def integer(self, base: str, index: str) -> str:
        return self.get(self.integer_at(base, index))

    def store(self, value: str, address: str, kind: str = "") -> None:
        self.e.line(f"store {kind or self.llvm} {value}, ptr {address}, align {self.item}")

    def put_zeros(self, target: str, count: str) -> None:
        """Zeros for so many elements."""
        self.e.declare("void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        size = self.mul(count, str(self.item))
        self.e.line(f"call void @llvm.memset.p0.i64(ptr {target}, i8 0, i64 {size}, i1 false)")

    def copy_words(self, target: str, source: str, count: int) -> None:
        self.e.declare("void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        given = f"ptr align 8 {target}, ptr align 8 {source}, i64 {8 * count}, i1 false"
        self.e.line(f"call void @llvm.memcpy.p0.p0.i64({given})")

    def shuffle(self, vector: str, a: str, b: str, lanes: Sequence[int]) -> str:
        """A vector of lanes of two others."""
        mask = ", ".join(f"i32 {lane}" for lane in lanes)
        return self.e.value(
            f"shufflevector {vector} {a}, {vector} {b}, <{len(lanes)} x i32> <{mask}>"
        )

    def variable(self, kind: str, value: str) -> str:
        """A place on the stack for a value that changes."""
        place = self.e.value(f"alloca {kind}")
        self.e.line(f"store {kind} {value}, ptr {place}")
        return place

    def get(self, place: str, kind: str = "i64") -> str:
        return self.e.value(f"load {kind}, ptr {place}")

    def put(self, place: str, value: str, kind: str = "i64") -> None:
        self.e.line(f"store {kind} {value}, ptr {place}")

    def buffer(self, elements: str) -> str:
        """Memory for elements, from the heap; `release` gives it back."""
        return self.e.memory(self.mul(elements, str(self.item)))

    def release(self, buffer: str) -> None:
        self.e.free(buffer)

    # -- order -----------------------------------------------------------------------------------

    @contextmanager
    def loop(self, begin: str, end: str, by: int | str = 1) -> Iterator[str]:
        """for i in range(begin, end, by)"""
        loop = Loop(self.e, begin, end, by)
        yield loop.i
        loop.close()

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        name = self.e.fresh("when")
        self.e.line(f"br i1 {condition}, label %{name}, label %past{name}")
        self.e.label(name)
        yield
        self.e.line(f"br label %past{name}")
        self.e.label(f"past{name}")

    def branch_unless(self, condition: str, label: str) -> None:
        """Leave for a label, or go on here."""
        name = self.e.fresh("on")
        self.e.line(f"br i1 {condition}, label %{name}, label %{label}")
        self.e.label(name)

    @contextmanager
    def repeat(self) -> Iterator[str]:
        """Again and again until a branch to the label that is given."""
        name = self.e.fresh("repeat")
        self.e.line(f"br label %{name}")
        self.e.label(name)
        yield f"past{name}"
        self.e.line(f"br label %{name}")
        self.e.label(f"past{name}")
