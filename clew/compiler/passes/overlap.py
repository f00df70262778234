"""Overlap: products that only become gradients of parameters are computed while the rest goes on.

Such a product is an asynchronous job of the thread pool. It is waited for before anybody may read
the gradient: an instruction that does, a call of Python, the end.
"""

from __future__ import annotations

import numpy as np

from clew.compiler.graph import (
    ACCUMULATE,
    CALL,
    COMPUTE,
    COMPUTED,
    Graph,
    Instruction,
    Value,
    is_barrier,
)
from clew.core.state import local
from clew.kernels.gemm.products import async_product, finish

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def start_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a @ b, which a worker may still be computing."""
    return async_product(a, b, local.state.pending_products)


def finish_products() -> None:
    """Wait for all products that were started."""
    finish(local.state.pending_products)


def overlap_products(graph: Graph) -> None:
    """Make asynchronous what can be, and wait where somebody needs it."""
    chosen = _chosen(graph)
    result: list[Instruction] = []
    pending: set[Value] = set()
    # The memory that workers may still be reading.
    factors: set[Value] = set()
    for instruction in graph.instructions:
        is_call = is_barrier(instruction)
        needs = {value.alias for value in instruction.reads()}
        taken = instruction.kind == ACCUMULATE and instruction.inputs[1] is None
        overwrites = any(value.alias in factors for value in instruction.writes())
        if pending and (is_call or overwrites or (needs & pending and not taken)):
            result.append(_wait())
            pending.clear()
            factors.clear()
        if taken and instruction.inputs[0] in pending:
            # The gradient is the same memory.
            pending.update(out for out in instruction.outputs if out is not None)
        if instruction in chosen:
            instruction.detail = start_product
            factors |= needs
            pending.update(out for out in instruction.outputs if out is not None)
        result.append(instruction)
    if pending:
        result.append(_wait())
    graph.instructions = result


def _chosen(graph: Graph) -> set[Instruction]:
    """The products to start: as many as are done by the time that the other products take.

    Seen from the end. A product that nothing long comes after is better computed by all threads.
    """
    users = _users(graph)
    chosen: set[Instruction] = set()
    meanwhile = started = 0
    for instruction in reversed(graph.instructions):
        if is_barrier(instruction):
            meanwhile = started = 0
        work = _work(instruction)
        if work and _may_wait(instruction, users) and started + work <= meanwhile:
            chosen.add(instruction)
            started += work
        else:
            meanwhile += work
    return chosen


def _work(instruction: Instruction) -> int:
    """The multiplications of a matrix product."""
    if instruction.kind != COMPUTE or instruction.name not in ("mm", "addmm"):
        return 0
    left, right = instruction.inputs[-2:]
    if not isinstance(left, Value) or not isinstance(right, Value) or len(right.shape) != 2:
        return 0
    return left.size * right.shape[1]


def _wait() -> Instruction:
    return Instruction(CALL, "wait", finish_products, (), {}, ())


def _users(graph: Graph) -> dict[Value, list[Instruction]]:
    users: dict[Value, list[Instruction]] = {}
    for instruction in graph.instructions:
        # A step of an optimizer reads the gradients that leaves have.
        for value in instruction.reads() if instruction.kind != CALL else ():
            users.setdefault(value.alias, []).append(instruction)
    return users


def _may_wait(instruction: Instruction, users: dict[Value, list[Instruction]]) -> bool:
    """Whether a product goes nowhere but to a leaf that takes its memory."""
    if instruction.kind != COMPUTE or instruction.name != "mm" or len(instruction.inputs) != 2:
        return False
    (out,) = instruction.outputs
    if out is None or out.dtype not in _FLOATS or out.alias is not out or out.kind != COMPUTED:
        return False
    if any(not isinstance(v, Value) or v.dtype != out.dtype for v in instruction.inputs):
        return False
    found = users.get(out, [])
    return (
        len(found) == 1
        and found[0].kind == ACCUMULATE
        and found[0].inputs[0] is out
        and found[0].inputs[1] is None
    )
