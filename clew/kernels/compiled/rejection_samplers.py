"""Samplers that try until they accept, compiled: Poisson, binomial and gamma numbers.

How many draws one number takes depends on the numbers drawn, so each element is sampled in turn, in
double precision, from the one stream. The methods are those of PyTorch, draw by draw; logarithms
and the like are the C library's, so that the numbers are the same, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from clew.kernels.codegen.builder import IRBuilder
from clew.kernels.codegen.emitter import Emitter, literal
from clew.kernels.codegen.ir import F64
from clew.kernels.codegen.loops import end_module
from clew.kernels.codegen.reals import Real, load_real
from clew.kernels.compiled.foreach import DATA_OFFSET

# log(k!) minus Stirling's formula, for k below 10.
_STIRLING_TAILS = [
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
    0.0166446911898211, 0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
    0.00925546218271273, 0.00833056343336287,
]  # fmt: skip
_ONE_THIRD = float(np.float32(1.0 / 3.0))
_SQUEEZE = float(np.float32(0.0331))
# The arrays of each sampler besides the state; the last one takes the numbers.
ARRAYS = {
    "poisson": ("rates", "out"),
    "binomial": ("counts", "probs", "out"),
    "gamma": ("alphas", "normal", "out"),
}


def sampler_module(name: str, is_single: bool, write_uniform: Callable[[Emitter], None]) -> str:
    """The LLVM module of `name(state, arrays..., n)`; parameters may be rounded to float32.

    `write_uniform` writes the function `uniform(state, out)`, which draws a double in [0, 1).
    """
    e = Emitter()
    write_uniform(e)
    _Sampler(e, is_single).emit(name)
    end_module(e)
    return e.text()


class _Sampler(IRBuilder):
    """One number after the other; all locals are doubles."""

    def __init__(self, e: Emitter, is_single: bool) -> None:
        super().__init__(e, "double")
        self.is_single = is_single

    def emit(self, name: str) -> None:
        names = ARRAYS[name]
        parameters = ", ".join(f"ptr %{each}" for each in names)
        with self.function(f"internal void @one(ptr %state, {parameters})"):
            getattr(self, f"_{name}")()
        arrays = ("state", *names)
        given = ", ".join(f"ptr %{each}" for each in arrays)
        with self.function(f"void @{name}({given}, i64 %n)"):
            starts = {
                each: self.load_word(self.ptr_add(f"%{each}", str(DATA_OFFSET)), "ptr")
                for each in arrays
            }
            with self.loop("0", "%n") as i:
                places = [
                    starts[each] if each in ("state", "normal") else self.gep(starts[each], i)
                    for each in arrays
                ]
                self.e.line(f"call void @one({', '.join(f'ptr {place}' for place in places)})")

    # -- numbers ---------------------------------------------------------------------------------

    def draw(self, place: str) -> Real:
        """The next uniform number; `place` is a local variable for it."""
        self.e.line(f"call void @uniform(ptr %state, ptr {place})")
        return load_real(self, place)

    def real(self, value: float) -> Real:
        return Real(self, literal(value, F64))

    def variables(self, count: int) -> list[str]:
        """Local variables; to be made before any loop, as they last until the function returns."""
        return [self.local("double", literal(0.0, F64)) for _ in range(count)]

    def narrow(self, number: Real) -> Real:
        """Rounded to the precision that PyTorch computes a parameter in."""
        return number.to_single() if self.is_single else number

    def both(self, *conditions: str) -> str:
        first, *others = conditions
        for other in others:
            first = self.and_(first, other)
        return first

    def repeat_until(self, accepted: str, body: Callable[[], None]) -> None:
        """Repeat until the variable `accepted` is not 0."""
        self.real(0.0).store(accepted)
        with self.loop_forever() as end:
            body()
            self.branch_unless(load_real(self, accepted).compare("oeq", 0.0), end)

    def accept_if(self, condition: str, accepted: str) -> None:
        self.real(1.0).where(condition, 0.0).store(accepted)

    # -- Poisson ---------------------------------------------------------------------------------

    def _poisson(self) -> None:
        u, v, accepted = self.variables(3)
        rate = load_real(self, "%rates")
        self.real(0.0).store("%out")
        with self.if_then(rate >= 10.0):
            self._transformed_rejection(rate, u, v, accepted)
        with self.if_then(self.both(rate < 10.0, rate > 0.0)):
            limit = (-rate).libm("exp")
            self.draw(u)
            with self.loop_forever() as end:
                product = load_real(self, u)
                self.branch_unless(product > limit, end)
                (load_real(self, "%out") + 1.0).store("%out")
                (product * self.draw(v)).store(u)

    def _transformed_rejection(self, rate: Real, u_: str, v_: str, accepted: str) -> None:
        """Hörmann's method PTRS (1993)."""
        log_rate = rate.libm("log")
        b = 0.931 + 2.53 * rate.intrinsic("sqrt")
        a = -0.059 + 0.02483 * b
        log_inverse_alpha = (1.1239 + 1.1328 / (b - 3.4)).libm("log")
        acceptance = 0.9277 - 3.6224 / (b - 2.0)

        def attempt() -> None:
            u, v = self.draw(u_) - 0.5, self.draw(v_)
            margin = 0.5 - u.intrinsic("fabs")
            k = ((2.0 * a / margin + b) * u + rate + 0.43).intrinsic("floor")
            k.store("%out")
            at_once = self.both(margin >= 0.07, v <= acceptance)
            self.accept_if(at_once, accepted)
            far = self.both(margin < 0.013, v > margin)
            possible = self.both(self.not_(at_once), k >= 0.0, self.not_(far), margin > 0.0)
            with self.if_then(possible):
                proposal = (
                    v.libm("log") + log_inverse_alpha - (a / (margin * margin) + b).libm("log")
                )
                bound = -rate + k * log_rate - (k + 1.0).libm("lgamma")
                self.accept_if(proposal <= bound, accepted)

        self.repeat_until(accepted, attempt)

    # -- binomial --------------------------------------------------------------------------------

    def _binomial(self) -> None:
        u, v, accepted = self.variables(3)
        count, prob = load_real(self, "%counts"), load_real(self, "%probs")
        # What is not between: none of the trials, or all of them.
        self.real(0.0).where(self.or_(count <= 0.0, prob <= 0.0), count).store("%out")
        unordered = self.and_(self.or_(count.compare("uno", count), prob.compare("uno", prob)),
                              self.not_(self.or_(count <= 0.0, prob <= 0.0)))  # fmt: skip
        unordered = self.and_(unordered, self.not_(prob >= 1.0))
        with self.if_then(unordered):
            self.real(math.nan).store("%out")
        with self.if_then(self.both(count > 0.0, prob > 0.0, prob < 1.0)):
            failures = prob > 0.5
            chance = self.narrow(1.0 - prob).where(failures, prob)
            many = self.narrow(count * chance) >= 10.0
            with self.if_then(many):
                self._btrs(count, chance, u, v, accepted)
            with self.if_then(self.not_(many)):
                self._inversion(count, chance, u, v)
            successes = load_real(self, "%out")
            (count - successes).where(failures, successes).store("%out")

    def _inversion(self, count: Real, prob: Real, u_: str, waited_: str) -> None:
        """Count how many geometric waiting times fit into `count` trials."""
        log_failure = self.narrow((-prob).libm("log1p"))
        self.real(0.0).store(waited_)
        self.real(0.0).store("%out")
        with self.loop_forever() as end:
            u = self.draw(u_)
            steps = (u.libm("log") / log_failure).intrinsic("ceil").where(u > 0.0, math.inf)
            waited = load_real(self, waited_) + steps
            waited.store(waited_)
            self.branch_unless(self.not_(waited > count), end)
            (load_real(self, "%out") + 1.0).store("%out")

    def _btrs(self, count: Real, prob: Real, u_: str, v_: str, accepted: str) -> None:
        """Hörmann's method BTRS (1993)."""
        narrow = self.narrow
        mean = narrow(count * prob)
        deviation = narrow(narrow(mean * narrow(1.0 - prob)).intrinsic("sqrt"))
        b = 1.15 + 2.53 * deviation
        a = -0.0873 + 0.0248 * b + 0.01 * prob
        centre = mean + 0.5
        acceptance = 0.92 - 4.2 / b
        odds = narrow(prob / narrow(1.0 - prob))
        alpha = (2.83 + 5.1 / b) * deviation
        mode = narrow((count + 1.0) * prob).intrinsic("floor")
        tails = self.local("double", literal(0.0, F64))

        def attempt() -> None:
            u, v = self.draw(u_) - 0.5, self.draw(v_)
            margin = 0.5 - u.intrinsic("fabs")
            k = ((2.0 * a / margin + b) * u + centre).intrinsic("floor")
            k.store("%out")
            at_once = self.both(margin >= 0.07, v <= acceptance)
            self.accept_if(at_once, accepted)
            possible = self.both(self.not_(at_once), k >= 0.0, k <= count, margin > 0.0)
            with self.if_then(possible):
                rest = count - mode + 1.0
                bound = (
                    (mode + 0.5) * ((mode + 1.0) / (odds * rest)).libm("log")
                    + (count + 1.0) * (rest / (count - k + 1.0)).libm("log")
                    + (k + 0.5) * (odds * (count - k + 1.0) / (k + 1.0)).libm("log")
                    + self._stirling_tail(mode, tails)
                    + self._stirling_tail(count - mode, tails)
                    - self._stirling_tail(k, tails)
                    - self._stirling_tail(count - k, tails)
                )
                tried = (v * alpha / (a / (margin * margin) + b)).libm("log")
                self.accept_if(tried <= bound, accepted)

        self.repeat_until(accepted, attempt)

    def _stirling_tail(self, k: Real, place: str) -> Real:
        square = (k + 1.0) * (k + 1.0)
        series = (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / (k + 1.0)
        series.store(place)
        with self.if_then(k <= 9.0):
            values = ", ".join(f"double {literal(each, F64)}" for each in _STIRLING_TAILS)
            text = f"private unnamed_addr constant [10 x double] [{values}], align 64"
            name = self.e.tables.setdefault(text, f"@table{len(self.e.tables)}")
            load_real(self, self.gep(name, k.to_i64())).store(place)
        return load_real(self, place)

    # -- gamma -----------------------------------------------------------------------------------

    def _gamma(self) -> None:
        """Marsaglia and Tsang's method (2000), with shapes below 1 raised by 1 and scaled back.

        `normal` has the second number of a pair of normals, and whether there is one.
        """
        u_, alpha_, scale_, x_, accepted = self.variables(5)
        alpha = load_real(self, "%alphas")
        alpha.store(alpha_)
        self.real(1.0).store(scale_)
        with self.if_then(self.and_(alpha < 1.0, alpha.compare("une", 0.0))):
            base = 1.0 - self.draw(u_)
            base.libm("pow", self.narrow(1.0 / alpha)).store(scale_)
            self.narrow(alpha + 1.0).store(alpha_)
        self.real(0.0).store("%out")
        with self.if_then(alpha.compare("une", 0.0)):
            d = self.narrow(load_real(self, alpha_) - _ONE_THIRD)
            c = 1.0 / (9.0 * d).intrinsic("sqrt")

            def attempt() -> None:
                self._next_normal(u_, x_)
                x = load_real(self, x_)
                root = 1.0 + c * x
                self.accept_if("false", accepted)
                with self.if_then(self.not_(root <= 0.0)):
                    cube = root * root * root
                    u = 1.0 - self.draw(u_)
                    square = x * x
                    (load_real(self, scale_) * d * cube).store("%out")
                    at_once = u < 1.0 - _SQUEEZE * square * square
                    self.accept_if(at_once, accepted)
                    with self.if_then(self.not_(at_once)):
                        bound = 0.5 * square + d * (1.0 - cube + cube.libm("log"))
                        self.accept_if(u.libm("log") < bound, accepted)

            self.repeat_until(accepted, attempt)

    def _next_normal(self, u_: str, x_: str) -> None:
        """The second normal of the pair before, or the first one of a new pair."""
        waiting, is_there = "%normal", self.gep("%normal", "1")
        had = load_real(self, is_there).compare("une", 0.0)
        with self.if_then(had):
            load_real(self, waiting).store(x_)
            self.real(0.0).store(is_there)
        with self.if_then(self.not_(had)):
            theta = 2.0 * math.pi * self.draw(u_)
            radius = (-2.0 * (-self.draw(u_)).libm("log1p")).intrinsic("sqrt")
            (radius * theta.libm("sin")).store(waiting)
            self.real(1.0).store(is_there)
            (radius * theta.libm("cos")).store(x_)
