"""`nn.grad`: the gradients of convolutions as functions."""

from __future__ import annotations

from typing import Any

from tests.twice import raised, twice


def _setting(m: Any, dims: int) -> tuple[Any, Any, Any, dict[str, int]]:
    options = {"stride": 2, "padding": 1, "dilation": 2, "groups": 2}
    x = m.randn(2, 4, *(9,) * dims, dtype=m.float64, requires_grad=True)
    w = m.randn(6, 2, *(3,) * dims, dtype=m.float64, requires_grad=True)
    y = getattr(m.nn.functional, f"conv{dims}d")(x, w, **options)
    return x, w, m.randn_like(y).requires_grad_(), options


@twice
def test_gradients_of_convolutions(m: Any) -> Any:
    """They are differentiable themselves."""
    seen = []
    for dims in (1, 2, 3):
        x, w, g, options = _setting(m, dims)
        of_input = getattr(m.nn.grad, f"conv{dims}d_input")(x.shape, w, g, **options)
        of_weight = getattr(m.nn.grad, f"conv{dims}d_weight")(x, w.shape, g, **options)
        seen += [of_input, of_weight, m.autograd.grad(of_input.square().sum(), (w, g))]
        seen.append(m.autograd.grad(of_weight.square().sum(), (x, g)))
    return seen


@twice
def test_sizes_that_do_not_fit(m: Any) -> Any:
    grad, (x, w, g, options) = m.nn.grad, _setting(m, 2)
    return [
        raised(grad.conv2d_input, None, w, g, **options),
        raised(grad.conv2d_input, (2, 4), w, g, **options),
        raised(grad.conv2d_input, x.shape, w, g, **options | {"groups": 1}),
        raised(grad.conv2d_weight, x, w.shape, g, **options | {"groups": 1}),
        raised(grad.conv2d_input, x.shape, w, g, **options | {"stride": (1, 1, 1)}),
        raised(grad.conv2d_input, (2, 4, 12, 12), w, g, words=0, **options),
        m.nn.functional.grad is grad,
    ]
