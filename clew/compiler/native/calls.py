"""The calls of kernels that an instruction is lowered to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from clew.compiler.native.layouts import (
    STREAM,
    Constant,
    Declined,
    Layout,
    Loops,
    Temporary,
    loops_over,
    row_major,
)
from clew.kernels.codegen.contexts import ContextCall
from clew.kernels.codegen.ufunc import Kernel
from clew.kernels.compiled import mersenne_twister
from clew.kernels.runtime import jit
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
        # Whether they draw random numbers.
        self.draws = False
        # Whether a check may end the command list.
        self.may_stop = False

    @property
    def scratch(self) -> int:
        """The bytes of intermediate results."""
        roots = {each.root for call in self.calls for each in call.operands}
        return sum(each.nbytes for each in roots if isinstance(each, Temporary))

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

    def context(self, name: str, call: ContextCall, *operands: Layout | None) -> None:
        """A hand-written kernel on contiguous memory; None is a null pointer."""
        given = [each for each in operands if each is not None]
        require_whole(given)
        words: list[int] = []
        for each in operands:
            words += (-1, 0) if each is None else (given.index(each), 0)
        for size in call.sizes:
            words += -1, size
        integers = (*call.integers, 0, 0, 0, 0)[:4]
        sizes = (len(words) // 2, *integers, *words)
        function = jit.machine().call_context
        loops = Loops(sizes, (0,), ())
        self.calls.append(Call(name, function, call.address, tuple(given), loops, 0))

    def draw(self, out: Layout) -> None:
        """Fill memory with words of 32 or 64 bits from the default generator."""
        state = Layout(STREAM, 0, (), (), np.dtype(np.uint32))
        in_pairs = out.dtype.itemsize == 8
        self.context("draw", mersenne_twister.draws(out.size, in_pairs), state, out)
        self.draws = True

    def temporary(self, shape: tuple[int, ...], dtype: np.dtype) -> Layout:
        """Memory for intermediate results."""
        nbytes = dtype.itemsize
        for length in shape:
            nbytes *= length
        return Layout(Temporary(nbytes), 0, shape, row_major(shape, dtype.itemsize), dtype)

    def constant(self, number: float, dtype: np.dtype) -> Layout:
        """One number."""
        return Layout(Constant(np.array(number, dtype)), 0, (), (), dtype)

    def array(self, values: np.ndarray) -> Layout:
        """Numbers that are known now, in order."""
        values = np.ascontiguousarray(values)
        strides = row_major(values.shape, values.itemsize)
        return Layout(Constant(values), 0, values.shape, strides, values.dtype)

    @contextmanager
    def unless_zero(self, number: Layout) -> Iterator[None]:
        """The calls inside are left out if a number is zero."""
        place = len(self.calls)
        yield
        loops = Loops((number.dtype.itemsize,), (0,), ())
        left_out = len(self.calls) - place
        self.calls.insert(place, Call("leave out", 0, left_out, (number,), loops, 1))

    def check(self, is_wrong: Layout, function: Callable[..., Any], *arguments: Any) -> None:
        """After the segment call a function, which raises, unless a number is zero."""
        self.checks.append((is_wrong, function, arguments))

    def check_now(self, is_wrong: Layout, function: Callable[..., Any], *arguments: Any) -> None:
        """The same; and what follows in the segment does not run, unless it is zero."""
        self.check(is_wrong, function, *arguments)
        self.calls.append(stop_unless_zero(is_wrong))
        self.may_stop = True


def stop_unless_zero(number: Layout) -> Call:
    """The end of a command list, unless a number is zero."""
    return Call("stop", 0, 0, (number,), Loops((number.dtype.itemsize,), (0,), ()), 1)


def require_whole(operands: Sequence[Layout]) -> None:
    """Decline memory with gaps."""
    if not all(each.is_contiguous for each in operands):
        raise Declined("memory with gaps")
