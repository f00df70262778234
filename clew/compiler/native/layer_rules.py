"""Rules for layers: attention, normalization; for counters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clew.compiler.native.calls import Calls
from clew.compiler.native.layouts import Layout
from clew.compiler.native.rule_table import (
    FLOATS,
    INT64,
    forward,
    gradient,
    in_place,
    present,
    require,
)
from clew.kernels.compiled import batch_norm
from clew.kernels.numpy import reduce
from clew.ops.nn import rms_norm
from clew.ops.nn.attention_blocks import attention_kernel
from clew.ops.nn.layer_norm import (
    LAYER_NORM_BACKWARD_KERNEL,
    LAYER_NORM_KERNEL,
    LAYER_NORM_PARAMETERS_KERNEL,
)

# -- attention -------------------------------------------------------------------------------------


@forward("_scaled_dot_product_flash_attention_for_cpu")
def _attention(
    c: Calls, outs: list[Layout | None], query: Layout, key: Layout, value: Layout, mask: Any,
    is_causal: bool, scale: float, dropout_p: float, generator: Any,
) -> None:  # fmt: skip
    require(mask is None and generator is None and query.dtype in FLOATS, "a mask, or dropout")
    kernel = attention_kernel(is_causal, backward=False)
    c.call(kernel, query, key, value, c.constant(scale, query.dtype), *present(outs))


@gradient("_scaled_dot_product_flash_attention_for_cpu")
def _attention_gradients(
    c: Calls, outs: list[Layout | None], grads: list[Any], query: Layout, key: Layout,
    value: Layout, mask: Any, out: Layout, normaliser: Layout, is_causal: bool, scale: float,
    dropout_p: float, generator: Any, needs: tuple[bool, ...],
) -> None:  # fmt: skip
    require(mask is None and generator is None and query.dtype in FLOATS, "a mask, or dropout")
    require(isinstance(grads[0], Layout), "no gradient")
    found = [
        c.temporary(like.shape, like.dtype) if each is None else each
        for each, like in zip(outs, (query, key, value), strict=False)
    ]
    kernel = attention_kernel(is_causal, backward=True)
    factor = c.constant(scale, query.dtype)
    c.call(kernel, grads[0], query, key, value, out, normaliser, factor, *found)


# -- batch norm ------------------------------------------------------------------------------------


def _require_channels(x: Layout, *others: Any) -> None:
    require(x.dtype in FLOATS and x.is_contiguous and x.size > 0, "no floats in order")
    given = [each for each in others if each is not None]
    require(all(each.dtype is x.dtype and each.is_contiguous for each in given), "other memory")


@forward("native_batch_norm")
def _batch_norm(
    c: Calls, outs: list[Layout | None], x: Layout, weight: Any, bias: Any, eps: float
) -> None:
    _require_channels(x, weight, bias)
    out, mean, rstd, variance = (
        c.temporary((x.shape[1],) if place else x.shape, x.dtype) if each is None else each
        for place, each in enumerate(outs)
    )
    call = batch_norm.calling("forward", x.dtype, x.shape)
    number = c.constant(eps, np.dtype(np.float64))
    c.context("batch_norm", call, x, weight, bias, out, mean, rstd, variance, number)


@gradient("native_batch_norm")
def _batch_norm_gradients(
    c: Calls, outs: list[Layout | None], grads: list[Any], x: Layout, weight: Any, mean: Layout,
    rstd: Layout, eps: float, needs: tuple[bool, ...],
) -> None:  # fmt: skip
    require(isinstance(grads[0], Layout) and grads[1:] == [None] * 3, "other gradients")
    _require_channels(x, grads[0], weight, mean, rstd)
    of_weight, of_bias = (
        c.temporary((x.shape[1],), x.dtype) if each is None else each for each in outs[1:3]
    )
    call = batch_norm.calling("backward", x.dtype, x.shape)
    c.context(
        "batch_norm_gradients", call, x, grads[0], weight, mean, rstd, outs[0], of_weight, of_bias
    )


# -- writes ----------------------------------------------------------------------------------------


@in_place("add")
def _add_number(c: Calls, target: Layout, other: Any, **factors: Any) -> None:
    """A counter goes on."""
    require(target.dtype is INT64 and type(other) is int and not factors, "no counter")
    c.call(np.add, target, c.constant(other, INT64), target)


# -- normalization ---------------------------------------------------------------------------------


@forward("native_layer_norm")
def _layer_norm(
    c: Calls, outs: list[Layout | None], x: Layout, weight: Any, bias: Any, normalized_ndim: int,
    eps: float,
) -> None:  # fmt: skip
    out, mean, rstd = present(outs)
    require(isinstance(weight, Layout) and isinstance(bias, Layout), "no parameters")
    rows, size = _rows(x, normalized_ndim)
    c.call(
        LAYER_NORM_KERNEL, x.reshaped(rows, size), weight.reshaped(size), bias.reshaped(size),
        c.constant(eps, x.dtype), out.reshaped(rows, size), mean.reshaped(rows),
        rstd.reshaped(rows),
    )  # fmt: skip


@gradient("native_layer_norm")
def _layer_norm_gradient(
    c: Calls, outs: list[Layout | None], grads: list[Any], x: Layout, weight: Any, mean: Layout,
    rstd: Layout, normalized_ndim: int, eps: float, needs: tuple[bool, ...],
) -> None:  # fmt: skip
    require(isinstance(weight, Layout) and grads[1] is None and grads[2] is None, "other cases")
    rows, size = _rows(x, normalized_ndim)
    require(rows < 2 * reduce.ROWS, "many rows")
    g, x = grads[0].reshaped(rows, size), x.reshaped(rows, size)
    mean, rstd = mean.reshaped(rows), rstd.reshaped(rows)
    if outs[0] is not None:
        out = outs[0].reshaped(rows, size)
        c.call(LAYER_NORM_BACKWARD_KERNEL, g, x, weight.reshaped(size), mean, rstd, out)
    if outs[1] is not None or outs[2] is not None:
        made = [c.temporary((size,), x.dtype) if out is None else out.reshaped(size)
                for out in outs[1:]]  # fmt: skip
        c.call(LAYER_NORM_PARAMETERS_KERNEL, g, x, mean, rstd, *made)


@forward("_rms_norm")
def _rms_norm(
    c: Calls, outs: list[Layout | None], x: Layout, weight: Any, normalized_ndim: int, eps: float
) -> None:
    out, rstd = present(outs)
    rows, size = _rows(x, normalized_ndim)
    c.call(
        rms_norm.RMS_NORM_KERNEL, x.reshaped(rows, size), _row_of(c, weight, x, size),
        c.constant(eps, x.dtype), out.reshaped(rows, size), rstd.reshaped(rows),
    )  # fmt: skip


@gradient("_rms_norm")
def _rms_norm_gradient(
    c: Calls, outs: list[Layout | None], grads: list[Any], x: Layout, weight: Any, rstd: Layout,
    normalized_ndim: int, eps: float, needs: tuple[bool, ...],
) -> None:  # fmt: skip
    require(isinstance(grads[0], Layout) and grads[1:] == [None], "other gradients")
    rows, size = _rows(x, normalized_ndim)
    factor = _row_of(c, weight, x, size)
    g, x, rstd = grads[0].reshaped(rows, size), x.reshaped(rows, size), rstd.reshaped(rows)
    of_input, of_weight = outs
    if of_input is not None:
        c.call(rms_norm.RMS_NORM_BACKWARD_KERNEL, g, x, factor, rstd, of_input.reshaped(rows, size))
    if of_weight is not None:
        require(rows < 2 * reduce.ROWS, "many rows")
        c.call(rms_norm.RMS_NORM_WEIGHT_KERNEL, g, x, rstd, of_weight.reshaped(size))


def _row_of(c: Calls, weight: Any, x: Layout, size: int) -> Layout:
    """The factors of a row, which are 1 where there are none."""
    if isinstance(weight, Layout):
        return weight.reshaped(size)
    return c.constant(1.0, x.dtype)._replace(shape=(size,), strides=(0,))


def _rows(x: Layout, ndim: int) -> tuple[int, int]:
    split = len(x.shape) - ndim
    return math.prod(x.shape[:split]), math.prod(x.shape[split:])
