"""Recurrent layers over whole sequences: one direction of one layer, forward and backward.

Sequences are packed as in `PackedSequence`: the rows of all time steps are contiguous, and
`batch_sizes[t]` sequences take part in step t, the longest first. So a step concerns the first rows
of the state; the others keep their state.

The product with the input is one GEMM for all steps. Inside a step, results are written to existing
arrays, which stay in the cache.

A sigmoid is `0.5 + 0.5 * tanh(x / 2)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from clew.kernels import compiled
from clew.kernels.codegen.ufunc import elementwise
from clew.kernels.gemm.products import Panels, batch_affine, batch_product, packed
from clew.kernels.numpy.arrays import Array

Spans = list[tuple[int, int]]


def spans(batch_sizes: Sequence[int], reverse: bool) -> Spans:
    """The range of rows of every step, in the order of the steps."""
    ends = accumulate(batch_sizes)
    found = [(end - count, end) for end, count in zip(ends, batch_sizes)]
    return found[::-1] if reverse else found


def states_before(rows: Array, first: Array, steps: Spans) -> Array:
    """The state before the step of each row, given the states after the steps."""
    if have_equal_lengths(steps, len(first)):
        if steps[0][0] == 0:
            return np.concatenate([first, rows[: len(rows) - len(first)]])
        return np.concatenate([rows[len(first) :], first])
    before = np.empty_like(rows)
    state = first.copy()
    for begin, end in steps:
        current = state[: end - begin]
        before[begin:end] = current
        current[...] = rows[begin:end]
    return before


def have_equal_lengths(steps: Spans, batch: int) -> bool:
    """Whether all sequences take part in every step."""
    return bool(steps) and all(end - begin == batch for begin, end in steps)


def _by_step(rows: Array, steps: Spans) -> list[Array]:
    """The rows of each step, in the order of the steps."""
    return [rows[begin:end] for begin, end in steps]


def _summed(b_ih: Array | None, b_hh: Array | None) -> Array | None:
    return None if b_ih is None or b_hh is None else b_ih + b_hh


# -- LSTM: gates i, f, g, o ----------------------------------------------------------------


@elementwise("lstm_step", 9, outputs=6, cost=16)
def LSTM_KERNEL(
    xi: Any, xf: Any, xg: Any, xo: Any, hi: Any, hf: Any, hg: Any, ho: Any, before: Any
) -> Any:
    """The gates, the cell and the hidden state."""
    i, f, o = (0.5 + 0.5 * (0.5 * (x + h)).tanh() for x, h in ((xi, hi), (xf, hf), (xo, ho)))
    g = (xg + hg).tanh()
    cell = f * before + i * g
    return i, f, g, o, cell, o * cell.tanh()


@elementwise("lstm_state", 9, outputs=2, cost=16)
def LSTM_STATE_KERNEL(*given: Any) -> Any:
    """The cell and the hidden state alone."""
    return LSTM_KERNEL.function(*given)[-2:]


@elementwise("lstm_step_backward", 8, outputs=5, cost=4)
def LSTM_BACKWARD_KERNEL(
    i: Any, f: Any, g: Any, o: Any, cell: Any, before: Any, dh: Any, dc: Any
) -> Any:
    """The gradients of the gates' arguments, and of the cell before."""
    tanh = cell.tanh()
    dc = dc + dh * o * (1.0 - tanh * tanh)
    grad_i, grad_f = dc * g * (i - i * i), dc * before * (f - f * f)
    grad_g, grad_o = dc * i * (1.0 - g * g), dh * tanh * (o - o * o)
    return grad_i, grad_f, grad_g, grad_o, dc * f


def lstm_forward(
    x: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None,
    b_hh: Array | None,
    h0: Array,
    c0: Array,
    w_hr: Array | None,
    *,
    steps: Spans,
    keeps: bool = True,
) -> tuple[Array, Array, Array, Array, Array]:
    """Hidden states, the last of them, the last cell, then for backward: gates and cells.

    Each gate has an array (rows, size) of its own, so that what a step reads of it is contiguous.
    Unless `keeps`, what is for backward is undefined.
    """
    batch, size = c0.shape
    bias = _summed(b_ih, b_hh)
    gates = batch_affine(
        x, w_ih.reshape(4, size, -1).swapaxes(1, 2),
        None if bias is None else bias.reshape(4, size),
    )  # fmt: skip
    out = np.empty((len(x), h0.shape[1]), x.dtype)
    if w_hr is None and have_equal_lengths(steps, batch):
        h, c = np.ascontiguousarray(h0), c0.copy(order="C")
        cells = np.empty((len(x), size), x.dtype) if keeps else c
        call = compiled.recurrent.calling(
            "lstm forward", LSTM_KERNEL if keeps else LSTM_STATE_KERNEL, x.dtype,
            call_sizes(gates.strides[0], size, steps),
        )  # fmt: skip
        call(gates, packed(w_hh.T, 4), h, c, out, cells)
        last = slice(*steps[-1])
        # Without the cells of all steps, what stands for them is the last one, in other memory.
        return out, out[last].copy(), (cells[last] if keeps else c).copy(), gates, cells
    weight = Panels(w_hh.T)
    cells = np.empty((len(x), size), x.dtype)
    h, c = h0.copy(), c0.copy()
    products = np.empty((4, batch, size), x.dtype)
    full = np.empty((batch, size), x.dtype)
    kernel: Any = LSTM_KERNEL.specialize(gates)
    # Then a state is the last step's result, where it is.
    equal_lengths = have_equal_lengths(steps, batch)
    by_step = [_by_step(each, steps) for each in (*gates, cells, out)]
    for i, f, g, o, cell, result in zip(*by_step, strict=True):
        count = len(cell)
        hidden = result if w_hr is None else full[:count]
        product = weight.times_in_groups(h[:count], products[:, :count])
        kernel(i, f, g, o, *product, c[:count], out=(i, f, g, o, cell, hidden))
        if w_hr is not None:
            batch_product(hidden, w_hr.T, result)
        if equal_lengths:
            h, c = result, cell
        else:
            h[:count], c[:count] = result, cell
    return (out, h.copy(), c.copy(), gates, cells) if equal_lengths else (out, h, c, gates, cells)


def call_sizes(gate_next: int, size: int, steps: Spans, backward: bool = False) -> tuple[int, ...]:
    """The sizes of a call of all time steps: gates are so many bytes apart."""
    order = steps[::-1] if backward else steps
    begin, end = order[0]
    by = order[1][0] - begin if len(steps) > 1 else 0
    return gate_next, end - begin, size, len(steps), begin, by


def _contiguous(array: Array | None) -> Array | None:
    return None if array is None else np.ascontiguousarray(array)


def _gate_by_gate(rows: Array, gates: int = 4) -> Array:
    """(rows, 4 * size) as (4, rows, size), over the same memory."""
    return rows.reshape(len(rows), gates, rows.shape[1] // gates).swapaxes(0, 1)


def lstm_backward(
    grad_out: Array | None,
    grad_h: Array,
    grad_c: Array,
    w_hh: Array,
    c0: Array,
    w_hr: Array | None,
    gates: Array,
    cells: Array,
    steps: Spans,
) -> tuple[Array, Array | None]:
    """The gradient of the gates' inputs, and of the weight that projects; `grad_h` and `grad_c` are
    the gradients of the last states, and become those of the first."""
    batch, size = c0.shape
    grad_gates = np.empty((len(cells), 4 * size), gates.dtype)
    grad_hr = None if w_hr is None else np.zeros_like(w_hr)
    if w_hr is None and have_equal_lengths(steps, batch):
        start, arriving = np.ascontiguousarray(c0), _contiguous(grad_out)
        call = compiled.recurrent.calling(
            "lstm backward", LSTM_BACKWARD_KERNEL, gates.dtype,
            call_sizes(gates.strides[0], size, steps, backward=True),
        )  # fmt: skip
        call(gates, packed(w_hh), start, cells, arriving, grad_h, grad_c, grad_gates)
        return grad_gates, None
    weight = Panels(w_hh)
    before = states_before(cells, c0, steps)
    arrivals, derivatives = np.empty((2, 4, batch, size), gates.dtype)
    tanhs, throughs = np.empty((2, batch, size), gates.dtype)
    kernel = LSTM_BACKWARD_KERNEL.specialize(gates) if w_hr is None else None
    for begin, end in reversed(steps):
        count = end - begin
        if kernel is not None:
            dh, dc, grad_gate = grad_h[:count], grad_c[:count], grad_gates[begin:end]
            if grad_out is not None:
                dh += grad_out[begin:end]
            kernel(
                *gates[:, begin:end], cells[begin:end], before[begin:end], dh, dc,
                out=(*_gate_by_gate(grad_gate), dc),
            )  # fmt: skip
            weight.times(grad_gate, dh)
            continue
        gate, found, derivative = gates[:, begin:end], arrivals[:, :count], derivatives[:, :count]
        i, f, g, o = gate
        dh, dc = grad_h[:count], grad_c[:count]
        if grad_out is not None:
            dh += grad_out[begin:end]
        tanh = np.tanh(cells[begin:end], tanhs[:count])
        to_cell = dh
        if w_hr is not None and grad_hr is not None:
            grad_hr += dh.T @ (o * tanh)
            to_cell = dh @ w_hr
        np.multiply(to_cell, tanh, found[3])
        tanh *= tanh
        through = np.subtract(1, tanh, throughs[:count])
        through *= o
        through *= to_cell
        dc += through
        np.multiply(dc, g, found[0])
        np.multiply(dc, before[begin:end], found[1])
        np.multiply(dc, i, found[2])
        dc *= f
        # s - s * s for the sigmoids, 1 - t * t for the tanh.
        np.multiply(gate, gate, derivative)
        np.subtract(gate[:2], derivative[:2], derivative[:2])
        np.subtract(1, derivative[2], derivative[2])
        np.subtract(o, derivative[3], derivative[3])
        grad_gate = grad_gates[begin:end]
        np.multiply(found, derivative, _gate_by_gate(grad_gate))
        weight.times(grad_gate, dh)
    return grad_gates, grad_hr


# -- GRU: gates r, z, n --------------------------------------------------------------------


@elementwise("gru_step", 8, outputs=5, cost=16)
def GRU_KERNEL(xr: Any, xz: Any, xn: Any, hr: Any, hz: Any, hn: Any, bias: Any, before: Any) -> Any:
    """The gates, the hidden part of n, and the state; `bias` is that of the hidden part."""
    r, z = (0.5 + 0.5 * (0.5 * (x + h)).tanh() for x, h in ((xr, hr), (xz, hz)))
    new = hn + bias
    n = (xn + r * new).tanh()
    return r, z, n, new, n + z * (before - n)


@elementwise("gru_step_backward", 6, outputs=7, cost=4)
def GRU_BACKWARD_KERNEL(r: Any, z: Any, n: Any, new: Any, before: Any, dh: Any) -> Any:
    """The gradients of what the gates get from the input, from the state, and of the state."""
    dn = dh * (1.0 - z) * (1.0 - n * n)
    dz = dh * (before - n) * (z - z * z)
    dr = dn * new * (r - r * r)
    return dr, dz, dn, dr, dz, dn * r, dh * z


def gru_forward(
    x: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None,
    b_hh: Array | None,
    h0: Array,
    *,
    steps: Spans,
) -> tuple[Array, Array, Array, Array]:
    """Hidden states, the last of them, then for backward: gates and the hidden part of n.

    Each gate has an array (rows, size) of its own, so that what a step reads of it is contiguous.
    """
    batch, size = h0.shape
    bias, bias_of_n = None, np.zeros(size, x.dtype)
    if b_ih is not None and b_hh is not None:
        bias = b_ih.reshape(3, size).copy()
        bias[:2] += b_hh.reshape(3, size)[:2]
        bias_of_n[...] = b_hh[2 * size :]
    gates = batch_affine(x, w_ih.reshape(3, size, -1).swapaxes(1, 2), bias)
    out, news = np.empty((2, len(x), size), x.dtype)
    if have_equal_lengths(steps, batch):
        call = compiled.recurrent.calling(
            "gru forward", GRU_KERNEL, x.dtype, call_sizes(gates.strides[0], size, steps)
        )
        call(gates, packed(w_hh.T, 3), np.ascontiguousarray(h0), bias_of_n, news, out)
        return out, out[slice(*steps[-1])].copy(), gates, news
    weight = Panels(w_hh.T)
    h = h0.copy()
    products = np.empty((3, batch, size), x.dtype)
    kernel: Any = GRU_KERNEL.specialize(gates)
    by_step = [_by_step(each, steps) for each in (*gates, news, out)]
    for r, z, n, new, result in zip(*by_step, strict=True):
        count = len(result)
        state = h[:count]
        product = weight.times_in_groups(state, products[:, :count])
        kernel(r, z, n, *product, bias_of_n, state, out=(r, z, n, new, result))
        state[...] = result
    return out, h, gates, news


def gru_backward(
    grad_out: Array | None,
    grad_h: Array,
    w_hh: Array,
    before: Array,
    gates: Array,
    news: Array,
    steps: Spans,
) -> tuple[Array, Array]:
    """The gradients of what comes from the input and from the state; `grad_h` becomes that of the
    first state."""
    rows, size = news.shape
    grad_input, grad_hidden = np.empty((2, rows, 3 * size), gates.dtype)
    if have_equal_lengths(steps, len(grad_h)):
        call = compiled.recurrent.calling(
            "gru backward", GRU_BACKWARD_KERNEL, gates.dtype,
            call_sizes(gates.strides[0], size, steps, backward=True),
        )  # fmt: skip
        arriving = _contiguous(grad_out)
        call(gates, packed(w_hh), news, before, arriving, grad_h, grad_input, grad_hidden)
        return grad_input, grad_hidden
    products = np.empty_like(grad_h)
    weight = Panels(w_hh)
    kernel: Any = GRU_BACKWARD_KERNEL.specialize(gates)
    for begin, end in reversed(steps):
        dh = grad_h[: end - begin]
        if grad_out is not None:
            dh += grad_out[begin:end]
        hidden = grad_hidden[begin:end]
        results = (*_gate_by_gate(grad_input[begin:end], 3), *_gate_by_gate(hidden, 3), dh)
        kernel(*gates[:, begin:end], news[begin:end], before[begin:end], dh, out=results)
        dh += weight.times(hidden, products[: end - begin])
    return grad_input, grad_hidden


# -- RNN: tanh or relu ---------------------------------------------------------------------


def rnn_forward(
    x: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None,
    b_hh: Array | None,
    h0: Array,
    *,
    steps: Spans,
    relu: bool,
) -> tuple[Array, Array]:
    """Hidden states, and the last of them."""
    out = x @ w_ih.T
    weight, bias = Panels(w_hh.T), _summed(b_ih, b_hh)
    h = h0.copy()
    products = np.empty_like(h)
    for begin, end in steps:
        state, row = h[: end - begin], out[begin:end]
        row += weight.times(state, products[: end - begin])
        if bias is not None:
            row += bias
        if relu:
            np.maximum(row, 0, out=row)
        else:
            np.tanh(row, row)
        state[...] = row
    return out, h


def rnn_backward(
    grad_out: Array | None, grad_h: Array, w_hh: Array, out: Array, steps: Spans, relu: bool
) -> Array:
    """The gradient of what the nonlinearity was applied to; `grad_h` becomes that of the first
    state."""
    found = np.empty_like(out)
    weight = Panels(w_hh)
    for begin, end in reversed(steps):
        dh, row, result = grad_h[: end - begin], out[begin:end], found[begin:end]
        if grad_out is not None:
            dh += grad_out[begin:end]
        if relu:
            np.multiply(dh, row > 0, result)
        else:
            np.multiply(row, row, result)
            np.subtract(1, result, result)
            result *= dh
        weight.times(result, dh)
    return found
