"""Multi-tensor apply: a formula over many arrays in one call, as optimizers need it.

A group is the arrays that belong together, e.g. a parameter, its gradient and what is remembered of
it; the formula is computed for each element of a group, and numbers that are the same for all. A
network has dozens of small groups: a call for each would cost more than the arithmetic.
"""

from __future__ import annotations

import ctypes
import functools
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import Code
from clew.kernels.codegen.emitter import LLVM_TYPE, Emitter
from clew.kernels.codegen.ir import F32, F64, Program
from clew.kernels.codegen.loops import GRAIN, LEAST_GRAIN, Elements, finish
from clew.kernels.codegen.tracing import trace
from clew.kernels.runtime import jit

Array = np.ndarray
Group = tuple[Array, ...]
TYPES = {np.dtype(np.float32): F32, np.dtype(np.float64): F64}
_LETTER = {F32: "f", F64: "d"}
# Where an array object has the address of its elements: after what all Python objects have.
DATA = object.__basicsize__


class Together:
    """The kernel of a formula; the first result is written to a group's first array.

    The second array (the gradient) is only read, and each other one gets one of the other results.
    """

    def __init__(
        self, name: str, function: Callable[..., Any], arrays: int, numbers: int, cost: int
    ) -> None:
        self.name, self.function = name, function
        self.arrays, self.numbers, self.cost = arrays, numbers, cost
        TOGETHER.append(self)

    def __call__(self, groups: Sequence[Group], numbers: Sequence[float]) -> None:
        """Change the arrays of all groups; those of one group have one shape, and all one dtype."""
        dtype = TYPES[groups[0][0].dtype]
        words: list[int] = []
        apart: list[tuple[Group, Group]] = []
        total = 0
        for group in groups:
            for each in group:
                if not each.flags.c_contiguous:
                    whole = tuple(np.ascontiguousarray(each) for each in group)
                    apart.append((group, whole))
                    group = whole
                    break
            size = group[0].size
            total += size
            words.append(size)
            words += map(id, group)
        table, values = array("q", words), array(_LETTER[dtype], numbers)
        run = self.compiled(dtype)
        run(table.buffer_info()[0], len(groups), values.buffer_info()[0], total)
        for group, whole in apart:
            for place, (mine, new) in enumerate(zip(group, whole, strict=True)):
                if place != 1 and mine is not new:
                    mine[...] = new

    @functools.cache  # noqa: B019  kernels are as old as the program
    def compiled(self, dtype: str) -> Any:
        """The function for elements of a type."""
        program = self.program(dtype)
        key = f"together {self.name} cost {self.cost} {self.arrays}\n{program}"
        signature = ctypes.CFUNCTYPE(
            None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64
        )
        return signature(jit.machine().function(key, lambda: self.module(program), self.name))

    def program(self, dtype: str) -> Program:
        inputs = [dtype] * (self.arrays + self.numbers)
        return trace(self.function, inputs, [dtype] * (self.arrays - 1), in_rows=False)

    def module(self, program: Program) -> str:
        """The LLVM module for one type."""
        e = Emitter()
        code = Code(e, LLVM_TYPE[program.dtypes[0]])
        with code.function("internal void @body(ptr %context, i64 %begin, i64 %end)"):
            self._body(code, program)
        e.declare("void @clew_parallel_for(ptr, ptr, i64, i64)")
        head = f"void @{self.name}(ptr %table, i64 %groups, ptr %numbers, i64 %total)"
        with code.function(head):
            context = e.value("alloca [3 x i64]")
            for index, word in enumerate(("ptr %table", "i64 %groups", "ptr %numbers")):
                place = e.value(f"getelementptr i64, ptr {context}, i64 {index}")
                e.line(f"store {word}, ptr {place}")
            grain = max(GRAIN // self.cost, LEAST_GRAIN)
            given = f"ptr @body, ptr {context}, i64 %total, i64 {grain}"
            e.line(f"call void @clew_parallel_for({given})")
        finish(e)
        return e.text()

    def _body(self, code: Code, program: Program) -> None:
        """Elements `begin` to `end` of all groups, as if these lay one after the other."""
        e = code.e
        given = code.context("*table", "groups", "*numbers")
        first = code.variable("i64", "0")
        with code.loop("0", given["groups"]) as group:
            row = code.mul(group, str(1 + self.arrays))
            words = [
                e.value(f"getelementptr i64, ptr {given['table']}, i64 {code.add(row, str(i))}")
                for i in range(1 + self.arrays)
            ]
            start, size = code.get(first), code.get(words[0])
            low = code.most(code.sub("%begin", start), "0")
            high = code.least(code.sub("%end", start), size)
            with code.when(code.compare("slt", low, high)):
                arrays = [
                    code.get(code.past(code.get(word, "ptr"), str(DATA)), "ptr")
                    for word in words[1:]
                ]
                numbers = [code.at(given["numbers"], str(i)) for i in range(self.numbers)]
                results = [arrays[0], *arrays[2:]]
                single = frozenset(range(self.arrays, self.arrays + self.numbers))
                Elements(e, program, [*arrays, *numbers, *results], single).emit(low, high)
            code.put(first, code.add(start, size))


# All kernels of this kind, for those who look at them from outside.
TOGETHER: list[Together] = []


def together(
    name: str, arrays: int, numbers: int, cost: int = 1
) -> Callable[[Callable[..., Any]], Together]:
    """The kernel of a formula that takes a group's arrays, then the numbers."""
    return lambda function: Together(name, function, arrays, numbers, cost)
