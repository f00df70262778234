"""What a custom function keeps of its forward: where a second derivative would be wrong."""

from __future__ import annotations

from typing import Any

import pytest

import clew
from tests.custom_functions import function
from tests.twice import leaf, raised, twice


def keeps(torch: Any, intermediate: Any, how: str, backward: Any = None) -> Any:
    """x**2, whose backward multiplies by what forward has kept."""

    def forward(ctx: Any, x: Any) -> Any:
        if how == "saved":
            ctx.save_for_backward(intermediate(x))
        else:
            ctx.slope = intermediate(x) if how == "attribute" else [0, intermediate(x)]
        return x**2

    def plain(ctx: Any, g: Any) -> Any:
        slope = ctx.saved_tensors[0] if how == "saved" else ctx.slope
        return g * (slope[1] if how == "list" else slope)

    return function(torch, forward, backward or plain)


def filled(x: Any) -> Any:
    result = clew.empty_like(x)
    result[:1] = x[:1] * 2
    result[1:].copy_(x[1:]).mul_(2)
    return result


WAYS = ["saved", "attribute", "list"]


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize(
    "intermediate",
    [lambda x: 2 * x, lambda x: x.view(-1), lambda x: (x * 0).exp() * (x > 0), filled],
)
def test_kept_intermediate_raises_where_the_second_derivative_would_be_wrong(
    how: str, intermediate: Any
) -> None:
    apply = keeps(clew, intermediate, how)
    x = leaf(clew, [1.0, 2.0])
    (first,) = clew.autograd.grad(apply(x).sum(), x)
    (same,) = clew.autograd.grad(apply(x).sum(), x, create_graph=True)
    assert first.tolist() == same.tolist() == intermediate(x).tolist()
    with pytest.raises(
        RuntimeError, match=r"silently missing.*\n.*_intermediates\.py:\d+: .*apply\(x"
    ):
        same.sum().backward()
    with pytest.raises(RuntimeError, match="slope" if how != "saved" else r"saved_tensors\[0\]"):
        clew.autograd.gradgradcheck(apply, (x,))


def legal_intermediates(torch: Any) -> dict[str, Any]:
    return {
        "mask": lambda x: (x > 0).to(x.dtype),
        "sign": lambda x: x.sign() * 2,
        "rounded": lambda x: (x * 3).round(),
        "chosen": lambda x: torch.where(x > 1, 1.0, 0.5).double(),
        "constant": lambda x: torch.full_like(x, 3.0),
        "detached": lambda x: x.detach() * 2,
        "random": lambda x: torch.empty_like(x).bernoulli_(0.5).mul_(2),
        "filled": lambda x: torch.empty_like(x).copy_(x > 0).mul_(3),
    }


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("name", list(legal_intermediates(clew)))
def test_what_may_be_kept(how: str, name: str) -> None:
    @twice
    def scenario(torch: Any) -> Any:
        apply = keeps(torch, legal_intermediates(torch)[name], how)
        x = leaf(torch, [1.0, -2.0])
        (g,) = torch.autograd.grad((apply(x * x) ** 2).sum(), x, create_graph=True)
        return g.detach(), torch.autograd.grad(g.sum(), x)

    scenario()


@twice
def test_derivatives_that_do_not_pass_an_intermediate(torch: Any) -> Any:
    """The gradient is linear in the gradient given; that part of the second derivative is right."""
    apply = keeps(torch, lambda x: 2 * x, "saved")
    x, w = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0])
    (g,) = torch.autograd.grad((apply(x) * w).sum(), x, create_graph=True)
    return g.detach(), torch.autograd.grad(g.sum(), w)


@twice
def test_intermediate_with_once_differentiable(torch: Any) -> Any:
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0]

    once = torch.autograd.function.once_differentiable(backward)
    x = leaf(torch, [1.0, 2.0])
    apply = keeps(torch, lambda x: 2 * x, "saved", once)
    (g,) = torch.autograd.grad(apply(x * x).sum(), x, create_graph=True)
    return g.detach(), raised(g.sum().backward, words=8)


@twice
def test_intermediates_that_are_outputs(torch: Any) -> Any:
    """PyTorch's own example: sinh, whose exponentials are returned to be differentiable."""

    def forward(ctx: Any, x: Any) -> Any:
        up, down = torch.exp(x), torch.exp(-x)
        ctx.save_for_backward(up, down)
        return (up - down) / 2, up, down

    def backward(ctx: Any, g: Any, g_up: Any, g_down: Any) -> Any:
        up, down = ctx.saved_tensors
        return g * (up + down) / 2 + g_up * up - g_down * down

    apply = function(torch, forward, backward)
    x = leaf(torch, [0.3, -1.0])
    return torch.autograd.gradgradcheck(lambda x: apply(x)[0], (x,))
