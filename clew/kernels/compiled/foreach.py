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
from clew.kernels.codegen.loops import (
    GRAIN,
    LEAST_GRAIN,
    LOOP_SIGNATURE,
    ElementwiseLoop,
    end_module,
    run_tasks,
)
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

    @functools.cache  # noqa: B019  kernels are as old as the program
    def loop(self, dtype: str) -> int:
        """The same for a command list: the address of a function with the signature of a loop.

        Its pointers are those of the scalars, then of each group's arrays; its sizes are the number
        of groups, the number of all elements, and the elements of each group.
        """
        program, name = self.program(dtype), f"{self.name}_loop"
        key = f"{name} cost {self.cost} {self.arrays}\n{program}"
        return jit.machine().function(key, lambda: self._loop_module(program, name), name)

    def program(self, dtype: str) -> Program:
        inputs = [dtype] * (self.arrays + self.scalars)
        return trace(self.function, inputs, [dtype] * (self.arrays - 1), in_rows=False)

    def module(self, program: Program) -> str:
        """The LLVM module for one type."""
        head = f"void @{self.name}(ptr %table, i64 %groups, ptr %scalars, i64 %total)"
        words = "ptr %table", "i64 %groups", "ptr %scalars"
        return self._module(program, head, words, self._body)

    def _loop_module(self, program: Program, name: str) -> str:
        words = "ptr %args", "ptr %dims"
        return self._module(program, f"void @{name}({LOOP_SIGNATURE})", words, self._loop_body)

    def _module(
        self, program: Program, head: str, words: Sequence[str],
        body: Callable[[IRBuilder, Program], None],
    ) -> str:  # fmt: skip
        """A function that runs the body, which finds these words in its context, over all."""
        e = Emitter()
        code = IRBuilder(e, LLVM_TYPE[program.dtypes[0]])
        with code.function(BODY):
            body(code, program)
        with code.function(head):
            context = e.value(f"alloca [{len(words)} x i64]")
            for index, word in enumerate(words):
                address = e.value(f"getelementptr i64, ptr {context}, i64 {index}")
                e.line(f"store {word}, ptr {address}")
            total = "%total" if "%total" in head else code.load_word(code.gep_i64("%dims", "1"))
            run_tasks(e, context, total, str(max(GRAIN // self.cost, LEAST_GRAIN)))
        end_module(e)
        return e.text()

    def _body(self, code: IRBuilder, program: Program) -> None:
        """The elements begin to end, counted through all groups."""
        given = code.load_context("*table", "groups", "*scalars")
        first = code.local("i64", "0")
        with code.loop("0", given["groups"]) as group:
            row = code.mul(group, str(1 + self.arrays))
            words = [
                code.gep_i64(given["table"], code.add(row, str(i))) for i in range(1 + self.arrays)
            ]

            def arrays(words: Sequence[str] = words) -> list[str]:
                objects = [code.load_word(word, "ptr") for word in words[1:]]
                return [code.load_word(code.ptr_add(o, str(DATA_OFFSET)), "ptr") for o in objects]

            size = code.load_word(words[0])
            self._group(code, program, first, size, arrays, given["scalars"])

    def _loop_body(self, code: IRBuilder, program: Program) -> None:
        """The same for pointers to the arrays' elements."""
        given = code.load_context("*args", "*dims")
        groups, scalars = code.load_word(given["dims"]), code.load_word(given["args"], "ptr")
        first = code.local("i64", "0")
        with code.loop("0", groups) as group:
            row = code.mul(group, str(self.arrays))

            def arrays(row: str = row) -> list[str]:
                places = [code.add(row, str(1 + i)) for i in range(self.arrays)]
                return [code.load_word(code.gep_i64(given["args"], at), "ptr") for at in places]

            size = code.load_word(code.gep_i64(given["dims"], code.add(group, "2")))
            self._group(code, program, first, size, arrays, scalars)

    def _group(
        self, code: IRBuilder, program: Program, first: str, size: str,
        arrays: Callable[[], list[str]], scalars: str,
    ) -> None:  # fmt: skip
        """The part of begin to end that is in one group; `first` counts the elements before it."""
        start = code.load_word(first)
        low = code.max(code.sub("%begin", start), "0")
        high = code.min(code.sub("%end", start), size)
        with code.if_then(code.icmp("slt", low, high)):
            found = arrays()
            numbers = [code.gep(scalars, str(i)) for i in range(self.scalars)]
            results = [found[0], *found[2:]]
            single = frozenset(range(self.arrays, self.arrays + self.scalars))
            pointers = [*found, *numbers, *results]
            ElementwiseLoop(code.e, program, pointers, single).emit(low, high)
        code.store_word(first, code.add(start, size))


# All kernels of this kind, for tests.
KERNELS: list[ForeachKernel] = []


def foreach_kernel(
    name: str, arrays: int, scalars: int, cost: int = 1
) -> Callable[[Callable[..., Any]], ForeachKernel]:
    """The kernel of a formula that takes a group's arrays, then the scalars."""
    return lambda function: ForeachKernel(name, function, arrays, scalars, cost)
