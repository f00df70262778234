"""Lowering of expressions to LLVM IR, as text: values, loads and stores, without loops."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from clew.kernels.codegen.ir import BF16, BOOL, F16, F32, F64, FLOATS, I32, I64, Expr, postorder
from clew.kernels.runtime.cpu import CACHE_LINE

# The LLVM type of a value.
LLVM_TYPE = {F32: "float", F64: "double", I32: "i32", I64: "i64", BOOL: "i1"}
# The LLVM type of an element in memory: a bool of NumPy's is a byte, a bfloat16 is loaded as bits.
MEMORY_TYPE = LLVM_TYPE | {BOOL: "i8", F16: "half", BF16: "i16"}
# Types in the mangled names of intrinsics.
SHORT = {
    "half": "f16", "float": "f32", "double": "f64", "i8": "i8", "i16": "i16", "i32": "i32",
    "i64": "i64",
}  # fmt: skip
ITEMSIZE = {F32: 4, F64: 8, I32: 4, I64: 8, BOOL: 1, F16: 2, BF16: 2}

_FLOAT_BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_INTEGER_BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or",
    "band": "and", "bor": "or", "bxor": "xor", "shl": "shl", "shr": "lshr",
}  # fmt: skip
_FLOAT_COMPARE = {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "une"}
_INTEGER_COMPARE = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge", "eq": "eq", "ne": "ne"}
_INTRINSICS = {
    "fma": "fma", "abs": "fabs", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil",
    "trunc": "trunc", "rint": "rint", "copysign": "copysign",
    "minimum": "minimum", "maximum": "maximum",
}  # fmt: skip
_INTEGER_INTRINSICS = {"minimum": "smin", "maximum": "smax"}


def literal(value: Any, dtype: str) -> str:
    """A constant as text; floats as the hexadecimal digits of a double, which are exact."""
    if dtype == F32:
        value = float(np.float32(value))
    if dtype in FLOATS:
        return f"0x{struct.unpack('<Q', struct.pack('<d', float(value)))[0]:016X}"
    if dtype == BOOL:
        return "true" if value else "false"
    return str(int(value))


class Emitter:
    """The text of one LLVM module.

    Values are scalars, or with `lanes` vectors of so many lanes. Loads and stores of vectors are
    masked while there is a `mask`.
    """

    def __init__(self, lanes: int = 0) -> None:
        self.lanes = lanes
        self.mask = ""
        # While it is a list, stores are collected here, to come after all loads.
        self.deferred_stores: list[str] | None = None
        self.lines: list[str] = []
        self.declarations: dict[str, None] = {}
        # Constant arrays: the name of each, by its text.
        self.tables: dict[str, str] = {}
        # What malloc has returned, by the aligned address in it.
        self.heap: dict[str, str] = {}
        self.count = 0

    def text(self) -> str:
        tables = [f"{name} = {text}" for text, name in self.tables.items()]
        return "\n".join([*self.declarations, *tables, *self.lines]) + "\n"

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def fresh(self, stem: str = "v") -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def value(self, text: str, name: str = "") -> str:
        """A new value, computed by the instruction."""
        if not name:
            self.count += 1
            name = f"%v{self.count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def freeze(self, text: str, llvm: str = "i64") -> str:
        """An instruction for the next value of an induction variable, frozen.

        This keeps LLVM from loop strength reduction, a fifth of the time of compilation, which
        does not make these loops faster.
        """
        return f"freeze {llvm} {self.value(text)}"

    @contextmanager
    def function(self, head: str, attributes: str) -> Iterator[None]:
        """A function that returns void, e.g. `internal void @f(ptr %x)`."""
        self.lines.append(f"define {head} {attributes} {{")
        self.label("entry")
        yield
        self.line("ret void")
        self.lines.append("}")

    def constant_words(self, name: str, words: list[int]) -> None:
        """A constant array of int64."""
        text = ", ".join(f"i64 {word}" for word in words)
        self.lines.append(f"@{name} = internal constant [{len(words)} x i64] [{text}]")

    def declare(self, text: str) -> None:
        self.declarations[f"declare {text}"] = None

    def declare_external(self, name: str) -> None:
        """Declare a global variable of another module."""
        self.declarations[f"{name} = external global ptr"] = None

    # -- types and constants ---------------------------------------------------------------------

    def value_type(self, element: str) -> str:
        """The type of values with elements of an LLVM type: itself, or a vector of it."""
        return f"<{self.lanes} x {element}>" if self.lanes else element

    def type_of(self, dtype: str) -> str:
        return self.value_type(LLVM_TYPE[dtype])

    def suffix(self, dtype: str) -> str:
        """The mangled type at the end of an intrinsic's name."""
        one = SHORT[MEMORY_TYPE[dtype]]
        return f"v{self.lanes}{one}" if self.lanes else one

    def constant(self, value: Any, dtype: str) -> str:
        return self.splat_literal(literal(value, dtype), LLVM_TYPE[dtype])

    def splat_literal(self, number: str, element: str) -> str:
        """A literal in all lanes."""
        return f"splat ({element} {number})" if self.lanes else number

    def splat(self, dtype: str, value: str) -> str:
        """A scalar in all lanes."""
        if not self.lanes:
            return value
        element, vector = LLVM_TYPE[dtype], self.type_of(dtype)
        one = self.value(f"insertelement {vector} poison, {element} {value}, i32 0")
        zeros = f"<{self.lanes} x i32> zeroinitializer"
        return self.value(f"shufflevector {vector} {one}, {vector} poison, {zeros}")

    # -- instructions ----------------------------------------------------------------------------

    def call(self, intrinsic: str, dtype: str, args: list[str]) -> str:
        llvm, suffix = self.type_of(dtype), self.suffix(dtype)
        self.declare(f"{llvm} @llvm.{intrinsic}.{suffix}({', '.join([llvm] * len(args))})")
        given = ", ".join(f"{llvm} {arg}" for arg in args)
        return self.value(f"call {llvm} @llvm.{intrinsic}.{suffix}({given})")

    def aligned_malloc(self, size: str) -> str:
        """Bytes on the heap, to be freed in the same function.

        They are cache-line aligned: a vector across two lines takes twice as long to load.
        """
        self.declare("ptr @malloc(i64)")
        more = self.value(f"add i64 {size}, {CACHE_LINE}")
        start = self.value(f"call ptr @malloc(i64 {more})")
        number = self.value(f"ptrtoint ptr {start} to i64")
        beyond = self.value(f"add i64 {number}, {CACHE_LINE - 1}")
        rest = self.value(f"and i64 {beyond}, {CACHE_LINE - 1}")
        distance = self.value(f"sub i64 {CACHE_LINE - 1}, {rest}")
        aligned = self.value(f"getelementptr i8, ptr {start}, i64 {distance}")
        self.heap[aligned] = start
        return aligned

    def free(self, buffer: str) -> None:
        self.declare("void @free(ptr)")
        self.line(f"call void @free(ptr {self.heap.pop(buffer)})")

    def element_address(self, dtype: str, base: str, index: str) -> str:
        """The address of an element of a contiguous array."""
        return self.value(f"getelementptr inbounds {MEMORY_TYPE[dtype]}, ptr {base}, i64 {index}")

    def strided_address(self, base: str, index: str, stride: str) -> str:
        """The address base + index * stride, with a stride in bytes."""
        offset = self.value(f"mul i64 {index}, {stride}")
        return self.value(f"getelementptr i8, ptr {base}, i64 {offset}")

    def arithmetic(self, how: str, dtype: str, left: str, right: str) -> str:
        return self.value(f"{how} {self.type_of(dtype)} {left}, {right}")

    def compensated_add(
        self, dtype: str, total: str, lost: str, value: str, names: tuple[str, str] = ("", "")
    ) -> tuple[str, str]:
        """total + value with the rounding error `lost` before, and the new rounding error.

        Neumaier's variant of Kahan summation: the error is exact, whichever operand is larger. If
        the sum has overflowed, the error is NaN, and replaced by zero.
        """
        llvm = self.type_of(dtype)
        value = self.arithmetic("fadd", dtype, value, lost)
        new = self.value(f"fadd {llvm} {total}, {value}", names[0])
        part = self.arithmetic("fsub", dtype, new, total)
        rest = self.arithmetic("fsub", dtype, new, part)
        first = self.arithmetic("fsub", dtype, total, rest)
        second = self.arithmetic("fsub", dtype, value, part)
        error = self.arithmetic("fadd", dtype, first, second)
        sound = self.value(f"fcmp ord {llvm} {error}, {error}")
        zero = self.constant(0.0, dtype)
        kept = f"select {self.value_type('i1')} {sound}, {llvm} {error}, {llvm} {zero}"
        return new, self.value(kept, names[1])

    def load(self, dtype: str, address: str, suffix: str = "") -> str:
        loaded = self.load_raw(dtype, address, suffix)
        if dtype == BOOL:
            zero = self.splat_literal("0", "i8")
            return self.value(f"icmp ne {self.value_type('i8')} {loaded}, {zero}")
        if dtype == F16:
            return self.value(
                f"fpext {self.value_type('half')} {loaded} to {self.value_type('float')}"
            )
        if dtype == BF16:
            i16, i32 = self.value_type("i16"), self.value_type("i32")
            wide = self.value(f"zext {i16} {loaded} to {i32}")
            upper = self.value(f"shl {i32} {wide}, {self.constant(16, I32)}")
            return self.value(f"bitcast {i32} {upper} to {self.value_type('float')}")
        return loaded

    def load_raw(self, dtype: str, address: str, suffix: str) -> str:
        """An element as it is in memory, before conversion."""
        memory, size = self.value_type(MEMORY_TYPE[dtype]), ITEMSIZE[dtype]
        if not self.mask:
            return self.value(f"load {memory}, ptr {address}, align {size}{suffix}")
        name = f"@llvm.masked.load.{self.suffix(dtype)}.p0"
        truth = self.value_type("i1")
        self.declare(f"{memory} {name}(ptr, i32, {truth}, {memory})")
        given = f"ptr {address}, i32 {size}, {truth} {self.mask}, {memory} zeroinitializer"
        return self.value(f"call {memory} {name}({given})")

    def store(self, dtype: str, value: str, address: str, suffix: str = "") -> None:
        memory, size = self.value_type(MEMORY_TYPE[dtype]), ITEMSIZE[dtype]
        if dtype == BOOL:
            value = self.value(f"zext {self.value_type('i1')} {value} to {memory}")
        elif dtype == F16:
            value = self.value(f"fptrunc {self.value_type('float')} {value} to {memory}")
        elif dtype == BF16:
            value = self.rounded_to_bfloat16(value)
        if not self.mask:
            line = f"  store {memory} {value}, ptr {address}, align {size}{suffix}"
            (self.lines if self.deferred_stores is None else self.deferred_stores).append(line)
            return
        name = f"@llvm.masked.store.{self.suffix(dtype)}.p0"
        truth = self.value_type("i1")
        self.declare(f"void {name}({memory}, ptr, i32, {truth})")
        given = f"{memory} {value}, ptr {address}, i32 {size}, {truth} {self.mask}"
        self.line(f"call void {name}({given})")

    def rounded_to_bfloat16(self, value: str) -> str:
        """The upper half of a float32, rounded to nearest even."""
        i32, real, truth = self.value_type("i32"), self.value_type("float"), self.value_type("i1")
        sixteen = self.constant(16, I32)
        bits = self.value(f"bitcast {real} {value} to {i32}")
        upper = self.value(f"lshr {i32} {bits}, {sixteen}")
        last = self.value(f"and {i32} {upper}, {self.constant(1, I32)}")
        upward = self.value(f"add {i32} {last}, {self.constant(32767, I32)}")
        rounded = self.value(f"add {i32} {bits}, {upward}")
        # Rounding would make an infinity, or a number, of some NaNs.
        nan = self.value(f"fcmp uno {real} {value}, {value}")
        quiet = self.constant(0x7FC00000, I32)
        kept = self.value(f"select {truth} {nan}, {i32} {quiet}, {i32} {rounded}")
        shifted = self.value(f"lshr {i32} {kept}, {sixteen}")
        return self.value(f"trunc {i32} {shifted} to {self.value_type('i16')}")

    def evaluate(self, roots: list[Expr], load: Callable[[Expr], str]) -> list[str]:
        """The values of expressions; `load` gives those of their inputs."""
        values: dict[int, str] = {}
        for expr in postorder(roots):
            if expr.op == "input":
                values[id(expr)] = load(expr)
            else:
                values[id(expr)] = self.operation(expr, [values[id(arg)] for arg in expr.args])
        return [values[id(root)] for root in roots]

    def operation(self, expr: Expr, args: list[str]) -> str:
        """One operation on values; inputs and what is over rows are up to the caller."""
        op = expr.op
        dtype = expr.args[0].dtype if expr.args else expr.dtype
        floating = dtype in FLOATS
        llvm = self.type_of(dtype)
        if op == "const":
            return self.constant(expr.value, expr.dtype)
        if op in _FLOAT_COMPARE:
            how = f"fcmp {_FLOAT_COMPARE[op]}" if floating else f"icmp {_INTEGER_COMPARE[op]}"
            return self.value(f"{how} {llvm} {args[0]}, {args[1]}")
        if floating and op in _FLOAT_BINARY:
            return self.value(f"{_FLOAT_BINARY[op]} {llvm} {args[0]}, {args[1]}")
        if not floating and op in _INTEGER_BINARY:
            return self.value(f"{_INTEGER_BINARY[op]} {llvm} {args[0]}, {args[1]}")
        if op == "neg":
            zero = self.constant(0, dtype)
            how = f"fneg {llvm} {args[0]}" if floating else f"sub {llvm} {zero}, {args[0]}"
            return self.value(how)
        if op == "not":
            return self.value(f"xor {llvm} {args[0]}, {self.constant(True, BOOL)}")
        if op in _INTRINSICS:
            names = _INTRINSICS if floating else _INTEGER_INTRINSICS
            return self.call(names[op], dtype, args)
        if op in ("select", "unlikely"):
            result = self.type_of(expr.dtype)
            choice = f"select {llvm} {args[0]}, {result} {args[1]}, {result} {args[2]}"
            return self.value(choice)
        if op == "table":
            return self.table_lookup(expr, args[0])
        return self.conversion(expr, args[0])

    def table_lookup(self, expr: Expr, index: str) -> str:
        """A load, or a gather, from a constant array of the module."""
        llvm, count = LLVM_TYPE[expr.dtype], len(expr.value)
        values = ", ".join(f"{llvm} {literal(value, expr.dtype)}" for value in expr.value)
        text = f"private unnamed_addr constant [{count} x {llvm}] [{values}], align 64"
        name = self.tables.setdefault(text, f"@table{len(self.tables)}")
        integer = self.type_of(expr.args[0].dtype)
        place = self.value(f"getelementptr inbounds {llvm}, ptr {name}, {integer} {index}")
        if self.lanes:
            return self.gather(
                llvm, place, ITEMSIZE[expr.dtype], self.mask or self.constant(True, BOOL)
            )
        return self.value(f"load {llvm}, ptr {place}, align {ITEMSIZE[expr.dtype]}")

    def gather(self, element: str, places: str, align: int, mask: str) -> str:
        """A gather: an address for each lane, zero where the mask is false."""
        vector, pointers = self.value_type(element), self.value_type("ptr")
        name = f"@llvm.masked.gather.v{self.lanes}{SHORT[element]}.v{self.lanes}p0"
        self.declare(f"{vector} {name}({pointers}, i32, {self.value_type('i1')}, {vector})")
        given = f"{pointers} {places}, i32 {align}, {self.value_type('i1')} {mask}"
        return self.value(f"call {vector} {name}({given}, {vector} zeroinitializer)")

    def conversion(self, expr: Expr, value: str) -> str:
        have, want = expr.args[0].dtype, expr.dtype
        source, target = self.type_of(have), self.type_of(want)
        if expr.op in ("bits", "from_bits"):
            how = "bitcast"
        elif have in FLOATS and want in FLOATS:
            how = "fpext" if want == F64 else "fptrunc"
        elif have in FLOATS:
            if want == BOOL:
                return self.value(f"fcmp une {source} {value}, {self.constant(0.0, have)}")
            how = "fptosi"
        elif want in FLOATS:
            how = "uitofp" if have == BOOL else "sitofp"
        elif have == BOOL:
            how = "zext"
        elif want == BOOL:
            return self.value(f"icmp ne {source} {value}, {self.constant(0, have)}")
        else:
            how = "sext" if want == I64 else "trunc"
        return self.value(f"{how} {source} {value} to {target}")
