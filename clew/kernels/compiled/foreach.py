"""Multi-tensor apply: a formula over many arrays in one call, as optimizers need it.

A group is the arrays of one parameter: itself, its gradient, the optimizer's state. The formula is
computed for each element of a group, and scalars that all groups share. A network has dozens of
small groups: a call for each would cost more than the arithmetic.
"""

from __future__ import annotations

import ctypes
import functools
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import BODY, IRBuilder
from clew.kernels.codegen.emitter import LLVM_TYPE, Emitter
from clew.kernels.codegen.ir import F32, F64, Program
from clew.kernels.codegen.loops import GRAIN, LEAST_GRAIN, ElementwiseLoop, end_module, run_tasks
from clew.kernels.codegen.tracing import trace
from clew.kernels.runtime import jit
from clew.kernels.runtime.numpy_capi import DATA_OFFSET

Array = np.ndarray
Group = tuple[Array, ...]
TYPES = {np.dtype(np.float32): F32, np.dtype(np.float64): F64}
TYPECODE = {F32: "f", F64: "d"}


class ForeachKernel:
    """The kernel of a formula; its first result overwrites a group's first array.

    The second array (the gradient) is only read, and the others get the other results.
    """

    def __init__(
        self, name: str, function: Callable[..., Any], arrays: int, scalars: int, cost: int
    ) -> None:
        self.name, self.function = name, function
        self.arrays, self.scalars, self.cost = arrays, scalars, cost
        KERNELS.append(self)

    def __call__(self, groups: Sequence[Group], scalars: Sequence[float]) -> None:
        """Update all groups in place; the arrays of a group have one shape, and all one dtype."""
        dtype = TYPES[groups[0][0].dtype]
        words: list[int] = []
        copies: list[tuple[Group, Group]] = []
        total = 0
        for group in groups:
            for each in group:
                if not each.flags.c_contiguous:
                    contiguous = tuple(np.ascontiguousarray(each) for each in group)
                    copies.append((group, contiguous))
                    group = contiguous
                    break
            size = group[0].size
            total += size
            words.append(size)
            words += map(id, group)
        table, values = array("q", words), array(TYPECODE[dtype], scalars)
        run = self.compiled(dtype)
        run(table.buffer_info()[0], len(groups), values.buffer_info()[0], total)
        for group, contiguous in copies:
            for index, (mine, new) in enumerate(zip(group, contiguous, strict=True)):
                if index != 1 and mine is not new:
                    mine[...] = new

    @functools.cache  # noqa: B019  kernels are as old as the program
    def compiled(self, dtype: str) -> Any:
        """The function for elements of a type."""
        program = self.program(dtype)
        key = f"foreach {self.name} cost {self.cost} {self.arrays}\n{program}"
        signature = ctypes.CFUNCTYPE(
            None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64
        )
        return signature(jit.machine().function(key, lambda: self.module(program), self.name))

    def program(self, dtype: str) -> Program:
        inputs = [dtype] * (self.arrays + self.scalars)
        return trace(self.function, inputs, [dtype] * (self.arrays - 1), in_rows=False)

    def module(self, program: Program) -> str:
        """The LLVM module for one type."""
        e = Emitter()
        code = IRBuilder(e, LLVM_TYPE[program.dtypes[0]])
        with code.function(BODY):
            self._body(code, program)
        head = f"void @{self.name}(ptr %table, i64 %groups, ptr %scalars, i64 %total)"
        with code.function(head):
            context = e.value("alloca [3 x i64]")
            for index, word in enumerate(("ptr %table", "i64 %groups", "ptr %scalars")):
                address = e.value(f"getelementptr i64, ptr {context}, i64 {index}")
                e.line(f"store {word}, ptr {address}")
            run_tasks(e, context, "%total", str(max(GRAIN // self.cost, LEAST_GRAIN)))
        end_module(e)
        return e.text()

    def _body(self, code: IRBuilder, program: Program) -> None:
        """The elements begin to end, counted through all groups."""
        e = code.e
        given = code.load_context("*table", "groups", "*scalars")
        first = code.local("i64", "0")
        with code.loop("0", given["groups"]) as group:
            row = code.mul(group, str(1 + self.arrays))
            words = [
                e.value(f"getelementptr i64, ptr {given['table']}, i64 {code.add(row, str(i))}")
                for i in range(1 + self.arrays)
            ]
            start, size = code.load_word(first), code.load_word(words[0])
            low = code.max(code.sub("%begin", start), "0")
            high = code.min(code.sub("%end", start), size)
            with code.if_then(code.icmp("slt", low, high)):
                arrays = [
                    code.load_word(
                        code.ptr_add(code.load_word(word, "ptr"), str(DATA_OFFSET)), "ptr"
                    )
                    for word in words[1:]
                ]
                scalars = [code.gep(given["scalars"], str(i)) for i in range(self.scalars)]
                results = [arrays[0], *arrays[2:]]
                single = frozenset(range(self.arrays, self.arrays + self.scalars))
                ElementwiseLoop(e, program, [*arrays, *scalars, *results], single).emit(low, high)
            code.store_word(first, code.add(start, size))


# All kernels of this kind, for tests.
KERNELS: list[ForeachKernel] = []


def foreach_kernel(
    name: str, arrays: int, scalars: int, cost: int = 1
) -> Callable[[Callable[..., Any]], ForeachKernel]:
    """The kernel of a formula that takes a group's arrays, then the scalars."""
    return lambda function: ForeachKernel(name, function, arrays, scalars, cost)
