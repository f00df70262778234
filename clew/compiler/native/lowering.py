"""Lowering: the calls of kernels that an instruction becomes, by the rule for its operation."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from clew.compiler.fused_kernels import FusedKernel
from clew.compiler.graph import (
    ACCUMULATE,
    BACKWARD,
    CALL,
    COMPUTE,
    DRAW,
    FUSED,
    STORE,
    WRITE,
    Instruction,
    Value,
)
from clew.compiler.native import (
    channel_rules,
    image_rules,
    indexing_rules,
    layer_rules,
    loss_rules,
    random_rules,
    recurrent_rules,
    reduction_rules,
    rules,
    shape_rules,
)
from clew.compiler.native.calls import Calls
from clew.compiler.native.layouts import Declined, Layout, Roots, row_major
from clew.compiler.native.rule_table import DRAWS, FORWARD, GRADIENT, WRITE_RULES, present, require
from clew.compiler.passes.fusion import fusible
from clew.compiler.passes.overlap import finish_products, start_product
from clew.core.tensor import Tensor
from clew.kernels.runtime import jit

# The modules whose rules are in the tables.
RULES = (
    rules, shape_rules, indexing_rules, loss_rules, layer_rules, image_rules, channel_rules,
    random_rules, recurrent_rules, reduction_rules,
)  # fmt: skip


def lowered(instruction: Instruction, roots: Roots) -> Calls:
    """The calls of an instruction; raises Declined if it has no native form."""
    c, kind, layout_of = Calls(), instruction.kind, roots.layout
    name, detail = instruction.name, instruction.detail
    outs = [None if out is None else layout_of(out) for out in instruction.outputs]
    if kind == DRAW:
        random_rules.draw(c, outs, detail)
    elif instruction.is_random:
        require(name in DRAWS, "random numbers")
        DRAWS[name](c, outs, *_operands(instruction.inputs, roots), **instruction.params)
    elif kind == FUSED:
        c.call(detail.kernel, *map(layout_of, instruction.inputs), *present(outs))
    elif kind == STORE:
        target, source = map(layout_of, instruction.inputs)
        rules.copy(c, [target], source)
    elif kind == ACCUMULATE and instruction.inputs[1] is not None:
        require(isinstance(detail, Tensor), "the gradient of an argument")
        g, total = map(layout_of, instruction.inputs)
        rules.add_to(c, total, g)
    elif kind == CALL and detail is finish_products:
        c.function("wait", jit.machine().thread_pool.wait_address)
    elif kind == COMPUTE and detail is start_product:
        a, b = map(layout_of, instruction.inputs)
        rules.product(c, present(outs), a, b, may_wait=True)
    elif kind == COMPUTE and detail is np.copy:
        rules.copy(c, present(outs), layout_of(instruction.inputs[0]))
    elif kind == COMPUTE:
        _compute(c, outs, instruction, roots)
    elif kind == WRITE:
        _write(c, instruction, roots)
    elif kind == BACKWARD and name in GRADIENT:
        _gradient(c, outs, instruction, roots)
    else:
        raise Declined(f"{kind} {name} has no rule")
    return c


def _compute(c: Calls, outs: list[Layout | None], instruction: Instruction, roots: Roots) -> None:
    """An operation; an elementwise one in any layout is a kernel of its own."""
    name, out = instruction.name, instruction.outputs[0] if len(outs) == 1 else None
    if out is not None and _elementwise(instruction, out) is not None:
        _run_elementwise(c, instruction, out, roots)
        return
    require(name in FORWARD, f"compute {name} has no rule")
    FORWARD[name](c, outs, *_operands(instruction.inputs, roots), **instruction.params)


def _write(c: Calls, instruction: Instruction, roots: Roots) -> None:
    """An in-place operation; an elementwise one is a kernel whose result is its operand."""
    name, target = instruction.name, instruction.inputs[0]
    if _elementwise(instruction, target) is None:
        require(name in WRITE_RULES, f"write {name} has no rule")
        WRITE_RULES[name](c, *_operands(instruction.inputs, roots), **instruction.params)
        return
    require(all(target.strides), "elements that are one in memory")
    # An element may be written before another one is computed from it.
    require(all(_is_apart(each, target) for each in instruction.reads()), "operands that overlap")
    _run_elementwise(c, instruction, target, roots)


def _elementwise(instruction: Instruction, target: Value) -> tuple[Instruction, Value] | None:
    """An operation, and its result, which is stored in a target; None if it is not elementwise."""
    made = copy.copy(target)
    # In which order the elements lie is of no matter to the kernel of one operation.
    made.strides = row_major(target.shape, target.dtype.itemsize)
    member = Instruction(
        COMPUTE, instruction.name, instruction.detail, instruction.inputs, instruction.params,
        (made,),
    )  # fmt: skip
    return None if fusible(member, is_alone=True) is None else (member, made)


def _run_elementwise(c: Calls, instruction: Instruction, target: Value, roots: Roots) -> None:
    found = _elementwise(instruction, target)
    if found is None:
        raise Declined(f"{instruction.kind} {instruction.name} has no rule")
    member, made = found
    read = list(dict.fromkeys(instruction.reads()))
    kernel = FusedKernel([member], read, [made]).kernel
    c.call(kernel, *map(roots.layout, read), roots.layout(target))


def _is_apart(value: Value, target: Value) -> bool:
    """Whether no element lies in memory of a target, but the one that it is written to."""
    if value.alias is not target.alias:
        return True
    mine, other = ((each.address, each.shape, each.strides) for each in (value, target))
    return mine == other


def _gradient(c: Calls, outs: list[Layout | None], instruction: Instruction, roots: Roots) -> None:
    """A rule for gradients gets what the formula of the operation gets."""
    (_, active, _), (grads, pool) = instruction.detail, instruction.inputs
    if sum(out is not None for out in outs) != 1 and len(active) != 1:
        raise Declined("several formulas")
    _, _, slots = active[0]
    operands = _operands([pool[slot] for slot in slots], roots)
    GRADIENT[instruction.name](c, outs, _operands(grads, roots), *operands)


def _operands(operands: Sequence[Any], roots: Roots) -> list[Any]:
    return [roots.layout(each) if isinstance(each, Value) else each for each in operands]
