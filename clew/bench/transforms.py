"""Function transforms of the benchmarks, each written once against a torch-like module `t`.

A maker gives a function of no arguments, whose result is a list of tensors.
"""

from collections.abc import Callable
from typing import Any

Transform = Callable[[], list[Any]]
BATCH = 64


def _mlp(t: Any) -> tuple[Any, tuple[int, ...]]:
    nn = t.nn
    layers = (nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))
    return nn.Sequential(*layers), (784,)


def _cnn(t: Any) -> tuple[Any, tuple[int, ...]]:
    nn = t.nn
    layers = (
        nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 5 * 5, 10),
    )  # fmt: skip
    return nn.Sequential(*layers), (1, 28, 28)


def per_sample_gradients(network: Callable[[Any], Any], looped: bool) -> Callable[[Any], Transform]:
    """The gradient of each sample's loss: by vmap, or in a Python loop to compare with."""

    def make(t: Any) -> Transform:
        t.manual_seed(0)
        model, shape = network(t)
        parameters = {name: each.detach() for name, each in model.named_parameters()}
        x = t.randn(BATCH, *shape)
        y = t.arange(BATCH) % 10

        def loss(p: Any, sample: Any, target: Any) -> Any:
            out = t.func.functional_call(model, p, (sample.unsqueeze(0),))
            return t.nn.functional.cross_entropy(out, target.unsqueeze(0))

        gradient = t.func.grad(loss)
        if not looped:
            mapped = t.func.vmap(gradient, in_dims=(None, 0, 0))
            return lambda: list(mapped(parameters, x, y).values())

        def loop() -> list[Any]:
            rows = [gradient(parameters, x[i], y[i]) for i in range(BATCH)]
            return [t.stack([row[name] for row in rows]) for name in parameters]

        return loop

    return make


def hessian_numbers(t: Any) -> tuple[Any, ...]:
    t.manual_seed(0)
    return t.randn(200, 200) / 15, t.randn(200)


def hessian(t: Any) -> Transform:
    """The Hessian of a function of 200 numbers."""
    matrix, x = hessian_numbers(t)
    function = t.func.hessian(lambda x: ((matrix @ x).tanh() * x).sum() + (x**4).mean())
    return lambda: [function(x)]


def jacobian_numbers(t: Any) -> tuple[Any, ...]:
    t.manual_seed(0)
    return t.randn(100, 100) / 10, t.randn(100)


def jacobian(t: Any) -> Transform:
    """The Jacobian of a map from 100 numbers to 100, by reverse mode."""
    matrix, x = jacobian_numbers(t)
    function = t.func.jacrev(lambda x: (matrix @ x.sin()).tanh() * x)
    return lambda: [function(x)]


TRANSFORMS: dict[str, Callable[[Any], Transform]] = {
    "mlp_b64": per_sample_gradients(_mlp, looped=False),
    "mlp_b64_loop": per_sample_gradients(_mlp, looped=True),
    "cnn_b64": per_sample_gradients(_cnn, looped=False),
    "cnn_b64_loop": per_sample_gradients(_cnn, looped=True),
    "hessian200": hessian,
    "jacrev100": jacobian,
}
