"""Command lists: a sequence of kernel calls with fixed sizes and strides, which is one call.

The interpreter (runtime/command_interpreter.py) makes the addresses from the arrays of a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clew.kernels.runtime import jit
from clew.kernels.runtime.command_interpreter import MOST_ARGUMENTS, MOST_POINTERS


class Pointer(NamedTuple):
    """An address: an operand of the run by its place, and an offset in bytes."""

    operand: int
    offset: int


class Command(NamedTuple):
    """One call: a ufunc's loop, where its data begin, its sizes and strides.

    `outer` are loops around it: the length of each, and the strides of all pointers. Without a
    function (0) it ends the list, unless the one number that it points to is zero; with `data` it
    leaves out so many commands if that is zero.
    """

    function: int
    data: int
    pointers: tuple[Pointer, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    outer: tuple[tuple[int, tuple[int, ...]], ...] = ()


class CommandList:
    """Commands as the interpreter reads them: `run(operands)` takes a tuple of arrays."""

    def __init__(self, commands: Sequence[Command]) -> None:
        self.commands = tuple(commands)
        # The tables that others point to: they live as long as this list.
        self._tables: list[np.ndarray] = []
        pointers: list[int] = []
        words: list[int] = []
        for each in commands:
            words += (
                each.function, len(pointers) // 2, self._table(each.sizes),
                self._table(each.strides), each.data, self._outer(each),
            )  # fmt: skip
            pointers += (word for pointer in each.pointers for word in pointer)
        assert 0 < len(pointers) <= 2 * MOST_POINTERS
        head = len(pointers) // 2, self._table(pointers), self._table(words), len(commands)
        self.address = self._table(head)

    def _table(self, words: Sequence[int]) -> int:
        table = np.array(words, np.int64)
        self._tables.append(table)
        return int(table.ctypes.data)

    def _outer(self, command: Command) -> int:
        if not command.outer:
            return 0
        total, width = 1, len(command.pointers)
        assert width <= MOST_ARGUMENTS
        words: list[int] = []
        for length, strides in command.outer:
            total *= length
            words += length, *strides
        return self._table([total, len(command.outer), width, *words])

    def run(self, operands: tuple[np.ndarray, ...]) -> None:
        """Run all commands, one after the other."""
        jit.machine().run_commands(operands, self.address)
