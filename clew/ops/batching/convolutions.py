"""Batching rules of convolutions, pooling, padding and resampling."""

from __future__ import annotations

from typing import Any

from clew.core.op import OPS
from clew.core.tensor import Tensor
from clew.ops.batching.rules import Call, collapsed, declare, front, rules

# -- convolutions ------------------------------------------------------------------------------


def _in_batch(tensor: Tensor) -> Tensor:
    """(B, N, C, ...) as (B * N, C, ...): examples are more samples."""
    flat: Tensor = tensor.flatten(0, 1)
    return flat


def _in_channels(tensor: Tensor) -> Tensor:
    """(B, N, C, ...) as (N, B * C, ...): examples are more channels."""
    flat: Tensor = tensor.transpose(0, 1).flatten(1, 2)
    return flat


def _from_channels(tensor: Tensor, size: int) -> Tensor:
    samples, channels, *space = tensor._array.shape
    apart = tensor.reshape((samples, size, channels // size, *space))
    moved: Tensor = apart.transpose(0, 1)
    return moved


def _with_bias(call: Call, convolved: Tensor) -> Tensor:
    if len(call.inputs) < 3:
        return convolved
    bias = call.inputs[2]
    space = (1,) * (convolved._array.ndim - 3)
    lead = (call.size, 1) if call.batched[2] else ()
    result: Tensor = convolved + bias.reshape((*lead, bias._array.shape[-1], *space))
    return result


@rules("convolution", "convolution_bias")
def _convolution(call: Call) -> Tensor:
    params, size = dict(call.params), call.size
    op = OPS["convolution"]
    input, weight = call.inputs[:2]
    if not call.batched[1]:
        if not call.batched[0]:
            return _with_bias(call, front(op(input, weight, **params), size))
        if len(call.inputs) > 2 and not call.batched[2]:
            op, inputs = call.op, (_in_batch(input), weight, call.inputs[2])
            convolved = op(*inputs, **params)
            return convolved.reshape((size, -1, *convolved._array.shape[1:]))
        convolved = op(_in_batch(input), weight, **params)
        return _with_bias(call, convolved.reshape((size, -1, *convolved._array.shape[1:])))
    if not call.batched[0] and params["groups"] == 1:
        convolved = op(input, _in_batch(weight), **params)
    else:
        if not call.batched[0]:
            input = front(input, size)
        params["groups"] *= size
        convolved = op(_in_channels(input), _in_batch(weight), **params)
    return _with_bias(call, _from_channels(convolved, size))


@rules("convolution_of_nothing")
def _convolution_of_nothing(call: Call) -> Tensor:
    result: Tensor = call.op(*call.all_batched(), shape=(call.size, *call.params["shape"]))
    return result


@rules("convolution_transpose", "convolution_transpose_bias")
def _convolution_transpose(call: Call) -> Tensor:
    params, size = dict(call.params), call.size
    op = OPS["convolution_transpose"]
    input, weight = call.inputs[:2]
    samples, channels, *space = params["output_shape"]
    if not call.batched[1]:
        if not call.batched[0]:
            return _with_bias(call, front(op(input, weight, **params), size))
        params["output_shape"] = (size * samples, channels, *space)
        convolved = op(_in_batch(input), weight, **params)
        return _with_bias(call, convolved.reshape((size, samples, channels, *space)))
    if not call.batched[0]:
        input = front(input, size)
    params["groups"] *= size
    params["output_shape"] = (samples, size * channels, *space)
    convolved = op(_in_channels(input), _in_batch(weight), **params)
    return _with_bias(call, _from_channels(convolved, size))


@rules("convolution_weight")
def _convolution_weight(call: Call) -> Tensor:
    params, size = dict(call.params), call.size
    grad, input = call.inputs
    channels, *rest = params["weight_shape"]
    params["weight_shape"] = (size * channels, *rest)
    if not call.batched[0]:
        grad = front(grad, size)
    if not call.batched[1] and params["groups"] == 1:
        found = call.op(_in_channels(grad), input, **params)
    else:
        if not call.batched[1]:
            input = front(input, size)
        params["groups"] *= size
        found = call.op(_in_channels(grad), _in_channels(input), **params)
    apart: Tensor = found.reshape((size, channels, *rest))
    return apart


# -- what is done to each sample by itself -----------------------------------------------------

for _dims in (1, 2, 3):
    for _kind in ("reflection", "replication", "circular"):
        declare(collapsed(_dims + 1), f"{_kind}_pad{_dims}d", f"{_kind}_pad{_dims}d_backward")
for _dims in (2, 3):
    declare(
        collapsed(_dims + 1), f"avg_pool{_dims}d", f"_adaptive_avg_pool{_dims}d",
        f"max_pool{_dims}d_with_indices", f"adaptive_max_pool{_dims}d", f"max_unpool{_dims}d",
    )  # fmt: skip
    declare(
        collapsed(_dims + 1, shapes=("input_shape",)), f"avg_pool{_dims}d_backward",
        f"_adaptive_avg_pool{_dims}d_backward",
    )  # fmt: skip
    declare(collapsed(_dims + 1), f"grid_sampler_{_dims}d")
declare(
    collapsed(lambda call: len(call.params["spatial"]) + 1), "max_pool_pick", "max_pool_backward"
)
declare(collapsed(3), "im2col", "pixel_shuffle", "pixel_unshuffle")
declare(collapsed(2), "col2im", "max_pool1d_values")
declare(collapsed(lambda call: call.ndim() - 1), "channel_shuffle")

for _name in list(OPS):
    if _name.startswith("upsample_"):
        _rank = int(_name.removesuffix("_backward").removesuffix("_aa")[-2]) + 1
        declare(collapsed(_rank, shapes=("input_shape",) * _name.endswith("_backward")), _name)


@rules("fractional_max_pool2d", "fractional_max_pool3d")
def _fractional(call: Call) -> Any:
    dims = len(call.params["output_size"])
    input, samples = call.all_batched()
    leading = input._array.shape[: input._array.ndim - dims - 1]
    flat = input.reshape((-1, *input._array.shape[-dims - 1 :]))
    places = samples.reshape((flat._array.shape[0], *samples._array.shape[-2:]))
    results = call.op(flat, places, **call.params)
    return tuple(each.reshape((*leading, *each._array.shape[1:])) for each in results)


@rules("affine_grid_generator")
def _affine_grid(call: Call) -> Tensor:
    theta = call.inputs[0]
    samples, *rest = call.params["size"]
    params = dict(call.params, size=(call.size * samples, *rest))
    grid = call.op(theta.flatten(0, 1), **params)
    apart: Tensor = grid.reshape((call.size, samples, *grid._array.shape[1:]))
    return apart
