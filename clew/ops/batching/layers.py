"""Batching rules of normalisations, attention and recurrent layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.core.op import OPS
from clew.core.state import local
from clew.core.tensor import Tensor, wrap
from clew.kernels import numpy as kernels
from clew.ops.batching.rules import Call, decomposed, front, rules
from clew.ops.batching.tensor import BatchedTensor
from clew.ops.nn.linear import linear
from clew.ops.nn.recurrent import lstm_gates
from clew.ops.shape.joining import cat

# -- normalisations ----------------------------------------------------------------------------


def _affine(call: Call, normal: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Scale and shift, where each example may have its own; `shape` is that of one of them."""
    for position, value in enumerate(call.inputs[1:], 1):
        combine = "mul" if position == 1 else "add"
        if value is not None:
            lead = (call.size,) if call.batched[position] else (1,)
            padding = (1,) * (normal._array.ndim - 1 - len(shape))
            normal = OPS[combine](normal, value.reshape((*lead, *padding, *shape)))
    return normal


@rules("native_layer_norm")
def _layer_norm(call: Call) -> Any:
    input = call.inputs[0]
    shared = not any(call.batched[1:])
    if not call.batched[0]:
        input = front(input, call.size)
    if shared:
        return call.op(input, *call.inputs[1:], **call.params)
    normal, mean, rstd = call.op(input, None, None, **call.params)
    own = call.shape()[call.ndim() - call.params["normalized_ndim"] :]
    return _affine(call, normal, own), mean, rstd


@rules("_rms_norm")
def _rms_norm(call: Call) -> Any:
    input = call.inputs[0] if call.batched[0] else front(call.inputs[0], call.size)
    if not call.batched[1]:
        return call.op(input, call.inputs[1], **call.params)
    normal, rstd = call.op(input, None, **call.params)
    own = call.shape()[call.ndim() - call.params["normalized_ndim"] :]
    return _affine(call, normal, own), rstd


@rules("native_group_norm")
def _group_norm(call: Call) -> Any:
    input = call.inputs[0] if call.batched[0] else front(call.inputs[0], call.size)
    shared = not any(call.batched[1:])
    scale = call.inputs[1:] if shared else (None, None)
    results = call.op(input.flatten(0, 1), *scale, **call.params)
    normal, mean, rstd = (each.reshape((call.size, -1, *each._array.shape[1:])) for each in results)
    if not shared:
        channels = call.shape()[1]
        normal = _affine(call, normal, (channels, *(1,) * (call.ndim() - 2)))
    return normal, mean, rstd


def _channels(call: Call) -> tuple[Tensor, list[Any]]:
    """Examples as more channels: those have statistics of their own."""
    input, *vectors = call.all_batched()
    flat = input.transpose(0, 1).flatten(1, 2)
    return flat, [None if each is None else each.reshape(-1) for each in vectors]


def _apart(tensor: Tensor, size: int) -> Tensor:
    samples, channels, *space = tensor._array.shape
    split: Tensor = tensor.reshape((samples, size, channels // size, *space)).transpose(0, 1)
    return split


@rules("native_batch_norm")
def _batch_norm(call: Call) -> Any:
    flat, vectors = _channels(call)
    out, *statistics = call.op(flat, *vectors, **call.params)
    return _apart(out, call.size), *(each.reshape((call.size, -1)) for each in statistics)


@decomposed("native_batch_norm")
def _shared_batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, *, eps: float
) -> Any:
    """Examples that share an input share its statistics, and may write them where all do."""
    if local.state.intercept.is_batched(input):
        return NotImplemented
    normal, *statistics = OPS["native_batch_norm"](input, None, None, eps=eps)
    shape = (-1, *(1,) * (input._array.ndim - 2))
    if weight is not None:
        normal = normal * weight.reshape(shape)
    if bias is not None:
        normal = normal + bias.reshape(shape)
    return normal.to(input.dtype), *statistics


@rules("native_batch_norm_running")
def _batch_norm_running(call: Call) -> Any:
    flat, vectors = _channels(call)
    return _apart(call.op(flat, *vectors, **call.params), call.size)


# -- attention ---------------------------------------------------------------------------------


@rules("_scaled_dot_product_flash_attention_for_cpu")
def _attention(call: Call) -> Any:
    query, key, value, mask = call.all_batched()
    leading = query._array.shape[:2]
    flat = [each.flatten(0, 1) for each in (query, key, value)]
    if mask is not None:
        shape = mask._array.shape
        padded = mask.reshape((shape[0], *(1,) * (5 - len(shape)), *shape[1:]))
        mask = padded.expand((*leading, *padded._array.shape[2:])).flatten(0, 1)
    out, logsumexp = call.op(*flat, mask, **call.params)
    return tuple(each.reshape((*leading, *each._array.shape[1:])) for each in (out, logsumexp))


# -- recurrent layers --------------------------------------------------------------------------

_LAYERS = ("_lstm_layer", "_gru_layer", "_rnn_layer")
_STATES = {"_lstm_layer": (5, 6), "_gru_layer": (5,), "_rnn_layer": (5,)}


def _interleaved(tensor: Tensor) -> Tensor:
    """Rows such that those of one sequence, for all examples, follow each other."""
    rows: Tensor = tensor.transpose(0, 1).flatten(0, 1)
    return rows


@rules(*_LAYERS)
def _recurrent(call: Call) -> Any:
    """Examples are more sequences; a weight of its own makes each a function of its own."""
    values = call.all_batched()
    inputs = list(call.inputs)
    for position in (0, *_STATES[call.op.name]):
        inputs[position] = _interleaved(values[position])
    sizes = tuple(count * call.size for count in call.params["batch_sizes"])
    results = call.op(*inputs, **dict(call.params, batch_sizes=sizes))
    return tuple(_uninterleaved(each, call.size) for each in results)


def _uninterleaved(tensor: Tensor, size: int) -> Tensor:
    """Rows of each example by itself; what is kept for each gate has the gates in front."""
    *gates, _, width = tensor._array.shape
    apart: Tensor = tensor.reshape((*gates, -1, size, width)).movedim(-2, 0)
    return apart


def _has_own_weights(*weights: Any) -> bool:
    return any(type(each) is BatchedTensor and each._is_batched for each in weights)


class _Walk:
    """The steps of a recurrent layer, made of operations."""

    def __init__(self, input: Tensor, batch_sizes: tuple[int, ...], reverse: bool) -> None:
        self.input = input
        self.steps = kernels.recurrent.spans(batch_sizes, reverse)
        self.forwards = self.steps[0][0] == 0
        self.rows: list[Tensor] = []

    def out(self) -> Tensor:
        return cat(self.rows if self.forwards else self.rows[::-1])


def _kept(state: Tensor, first: Tensor) -> Tensor:
    count = first._array.shape[0]
    return first if count == state._array.shape[0] else cat([first, state[count:]])


_UNSAVED = wrap(np.zeros(0, np.float32))


@decomposed("_lstm_layer")
def _lstm(
    input: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Any, b_hh: Any, h0: Tensor, c0: Tensor,
    w_hr: Any, *, batch_sizes: tuple[int, ...], reverse: bool,
) -> Any:  # fmt: skip
    if not _has_own_weights(w_ih, w_hh, b_ih, b_hh, w_hr):
        return NotImplemented
    walk, h, c = _Walk(input, batch_sizes, reverse), h0, c0
    for begin, end in walk.steps:
        count = end - begin
        total = linear(input[begin:end], w_ih, b_ih) + linear(h[:count], w_hh, b_hh)
        i, f, g, o = lstm_gates(total)
        cell = f * c[:count] + i * g
        hidden = o * cell.tanh()
        if w_hr is not None:
            hidden = linear(hidden, w_hr)
        walk.rows.append(hidden)
        h, c = _kept(h, hidden), _kept(c, cell)
    return walk.out(), h, c, _UNSAVED, _UNSAVED


@decomposed("_gru_layer")
def _gru(
    input: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Any, b_hh: Any, h0: Tensor,
    *, batch_sizes: tuple[int, ...], reverse: bool,
) -> Any:  # fmt: skip
    if not _has_own_weights(w_ih, w_hh, b_ih, b_hh):
        return NotImplemented
    walk, h = _Walk(input, batch_sizes, reverse), h0
    for begin, end in walk.steps:
        count = end - begin
        from_x = linear(input[begin:end], w_ih, b_ih).chunk(3, 1)
        from_h = linear(h[:count], w_hh, b_hh).chunk(3, 1)
        reset, update = (from_x[0] + from_h[0]).sigmoid(), (from_x[1] + from_h[1]).sigmoid()
        new = (from_x[2] + reset * from_h[2]).tanh()
        hidden = new + update * (h[:count] - new)
        walk.rows.append(hidden)
        h = _kept(h, hidden)
    return walk.out(), h, _UNSAVED, _UNSAVED


@decomposed("_rnn_layer")
def _rnn(
    input: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Any, b_hh: Any, h0: Tensor,
    *, batch_sizes: tuple[int, ...], reverse: bool, relu: bool,
) -> Any:  # fmt: skip
    if not _has_own_weights(w_ih, w_hh, b_ih, b_hh):
        return NotImplemented
    walk, h = _Walk(input, batch_sizes, reverse), h0
    for begin, end in walk.steps:
        total = linear(input[begin:end], w_ih, b_ih) + linear(h[: end - begin], w_hh, b_hh)
        hidden = total.relu() if relu else total.tanh()
        walk.rows.append(hidden)
        h = _kept(h, hidden)
    return walk.out(), h
