"""Whole train steps in JAX: one compiled function of everything that a step changes.

The numbers are those of the other engines, drawn by clew from the same seed. Parameters and the
state of the optimizer are donated: the new ones may take their memory.
"""

from collections.abc import Callable
from typing import Any

import clew
from clew.bench.compiled import RANDOM, TRAINED, chain_numbers
from clew.bench.jax_networks import NETWORKS, Loss
from clew.bench.models import Training
from clew.bench.workloads import ANSWERS, COMPILED_GROUP, Prepared, Workload

# parameters, gradients, state -> parameters, state
Update = Callable[[Any, Any, Any], tuple[Any, Any]]
_CHAIN = "chain_1e6"


def is_step_in_jax(workload: Workload) -> bool:
    return workload.group == COMPILED_GROUP and workload.name in (*NETWORKS, _CHAIN)


def prepare_step(workload: Workload, jax: Any) -> Prepared:
    """The step of a workload, bound to JAX; every call waits until its results are there."""
    if workload.name == _CHAIN:
        return _prepare_chain(jax)
    clew.manual_seed(0)
    training = TRAINED[workload.name](clew)
    given = [clew.randn(128, 20).numpy() for _ in range(ANSWERS * (workload.name in RANDOM))]
    parameters, buffers = _parameters(training, jax), _buffers(training, jax)
    data = tuple(_channels_last(each, jax) for each in training.data)
    zeros, update = _optimizer(training.optimizer, jax)
    step = _step(NETWORKS[workload.name](jax), update, jax)
    state = parameters, zeros(parameters), buffers
    key = jax.random.key(0) if given else None

    def run(noise: Any = None) -> Any:
        nonlocal state, key
        value, state, key = step(state, data, key, noise)
        # One program computes all results, so the others are there, too.
        return value.block_until_ready()

    def answer() -> list[float]:
        noises: Any = given or (None,) * ANSWERS
        return [float(run(noise)) for noise in noises]

    return Prepared(run, answer)


def _step(loss: Loss, update: Update, jax: Any) -> Any:
    """The compiled step. Random numbers are drawn by JAX's generator, unless they are given."""

    def step(state: Any, data: Any, key: Any, noise: Any) -> tuple[Any, Any, Any]:
        parameters, moments, buffers = state
        own = None
        if key is not None:
            key, own = jax.random.split(key)

        def draw(shape: tuple[int, ...]) -> Any:
            return jax.random.normal(own, shape) if noise is None else noise

        found = jax.value_and_grad(loss, has_aux=True)(parameters, buffers, data, draw)
        (value, buffers), gradients = found
        parameters, moments = update(parameters, gradients, moments)
        return value, (parameters, moments, buffers), key

    return jax.jit(step, donate_argnums=0)


def _prepare_chain(jax: Any) -> Prepared:
    np, nn = jax.numpy, jax.nn
    x = np.asarray(chain_numbers(clew).numpy())

    def mean(x: Any) -> Any:
        gated = nn.gelu(x, approximate=False) * nn.sigmoid(x) + np.tanh(x)
        return (gated * np.log1p(np.exp(x)) - np.sin(x)).mean()

    function = jax.jit(jax.value_and_grad(mean))

    def run() -> Any:
        return jax.block_until_ready(function(x))

    def answer() -> list[float]:
        return [float(np.abs(each).sum()) for each in run()] * ANSWERS

    return Prepared(run, answer)


def _parameters(training: Training, jax: Any) -> dict[str, Any]:
    """In JAX's layouts; an embedding is a table of rows in both libraries."""
    tables = {
        f"{name}.weight"
        for name, module in training.model.named_modules()
        if isinstance(module, clew.nn.Embedding)
    }
    found = {}
    for name, parameter in training.model.named_parameters():
        array = parameter.detach().numpy()
        if array.ndim == 4:
            array = array.transpose(2, 3, 1, 0)
        elif array.ndim == 2 and name not in tables:
            array = array.T
        found[name] = jax.numpy.array(array)
    return found


def _buffers(training: Training, jax: Any) -> dict[str, Any]:
    named = training.model.named_buffers()
    return {name: jax.numpy.array(buffer.numpy()) for name, buffer in named}


def _channels_last(tensor: Any, jax: Any) -> Any:
    array = tensor.numpy()
    return jax.numpy.array(array.transpose(0, 2, 3, 1) if array.ndim == 4 else array)


def _optimizer(optimizer: Any, jax: Any) -> tuple[Callable[[Any], Any], Update]:
    """What makes the state of the optimizer, and what applies it, as the given one does."""
    (group,) = optimizer.param_groups
    np, map_ = jax.numpy, jax.tree.map
    lr, decay = group["lr"], group["weight_decay"]

    def zeros(parameters: Any) -> Any:
        return map_(np.zeros_like, parameters)

    def sgd(p: Any, gradients: Any, state: Any) -> tuple[Any, Any]:
        state = map_(lambda m, g: group["momentum"] * m + g, state, gradients)
        return map_(lambda p, m: p - lr * m, p, state), state

    def adam(p: Any, gradients: Any, state: Any) -> tuple[Any, Any]:
        (b1, b2), (first, second, count) = group["betas"], state
        count = count + 1
        first = map_(lambda m, g: b1 * m + (1 - b1) * g, first, gradients)
        second = map_(lambda v, g: b2 * v + (1 - b2) * g * g, second, gradients)
        rate, root = lr / (1 - b1**count), np.sqrt(1 - b2**count)

        def moved(p: Any, m: Any, v: Any) -> Any:
            return p * (1 - lr * decay) - rate * m / (np.sqrt(v) / root + group["eps"])

        return map_(moved, p, first, second), (first, second, count)

    if isinstance(optimizer, clew.optim.SGD):
        return zeros, sgd
    return lambda p: (zeros(p), zeros(p), np.zeros(())), adam
