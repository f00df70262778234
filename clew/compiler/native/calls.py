"""The calls of kernels that an instruction is lowered to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from clew.compiler.native.layouts import (
    Constant,
    Declined,
    Layout,
    Loops,
    Temporary,
    loops_over,
    row_major,
)
from clew.kernels.codegen.ufunc import Kernel
from clew.kernels.runtime.numpy_capi import ufunc_loop


class Call(NamedTuple):
    """One call of a kernel: its loop, what it works on, and how often."""

    name: str
    function: int
    data: int
    operands: tuple[Layout, ...]
    loops: Loops
    # How many of the operands are only read: the others are written.
    inputs: int
    # Whether a worker may still be running it when the next call begins.
    is_async: bool = False


class Calls:
    """Collects the calls of one instruction."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        # What must be zero after the calls, and what raises the error if it is not.
        self.checks: list[tuple[Layout, Callable[..., Any], tuple[Any, ...]]] = []

    def call(self, kernel: Kernel | np.ufunc, *operands: Layout, is_async: bool = False) -> None:
        """A kernel or a ufunc on some operands, the outputs last."""
        dtypes = [each.dtype for each in operands]
        if isinstance(kernel, Kernel):
            loop, name, signature = kernel.loop(dtypes), kernel.name, kernel.core
            inputs = len(kernel.signatures[0][0])
        else:
            loop, name, signature = ufunc_loop(kernel, dtypes), kernel.__name__, kernel.signature
            inputs = kernel.nin
        if loop is None:
            raise Declined(f"{name} has no loop for {dtypes}")
        loops = loops_over(signature, operands)
        self.calls.append(Call(name, *loop, operands, loops, inputs, is_async))

    def function(self, name: str, address: int) -> None:
        """A function that takes nothing."""
        # Every command has a pointer; this one does not look at it.
        nothing = self.constant(0.0, np.dtype(np.float32))
        self.calls.append(Call(name, address, 0, (nothing,), Loops((1,), (0,), ()), 1))

    def temporary(self, shape: tuple[int, ...], dtype: np.dtype) -> Layout:
        """Memory for intermediate results."""
        nbytes = dtype.itemsize
        for length in shape:
            nbytes *= length
        return Layout(Temporary(nbytes), 0, shape, row_major(shape, dtype.itemsize), dtype)

    def constant(self, number: float, dtype: np.dtype) -> Layout:
        """One number."""
        return Layout(Constant(np.array(number, dtype)), 0, (), (), dtype)

    def check(self, is_wrong: Layout, function: Callable[..., Any], *arguments: Any) -> None:
        """After the segment call a function, which raises, unless a number is zero."""
        self.checks.append((is_wrong, function, arguments))
