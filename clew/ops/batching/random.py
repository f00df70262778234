"""Batching rules of random operations: what `randomness` means for each."""

from __future__ import annotations

from typing import Any

from clew.ops.batching.rules import RANDOM, RANDOM_BY_SHAPE, Call, aligned, declare, rules, together

# Numbers for tensors that are given as examples, and for parameters that are.
FILLING = (
    "normal", "uniform", "log_normal", "cauchy", "exponential", "geometric", "random",
    "random_below", "random_any", "bernoulli_number", "bernoulli_like",
)  # fmt: skip
DRAWING = ("bernoulli", "poisson", "_standard_gamma", "_sample_dirichlet", "normal_mean")
declare(together, *FILLING, *DRAWING, "normal_std", "_rrelu_noise")
declare(together, "_random_like")
declare(
    aligned,
    "normal_mean_std",
    "bernoulli_tensor",
    "binomial",
    "_standard_gamma_grad",
    "_dirichlet_grad",
    "dropout",
)

NOISES = ("_dropout_noise", "_alpha_dropout_noise", "_rrelu_noise")
RANDOM_BY_SHAPE.update((*FILLING, *NOISES, "bernoulli_tensor", "_random_like"))
RANDOM.update((
    *FILLING, *DRAWING, "normal_std", "normal_mean_std", "binomial", "multinomial",
    "bernoulli_tensor", "_random_like", *NOISES,
))  # fmt: skip


@rules("multinomial")
def _multinomial(call: Call) -> Any:
    chances = call.inputs[0]
    rows = chances.reshape((-1, chances._array.shape[-1]))
    drawn = call.op(rows, **call.params)
    return drawn.reshape((*chances._array.shape[:-1], -1))


@rules("_dropout_noise", "_alpha_dropout_noise")
def _noise(call: Call) -> Any:
    """Per feature, the first two dimensions of an example count; here it has one more."""
    # Drawn example by example, whatever their order in memory.
    tensor = call.inputs[0].contiguous()
    if not call.params["per_feature"]:
        return call.op(tensor, **call.params)
    results = call.op(tensor.flatten(0, 1), **call.params)
    shape = tensor._array.shape[:2]
    if isinstance(results, tuple):
        return tuple(each.reshape((*shape, *each._array.shape[1:])) for each in results)
    return results.reshape((*shape, *results._array.shape[1:]))
