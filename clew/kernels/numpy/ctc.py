"""Connectionist temporal classification: the forward-backward algorithm in log space.

A target of S labels becomes 2 S + 1 states: a blank before, between and after the labels. All
samples of a batch advance together, one time step after the other; states beyond the end of a
sample's target never receive probability.
"""

from __future__ import annotations

import numpy as np

from clew.kernels.compiled.log_sums import log_sum
from clew.kernels.numpy.arrays import Array

NOTHING = -np.inf


def states_of(targets: Array, lengths: Array, blank: int) -> tuple[Array, Array]:
    """The class of each state, and whether it may be entered from two states before."""
    batch, longest = targets.shape
    states = np.full((batch, 2 * longest + 1), blank, np.int64)
    within = np.arange(longest) < lengths[:, None]
    states[:, 1::2] = np.where(within, targets, blank)
    skips = np.zeros(states.shape, bool)
    # A label may follow the one before without a blank, unless it is the same label.
    skips[:, 3::2] = states[:, 3::2] != states[:, 1:-2:2]
    return states, skips


def _advance(previous: Array, skips: Array) -> Array:
    """log of the sum over the ways into each state: stay, one step on, two steps on."""
    ways = np.full((3, *previous.shape), NOTHING, previous.dtype)
    ways[0] = previous
    ways[1, :, 1:] = previous[:, :-1]
    np.copyto(ways[2, :, 2:], previous[:, :-2], where=skips[:, 2:])
    return log_sum(ways)


def log_alpha(
    log_probs: Array, states: Array, skips: Array, input_lengths: Array, target_lengths: Array
) -> Array:
    """The log probability of all ways to be in each state after each step: (N, T, states)."""
    steps, batch = log_probs.shape[:2]
    count = states.shape[1]
    rows = np.arange(batch)[:, None]
    alpha = np.full((batch, steps, count), NOTHING, log_probs.dtype)
    reachable = np.arange(count) < 2 * target_lengths[:, None] + 1
    if not steps:
        return alpha
    alpha[:, 0, :2] = log_probs[0][rows, states[:, :2]]
    np.copyto(alpha[:, 0], NOTHING, where=~reachable)
    for step in range(1, steps):
        here = _advance(alpha[:, step - 1], skips) + log_probs[step][rows, states]
        np.copyto(here, NOTHING, where=~(reachable & (step < input_lengths)[:, None]))
        alpha[:, step] = here
    return alpha


def negative_log_likelihood(alpha: Array, input_lengths: Array, target_lengths: Array) -> Array:
    """Minus the log probability of each target: it ends in its last label or the blank after."""
    batch, steps = alpha.shape[:2]
    rows = np.arange(batch)
    last = 2 * target_lengths
    if not steps:
        return np.where(target_lengths == 0, 0.0, np.inf).astype(alpha.dtype)
    final = alpha[rows, np.maximum(input_lengths - 1, 0)]
    in_blank = final[rows, last]
    in_label = np.where(target_lengths > 0, final[rows, np.maximum(last - 1, 0)], NOTHING)
    likelihood = log_sum(np.stack([in_blank, in_label]))
    nothing_read = np.where(target_lengths == 0, 0.0, NOTHING)
    return -np.where(input_lengths == 0, nothing_read, likelihood).astype(alpha.dtype)


def _log_beta(
    log_probs: Array, states: Array, skips: Array, input_lengths: Array, target_lengths: Array
) -> Array:
    """The log probability of all ways from each state at each step to the end: (N, T, states)."""
    steps, batch = log_probs.shape[:2]
    count = states.shape[1]
    rows = np.arange(batch)[:, None]
    places = np.arange(count)
    last = 2 * target_lengths[:, None]
    is_end = (places == last) | ((places == last - 1) & (target_lengths[:, None] > 0))
    beta = np.full((batch, steps, count), NOTHING, log_probs.dtype)
    later = np.full((batch, count), NOTHING, log_probs.dtype)
    skips_from = np.zeros_like(skips)
    skips_from[:, :-2] = skips[:, 2:]
    for step in range(steps - 1, -1, -1):
        emitted = log_probs[step][rows, states]
        onward = _advance(later[:, ::-1], skips_from[:, ::-1])[:, ::-1] + emitted
        ends = np.where(is_end, emitted, NOTHING)
        now = np.where((input_lengths == step + 1)[:, None], ends, onward)
        np.copyto(now, NOTHING, where=(places > last) | (step >= input_lengths)[:, None])
        beta[:, step] = later = now
    return beta


def _exp(x: Array) -> Array:
    """To the last bit, which NumPy's of float32 is not."""
    wide = x.astype(np.float64)
    return np.exp(wide, out=wide).astype(x.dtype, copy=False)


def gradient(
    grad: Array,
    log_probs: Array,
    targets: Array,
    input_lengths: Array,
    target_lengths: Array,
    loss: Array,
    alpha: Array,
    blank: int,
    zero_infinity: bool,
) -> Array:
    """The gradient of `log_probs`, which are taken to come from a log_softmax.

    That is PyTorch's convention: the part of log_softmax's own gradient is already in it.
    """
    states, skips = states_of(targets, target_lengths, blank)
    beta = _log_beta(log_probs, states, skips, input_lengths, target_lengths)
    occupied = alpha + beta
    collected = np.full(log_probs.shape, NOTHING, log_probs.dtype)
    batch_index = np.arange(log_probs.shape[1])
    for place in reversed(range(states.shape[1])):
        # One state after another, because several states may stand for the same class.
        here, more = collected[:, batch_index, states[:, place]], occupied[:, :, place].T
        both = np.where(here == NOTHING, more, log_sum(np.stack([here, more])))
        collected[:, batch_index, states[:, place]] = both
    result = _exp(log_probs) - _exp(collected + loss[None, :, None] - log_probs)
    result *= grad[None, :, None]
    beyond = np.arange(log_probs.shape[0])[:, None] >= input_lengths
    result[beyond] = 0
    if zero_infinity:
        result[:, np.isposinf(loss)] = 0
    return result
