"""Batch norm in training, and its gradients: one pass over the channels, each while it is cached.

A task has some channels of all images. A channel is read for its mean, again for its variance, and
again for the result, as PyTorch does it; after the first time it comes from the cache. Rows are
summed in vectors, and the sums of rows as doubles. Of a matrix the channels are columns: as many as
fill some vectors go together.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import BODY, SIZEOF
from clew.kernels.codegen.contexts import TYPES, ContextCall, compiled
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.image_rows import ImageRowBuilder, lane_counts
from clew.kernels.codegen.loops import GRAIN, end_module
from clew.kernels.codegen.vectors import block_end, carrying_loop

Array = np.ndarray

_SIZES = ("images", "channels", "length")
# Weights, biases and results that are not wanted are null pointers.
_FORWARD = ("*x", "*weight", "*bias", "*out", "*mean", "*rstd", "*variance", "*eps", *_SIZES)
_BACKWARD = ("*x", "*g", "*weight", "*mean", "*rstd", "*of_x", "*of_weight", "*of_bias", *_SIZES)
# Vectors that are summed at the same time.
_UNROLL = 4
# Rows of a matrix that are summed before a sum is a double.
_ROWS_PER_BLOCK = 64


def forward(
    x: Array, weight: Array | None, bias: Array | None, eps: float
) -> tuple[Array, Array, Array, Array]:
    """The normalized images, and of each channel the mean, 1 / deviation, and the variance.

    All arrays are of one type.
    """
    x, weight, bias = _contiguous(x, weight, bias)
    out = np.empty_like(x)
    mean, rstd, variance = np.empty((3, x.shape[1]), x.dtype)
    added = np.array(eps, np.float64)
    _run("forward", x, (weight, bias, out, mean, rstd, variance, added))
    return out, mean, rstd, variance


def backward(
    g: Array, x: Array, weight: Array | None, mean: Array, rstd: Array, of_input: bool
) -> tuple[Array | None, Array, Array]:
    """The gradients of the images (if wanted), the weights, and the biases."""
    x, g, weight, mean, rstd = _contiguous(x, g, weight, mean, rstd)
    of_x = np.empty_like(x) if of_input else None
    of_weight, of_bias = np.empty((2, x.shape[1]), x.dtype)
    _run("backward", x, (g, weight, mean, rstd, of_x, of_weight, of_bias))
    return of_x, of_weight, of_bias


def _contiguous(*arrays: Array | None) -> list[Any]:
    return [None if each is None else np.ascontiguousarray(each) for each in arrays]


def _run(kind: str, x: Array, others: tuple[Array | None, ...]) -> None:
    calling(kind, x.dtype, x.shape)(x, *others)


def calling(kind: str, dtype: np.dtype, shape: tuple[int, ...]) -> ContextCall:
    """The call of one of the two kernels, for images of a shape, or a matrix."""
    images, channels, *sides = shape
    length, are_columns = math.prod(sides), not sides
    width = columns_per_task(TYPES[dtype]) if are_columns else 1
    grain = -(-GRAIN // (images * length * width))
    function = _function(kind, TYPES[dtype], are_columns)
    return ContextCall(function, (images, channels, length), (-(-channels // width), grain))


@functools.cache
def _function(kind: str, llvm: str, are_columns: bool) -> Any:
    make = functools.partial(module, kind, llvm, are_columns)
    return compiled(f"batch norm {kind} {llvm}{' of columns' * are_columns}", make, "start")


def columns_per_task(llvm: str) -> int:
    """The columns of a matrix that go together."""
    return _UNROLL * lane_counts(SIZEOF[llvm])[0]


def module(kind: str, llvm: str, are_columns: bool = False) -> str:
    """The LLVM module of one of the two kernels, over images or over the columns of a matrix."""
    c = (_ColumnNorm if are_columns else _BatchNorm)(Emitter(), llvm)
    with c.function(BODY):
        c.f = c.load_context(*(_FORWARD if kind == "forward" else _BACKWARD))
        count = c.mul(c.f["images"], c.f["length"])
        c.count = c.e.value(f"uitofp i64 {count} to double")
        with c.loop("%begin", "%end") as task:
            c.channels_of(task, getattr(c, kind))
    end_module(c.e, "start")
    return c.e.text()


class _BatchNorm(ImageRowBuilder):
    """Both kernels, for one channel; numbers of a channel are doubles until they are stored."""

    f: dict[str, str]
    count: str
    # How many channels go together.
    together = 1

    def channels_of(self, task: str, normalize: Callable[[str], None]) -> None:
        """The work of a task."""
        normalize(task)

    def forward(self, channel: str) -> None:
        mean = self.divided(self.sums(channel, ("x",), lambda x: [x[0]])[0])
        about = self.rounded(mean)

        def squares(values: list[str]) -> list[str]:
            distance = self.binary("fsub", values[0], self.spread(about))
            return [self.binary("fmul", distance, distance)]

        variance = self.divided(self.sums(channel, ("x",), squares)[0])
        rstd = self.reciprocal_root(self.plus(variance, self.eps()))
        scale = self.rounded(self.times(rstd, self.optional("weight", channel, 1)))
        shift = self.rounded(self.optional("bias", channel, 0))
        for name, value in (("mean", mean), ("rstd", rstd), ("variance", variance)):
            self.store_number(self.rounded(value), name, channel)

        def affine(values: list[str]) -> str:
            distance = self.binary("fsub", values[0], self.spread(about))
            scaled = self.binary("fmul", distance, self.spread(scale))
            return self.binary("fadd", scaled, self.spread(shift))

        self.store_rows(channel, ("x",), "out", affine)

    def backward(self, channel: str) -> None:
        about, rstd = (self.load_number(name, channel) for name in ("mean", "rstd"))
        wide = self.widened(rstd)

        def products(values: list[str]) -> list[str]:
            distance = self.binary("fsub", values[1], self.spread(about))
            return [values[0], self.binary("fmul", values[0], distance)]

        total, along = self.sums(channel, ("g", "x"), products)
        self.store_number(self.rounded(total), "of_bias", channel)
        self.store_number(self.rounded(self.times(along, wide)), "of_weight", channel)
        of_g = self.times(wide, self.optional("weight", channel, 1))
        negative = self.e.value(f"fneg {self.numbers('double')} {of_g}")
        of_x = self.divided(self.times(negative, wide, wide, along))
        rest = self.divided(self.times(negative, total))
        factors = [self.rounded(each) for each in (of_g, of_x, rest)]

        def gradient(values: list[str]) -> str:
            distance = self.binary("fsub", values[1], self.spread(about))
            through = self.binary("fmul", values[0], self.spread(factors[0]))
            statistics = self.binary("fmul", distance, self.spread(factors[1]))
            both = self.binary("fadd", through, statistics)
            return self.binary("fadd", both, self.spread(factors[2]))

        with self.if_then(self.e.value(f"icmp ne ptr {self.f['of_x']}, null")):
            self.store_rows(channel, ("g", "x"), "of_x", gradient)

    # -- numbers of the channels that go together --------------------------------------------------

    def numbers(self, element: str = "") -> str:
        """The type of a number for each channel."""
        element = element or self.llvm
        return element if self.together == 1 else f"<{self.together} x {element}>"

    def repeated(self, number: str) -> str:
        """A double for each channel."""
        if self.together == 1:
            return number
        one = self.e.value(f"insertelement {self.numbers('double')} poison, double {number}, i32 0")
        lanes = [0] * self.together
        return self.shuffle_vector(self.numbers("double"), one, "poison", lanes)

    def load_number(self, name: str, channel: str) -> str:
        return self.load(self.gep(self.f[name], channel), self.numbers())

    def store_number(self, value: str, name: str, channel: str) -> None:
        self.store(value, self.gep(self.f[name], channel), self.numbers())

    def optional(self, name: str, channel: str, otherwise: int) -> str:
        """Elements of a vector over the channels, or a number where there is none."""
        exists = self.e.value(f"icmp ne ptr {self.f[name]}, null")
        # Where there is none, what is loaded does not matter.
        place = self.select(exists, self.f[name], self.f["mean"], "ptr")
        given = self.widened(self.load(self.gep(place, channel), self.numbers()))
        kind = self.numbers("double")
        return self.select(exists, given, self.repeated(f"{otherwise}.0"), kind)

    def eps(self) -> str:
        return self.repeated(self.load_word(self.f["eps"], "double"))

    def widened(self, number: str) -> str:
        if self.llvm == "double":
            return number
        return self.e.value(f"fpext {self.numbers()} {number} to {self.numbers('double')}")

    def rounded(self, number: str) -> str:
        if self.llvm == "double":
            return number
        return self.e.value(f"fptrunc {self.numbers('double')} {number} to {self.numbers()}")

    def plus(self, a: str, b: str) -> str:
        return self.e.value(f"fadd {self.numbers('double')} {a}, {b}")

    def times(self, first: str, *others: str) -> str:
        for other in others:
            first = self.e.value(f"fmul {self.numbers('double')} {first}, {other}")
        return first

    def divided(self, number: str) -> str:
        """By the number of elements of a channel."""
        return self.e.value(f"fdiv {self.numbers('double')} {number}, {self.repeated(self.count)}")

    def reciprocal_root(self, number: str) -> str:
        kind = self.numbers("double")
        name = "@llvm.sqrt." + ("f64" if self.together == 1 else f"v{self.together}f64")
        self.e.declare(f"{kind} {name}({kind})")
        root = self.e.value(f"call {kind} {name}({kind} {number})")
        return self.e.value(f"fdiv {kind} {self.repeated('1.0')}, {root}")

    # -- rows --------------------------------------------------------------------------------------

    def spread(self, number: str) -> str:
        """The number of a channel, for as many elements of a row as are computed at a time."""
        return self.splat(number)

    def binary(self, how: str, a: str, b: str) -> str:
        return self.e.value(f"{how} {self.value_type()} {a}, {b}")

    def row(self, name: str, image: str, channel: str) -> str:
        number = self.add(self.mul(image, self.f["channels"]), channel)
        return self.gep(self.f[name], self.mul(number, self.f["length"]))

    def values(self, rows: list[str], i: str) -> list[str]:
        return [self.load(self.gep(row, i), self.value_type()) for row in rows]

    def store_rows(
        self, channel: str, names: tuple[str, ...], target: str, formula: Callable[[list[str]], str]
    ) -> None:
        """A row of the result for each image."""
        with self.loop("0", self.f["images"]) as image:
            rows = [self.row(name, image, channel) for name in names]
            to = self.row(target, image, channel)

            def store(i: str) -> None:
                result = formula(self.values(rows, i))
                self.store(result, self.gep(to, i), self.value_type())

            self.vectorized("0", self.f["length"], store)

    def sums(
        self, channel: str, names: tuple[str, ...], terms: Callable[[list[str]], list[str]]
    ) -> list[str]:
        """The sums of terms over a channel."""

        def add_row(image: str, totals: list[str]) -> list[str]:
            rows = [self.row(name, image, channel) for name in names]
            found = self.row_sums(rows, terms, len(totals))
            return [
                self.e.value(f"fadd double {total}, {self.widened(each)}")
                for total, each in zip(totals, found, strict=True)
            ]

        start = [("double", "0.0")] * (2 if len(names) > 1 else 1)
        return carrying_loop(self.e, ("0", self.f["images"]), 1, add_row, start)

    def row_sums(
        self, rows: list[str], terms: Callable[[list[str]], list[str]], count: int
    ) -> list[str]:
        """The sums of terms over a row: several vectors at a time, single vectors, elements."""
        lanes, length, e = self.max_lanes, self.f["length"], self.e
        vector = f"<{lanes} x {self.llvm}>"
        whole = self.round_down(length, str(lanes))
        middle = self.round_down(length, str(lanes * _UNROLL))

        def add(i: str, given: list[str]) -> list[str]:
            found = terms(self.values(rows, i))
            return [self.binary("fadd", a, b) for a, b in zip(given, found, strict=True)]

        def add_several(i: str, given: list[str]) -> list[str]:
            updated: list[str] = []
            for number in range(_UNROLL):
                at = self.add(i, str(number * lanes))
                updated += add(at, given[number * count : (number + 1) * count])
            return updated

        self.lanes = lanes
        start = [(vector, "zeroinitializer")] * (count * _UNROLL)
        many = carrying_loop(e, ("0", middle), lanes * _UNROLL, add_several, start)
        first = [many[n] for n in range(count)]
        for number in range(1, _UNROLL):
            others = many[number * count : (number + 1) * count]
            first = [self.binary("fadd", a, b) for a, b in zip(first, others, strict=True)]
        given = [(vector, each) for each in first]
        vectors = carrying_loop(e, (middle, whole), lanes, add, given)
        kind = f"v{lanes}{'f32' if self.llvm == 'float' else 'f64'}"
        name = f"@llvm.vector.reduce.fadd.{kind}"
        e.declare(f"{self.llvm} {name}({self.llvm}, {vector})")
        folded = [
            e.value(f"call reassoc {self.llvm} {name}({self.llvm} 0.0, {vector} {each})")
            for each in vectors
        ]
        self.lanes = 1
        return carrying_loop(e, (whole, length), 1, add, [(self.llvm, each) for each in folded])


class _ColumnNorm(_BatchNorm):
    """The same for columns of a matrix: a vector has an element of each."""

    def channels_of(self, task: str, normalize: Callable[[str], None]) -> None:
        """Columns in vectors of decreasing widths."""
        most = columns_per_task(self.llvm)
        done = self.mul(task, str(most))
        end = self.min(self.add(done, str(most)), self.f["channels"])
        for columns in (most, *lane_counts(self.itemsize)):
            self.together = self.lanes = columns
            stop = self.add(done, self.round_down(self.sub(end, done), str(columns)))
            with self.loop(done, stop, by=columns) as column:
                normalize(column)
            done = stop

    def spread(self, number: str) -> str:
        return number

    def row(self, name: str, image: str, channel: str) -> str:
        return self.gep(self.f[name], self.add(self.mul(image, self.f["channels"]), channel))

    def store_rows(
        self, channel: str, names: tuple[str, ...], target: str, formula: Callable[[list[str]], str]
    ) -> None:
        with self.loop("0", self.f["images"]) as image:
            rows = [self.row(name, image, channel) for name in names]
            result = formula(self.values(rows, "0"))
            self.store(result, self.row(target, image, channel), self.value_type())

    def sums(
        self, channel: str, names: tuple[str, ...], terms: Callable[[list[str]], list[str]]
    ) -> list[str]:
        """The sums of terms over columns."""
        count = 2 if len(names) > 1 else 1

        def add_row(image: str, totals: list[str]) -> list[str]:
            found = terms(self.values([self.row(name, image, channel) for name in names], "0"))
            return [self.binary("fadd", a, b) for a, b in zip(totals, found, strict=True)]

        def add_block(image: str, totals: list[str]) -> list[str]:
            span = image, block_end(self.e, image, _ROWS_PER_BLOCK, self.f["images"])
            zeros = [(self.numbers(), self.zeros())] * count
            found = carrying_loop(self.e, span, 1, add_row, zeros)
            return [self.plus(a, self.widened(b)) for a, b in zip(totals, found, strict=True)]

        start = [(self.numbers("double"), self.zeros())] * count
        return carrying_loop(
            self.e, ("0", self.f["images"]), _ROWS_PER_BLOCK, add_block, start
        )  # fmt: skip

    def zeros(self) -> str:
        return "0.0" if self.together == 1 else "zeroinitializer"
