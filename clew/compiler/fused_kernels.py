"""Fused kernels: the expression of a cluster of elementwise instructions, compiled as one ufunc."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.compiler.expressions import expression
from clew.compiler.graph import Instruction, Value
from clew.kernels.codegen.ir import BOOL, F32, F64, Expr, postorder, where
from clew.kernels.codegen.tracing import trace
from clew.kernels.codegen.ufunc import Elementwise

_TYPES = {np.dtype(np.float32): F32, np.dtype(np.float64): F64, np.dtype(np.bool_): BOOL}
# Expressions per unit of a kernel's cost.
_PER_COST = 8
# Operations that take bools as conditions.
_ON_BOOLS = frozenset({
    "where", "logical_not", "logical_and", "logical_or", "dropout", "masked_fill",
})  # fmt: skip

# Kernels by their program: the layers of a network share theirs.
_KERNELS: dict[tuple[Any, ...], Elementwise] = {}


class FusedKernel:
    """The kernel of a cluster: `ufunc(*inputs)` gives its outputs."""

    def __init__(
        self, members: list[Instruction], inputs: list[Value], outputs: list[Value]
    ) -> None:
        self.members, self.inputs, self.outputs = members, inputs, outputs
        self.name = "+".join(dict.fromkeys(member.name for member in members))
        given = [_TYPES[value.dtype] for value in inputs]
        made = [_TYPES[value.dtype] for value in outputs]
        self.program = trace(self.formula, given, made, in_rows=False)
        scalars = tuple(i for i, value in enumerate(inputs) if _is_uniform(value))
        key = str(self.program), scalars
        kernel = _KERNELS.get(key)
        if kernel is None:
            size = sum(1 for _ in postorder(self.program.roots))
            cost = max(1, size // _PER_COST)
            kernel = Elementwise("fused", self.formula, [(given, made)], cost=cost)
            kernel.scalars = scalars
            _KERNELS[key] = kernel
        self.kernel = kernel

    def formula(self, *operands: Expr) -> tuple[Expr, ...]:
        """What the members compute, over expressions."""
        known: dict[Value, Any] = dict(zip(self.inputs, operands, strict=True))
        for member in self.members:
            (out,) = member.outputs
            assert out is not None
            if out not in known:
                known[out] = _computed(member, known, _TYPES[out.dtype])
        results = [known[value] for value in self.outputs]
        # A value that is another one, or a constant, is still an expression of its own.
        return tuple(results)

    @property
    def ufunc(self) -> Any:
        self.kernel.make_ready(0)
        return self.kernel.ufunc


def operations(member: Instruction) -> int:
    """How many operations of the kernel IR an elementwise instruction is."""
    known: dict[Value, Any] = {
        value: Expr("input", _TYPES[value.dtype], (), number)
        for number, value in enumerate(member.reads())
    }
    (out,) = member.outputs
    assert out is not None
    found = postorder([_computed(member, known, _TYPES[out.dtype])])
    return sum(each.op not in ("input", "const") for each in found)


def _computed(member: Instruction, known: dict[Value, Any], dtype: str) -> Expr:
    formula = expression(member.detail)
    assert formula is not None
    operands = [known[each] if isinstance(each, Value) else each for each in member.inputs]
    floats = [each.dtype for each in operands if isinstance(each, Expr) and each.dtype != BOOL]
    if floats and member.detail.name not in _ON_BOOLS:
        operands = [_as_number(each, floats[0]) for each in operands]
    result: Expr = formula(*operands, **member.params)
    if not isinstance(result, Expr):
        raise TypeError(f"{member.name} is no expression")
    return _as_number(result, dtype) if dtype != BOOL else result


def _as_number(operand: Any, dtype: str) -> Any:
    """A bool as 1 or 0, where it stands beside floats."""
    if isinstance(operand, bool):
        return float(operand)
    if isinstance(operand, Expr) and operand.dtype == BOOL:
        one = Expr("const", dtype, (), 1.0)
        return where(operand, one, 0.0)
    return operand


def _is_uniform(value: Value) -> bool:
    """Whether all elements are one in memory: a number, or one that is expanded."""
    return all(
        stride == 0 or length == 1
        for stride, length in zip(value.strides, value.shape, strict=True)
    )
