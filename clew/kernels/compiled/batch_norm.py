"""Batch norm in training, and its gradients: one pass over the channels, each while it is cached.

A task has some channels of all images. A channel is read for its mean, again for its variance, and
again for the result, as PyTorch does it; after the first time it comes from the cache. Rows are
summed in vectors, and the sums of rows as doubles.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import BODY
from clew.kernels.codegen.contexts import TYPES, compiled, context_of
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.image_rows import ImageRowBuilder
from clew.kernels.codegen.loops import GRAIN, end_module
from clew.kernels.codegen.vectors import carrying_loop
from clew.kernels.runtime.numpy_capi import address_of

Array = np.ndarray

_SIZES = ("images", "channels", "length")
# Weights, biases and results that are not wanted are null pointers.
_FORWARD = ("*x", "*weight", "*bias", "*out", "*mean", "*rstd", "*variance", "*eps", *_SIZES)
_BACKWARD = ("*x", "*g", "*weight", "*mean", "*rstd", "*of_x", "*of_weight", "*of_bias", *_SIZES)
# Vectors that are summed at the same time.
_UNROLL = 4


def forward(
    x: Array, weight: Array | None, bias: Array | None, eps: float
) -> tuple[Array, Array, Array, Array]:
    """The normalized images, and of each channel the mean, 1 / deviation, and the variance.

    All arrays are of one type.
    """
    x, weight, bias = _contiguous(x, weight, bias)
    out = np.empty_like(x)
    mean, rstd, variance = np.empty((3, x.shape[1]), x.dtype)
    added = np.array(eps)
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
    images, channels = x.shape[:2]
    length = x.size // (images * channels)
    addresses = [0 if each is None else address_of(each) for each in (x, *others)]
    context = context_of((), [*addresses, images, channels, length])
    grain = -(-GRAIN // (images * length))
    _function(kind, TYPES[x.dtype])(address_of(context), channels, grain)


@functools.cache
def _function(kind: str, llvm: str) -> Any:
    make = functools.partial(module, kind, llvm)
    return compiled(f"batch norm {kind} {llvm}", make, "start")


def module(kind: str, llvm: str) -> str:
    """The LLVM module of one of the two kernels."""
    c = _BatchNorm(Emitter(), llvm)
    with c.function(BODY):
        c.f = c.load_context(*(_FORWARD if kind == "forward" else _BACKWARD))
        count = c.mul(c.f["images"], c.f["length"])
        c.count = c.e.value(f"uitofp i64 {count} to double")
        with c.loop("%begin", "%end") as channel:
            getattr(c, kind)(channel)
    end_module(c.e, "start")
    return c.e.text()


class _BatchNorm(ImageRowBuilder):
    """Both kernels, for one channel; numbers of a channel are doubles until they are stored."""

    f: dict[str, str]
    count: str

    def forward(self, channel: str) -> None:
        f = self.f
        mean = self.divided(self.sums(channel, ("x",), lambda x: [x[0]])[0])
        about = self.rounded(mean)

        def squares(values: list[str]) -> list[str]:
            distance = self.binary("fsub", values[0], self.splat(about))
            return [self.binary("fmul", distance, distance)]

        variance = self.divided(self.sums(channel, ("x",), squares)[0])
        eps = self.load_word(f["eps"], "double")
        self.e.declare("double @llvm.sqrt.f64(double)")
        total = self.e.value(f"fadd double {variance}, {eps}")
        root = self.e.value(f"call double @llvm.sqrt.f64(double {total})")
        rstd = self.e.value(f"fdiv double 1.0, {root}")
        scale = self.rounded(self.times(rstd, self.optional("weight", channel, "1.0")))
        shift = self.rounded(self.optional("bias", channel, "0.0"))
        for name, value in (("mean", mean), ("rstd", rstd), ("variance", variance)):
            self.store(self.rounded(value), self.gep(f[name], channel))

        def affine(values: list[str]) -> str:
            distance = self.binary("fsub", values[0], self.splat(about))
            scaled = self.binary("fmul", distance, self.splat(scale))
            return self.binary("fadd", scaled, self.splat(shift))

        self.store_rows(channel, ("x",), "out", affine)

    def backward(self, channel: str) -> None:
        f = self.f
        about, rstd = (self.load(self.gep(f[name], channel)) for name in ("mean", "rstd"))
        wide = self.widened(rstd)

        def products(values: list[str]) -> list[str]:
            distance = self.binary("fsub", values[1], self.splat(about))
            return [values[0], self.binary("fmul", values[0], distance)]

        total, along = self.sums(channel, ("g", "x"), products)
        self.store(self.rounded(total), self.gep(f["of_bias"], channel))
        self.store(self.rounded(self.times(along, wide)), self.gep(f["of_weight"], channel))
        of_g = self.times(wide, self.optional("weight", channel, "1.0"))
        negative = self.e.value(f"fneg double {of_g}")
        of_x = self.divided(self.times(negative, wide, wide, along))
        rest = self.divided(self.times(negative, total))
        factors = [self.rounded(each) for each in (of_g, of_x, rest)]

        def gradient(values: list[str]) -> str:
            distance = self.binary("fsub", values[1], self.splat(about))
            through = self.binary("fmul", values[0], self.splat(factors[0]))
            statistics = self.binary("fmul", distance, self.splat(factors[1]))
            both = self.binary("fadd", through, statistics)
            return self.binary("fadd", both, self.splat(factors[2]))

        with self.if_then(self.e.value(f"icmp ne ptr {f['of_x']}, null")):
            self.store_rows(channel, ("g", "x"), "of_x", gradient)

    # -- numbers of a channel ----------------------------------------------------------------------

    def optional(self, name: str, channel: str, otherwise: str) -> str:
        """An element of a vector over the channels, or a number where there is none."""
        exists = self.e.value(f"icmp ne ptr {self.f[name]}, null")
        # Where there is none, what is loaded does not matter.
        place = self.select(exists, self.gep(self.f[name], channel), self.f["mean"], "ptr")
        return self.select(exists, self.widened(self.load(place)), otherwise, "double")

    def widened(self, number: str) -> str:
        if self.llvm == "double":
            return number
        return self.e.value(f"fpext float {number} to double")

    def rounded(self, number: str) -> str:
        if self.llvm == "double":
            return number
        return self.e.value(f"fptrunc double {number} to float")

    def times(self, first: str, *others: str) -> str:
        for other in others:
            first = self.e.value(f"fmul double {first}, {other}")
        return first

    def divided(self, number: str) -> str:
        """By the number of elements of a channel."""
        return self.e.value(f"fdiv double {number}, {self.count}")

    # -- rows --------------------------------------------------------------------------------------

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
