"""Rules for random numbers, which take the words of the default generator in their order."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.backend import random as streams
from clew.backend.normal_streams import BLOCK
from clew.compiler.native.calls import Calls
from clew.compiler.native.layouts import Layout
from clew.compiler.native.rule_table import INT64, drawing, present, require
from clew.kernels.codegen.ir import F32, I32
from clew.kernels.codegen.ufunc import elementwise
from clew.kernels.compiled import mersenne_twister
from clew.kernels.numpy.box_muller import BOX_MULLER, uniform_of
from clew.ops.create.drawing import NORMAL, UNIFORM, Drawing, DrawingLike
from clew.ops.nn import dropout

_FLOAT32, _INT32 = np.dtype(np.float32), np.dtype(np.int32)

_UNIFORM_KERNEL = elementwise("uniform_of_words", 1, types=[([I32], [F32])])(uniform_of)


def _draw(c: Calls, out: Layout, make: Any) -> None:
    """Fill memory in order with numbers of a distribution."""
    require(make.stream is streams.default_generator, "another generator")
    require(make.distribution in (UNIFORM, NORMAL), "another distribution")
    require(out.dtype is _FLOAT32 and out.is_contiguous, "no float32 in order")
    if make.distribution is NORMAL:
        _normals(c, out.reshaped(out.size), 0.0, 1.0)
    else:
        words = c.temporary((out.size,), _INT32)
        c.draw(words)
        c.call(_UNIFORM_KERNEL, words, out.reshaped(out.size))


def _normals(c: Calls, out: Layout, mean: float, std: float) -> None:
    """Normals in blocks; a last block that is not full is drawn again, as the last places."""
    count, rest = out.size, out.size % BLOCK
    require(count >= BLOCK, "few numbers")
    words = c.temporary((count + (BLOCK if rest else 0),), _INT32)
    c.draw(words)
    numbers = [c.constant(each, _FLOAT32) for each in (mean, std)]
    whole = count - rest
    call = mersenne_twister.normals(BOX_MULLER, whole // BLOCK)
    c.context("normals", call, words.part(0, 0, whole), out.part(0, 0, whole), *numbers)
    if rest:
        call = mersenne_twister.normals(BOX_MULLER, 1)
        given = words.part(0, count, BLOCK), out.part(0, count - BLOCK, BLOCK)
        c.context("normals", call, *given, *numbers)


def draw(c: Calls, outs: list[Layout | None], make: Any) -> None:
    """New random numbers."""
    (out,) = present(outs)
    require(isinstance(make, Drawing) and make.out is None, "another distribution")
    _draw(c, out, make)


@drawing("_random_like")
def _random_like(c: Calls, outs: list[Layout | None], x: Layout, make: Any, function: str) -> None:
    (out,) = present(outs)
    require(isinstance(make, DrawingLike), "another distribution")
    _draw(c, out, make)


@drawing("_dropout_noise")
def _dropout_noise(
    c: Calls, outs: list[Layout | None], x: Layout, p: float, per_feature: bool
) -> None:
    (out,) = present(outs)
    # It is drawn in the order in which the elements lie in memory.
    kept = out._replace(shape=(out.size,), strides=(out.dtype.itemsize,))
    words = c.temporary((out.size,), INT64)
    c.draw(words)
    c.call(dropout.KEPT_KERNEL, words, c.constant(dropout.bound(1 - p), INT64), kept)
