"""The kernel IR: scalar expressions over the elements of arrays.

An expression computes one element, from some forty primitive operations on five types. It knows
neither loops nor a target: lowering adds both. In a kernel over rows (the last axis of its
operands) an expression may also be reduced along the row.

Formulas are traced by calling them with expressions: `Expr` has the operators and the method names
of a tensor, so that one definition serves tensors, arrays and kernels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

F32, F64, I32, I64, BOOL = "f32", "f64", "i32", "i64", "bool"
FLOATS = (F32, F64)
INTEGERS = (I32, I64)
BITS = {F32: 32, F64: 64, I32: 32, I64: 64, BOOL: 1}
# Storage types only: converted to the compute type when loaded, and back when stored.
F16, BF16 = "f16", "bf16"
COMPUTED_IN = {F16: F32, BF16: F32}
# The integer type of the same width, for bit casts.
INTEGER_OF = {F32: I32, F64: I64}
FLOAT_OF = {I32: F32, I64: F64}

# Primitive operations with the types of their operands: "f" floats, "i" integers, "n" both, "b"
# bool. The result has the type of the operands, or the one after ">".
PRIMITIVES: dict[str, str] = {
    "add": "nn", "sub": "nn", "mul": "nn", "neg": "n", "div": "ff",
    "fma": "fff", "abs": "f", "sqrt": "f", "floor": "f", "ceil": "f", "trunc": "f", "rint": "f",
    "copysign": "ff", "minimum": "nn", "maximum": "nn",
    "lt": "nn>b", "le": "nn>b", "gt": "nn>b", "ge": "nn>b", "eq": "nn>b", "ne": "nn>b",
    "and": "bb", "or": "bb", "not": "b", "band": "ii", "bor": "ii", "bxor": "ii",
    "shl": "ii", "shr": "ii",
}  # fmt: skip
# Operations with type rules of their own, and the number of their operands.
SPECIAL = {
    "input": 0, "const": 0, "select": 3, "convert": 1, "bits": 1, "from_bits": 1, "table": 1,
    "unlikely": 3, "reduce": 1, "index": 0, "size": 0, "materialize": 1,
}  # fmt: skip
# Operations of kernels over rows only.
ALONG_ROWS = ("reduce", "index", "size", "materialize")
REDUCTIONS = ("sum", "max", "min", "prod")


class Expr:
    """One scalar value of a kernel: an operation, its operands, and the type of the result."""

    __slots__ = ("args", "dtype", "op", "value")

    if TYPE_CHECKING:
        # Elementary functions are attached in `tracing`; this declares them.
        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, op: str, dtype: str, args: tuple[Expr, ...] = (), value: Any = None) -> None:
        self.op = op
        self.dtype = dtype
        self.args = args
        # The number of a constant, the values of a table, the index of an input, the kind of a
        # reduction.
        self.value = value

    def __bool__(self) -> bool:
        raise TypeError(
            "the elements of an array have no common truth value: "
            "a kernel's formula chooses with where(condition, yes, no), not with `if`"
        )

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError("a kernel's formula compares elements with x.eq(y), not with `==`")

    __hash__ = object.__hash__

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
        if not isinstance(exponent, Expr) and exponent in (2, 3):
            return self * self if exponent == 2 else self * self * self
        result: Expr = self.pow(exponent)
        return result

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

    def eq(self, other: Any) -> Expr:
        return binary("eq", self, other)

    def ne(self, other: Any) -> Expr:
        return binary("ne", self, other)

    def abs(self) -> Expr:
        return apply("abs", self)

    def sqrt(self) -> Expr:
        return apply("sqrt", self)

    def rint(self) -> Expr:
        return apply("rint", self)

    def floor(self) -> Expr:
        return apply("floor", self)

    def trunc(self) -> Expr:
        return apply("trunc", self)

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
        """A float bit-cast to an integer."""
        return Expr("bits", INTEGER_OF[self.dtype], (self,))

    def from_bits(self) -> Expr:
        """An integer bit-cast to a float."""
        return Expr("from_bits", FLOAT_OF[self.dtype], (self,))

    # -- along a row -----------------------------------------------------------------------

    def row_sum(self) -> Expr:
        return Expr("reduce", self.dtype, (self,), "sum")

    def row_max(self) -> Expr:
        return Expr("reduce", self.dtype, (self,), "max")

    def row_min(self) -> Expr:
        return Expr("reduce", self.dtype, (self,), "min")

    def row_prod(self) -> Expr:
        return Expr("reduce", self.dtype, (self,), "prod")

    def row_mean(self) -> Expr:
        return self.row_sum() / Expr("size", self.dtype)

    def materialize(self) -> Expr:
        """The same value, stored by the pass over the row that computes it, loaded by later ones.

        Without it, every pass that needs the value computes it again.
        """
        return Expr("materialize", self.dtype, (self,))

    def __repr__(self) -> str:
        return show(self)


def const(value: Any, dtype: str) -> Expr:
    return Expr("const", dtype, (), value)


def where(condition: Expr, yes: Any, no: Any) -> Expr:
    if not isinstance(yes, Expr):
        if not isinstance(no, Expr):
            raise TypeError(f"where({yes!r}, {no!r}) has no type: write one as x.like(number)")
        yes = no.like(yes)
    return Expr("select", yes.dtype, (condition, yes, yes.like(no)))


def unlikely(condition: Expr, slow: Expr, fast: Expr) -> Expr:
    """where(condition, slow, fast), with a condition that hardly ever holds.

    A loop may test a block of elements first, and skip the slow path where it holds for none.
    """
    return Expr("unlikely", fast.dtype, (condition, slow, fast))


def fast_path(roots: list[Expr]) -> list[Expr]:
    """The same expressions where no condition of `unlikely` holds."""
    made: dict[int, Expr] = {}
    for expr in postorder(roots):
        if expr.op == "unlikely":
            made[id(expr)] = made[id(expr.args[2])]
        else:
            args = tuple(made[id(arg)] for arg in expr.args)
            made[id(expr)] = Expr(expr.op, expr.dtype, args, expr.value)
    return [made[id(root)] for root in roots]


def apply(op: str, *args: Expr) -> Expr:
    rule = PRIMITIVES[op]
    return Expr(op, BOOL if rule.endswith(">b") else args[0].dtype, args)


def binary(op: str, left: Expr, right: Any) -> Expr:
    return apply(op, left, left.like(right))


def table(values: Sequence[float], index: Expr, dtype: str = F64) -> Expr:
    """values[index]; an index out of bounds is undefined behaviour."""
    return Expr("table", dtype, (index,), tuple(values))


def position(dtype: str = I64) -> Expr:
    """The index of the element in its row."""
    return Expr("index", dtype)


# -- checking and printing -----------------------------------------------------------------


def postorder(roots: list[Expr]) -> Iterator[Expr]:
    """Every expression once, operands before their users, without recursion."""
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
    op, types = expr.op, [arg.dtype for arg in expr.args]
    if op not in PRIMITIVES and op not in SPECIAL:
        return f"there is no operation {op}"
    if expr.dtype not in BITS:
        return f"there is no type {expr.dtype} to compute in"
    kinds, _, result = PRIMITIVES.get(op, "").partition(">")
    wanted = SPECIAL.get(op, len(kinds))
    if len(types) != wanted:
        return f"{op} takes {wanted} operands, not {len(types)}"
    if op in SPECIAL:
        return _problem_of_special(expr, types)
    if len(set(types)) > 1 or not all(map(_fits, kinds, types)):
        return f"{op} does not go with the types {', '.join(types)}"
    if expr.dtype != (BOOL if result else types[0]):
        return f"{op} of {types[0]} does not give {expr.dtype}"
    return None


def _problem_of_special(expr: Expr, types: list[str]) -> str | None:
    op, dtype, value = expr.op, expr.dtype, expr.value
    if op in ("select", "unlikely") and types != [BOOL, dtype, dtype]:
        return f"{op} needs bool and twice one type, not {', '.join(types)}"
    if op == "bits" and INTEGER_OF.get(types[0]) != dtype:
        return f"bits of {types[0]} are not {dtype}"
    if op == "from_bits" and FLOAT_OF.get(types[0]) != dtype:
        return f"bits of {dtype} are not {types[0]}"
    if op == "table" and (types[0] not in INTEGERS or dtype not in FLOATS or not value):
        return f"table needs floats and an integer index, not {types[0]}"
    if op == "reduce" and value not in REDUCTIONS:
        return f"there is no reduction {value}"
    if op in ("reduce", "materialize") and types[0] != dtype:
        return f"{op} of {types[0]} does not give {dtype}"
    if op in ("reduce", "size") and dtype not in FLOATS:
        return f"{op} is for floats, not for {dtype}"
    if op == "index" and dtype not in INTEGERS:
        return f"index is an integer, not {dtype}"
    return _problem_of_constant(expr) if op == "const" else None


def _problem_of_constant(expr: Expr) -> str | None:
    value, dtype = expr.value, expr.dtype
    if not isinstance(value, (int, float)):
        return f"{value!r} is not a number"
    if dtype in INTEGERS and not isinstance(value, int):
        return f"{value!r} is not a constant of type {dtype}"
    if dtype in INTEGERS and not -(1 << BITS[dtype] - 1) <= value < 1 << BITS[dtype] - 1:
        return f"{value!r} is beyond the range of {dtype}"
    return None


def validate(roots: list[Expr], in_rows: bool = True) -> None:
    """Raise TypeError for an expression that breaks a rule of the IR."""
    for root in roots:
        if not isinstance(root, Expr):
            raise TypeError(f"a kernel returns expressions, not {root!r}: write x.like(number)")
    for expr in postorder(roots):
        problem = _problem(expr)
        if problem is None and expr.op in ALONG_ROWS and not in_rows:
            problem = f"{expr.op} is for kernels over rows only"
        if problem is not None:
            raise TypeError(f"{problem}\n{show(expr)}")


class Program:
    """A kernel: its expressions, and the storage types of its inputs and outputs."""

    def __init__(
        self, inputs: list[str], outputs: list[str], roots: list[Expr], in_rows: bool = True
    ) -> None:
        validate(roots, in_rows)
        if len(outputs) != len(roots):
            raise TypeError(f"the kernel has {len(outputs)} outputs, its formula {len(roots)}")
        for number, (dtype, root) in enumerate(zip(outputs, roots, strict=True)):
            if COMPUTED_IN.get(dtype, dtype) != root.dtype:
                raise TypeError(
                    f"output {number} is {dtype}, its formula {root.dtype}\n{show(root)}"
                )
        self.inputs, self.outputs, self.roots = inputs, outputs, roots
        self.dtypes = [*inputs, *outputs]

    def __str__(self) -> str:
        return f"{' '.join(self.inputs)} -> {' '.join(self.outputs)}\n{show(*self.roots)}"


def show(*roots: Expr) -> str:
    """The program in SSA form as text; the same text for the same program."""
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
    if expr.op == "table":
        return ",".join(float(each).hex() for each in value)
    is_float = expr.dtype in FLOATS and isinstance(value, (int, float))
    return float(value).hex() if expr.op == "const" and is_float else str(value)
