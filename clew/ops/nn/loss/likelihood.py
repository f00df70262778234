"""Losses from likelihoods: binary cross entropy, divergence, Poisson and normal distributions."""

from __future__ import annotations

import math
import warnings

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.arguments import typed
from clew.core.casting import FLOAT32, casts
from clew.core.op import Op
from clew.core.tensor import Tensor, of_values
from clew.kernels.numpy.arrays import rounded, widened
from clew.observer import active
from clew.ops.define.memory_layout import as_first
from clew.ops.define.rows import refuse_complex_history, refuse_gradient
from clew.ops.nn.activation.unary import logsigmoid, run_kernel
from clew.ops.nn.loss.checks import (
    check_factor,
    require_float,
    require_same_shape,
)
from clew.ops.nn.loss.kernels import (
    BCE_DERIVATIVE,
    BCE_OF_LOGITS,
    BCE_OF_PROBABILITIES,
    LEAST_DENOMINATOR,
)
from clew.ops.nn.loss.reduction import (
    asked_reduction,
    check_reduction,
    legacy_reduction,
    reduce_loss,
    reduced,
    spread,
)
from clew.source import user_stacklevel

Array = np.ndarray


def _bce(self: Array, target: Array, weight: Array | None, *, reduction: str) -> Array:
    x = widened(self)
    y = widened(target)
    for name, values in (("input", x), ("target", y)):
        # NaN is outside, too.
        if values.size and not (values.min() >= 0 and values.max() <= 1):
            raise RuntimeError(
                f"all elements of {name} should be between 0 and 1" + errors.at_user_line()
            )
    in_halves = self.dtype in dtypes.HALVES
    losses = (
        _bce_of_halves(x, y, self.dtype) if in_halves else run_kernel(BCE_OF_PROBABILITIES, x, y)
    )
    if weight is not None:
        factor = widened(weight)
        # Under vmap, it may be the weight alone that has examples.
        # A kernel gives a number for arrays without dimensions.
        is_room = isinstance(losses, np.ndarray) and factor.ndim <= losses.ndim
        losses = np.multiply(losses, factor, out=losses if is_room else None)
        losses = rounded(losses, self.dtype)
    return reduced(losses, reduction, self.dtype)


def _bce_of_halves(x: Array, y: Array, dtype: np.dtype) -> Array:
    """Rounded after each step, as PyTorch does."""
    with np.errstate(all="ignore"):
        of_one, of_zero = (
            np.maximum(rounded(each, dtype), -100) for each in (np.log(x), np.log1p(-x))
        )
    terms = rounded(rounded(y - 1, dtype) * of_zero, dtype), rounded(y * of_one, dtype)
    return rounded(terms[0] - terms[1], dtype)


def _bce_gradient(
    g: Tensor, self: Tensor, target: Tensor, weight: Tensor | None, reduction: str
) -> Tensor:
    if self._array.dtype in dtypes.HALVES:
        # Low precision is rounded after each step, as PyTorch does it, and divided last.
        result = g * (self - target) / ((1 - self) * self).clamp_min(LEAST_DENOMINATOR)
        result = result if weight is None else result * weight
        return spread(result, reduction, self._array.size)
    result = BCE_DERIVATIVE(self, target) * spread(g, reduction, self._array.size)
    return result if weight is None else result * weight


def _bce_target_gradient(g: Tensor, self: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    result = -self.logit() * g
    result = result if weight is None else result * weight
    return spread(result, reduction, self._array.size)


BCE = Op(
    "binary_cross_entropy", _bce,
    grads={"self": _bce_gradient, "target": _bce_target_gradient},
)  # fmt: skip


@typed
@casts(FLOAT32)
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The cross entropy of probabilities of two classes.

    Args:
        input: probabilities from 0 to 1
        target: of the input's shape
        weight: a factor for each loss, which broadcasts
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean" or "sum" of all losses, or "none": each of them

    Example:
        >>> F.binary_cross_entropy(clew.tensor([0.9, 0.2]), clew.tensor([1.0, 0.0]))
        tensor(0.1643)
    """
    reduction = asked_reduction(size_average, reduce, reduction)
    if input._array.shape != target._array.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}) is deprecated. Please ensure they have the same size."
            + errors.at_user_line()
        )
    require_float("binary_cross_entropy", input.dtype)
    if weight is not None:
        check_factor("binary_cross_entropy", weight, input)
        weight = weight.expand(input._array.shape)
    for other in (target, weight):
        if other is not None and other.dtype is not input.dtype:
            raise RuntimeError(
                f"Found dtype {other.dtype.scalar_name} but expected {input.dtype.scalar_name}"
                + errors.at_user_line()
            )
    refuse_gradient("binary_cross_entropy", weight=weight)
    result: Tensor = BCE(input, target, weight, reduction=reduction)
    return result


def _logits_losses(self: Array, target: Array, pos_weight: Array | None) -> Array:
    kernel = BCE_OF_LOGITS.specialize(self) if self.dtype is target.dtype else None
    if kernel is not None and pos_weight is None:
        losses: Array = kernel(self, target)
        return losses
    # Low precision is rounded after each step, as PyTorch does it.
    wide = widened(self)
    tail = (np.log1p(np.exp(-np.abs(wide))) + np.maximum(-wide, 0)).astype(self.dtype, copy=False)
    if pos_weight is not None:
        tail = tail * ((pos_weight - 1) * target + 1)
    return np.asarray((1 - target) * self + tail)


def _bce_with_logits(
    self: Array, target: Array, weight: Array | None, pos_weight: Array | None, *, reduction: str
) -> Array:
    losses = _logits_losses(self, target, pos_weight)
    if weight is not None:
        losses = losses * weight
    # PyTorch writes into a tensor made from the target: its dtype, and its order in memory.
    kept = reduced(losses, reduction, losses.dtype, (target,), as_first)
    return kept.astype(target.dtype, copy=False)


def _logits_gradient(
    g: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    pos_weight: Tensor | None,
    reduction: str,
) -> Tensor:
    # Nothing but the products holds a derivative: it is as large as the logits.
    if pos_weight is None:
        return _shared_out((self.sigmoid() - target) * g, weight, reduction)
    wanted = pos_weight * target
    return _shared_out(((wanted + 1 - target) * self.sigmoid() - wanted) * g, weight, reduction)


def _shared_out(losses: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    """Gradients for one loss as those of the mean: divided last, where there are most digits."""
    if weight is not None:
        losses = losses * weight
    return spread(losses, reduction, losses._array.size)


def _logits_target_gradient(
    g: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    pos_weight: Tensor | None,
    reduction: str,
) -> Tensor:
    if pos_weight is None:
        derivative = -self
    else:
        derivative = logsigmoid(-self) - pos_weight * logsigmoid(self)
    return _shared_out(derivative * g, weight, reduction)


BCE_WITH_LOGITS = Op(
    "binary_cross_entropy_with_logits", _bce_with_logits,
    grads={"self": _logits_gradient, "target": _logits_target_gradient},
)  # fmt: skip


@typed
@casts(FLOAT32)
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of `sigmoid(input)`, computed without overflow.

    Args:
        target: of the input's shape
        weight: a factor for each loss, which broadcasts
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean" or "sum" of all losses, or "none": each of them
        pos_weight: a factor for the targets that are 1, such as how much rarer they are

    Example:
        >>> F.binary_cross_entropy_with_logits(clew.tensor([100.0, -1.0]), clew.tensor([1.0, 0.0]))
        tensor(0.1566)
    """
    reduction = asked_reduction(size_average, reduce, reduction)
    if input._array.shape != target._array.shape:
        raise ValueError(
            f"Target size ({target.shape}) must be the same as input size ({input.shape})"
            + errors.at_user_line()
        )
    require_float("log_sigmoid_cpu", input.dtype)
    if target.dtype is dtypes.bool_:
        # What PyTorch begins with, and bools refuse.
        target.new_ones(()) - target
    if target.dtype.category < dtypes.FLOAT:
        raise errors.in_place_dtype(input.dtype.scalar_name, target.dtype.scalar_name)
    for vector in (pos_weight, weight):
        if vector is not None:
            check_factor("binary_cross_entropy_with_logits", vector, input)
    if target.dtype.is_complex:
        refuse_complex_history("binary_cross_entropy_with_logits", input, target)
    refuse_gradient("binary_cross_entropy_with_logits", weight=weight, pos_weight=pos_weight)
    result: Tensor = BCE_WITH_LOGITS(input, target, weight, pos_weight, reduction=reduction)
    return result


@typed
@casts(FLOAT32)
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence of log-probabilities `input` from `target`.

    Args:
        target: probabilities
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean", "sum", "none", or "batchmean": the sum divided by the batch, which is the
            divergence
        log_target: whether the target is log-probabilities, too

    Example:
        >>> guess = clew.log_softmax(clew.tensor([[0.0, 1.0]]), dim=1)
        >>> F.kl_div(guess, clew.tensor([[0.5, 0.5]]), reduction="batchmean")
        tensor(0.1201)
    """
    legacy = size_average is not None or reduce is not None
    reduction = legacy_reduction(size_average, reduce, reduction)
    if reduction == "mean" and not legacy:
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math "
            "definition.'mean' will be changed to behave the same as 'batchmean' in the next major "
            "release.",
            stacklevel=user_stacklevel(),
        )
    if reduction != "batchmean":
        check_reduction(reduction)
    if input.dtype.is_complex or target.dtype.is_complex:
        raise RuntimeError("kl_div: Complex inputs not supported." + errors.at_user_line())
    if min(input.dtype.category, target.dtype.category) < dtypes.FLOAT:
        raise RuntimeError("kl_div: Integral inputs not supported." + errors.at_user_line())
    require_same_shape("kl_div", input, target)
    if log_target:
        losses = target.exp() * (target - input)
    else:
        # The product comes first, as in PyTorch: backward adds up in the reverse order.
        product = target * input
        losses = target.xlogy(target) - product
        observer = active.observer
        if observer is not None:
            observer.divergence_computed(input, target)
    if reduction != "batchmean":
        return reduce_loss(losses, reduction)
    total: Tensor = losses.sum()
    return total / input._array.shape[0] if input._array.ndim else total


@typed
@casts(FLOAT32)
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log likelihood of counts under a Poisson distribution.

    Args:
        input: the rates, or their logarithms
        target: the counts
        log_input: whether the input is the logarithm of the rate
        full: add Stirling's approximation of the term that depends on the target alone
        size_average, reduce: deprecated; see `reduction`
        eps: what is added to the rate before its logarithm, if `log_input` is False
        reduction: "mean" or "sum" of all losses, or "none": each of them

    Example:
        >>> F.poisson_nll_loss(clew.tensor([0.0, 1.0]), clew.tensor([1.0, 3.0]))
        tensor(0.3591)
    """
    reduction = asked_reduction(size_average, reduce, reduction)
    require_same_shape("poisson_nll_loss", input, target)
    if log_input:
        losses = input.exp() - target * input
    else:
        losses = input - target * (input + eps).log()
    if full:
        # Stirling's approximation of log(target!), which counts only above 1. The last term comes
        # first: backward adds up what the target gets in the reverse order of the terms.
        last = 0.5 * (2 * math.pi * target).log()
        stirling = target * target.log() - target + last
        losses = losses + stirling.masked_fill(target <= 1, 0)
    return reduce_loss(losses, reduction)


@typed
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor | float,
    var: Tensor | float,
    full: bool | int = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """The negative log likelihood of `target` under normal distributions.

    Args:
        input: the means
        target: of the input's shape
        var: the variances, of the input's shape or with a last dimension of 1
        full: add the constant, half the logarithm of 2 pi
        eps: a lower bound for the variances
        reduction: "mean" or "sum" of all losses, or "none": each of them

    Example:
        >>> F.gaussian_nll_loss(clew.tensor([0.0, 1.0]), clew.tensor([1.0, 1.0]), clew.ones(2))
        tensor(0.2500)
    """
    if isinstance(var, (int, float)):
        if var < 0:
            raise ValueError("var has negative entry/entries" + errors.at_user_line())
        variance = float(var) * input.new_ones(input._array.shape)
    else:
        if of_values(lambda values: bool((values < 0).any()), var):
            raise ValueError("var has negative entry/entries" + errors.at_user_line())
        variance = _fitting_variance(var, input)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid" + errors.at_user_line())
    if isinstance(target, Tensor) and not _stretches(target, input):
        require_same_shape("gaussian_nll_loss", input, target)
    bounded = variance.clone()
    bounded.detach().clamp_(min=eps)
    losses = 0.5 * (bounded.log() + (input - target) ** 2 / bounded)
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return reduce_loss(losses, reduction)


def _stretches(tensor: Tensor, input: Tensor) -> bool:
    """Whether a tensor has the input's shape, or one with a single 1 in it instead."""
    have, wanted = tensor._array.shape, input._array.shape
    other = [n for n, m in zip(have, wanted, strict=False) if n != m]
    return len(have) == len(wanted) and other in ([], [1])


def _fitting_variance(var: Tensor, input: Tensor) -> Tensor:
    """A variance of the input's shape or with sizes of 1, or without its last dimension."""
    if _stretches(var, input):
        return var
    if var._array.shape == input._array.shape[:-1]:
        expanded: Tensor = var.unsqueeze(-1)
        return expanded
    raise ValueError("var is of incorrect size" + errors.at_user_line())
