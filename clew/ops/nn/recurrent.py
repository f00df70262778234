"""Recurrent layers: one operation for all steps of one direction of one layer.

The gradient exists twice: over bare arrays in `clew.kernels.numpy.recurrent`, and here in tensor
operations, for when a graph of the gradient is asked for. The steps that both are made of are what
the cells (`lstm_cell`, `gru_cell`, ...) compute.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clew.core.op import Op
from clew.core.state import local
from clew.core.tensor import Tensor, wrap
from clew.kernels import numpy as kernels
from clew.kernels.numpy.arrays import widened
from clew.kernels.numpy.reduce import sum_over
from clew.ops.linalg.matmul import times
from clew.ops.nn.layer_norm import graph_is_wanted
from clew.ops.nn.linear import linear
from clew.ops.shape.joining import cat

Array = np.ndarray
Gradients = tuple[Tensor | None, ...]


def _wide(*arrays: Array | None) -> list[Any]:
    return [None if each is None else widened(each) for each in arrays]


def _array(tensor: Tensor | None) -> Any:
    return None if tensor is None else widened(tensor._array)


def _fresh(grad: Tensor | None, state: Tensor) -> Array:
    """A gradient of a last state that may be written to."""
    like = widened(state._array)
    return np.zeros_like(like) if grad is None else grad._array.astype(like.dtype)


def _narrow(dtype: np.dtype, *arrays: Array) -> list[Array]:
    return [each.astype(dtype, copy=False) for each in arrays]


def _of_projections(
    of_x: Any, of_h: Any, x: Any, before: Any, w_ih: Any, needs: Sequence[bool]
) -> list[Any]:
    """Gradients of input, weights and biases, given those of their products: for both arrays and
    tensors, which have these operators in common."""
    of_b_ih = _sum_of_rows(of_x) if needs[3] else None
    of_b_hh = None
    if needs[4]:
        # The same numbers in most cases, but each parameter gets memory of its own.
        of_b_hh = 1 * of_b_ih if of_h is of_x and of_b_ih is not None else _sum_of_rows(of_h)
    return [
        times(of_x, w_ih) if needs[0] else None,
        times(of_x.T, x) if needs[1] else None,
        times(of_h.T, before) if needs[2] else None,
        of_b_ih,
        of_b_hh,
    ]


def _sum_of_rows(rows: Any) -> Any:
    """Of tensors or bare arrays."""
    found = sum_over(rows, (0,), keepdim=False) if type(rows) is Array else None
    return rows.sum(0) if found is None else found


def _wrapped(grads: Sequence[Array | None]) -> Gradients:
    return tuple(None if each is None else wrap(each) for each in grads)


# -- walking over steps in tensor operations -----------------------------------------------


def _replaced(state: Tensor, first_rows: Tensor) -> Tensor:
    """The state after a step that concerned its first rows only."""
    count = first_rows._array.shape[0]
    return first_rows if count == state._array.shape[0] else cat([first_rows, state[count:]])


def _in_time_order(rows: list[Tensor], steps: kernels.recurrent.Spans) -> Tensor:
    """Rows of steps as one tensor, whichever way the steps were walked."""
    forwards = steps[0][0] == 0
    return cat(rows if forwards else rows[::-1])


def _arriving(grads: Tensor | None, waiting: Tensor, span: tuple[int, int]) -> Tensor:
    """The gradient of the states after a step: from the output and from later steps."""
    begin, end = span
    later = waiting[: end - begin]
    return later if grads is None else later + grads[begin:end]


def _or_zeros(grad: Tensor | None, state: Tensor) -> Tensor:
    if grad is not None:
        return grad
    zeros: Tensor = state.new_zeros(state._array.shape)
    return zeros


# -- LSTM ----------------------------------------------------------------------------------


def lstm_gates(total: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Input, forget, cell and output gate."""
    i, f, g, o = total.chunk(4, 1)
    return i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()


def _lstm(
    input: Array, w_ih: Array, w_hh: Array, b_ih: Array | None, b_hh: Array | None, h0: Array,
    c0: Array, w_hr: Array | None, *, batch_sizes: tuple[int, ...], reverse: bool,
) -> tuple[Array, ...]:  # fmt: skip
    arrays = _wide(input, w_ih, w_hh, b_ih, b_hh, h0, c0, w_hr)
    state = local.state
    keeps = state.grad_enabled or state.dual or state.intercept is not None
    steps = kernels.recurrent.spans(batch_sizes, reverse)
    out, h, c, gates, cells = kernels.recurrent.lstm_forward(*arrays, steps=steps, keeps=keeps)
    return (*_narrow(input.dtype, out, h, c), gates, cells)


def _lstm_gradients(
    g: Gradients, input: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None,
    b_hh: Tensor | None, h0: Tensor, c0: Tensor, w_hr: Tensor | None, out0: Tensor, out3: Tensor,
    out4: Tensor, batch_sizes: tuple[int, ...], reverse: bool, needs: tuple[bool, ...],
) -> Gradients:  # fmt: skip
    steps = kernels.recurrent.spans(batch_sizes, reverse)
    if graph_is_wanted():
        return _composed_lstm(g, input, w_ih, w_hh, b_ih, b_hh, h0, c0, w_hr, steps, needs)
    of_h, of_c = _fresh(g[1], h0), _fresh(g[2], c0)
    of_gates, of_hr = kernels.recurrent.lstm_backward(
        _array(g[0]), of_h, of_c, _array(w_hh), _array(c0), _array(w_hr), out3._array,
        out4._array, steps,
    )  # fmt: skip
    before = kernels.recurrent.states_before(_array(out0), _array(h0), steps)
    shared = _of_projections(of_gates, of_gates, _array(input), before, _array(w_ih), needs)
    return _wrapped([*shared, of_h, of_c, of_hr])


def _composed_lstm(
    g: Gradients, input: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None,
    b_hh: Tensor | None, h0: Tensor, c0: Tensor, w_hr: Tensor | None,
    steps: kernels.recurrent.Spans, needs: tuple[bool, ...],
) -> Gradients:  # fmt: skip
    projected = linear(input, w_ih, b_ih)
    h, c = h0, c0
    seen: list[tuple[Tensor, ...]] = []
    for begin, end in steps:
        before, cell_before = h[: end - begin], c[: end - begin]
        gates = lstm_gates(projected[begin:end] + linear(before, w_hh, b_hh))
        i, f, new, o = gates
        cell = f * cell_before + i * new
        tanh = cell.tanh()
        hidden = o * tanh if w_hr is None else linear(o * tanh, w_hr)
        h, c = _replaced(h, hidden), _replaced(c, cell)
        seen.append((*gates, before, cell_before, tanh))
    of_h, of_c = _or_zeros(g[1], h0), _or_zeros(g[2], c0)
    of_gates: list[Tensor] = []
    of_hr = None if w_hr is None else w_hr.new_zeros(w_hr._array.shape)
    for span, (i, f, new, o, _, cell_before, tanh) in zip(
        reversed(steps), reversed(seen), strict=True
    ):
        to_cell = to_hidden = _arriving(g[0], of_h, span)
        if w_hr is not None and of_hr is not None:
            of_hr = of_hr + to_hidden.T @ (o * tanh)
            to_cell = to_hidden @ w_hr
        dc = of_c[: span[1] - span[0]] + to_cell * o * (1 - tanh * tanh)
        di, df = dc * new * i * (1 - i), dc * cell_before * f * (1 - f)
        dn, do = dc * i * (1 - new * new), to_cell * tanh * o * (1 - o)
        of_gates.append(cat([di, df, dn, do], 1))
        of_h, of_c = _replaced(of_h, of_gates[-1] @ w_hh), _replaced(of_c, dc * f)
    total = _in_time_order(of_gates[::-1], steps)
    before = _in_time_order([each[4] for each in seen], steps)
    return (*_of_projections(total, total, input, before, w_ih, needs), of_h, of_c, of_hr)


LSTM_LAYER = Op("_lstm_layer", _lstm, joint=_lstm_gradients, outputs=5, node="LstmBackward0")


# -- GRU -----------------------------------------------------------------------------------


def gru_gates(from_input: Tensor, from_hidden: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Reset gate, update gate, new state, and the hidden part of the new state."""
    (xr, xz, xn), (hr, hz, hn) = from_input.chunk(3, 1), from_hidden.chunk(3, 1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    return r, z, (xn + r * hn).tanh(), hn


def _gru(
    input: Array, w_ih: Array, w_hh: Array, b_ih: Array | None, b_hh: Array | None, h0: Array, *,
    batch_sizes: tuple[int, ...], reverse: bool,
) -> tuple[Array, ...]:  # fmt: skip
    arrays = _wide(input, w_ih, w_hh, b_ih, b_hh, h0)
    out, h, gates, news = kernels.recurrent.gru_forward(
        *arrays, steps=kernels.recurrent.spans(batch_sizes, reverse)
    )
    return (*_narrow(input.dtype, out, h), gates, news)


def _gru_gradients(
    g: Gradients, input: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None,
    b_hh: Tensor | None, h0: Tensor, out0: Tensor, out2: Tensor, out3: Tensor,
    batch_sizes: tuple[int, ...], reverse: bool, needs: tuple[bool, ...],
) -> Gradients:  # fmt: skip
    steps = kernels.recurrent.spans(batch_sizes, reverse)
    if graph_is_wanted():
        return _composed_gru(g, input, w_ih, w_hh, b_ih, b_hh, h0, steps, needs)
    of_h = _fresh(g[1], h0)
    before = kernels.recurrent.states_before(_array(out0), _array(h0), steps)
    of_input, of_hidden = kernels.recurrent.gru_backward(
        _array(g[0]), of_h, _array(w_hh), before, out2._array, out3._array, steps
    )
    shared = _of_projections(of_input, of_hidden, _array(input), before, _array(w_ih), needs)
    return _wrapped([*shared, of_h])


def _composed_gru(
    g: Gradients, input: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None,
    b_hh: Tensor | None, h0: Tensor, steps: kernels.recurrent.Spans, needs: tuple[bool, ...],
) -> Gradients:  # fmt: skip
    projected = linear(input, w_ih, b_ih)
    h = h0
    seen: list[tuple[Tensor, ...]] = []
    for begin, end in steps:
        before = h[: end - begin]
        gates = gru_gates(projected[begin:end], linear(before, w_hh, b_hh))
        _, z, n, _ = gates
        h = _replaced(h, n + z * (before - n))
        seen.append((*gates, before))
    of_h = _or_zeros(g[1], h0)
    of_inputs: list[Tensor] = []
    of_hiddens: list[Tensor] = []
    for span, (r, z, n, hn, before) in zip(reversed(steps), reversed(seen), strict=True):
        dh = _arriving(g[0], of_h, span)
        dn = dh * (1 - z) * (1 - n * n)
        dz = dh * (before - n) * z * (1 - z)
        dr = dn * hn * r * (1 - r)
        of_inputs.append(cat([dr, dz, dn], 1))
        of_hiddens.append(cat([dr, dz, dn * r], 1))
        of_h = _replaced(of_h, dh * z + of_hiddens[-1] @ w_hh)
    of_input = _in_time_order(of_inputs[::-1], steps)
    of_hidden = _in_time_order(of_hiddens[::-1], steps)
    before = _in_time_order([each[4] for each in seen], steps)
    return (*_of_projections(of_input, of_hidden, input, before, w_ih, needs), of_h)


GRU_LAYER = Op("_gru_layer", _gru, joint=_gru_gradients, outputs=4, node="GruBackward0")


# -- RNN -----------------------------------------------------------------------------------


def _rnn(
    input: Array, w_ih: Array, w_hh: Array, b_ih: Array | None, b_hh: Array | None, h0: Array, *,
    relu: bool, batch_sizes: tuple[int, ...], reverse: bool,
) -> tuple[Array, ...]:  # fmt: skip
    arrays = _wide(input, w_ih, w_hh, b_ih, b_hh, h0)
    results = kernels.recurrent.rnn_forward(
        *arrays, steps=kernels.recurrent.spans(batch_sizes, reverse), relu=relu
    )
    return tuple(_narrow(input.dtype, *results))


def _rnn_gradients(
    g: Gradients, input: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None,
    b_hh: Tensor | None, h0: Tensor, out0: Tensor, relu: bool, batch_sizes: tuple[int, ...],
    reverse: bool, needs: tuple[bool, ...],
) -> Gradients:  # fmt: skip
    steps = kernels.recurrent.spans(batch_sizes, reverse)
    if graph_is_wanted():
        return _composed_rnn(g, input, w_ih, w_hh, h0, out0, relu, steps, needs)
    of_h, out = _fresh(g[1], h0), _array(out0)
    found = kernels.recurrent.rnn_backward(_array(g[0]), of_h, _array(w_hh), out, steps, relu)
    before = kernels.recurrent.states_before(out, _array(h0), steps)
    shared = _of_projections(found, found, _array(input), before, _array(w_ih), needs)
    return _wrapped([*shared, of_h])


def _composed_rnn(
    g: Gradients, input: Tensor, w_ih: Tensor, w_hh: Tensor, h0: Tensor, out0: Tensor, relu: bool,
    steps: kernels.recurrent.Spans, needs: tuple[bool, ...],
) -> Gradients:  # fmt: skip
    """Here the derivative needs nothing but the states, and those are the output itself."""
    h, befores = h0, []
    for begin, end in steps:
        befores.append(h[: end - begin])
        h = _replaced(h, out0[begin:end])
    of_h = _or_zeros(g[1], h0)
    found: list[Tensor] = []
    for begin, end in reversed(steps):
        state = out0[begin:end]
        slope = (state > 0).to(state.dtype) if relu else 1 - state * state
        found.append(_arriving(g[0], of_h, (begin, end)) * slope)
        of_h = _replaced(of_h, found[-1] @ w_hh)
    total, before = _in_time_order(found[::-1], steps), _in_time_order(befores, steps)
    return (*_of_projections(total, total, input, before, w_ih, needs), of_h)


RNN_LAYER = Op(
    "_rnn_layer", _rnn, joint=_rnn_gradients, outputs=2, node="RnnBackward0",
    kinks="with relu: 0 at 0",
)  # fmt: skip
