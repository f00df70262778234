"""Layers that a hook or a parametrization changes: their training, and what they consist of."""

from __future__ import annotations

from typing import Any

LAYERS: dict[str, Any] = {
    "linear": (lambda nn: nn.Linear(4, 3), (5, 4)),
    "conv1d": (lambda nn: nn.Conv1d(2, 3, 2), (2, 2, 5)),
    "conv2d": (lambda nn: nn.Conv2d(2, 4, 3, groups=2), (2, 2, 4, 5)),
    "transposed": (lambda nn: nn.ConvTranspose2d(2, 3, 2), (2, 2, 3, 3)),
}


def names(module: Any) -> Any:
    """What a module consists of, by name."""
    return (
        list(module.state_dict()),
        [name for name, _ in module.named_parameters()],
        [name for name, _ in module.named_modules()],
        type(module).__name__,
        repr(module),
    )


def three_steps(lib: Any, layer: Any, shape: Any) -> Any:
    """Three steps of training, an evaluation, and what the layer consists of then."""
    # Not faster: a step would make a large error of a small one.
    optimizer = lib.optim.SGD(layer.parameters(), lr=0.02)
    seen: list[Any] = []
    for _ in range(3):
        optimizer.zero_grad()
        out = layer(lib.randn(*shape))
        (out * lib.randn(out.shape)).sum().backward()
        optimizer.step()
        seen.append((out, {name: p.grad.clone() for name, p in layer.named_parameters()}))
    layer.eval()
    seen.append(layer(lib.ones(*shape)))
    return seen, {name: t.clone() for name, t in layer.state_dict().items()}, names(layer)
