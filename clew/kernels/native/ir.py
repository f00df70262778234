"""The kernel IR: scalar expressions over the elements of arrays.

An expression says what happens to one element, in a vocabulary of some forty primitive operations
on five types. It says nothing of loops, vectors, threads or machines: a code generator adds those.
Along a row (the last axis of what a row kernel works on) an expression may also be reduced.

Formulas build expressions simply by being called with them: `Expr` has the operators and the method
names of a tensor, so one definition serves tensors, arrays and kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

F32, F64, I32, I64, BOOL = "f32", "f64", "i32", "i64", "bool"
FLOATS = (F32, F64)
INTEGERS = (I32, I64)
BITS = {F32: 32, F64: 64, I32: 32, I64: 64, BOOL: 1}
# The integer type with as many bits, for looking at the bits of a float.
INTEGER_OF = {F32: I32, F64: I64}
FLOAT_OF = {I32: F32, I64: F64}

# Primitive operations by the types of their operands: "f" floats, "i" integers, "n" both, "b" bool.
# The result has the type of the operands, or the one after the arrow.
PRIMITIVES: dict[str, str] = {
    "add": "nn", "sub": "nn", "mul": "nn", "neg": "n", "div": "ff",
    "fma": "fff", "abs": "f", "sqrt": "f", "floor": "f", "ceil": "f", "trunc": "f", "rint": "f",
    "copysign": "ff", "minimum": "nn", "maximum": "nn",
    "lt": "nn>b", "le": "nn>b", "gt": "nn>b", "ge": "nn>b", "eq": "nn>b", "ne": "nn>b",
    "and": "bb", "or": "bb", "not": "b", "band": "ii", "bor": "ii", "bxor": "ii",
    "shl": "ii", "shr": "ii",
}  # fmt: skip
# Operations with rules of their own.
SPECIAL = (
    "input", "const", "select", "convert", "bits", "from_bits", "reduce", "index", "size", "keep",
)  # fmt: skip
REDUCTIONS = ("sum", "max", "min", "prod")


class Expr:
    """One scalar value of a kernel: an operation, its operands, and the type of the result."""

    __slots__ = ("args", "dtype", "op", "value")

    if TYPE_CHECKING:
        # Elementary functions are attached by `functions`; this says that they exist.
        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, op: str, dtype: str, args: tuple[Expr, ...] = (), value: Any = None) -> None:
        self.op = op
        self.dtype = dtype
        self.args = args
        # A constant's number, an input's position, a reduction's kind.
        self.value = value

    # -- arithmetic ------------------------------------------------------------------------

    def __add__(self, other: Any) -> Expr:
        return binary("add", self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Expr:
        return binary("sub", self, other)

    def __rsub__(self, other: Any) -> Expr:
        return binary("sub", self.like(other), self)

    def __mul__(self, other: Any) -> Expr:
        return binary("mul", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Expr:
        return binary("div", self, other)

    def __rtruediv__(self, other: Any) -> Expr:
        return binary("div", self.like(other), self)

    def __neg__(self) -> Expr:
        return apply("neg", self)

    def __pow__(self, exponent: Any) -> Expr:
        if exponent == 2:
            return self * self
        if exponent == 3:
            return self * self * self
        raise TypeError(f"a kernel knows squares and cubes, not the power {exponent!r}")

    def __lt__(self, other: Any) -> Expr:
        return binary("lt", self, other)

    def __le__(self, other: Any) -> Expr:
        return binary("le", self, other)

    def __gt__(self, other: Any) -> Expr:
        return binary("gt", self, other)

    def __ge__(self, other: Any) -> Expr:
        return binary("ge", self, other)

    def __and__(self, other: Any) -> Expr:
        return binary("and" if self.dtype == BOOL else "band", self, other)

    def __or__(self, other: Any) -> Expr:
        return binary("or" if self.dtype == BOOL else "bor", self, other)

    def __xor__(self, other: Any) -> Expr:
        return binary("bxor", self, other)

    def __invert__(self) -> Expr:
        return apply("not", self)

    def __lshift__(self, other: Any) -> Expr:
        return binary("shl", self, other)

    def __rshift__(self, other: Any) -> Expr:
        return binary("shr", self, other)

    def equals(self, other: Any) -> Expr:
        return binary("eq", self, other)

    def differs(self, other: Any) -> Expr:
        return binary("ne", self, other)

    def abs(self) -> Expr:
        return apply("abs", self)

    def sqrt(self) -> Expr:
        return apply("sqrt", self)

    def rint(self) -> Expr:
        return apply("rint", self)

    def copysign(self, sign: Any) -> Expr:
        return binary("copysign", self, sign)

    def minimum(self, other: Any) -> Expr:
        return binary("minimum", self, other)

    def maximum(self, other: Any) -> Expr:
        return binary("maximum", self, other)

    def clamp(self, low: Any = None, high: Any = None) -> Expr:
        result = self if low is None else self.maximum(low)
        return result if high is None else result.minimum(high)

    def fma(self, factor: Any, addend: Any) -> Expr:
        """self * factor + addend, rounded once."""
        return apply("fma", self, self.like(factor), self.like(addend))

    # -- types -----------------------------------------------------------------------------

    def like(self, value: Any) -> Expr:
        """A number as a constant of this expression's type; expressions as they are."""
        return value if isinstance(value, Expr) else const(value, self.dtype)

    def convert(self, dtype: str) -> Expr:
        return self if dtype == self.dtype else Expr("convert", dtype, (self,))

    def bits(self) -> Expr:
        """The bits of a float as an integer."""
        return Expr("bits", INTEGER_OF[self.dtype], (self,))

    def from_bits(self) -> Expr:
        """The float that an integer's bits stand for."""
        return Expr("from_bits", FLOAT_OF[self.dtype], (self,))

    # -- along a row -----------------------------------------------------------------------

    def row_sum(self) -> Expr:
        return Expr("reduce", self.dtype, (self,), "sum")

    def row_max(self) -> Expr:
        return Expr("reduce", self.dtype, (self,), "max")

    def row_min(self) -> Expr:
        return Expr("reduce", self.dtype, (self,), "min")

    def row_mean(self) -> Expr:
        return self.row_sum() / Expr("size", self.dtype)

    def keep(self) -> Expr:
        """The same value, kept for the passes over the row that follow the one that makes it."""
        return Expr("keep", self.dtype, (self,))

    def __repr__(self) -> str:
        return show(self)


def const(value: Any, dtype: str) -> Expr:
    return Expr("const", dtype, (), value)


def where(condition: Expr, yes: Any, no: Any) -> Expr:
    if not isinstance(yes, Expr):
        yes = no.like(yes)
    return Expr("select", yes.dtype, (condition, yes, yes.like(no)))


def apply(op: str, *args: Expr) -> Expr:
    rule = PRIMITIVES[op]
    return Expr(op, BOOL if rule.endswith(">b") else args[0].dtype, args)


def binary(op: str, left: Expr, right: Any) -> Expr:
    return apply(op, left, left.like(right))


def position(dtype: str = I64) -> Expr:
    """The place of the element in its row."""
    return Expr("index", dtype)


# -- checking and printing -----------------------------------------------------------------


def postorder(roots: list[Expr]) -> Iterator[Expr]:
    """Every expression once, operands before what uses them, without recursion."""
    done: set[int] = set()
    stack: list[tuple[Expr, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        expr, ready = stack.pop()
        if id(expr) in done:
            continue
        if ready:
            done.add(id(expr))
            yield expr
        else:
            stack.append((expr, True))
            stack.extend((arg, False) for arg in reversed(expr.args) if id(arg) not in done)


def _fits(kind: str, dtype: str) -> bool:
    floating, integer = dtype in FLOATS, dtype in INTEGERS
    return {"f": floating, "i": integer, "n": floating or integer, "b": dtype == BOOL}[kind]


def _problem(expr: Expr) -> str | None:
    """What is wrong with one expression, or None."""
    op, args = expr.op, expr.args
    types = [arg.dtype for arg in args]
    if op in PRIMITIVES:
        kinds = PRIMITIVES[op].split(">")[0]
        if len(kinds) != len(args):
            return f"{op} takes {len(kinds)} operands, not {len(args)}"
        if len(set(types)) > 1 or not all(map(_fits, kinds, types)):
            return f"{op} does not go with the types {', '.join(types)}"
        return None
    if op not in SPECIAL:
        return f"there is no operation {op}"
    if op == "select" and (types[0] != BOOL or types[1] != types[2] or types[1] != expr.dtype):
        return f"select needs bool and twice one type, not {', '.join(types)}"
    if op == "reduce" and expr.value not in REDUCTIONS:
        return f"there is no reduction {expr.value}"
    if op == "const" and not isinstance(expr.value, (int, float, bool)):
        return f"{expr.value!r} is not a number"
    return None


def validate(roots: list[Expr]) -> None:
    """Raise if an expression breaks the rules of the IR, saying which."""
    for expr in postorder(roots):
        problem = _problem(expr)
        if problem is not None:
            raise TypeError(f"{problem}\n{show(expr)}")


def show(*roots: Expr) -> str:
    """The program as text, one value a line; the same text for the same program."""
    names: dict[int, str] = {}
    lines: list[str] = []
    for expr in postorder(list(roots)):
        name = names[id(expr)] = f"v{len(names)}"
        value = "" if expr.value is None else f" {_number(expr)}"
        operands = "".join(f" {names[id(arg)]}" for arg in expr.args)
        lines.append(f"{name}:{expr.dtype} = {expr.op}{value}{operands}")
    lines.append("return " + " ".join(names[id(root)] for root in roots))
    return "\n".join(lines)


def _number(expr: Expr) -> str:
    value = expr.value
    return float(value).hex() if expr.op == "const" and expr.dtype in FLOATS else str(value)
