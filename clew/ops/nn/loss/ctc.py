"""The connectionist temporal classification loss."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.arguments import typed
from clew.core.casting import FLOAT32, casts
from clew.core.interception import one_by_one
from clew.core.op import Op
from clew.core.public import public
from clew.core.state import local
from clew.core.tensor import Tensor, wrap
from clew.kernels import numpy as kernels
from clew.ops.nn.loss.reduction import check_reduction

Array = np.ndarray
Lengths = Tensor | Sequence[int]


def _ctc_loss(
    log_probs: Array,
    targets: Array,
    input_lengths: Array,
    target_lengths: Array,
    *,
    blank: int,
    zero_infinity: bool,
) -> tuple[Array, Array]:
    states, skips = kernels.ctc.states_of(targets, target_lengths, blank)
    alpha = kernels.ctc.log_alpha(log_probs, states, skips, input_lengths, target_lengths)
    return kernels.ctc.negative_log_likelihood(alpha, input_lengths, target_lengths), alpha


def _no_second_derivative(g: Tensor) -> Tensor:
    raise RuntimeError(
        "derivative for aten::_ctc_loss_backward is not implemented" + errors.at_user_line()
    )


def _per_sample(
    g: Tensor,
    grad_output: Tensor,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    loss: Tensor,
    alpha: Tensor,
    blank: int,
    zero_infinity: bool,
) -> Tensor:
    """The gradient is linear in that of each sample's loss."""
    unit: Tensor = CTC_LOSS_BACKWARD(
        grad_output.detach() * 0 + 1, log_probs.detach(), targets, input_lengths, target_lengths,
        loss, alpha, blank=blank, zero_infinity=zero_infinity,
    )  # fmt: skip
    return (g * unit).sum((0, 2))


def _ctc_backward(
    grad_output: Array,
    log_probs: Array,
    targets: Array,
    input_lengths: Array,
    target_lengths: Array,
    loss: Array,
    alpha: Array,
    *,
    blank: int,
    zero_infinity: bool,
) -> Array:
    return kernels.ctc.gradient(
        grad_output, log_probs, targets, input_lengths, target_lengths, loss, alpha, blank,
        zero_infinity,
    )  # fmt: skip


CTC_LOSS_BACKWARD: Op = Op(
    "_ctc_loss_backward", _ctc_backward, node="CtcLossBackwardBackward0",
    grads={"grad_output": _per_sample, "log_probs": _no_second_derivative},
)  # fmt: skip


def _ctc_gradient(
    g: tuple[Tensor | None, ...],
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    out0: Tensor,
    out1: Tensor,
    blank: int,
    zero_infinity: bool,
) -> Tensor | None:
    if g[0] is None:
        return None
    result: Tensor = CTC_LOSS_BACKWARD(
        g[0], log_probs, targets, input_lengths, target_lengths, out0.detach(), out1.detach(),
        blank=blank, zero_infinity=zero_infinity,
    )  # fmt: skip
    return result


CTC_LOSS = Op(
    "_ctc_loss", _ctc_loss, grads={"log_probs": _ctc_gradient}, outputs=2, node="CtcLossBackward0"
)


def _lengths(lengths: Lengths, name: str, batch: int) -> Tensor:
    tensor = lengths if isinstance(lengths, Tensor) else _made(lengths)
    if tensor.dtype.category > dtypes.INTEGER:
        raise RuntimeError(f"{name} must be integral" + errors.at_user_line())
    if tensor._array.size != batch:
        raise RuntimeError(f"{name} must be of size batch_size" + errors.at_user_line())
    result: Tensor = tensor.reshape(-1).to(dtypes.int64)
    return result


def _made(values: Sequence[int]) -> Tensor:
    return wrap(np.asarray([int(value) for value in values], np.int64))


def _check_lengths(
    log_probs: Tensor, targets: Tensor, inputs: Array, wanted: Array, blank: int
) -> None:
    steps, _, classes = log_probs._array.shape
    checking = "(while checking arguments for ctc_loss_allocate_outputs)"
    if not log_probs._array.size:
        raise RuntimeError("log_probs tensor must not be empty" + errors.at_user_line())
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range" + errors.at_user_line())
    for value in inputs[(inputs < 0) | (inputs > steps)]:
        bound = "at least 0" if value < 0 else f"at most {steps}"
        raise RuntimeError(
            f"Expected input_lengths to have value {bound}, but got value {value} {checking}"
            + errors.at_user_line()
        )
    if (wanted < 0).any():
        raise RuntimeError(
            f"Expected target_lengths to have value at least 0, but got value {wanted.min()} "
            f"{checking}" + errors.at_user_line()
        )
    have = targets._array.shape
    longest = int(wanted.max(initial=0))
    if targets._array.ndim == 2 and have[1] < longest:
        raise RuntimeError(
            f"Expected tensor to have size at least {longest} at dimension 1, but got size "
            f"{have[1]} for argument #2 'targets' {checking}" + errors.at_user_line()
        )
    if targets._array.ndim == 1 and have[0] != wanted.sum():
        raise RuntimeError(
            f"Expected tensor to have size {wanted.sum()} at dimension 0, but got size {have[0]} "
            f"for argument #2 'targets' {checking}" + errors.at_user_line()
        )


def _padded(targets: Tensor, lengths: Array, classes: int) -> Tensor:
    """Targets as rows of equal length; what lies beyond a target's end is of no account."""
    longest = int(lengths.max(initial=0))
    given = targets._array
    rows = np.zeros((lengths.size, longest), np.int64)
    within = np.arange(longest) < lengths[:, None]
    if given.ndim == 1:
        rows[within] = given
    else:
        rows[within] = given[:, :longest][within]
    bad = within & ((rows < 0) | (rows >= classes))
    if bad.any():
        # PyTorch reads beyond the end of a row here, and gives a loss that means nothing.
        raise RuntimeError(
            f"ctc_loss: target {rows[bad][0]} is not a class: log_probs has {classes} classes"
            + errors.at_user_line()
        )
    return wrap(rows)


@public(method=False, out=False, name="ctc_loss")
def _torch_ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Lengths,
    target_lengths: Lengths,
    blank: int = 0,
    reduction: int = 1,
    zero_infinity: bool = False,
) -> Tensor:
    name = ("none", "mean", "sum")[reduction]
    return ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, name, zero_infinity)


@typed
@casts(FLOAT32)
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Lengths,
    target_lengths: Lengths,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the log probability of each target under all its alignments with the input.

    Args:
        log_probs: log-probabilities (T, N, C) or (T, C)
        targets: labels (N, S), or of all samples in one row
        input_lengths, target_lengths: the length of each sample's input and target
        blank: the class that stands for no label
        reduction: "mean": each loss divided by the length of its target, then the mean over the
            batch; "sum"; or "none"
        zero_infinity: make losses of targets that are too long for their input 0, not infinite

    Example:
        >>> log_probs = clew.full((2, 1, 2), 0.5).log()
        >>> F.ctc_loss(log_probs, clew.tensor([[1]]), (2,), (1,)).exp()
        tensor(1.3333)
    """
    check_reduction(reduction)
    batched = log_probs._array.ndim == 3
    scores = log_probs if batched else log_probs.unsqueeze(1)
    if log_probs.dtype not in (dtypes.float32, dtypes.float64):
        raise errors.no_kernel("ctc_loss_cpu", log_probs.dtype)
    batch = scores._array.shape[1]
    inputs = _lengths(input_lengths, "input_lengths", batch)
    wanted = _lengths(target_lengths, "target_lengths", batch)
    if targets._is_lifted or inputs._is_lifted or wanted._is_lifted:
        result: Tensor = one_by_one(
            ctc_loss,
            (log_probs, targets, inputs, wanted, blank, reduction, zero_infinity),
            {},
            local.state.intercept,
        )
        return result
    _check_lengths(scores, targets, inputs._array, wanted._array, blank)
    labels = _padded(targets, wanted._array, scores._array.shape[2])
    losses: Tensor = CTC_LOSS(
        scores, labels, inputs, wanted, blank=blank, zero_infinity=zero_infinity
    )[0]
    if zero_infinity:
        losses = losses.masked_fill(losses == np.inf, 0)
    if not batched:
        losses = losses.squeeze(0)
        wanted = wanted.squeeze(0)
    if reduction == "mean":
        return (losses / wanted.clamp_min(1)).mean()
    return losses.sum() if reduction == "sum" else losses
