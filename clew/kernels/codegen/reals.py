"""Scalar floats of hand-written kernels: values of LLVM IR with the operators of numbers."""

from __future__ import annotations

from clew.kernels.codegen.builder import IRBuilder
from clew.kernels.codegen.emitter import SHORT, literal
from clew.kernels.codegen.ir import F16, F32, F64

_DTYPE = {"float": F32, "double": F64}


class Real:
    """A float of an IR builder's element type; comparisons give the names of conditions."""

    def __init__(self, c: IRBuilder, name: str) -> None:
        self.c, self.name = c, name

    def __str__(self) -> str:
        return self.name

    def like(self, other: Real | float) -> str:
        """The operand `other`, a constant if it is a number."""
        return other.name if isinstance(other, Real) else literal(other, _DTYPE[self.c.llvm])

    def _new(self, instruction: str) -> Real:
        return Real(self.c, self.c.e.value(instruction))

    def _binary(self, how: str, left: str, right: str) -> Real:
        result = self._new(f"{how} {self.c.llvm} {left}, {right}")
        return result if self.c.rounding is None else result.rounded(self.c.rounding)

    def rounded(self, half: str) -> Real:
        """A float32 rounded to what float16 or bfloat16 can hold."""
        e = self.c.e
        if half == F16:
            narrow = e.value(f"fptrunc float {self.name} to half")
            return self._new(f"fpext half {narrow} to float")
        upper = e.value(f"zext i16 {e.rounded_to_bfloat16(self.name)} to i32")
        return self._new(f"bitcast i32 {e.value(f'shl i32 {upper}, 16')} to float")

    def __add__(self, other: Real | float) -> Real:
        return self._binary("fadd", self.name, self.like(other))

    def __radd__(self, other: float) -> Real:
        return self._binary("fadd", self.like(other), self.name)

    def __sub__(self, other: Real | float) -> Real:
        return self._binary("fsub", self.name, self.like(other))

    def __rsub__(self, other: float) -> Real:
        return self._binary("fsub", self.like(other), self.name)

    def __mul__(self, other: Real | float) -> Real:
        return self._binary("fmul", self.name, self.like(other))

    def __rmul__(self, other: float) -> Real:
        return self._binary("fmul", self.like(other), self.name)

    def __truediv__(self, other: Real | float) -> Real:
        return self._binary("fdiv", self.name, self.like(other))

    def __rtruediv__(self, other: float) -> Real:
        return self._binary("fdiv", self.like(other), self.name)

    def __neg__(self) -> Real:
        return self._new(f"fneg {self.c.llvm} {self.name}")

    def fma(self, factor: Real | float, addend: Real | float) -> Real:
        """`self * factor + addend`, rounded once."""
        llvm = self.c.llvm
        name = f"@llvm.fma.{SHORT[llvm]}"
        self.c.e.declare(f"{llvm} {name}({llvm}, {llvm}, {llvm})")
        given = ", ".join(
            f"{llvm} {each}" for each in (self.name, self.like(factor), self.like(addend))
        )
        return self._new(f"call {llvm} {name}({given})")

    def compare(self, how: str, other: Real | float) -> str:
        """A condition by LLVM's name: "olt", "oge", "une", ..."""
        return self.c.e.value(f"fcmp {how} {self.c.llvm} {self.name}, {self.like(other)}")

    def __lt__(self, other: Real | float) -> str:
        return self.compare("olt", other)

    def __le__(self, other: Real | float) -> str:
        return self.compare("ole", other)

    def __gt__(self, other: Real | float) -> str:
        return self.compare("ogt", other)

    def __ge__(self, other: Real | float) -> str:
        return self.compare("oge", other)

    def where(self, condition: str, other: Real | float) -> Real:
        """This number where the condition holds, else the other one."""
        return self._new(
            f"select i1 {condition}, {self.c.llvm} {self.name}, {self.c.llvm} {self.like(other)}"
        )

    def intrinsic(self, name: str) -> Real:
        """LLVM's `floor`, `ceil`, `sqrt`, `fabs`, `rint`."""
        llvm = self.c.llvm
        full = f"@llvm.{name}.{SHORT[llvm]}"
        self.c.e.declare(f"{llvm} {full}({llvm})")
        return self._new(f"call {llvm} {full}({llvm} {self.name})")

    def libm(self, name: str, *others: Real) -> Real:
        """A function of the C library: of doubles, the bits that Python's `math` gives."""
        given, llvm = (self, *others), self.c.llvm
        full = f"@{name}" if llvm == "double" else f"@{name}f"
        self.c.e.declare(f"{llvm} {full}({', '.join([llvm] * len(given))})")
        return self._new(f"call {llvm} {full}({', '.join(f'{llvm} {each}' for each in given)})")

    def to_single(self) -> Real:
        """A double rounded to the precision of a float32."""
        narrow = self.c.e.value(f"fptrunc double {self.name} to float")
        return self._new(f"fpext float {narrow} to double")

    def to_i64(self) -> str:
        return self.c.e.value(f"fptosi {self.c.llvm} {self.name} to i64")

    def store(self, address: str) -> None:
        self.c.store(self.name, address)


def load_real(c: IRBuilder, address: str) -> Real:
    return Real(c, c.load(address))


def real_of(c: IRBuilder, integer: str) -> Real:
    """An integer as a float."""
    return Real(c, c.e.value(f"sitofp i64 {integer} to {c.llvm}"))
