"""Rules for recurrent layers: all steps of one direction of one layer, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clew.compiler.native import rules
from clew.compiler.native.calls import Calls
from clew.compiler.native.layouts import Layout
from clew.compiler.native.rule_table import FLOATS, forward, gradient, require
from clew.kernels.compiled import recurrent
from clew.kernels.gemm import inline_gemm, products
from clew.kernels.numpy.recurrent import (
    GRU_BACKWARD_KERNEL,
    GRU_KERNEL,
    LSTM_BACKWARD_KERNEL,
    LSTM_KERNEL,
    LSTM_STATE_KERNEL,
    Spans,
    call_sizes,
    have_equal_lengths,
    spans,
)

Outs = list[Layout | None]


def _steps(h0: Layout, batch_sizes: tuple[int, ...], reverse: bool, *others: Any) -> Spans:
    """The rows of each step, of layers that have a native form."""
    given = [each for each in others if each is not None]
    require(h0.dtype in FLOATS and all(each.dtype is h0.dtype for each in given), "no floats")
    steps, batch = spans(batch_sizes, reverse), h0.shape[0]
    require(batch > 0 and have_equal_lengths(steps, batch), "sequences of different lengths")
    return steps


# -- what the layers have in common ----------------------------------------------------------------


def _projected(
    c: Calls, x: Layout, w_ih: Layout, bias: Layout | None, gates: int, out: Layout
) -> None:
    """The products of all rows with the weights of each gate, and its bias added."""
    w = rules.in_order(c, w_ih)
    right = w.reshaped(gates, w.shape[0] // gates, w.shape[1]).permuted((0, 2, 1))
    if bias is not None and products.uses_batch_affine(x.shape[0], w.size):
        c.call(products.AFFINE, x, right, bias, out)
        return
    rules.batch_product(c, x.unsqueezed(0), right, out)
    if bias is not None:
        c.call(np.add, out, bias.unsqueezed(1), out)


def _packed(c: Calls, w: Layout, groups: int, is_transposed: bool) -> Layout:
    """The columns of a weight (or of its transpose), in panels, by groups."""
    w = rules.in_order(c, w)
    matrix = w.permuted((1, 0)) if is_transposed else w
    rows, columns = matrix.shape
    size = columns // groups
    whole, rest = divmod(size, products.PANEL)
    blocks = whole + (rest > 0)
    panels = c.temporary((groups * blocks, rows, products.PANEL), w.dtype)
    call = inline_gemm.packing(w.dtype, matrix.shape, matrix.strides, products.PANEL)
    if call is not None and not rest:
        c.context("pack", call, w, panels)
        return panels
    source = matrix.permuted((1, 0)).divided(0, size)
    target = panels.divided(0, blocks).permuted((0, 1, 3, 2))
    if whole:
        full = source.part(1, 0, size - rest).divided(1, products.PANEL)
        c.call(np.positive, full, target.part(1, 0, whole))
    if rest:
        last = target.part(1, whole, 1).without(1).part(1, 0, rest)
        c.call(np.positive, source.part(1, size - rest, rest), last)
    return panels


def _or_temporary(c: Calls, out: Layout | None, shape: tuple[int, ...], like: Layout) -> Layout:
    return c.temporary(shape, like.dtype) if out is None else out


def _give(c: Calls, out: Layout | None, source: Layout) -> None:
    """Copy a result that is wanted."""
    if out is not None:
        rules.copy(c, [out], source)


def _last(rows: Layout, steps: Spans) -> Layout:
    begin, end = steps[-1]
    return rows.part(0, begin, end - begin)


def _arriving(c: Calls, g: Any, out: Layout | None, state: Layout) -> Layout:
    """The gradient of a last state, which becomes that of the first one."""
    made = _or_temporary(c, out, state.shape, state)
    c.call(np.positive, c.constant(0.0, state.dtype) if g is None else g, made)
    return made


def _states_before(c: Calls, rows: Layout, first: Layout, steps: Spans) -> Layout:
    """The state before the step of each row."""
    made, batch, count = c.temporary(rows.shape, rows.dtype), first.shape[0], rows.shape[0]
    is_forwards = steps[0][0] == 0
    rules.copy(c, [made.part(0, 0 if is_forwards else count - batch, batch)], first)
    if count > batch:
        later = made.part(0, batch if is_forwards else 0, count - batch)
        rules.copy(c, [later], rows.part(0, 0 if is_forwards else batch, count - batch))
    return made


def _gradients_of_projections(
    c: Calls, outs: Sequence[Layout | None], of_x: Layout, of_h: Layout, x: Layout,
    before: Layout, w_ih: Layout,
) -> None:  # fmt: skip
    """Gradients of input, weights and biases, given those of their products."""
    of_input, of_w_ih, of_w_hh, of_b_ih, of_b_hh = outs
    x, turned = rules.in_order(c, x), (1, 0)
    for out, left, right in (
        (of_input, of_x, w_ih), (of_w_ih, of_x.permuted(turned), x),
        (of_w_hh, of_h.permuted(turned), before),
    ):  # fmt: skip
        if out is not None:
            rules.product(c, [out], left, right)
    for out, rows in ((of_b_ih, of_x), (of_b_hh, of_h)):
        if out is not None:
            rules.sum_columns(c, rows, out)


# -- LSTM ------------------------------------------------------------------------------------------


@forward("_lstm_layer")
def _lstm(
    c: Calls, outs: Outs, x: Layout, w_ih: Layout, w_hh: Layout, b_ih: Any, b_hh: Any, h0: Layout,
    c0: Layout, w_hr: Any, batch_sizes: tuple[int, ...], reverse: bool,
) -> None:  # fmt: skip
    require(w_hr is None, "a projection")
    steps = _steps(h0, batch_sizes, reverse, x, w_ih, w_hh, b_ih, b_hh, c0)
    (rows, size), dtype = (x.shape[0], h0.shape[1]), x.dtype
    bias = None
    if b_ih is not None:
        bias = c.temporary((4, size), dtype)
        c.call(np.add, b_ih.reshaped(4, size), b_hh.reshaped(4, size), bias)
    out, h, cell, gates, cells = outs
    out = _or_temporary(c, out, (rows, size), x)
    keeps = gates is not None or cells is not None
    gates = _or_temporary(c, gates, (4, rows, size), x)
    _projected(c, x, w_ih, bias, 4, gates)
    first = rules.in_order(c, c0)
    if keeps:
        cells = _or_temporary(c, cells, (rows, size), x)
    else:
        cells = first = c.temporary(c0.shape, dtype)
        c.call(np.positive, c0, first)
    step = LSTM_KERNEL if keeps else LSTM_STATE_KERNEL
    sizes = call_sizes(gates.strides[0], size, steps)
    call = recurrent.calling("lstm forward", step, dtype, sizes)
    panels = _packed(c, w_hh, 4, is_transposed=True)
    c.context("lstm", call, gates, panels, rules.in_order(c, h0), first, out, cells)
    _give(c, h, _last(out, steps))
    _give(c, cell, _last(cells, steps) if keeps else cells)


@gradient("_lstm_layer")
def _lstm_gradients(
    c: Calls, outs: Outs, grads: list[Any], x: Layout, w_ih: Layout, w_hh: Layout, b_ih: Any,
    b_hh: Any, h0: Layout, c0: Layout, w_hr: Any, out0: Layout, gates: Layout, cells: Layout,
    batch_sizes: tuple[int, ...], reverse: bool, needs: tuple[bool, ...],
) -> None:  # fmt: skip
    require(w_hr is None, "a projection")
    steps = _steps(h0, batch_sizes, reverse, x, w_ih, w_hh, c0, gates, *grads[:3])
    (rows, size), dtype = (x.shape[0], h0.shape[1]), x.dtype
    of_h, of_c = (_arriving(c, g, out, state) for g, out, state in
                  zip(grads[1:3], outs[5:7], (h0, c0), strict=True))  # fmt: skip
    of_out = None if grads[0] is None else rules.in_order(c, grads[0])
    of_gates = c.temporary((rows, 4 * size), dtype)
    sizes = call_sizes(gates.strides[0], size, steps, backward=True)
    call = recurrent.calling("lstm backward", LSTM_BACKWARD_KERNEL, dtype, sizes)
    c.context(
        "lstm gradients", call, gates, _packed(c, w_hh, 1, is_transposed=False),
        rules.in_order(c, c0), cells, of_out, of_h, of_c, of_gates,
    )  # fmt: skip
    before = _states_before(c, out0, h0, steps)
    _gradients_of_projections(c, outs[:5], of_gates, of_gates, x, before, w_ih)


# -- GRU -------------------------------------------------------------------------------------------


@forward("_gru_layer")
def _gru(
    c: Calls, outs: Outs, x: Layout, w_ih: Layout, w_hh: Layout, b_ih: Any, b_hh: Any, h0: Layout,
    batch_sizes: tuple[int, ...], reverse: bool,
) -> None:  # fmt: skip
    steps = _steps(h0, batch_sizes, reverse, x, w_ih, w_hh, b_ih, b_hh)
    (rows, size), dtype = (x.shape[0], h0.shape[1]), x.dtype
    bias, bias_of_n = None, c.array(np.zeros(size, dtype))
    if b_ih is not None:
        # That of the new state's hidden part is added later.
        bias = c.temporary((3, size), dtype)
        c.call(np.positive, b_ih.reshaped(3, size), bias)
        both, of_state = bias.part(0, 0, 2), b_hh.reshaped(3, size)
        c.call(np.add, both, of_state.part(0, 0, 2), both)
        bias_of_n = of_state.part(0, 2, 1).without(0)
    out, h, gates, news = outs
    out, news = (_or_temporary(c, each, (rows, size), x) for each in (out, news))
    gates = _or_temporary(c, gates, (3, rows, size), x)
    _projected(c, x, w_ih, bias, 3, gates)
    sizes = call_sizes(gates.strides[0], size, steps)
    call = recurrent.calling("gru forward", GRU_KERNEL, dtype, sizes)
    panels = _packed(c, w_hh, 3, is_transposed=True)
    c.context("gru", call, gates, panels, rules.in_order(c, h0), bias_of_n, news, out)
    _give(c, h, _last(out, steps))


@gradient("_gru_layer")
def _gru_gradients(
    c: Calls, outs: Outs, grads: list[Any], x: Layout, w_ih: Layout, w_hh: Layout, b_ih: Any,
    b_hh: Any, h0: Layout, out0: Layout, gates: Layout, news: Layout,
    batch_sizes: tuple[int, ...], reverse: bool, needs: tuple[bool, ...],
) -> None:  # fmt: skip
    steps = _steps(h0, batch_sizes, reverse, x, w_ih, w_hh, gates, *grads[:2])
    (rows, size), dtype = (x.shape[0], h0.shape[1]), x.dtype
    of_h = _arriving(c, grads[1], outs[5], h0)
    of_out = None if grads[0] is None else rules.in_order(c, grads[0])
    before = _states_before(c, out0, h0, steps)
    of_input, of_hidden = (c.temporary((rows, 3 * size), dtype) for _ in range(2))
    sizes = call_sizes(gates.strides[0], size, steps, backward=True)
    call = recurrent.calling("gru backward", GRU_BACKWARD_KERNEL, dtype, sizes)
    c.context(
        "gru gradients", call, gates, _packed(c, w_hh, 1, is_transposed=False), news, before,
        of_out, of_h, of_input, of_hidden,
    )  # fmt: skip
    _gradients_of_projections(c, outs[:5], of_input, of_hidden, x, before, w_ih)
