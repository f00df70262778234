"""Batching rules of losses: for each example its own reduction."""

from __future__ import annotations

import math
from typing import Any

from clew.core.tensor import Tensor
from clew.ops.batching.rules import Call, front, rules
from clew.ops.batching.tensor import BatchedTensor
from clew.ops.define import vmap_errors


def _reduced(losses: Tensor, reduction: str) -> Tensor:
    """The losses of each example, reduced to one number or left as they are."""
    dims = tuple(range(1, losses._array.ndim))
    if reduction == "none" or not dims:
        return losses
    if losses._array.size == losses._array.shape[0]:
        return losses.reshape(-1)
    result: Tensor = losses.mean(dims) if reduction == "mean" else losses.sum(dims)
    return result


@rules(
    "mse_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
)  # fmt: skip
def _of_elements(call: Call) -> Tensor:
    params = dict(call.params, reduction="none")
    return _reduced(call.op(*call.aligned(), **params), call.params["reduction"])


# -- classes -------------------------------------------------------------------------------------


def _as_batch(tensor: Tensor, rank: int) -> Tensor:
    """Examples and their samples as one batch; a single sample is a batch of one."""
    shape = tensor._array.shape
    rest = shape[1:] if rank == 1 else shape[2:]
    return tensor.reshape((-1, *rest))


def _class_weights(
    target: Tensor, weight: Tensor | None, weight_batched: bool, ignore_index: int, dtype: Any
) -> Tensor:
    """The weight of each sample of each example; 0 where the target is ignored."""
    counted = target != ignore_index
    if weight is None:
        return counted.to(dtype)
    size = target._array.shape[0]
    safe = target.masked_fill(~counted, 0).reshape((size, -1)).long()
    # No gradient goes to the weights of classes.
    table = weight.detach() if weight_batched else front(weight.detach(), size)
    found: Tensor = table.gather(1, safe).reshape(target._array.shape)
    return found * counted.to(dtype)


def _all_count(target: Tensor, weight: Tensor | None, ignore_index: int) -> bool:
    """Whether samples count alike: no weights, and none is ignored, as far as can be known."""
    if weight is not None or isinstance(target, BatchedTensor):
        return False
    return not (target._array == ignore_index).any()


@rules("nll_loss", "nll_loss2d")
def _nll_loss(call: Call) -> Tensor:
    scores, target, weight = call.all_batched()
    rank, reduction = call.ndim(0), call.params["reduction"]
    ignored = call.params["ignore_index"]
    losses = call.op(
        _as_batch(scores, rank), target.reshape((-1, *target._array.shape[2:])), None,
        reduction="none", ignore_index=ignored,
    ).reshape(target._array.shape)  # fmt: skip
    if _all_count(target, weight, ignored):
        return _reduced(losses, reduction)
    weights = None
    if weight is not None or reduction == "mean":
        weights = _class_weights(target, weight, True, ignored, scores.dtype)
    if weight is not None:
        losses = losses * weights
    if reduction == "none":
        return losses
    dims = tuple(range(1, losses._array.ndim))
    total = losses.sum(dims) if dims else losses
    if weights is None or reduction != "mean":
        return total
    mean: Tensor = total / (weights.sum(dims) if dims else weights)
    return mean


@rules("nll_loss_backward")
def _nll_loss_backward(call: Call) -> Tensor:
    grad, target, weight = call.all_batched()
    params, shape = dict(call.params), call.params["shape"]
    rank = len(shape)
    samples = target._array.shape
    if _all_count(target, weight, params["ignore_index"]):
        count = math.prod(samples[1:])
        if params["reduction"] == "mean" and count != 1:
            grad = grad / count
        if params["reduction"] != "none" and count != 1:
            grad = grad.reshape((call.size, *(1,) * (len(samples) - 1))).expand(samples)
    elif params["reduction"] != "none":
        weights = _class_weights(target, weight, True, params["ignore_index"], grad.dtype)
        if params["reduction"] == "mean":
            dims = tuple(range(1, len(samples)))
            grad = grad / (weights.sum(dims) if dims else weights)
        grad = grad.reshape((call.size, *(1,) * (len(samples) - 1))).expand(samples)
    elif weight is not None:
        weights = _class_weights(target, weight, True, params["ignore_index"], grad.dtype)
    if weight is not None:
        grad = grad * weights
    classes = shape if rank > 1 else (1, *shape)
    rows = call.size * classes[0]
    params |= {"reduction": "none", "shape": (rows, *classes[1:])}
    flat = target.reshape((rows, *classes[2:]))
    found = call.op(grad.reshape(flat._array.shape), flat, None, **params)
    return found.reshape((call.size, *shape))


# -- margins -------------------------------------------------------------------------------------


def _rows(call: Call, params: dict[str, Any]) -> Tensor:
    """The result for the samples of all examples, taken as the rows of one matrix."""
    rank = call.ndim(0)
    scores, target = call.all_batched()[:2]
    scores = scores.reshape((-1, scores._array.shape[-1] if rank else 1))
    per_row = scores._array.shape[1:] if call.op.name.startswith("multilabel") else ()
    target = target.reshape((scores._array.shape[0], *per_row))
    if len(call.inputs) < 3:
        return call.op(scores, target, **params)
    return call.op(scores, target, None, **params)


def _weighted(call: Call, result: Tensor) -> Tensor:
    """Times the weight of each sample's class, where each class has one."""
    if len(call.inputs) < 3 or call.inputs[2] is None:
        return result
    _, target, weight = call.all_batched()
    found = weight.detach().gather(1, target.reshape((call.size, -1)))
    missing = result._array.ndim - target._array.ndim
    shape = (*target._array.shape, *(1,) * missing)
    return result * found.reshape(shape)


@rules("multi_margin_loss", "multilabel_margin_loss")
def _margin_loss(call: Call) -> Tensor:
    losses = _rows(call, dict(call.params, reduction="none"))
    samples = call.shape(0)[:-1]
    weighted = _weighted(call, losses.reshape((call.size, *samples)))
    return _reduced(weighted, call.params["reduction"])


@rules("multi_margin_derivative", "multilabel_margin_derivative")
def _margin_derivative(call: Call) -> Tensor:
    return _weighted(call, _rows(call, call.params).reshape((call.size, *call.shape(0))))


# -- sequences -----------------------------------------------------------------------------------

# Where the samples are counted in each input of the operation.
_SAMPLES_IN_MIDDLE = frozenset({"log_probs"})


def _sequences(call: Call) -> list[Any]:
    """Samples of all examples as one batch."""
    values = call.all_batched()
    names = call.op.inputs
    result = []
    for name, value in zip(names, values, strict=True):
        if not isinstance(value, Tensor):
            raise vmap_errors.no_rule(call.op.name, f"`{name}` must be a tensor")
        if name == "targets" and value._array.ndim != 3:
            raise vmap_errors.no_rule(
                call.op.name, "targets laid end to end: pass them as (samples, length)"
            )
        if name in _SAMPLES_IN_MIDDLE:
            result.append(value.transpose(0, 1).flatten(1, 2))
        else:
            result.append(value.flatten(0, 1))
    return result


@rules("_ctc_loss")
def _ctc_loss(call: Call) -> Any:
    samples = call.shape(0)[1]
    results = call.op(*_sequences(call), **call.params)
    return tuple(each.reshape((call.size, samples, *each._array.shape[1:])) for each in results)


@rules("_ctc_loss_backward")
def _ctc_loss_backward(call: Call) -> Any:
    steps, samples, classes = call.shape(1)
    found = call.op(*_sequences(call), **call.params)
    return found.reshape((steps, call.size, samples, classes)).transpose(0, 1)
