"""Custom functions, GELU and log-sum-exp, and what gradcheck says of a wrong backward.

A `torch.autograd.Function` is a forward and the derivative that belongs to it. `gradcheck` compares
the derivative with differences of the forward in float64, so that a wrong one is found before it
trains anything: here GELU without its second term, a mistake that is easy to make and that still
trains.
"""

import math
from pathlib import Path

import clew as torch
from clew.gallery import helper

F = torch.nn.functional


class GELU(torch.autograd.Function):
    """x Φ(x), Φ the normal distribution function; the derivative is Φ(x) + x φ(x)."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        distribution = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        density = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return grad * (distribution + x * density)


class WrongGELU(GELU):
    """The same without the second term: x was taken for a constant."""

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 0.5 * (1 + torch.erf(x / math.sqrt(2)))


class LogSumExp(torch.autograd.Function):
    """log Σ exp(x) along the last axis, without overflow; the derivative is the softmax."""

    @staticmethod
    def forward(ctx, x):
        largest = x.max(dim=-1, keepdim=True).values
        result = largest + (x - largest).exp().sum(dim=-1, keepdim=True).log()
        ctx.save_for_backward(x, result)
        return result.squeeze(-1)

    @staticmethod
    def backward(ctx, grad):
        x, result = ctx.saved_tensors
        return grad.unsqueeze(-1) * (x - result).exp()


def error_of(function, x) -> str:
    """What gradcheck says: its first line and its last one, or nothing."""
    try:
        torch.autograd.gradcheck(function, (x,))
    except RuntimeError as error:
        lines = str(error).splitlines()
        return f"{lines[0]} {lines[-1].strip()}"
    return ""


def train(activation, steps: int):
    """A small regression with this activation: its loss curve."""
    x = torch.linspace(-2, 2, 64).unsqueeze(1)
    y = torch.sin(3 * x)
    w1, w2 = torch.randn(1, 32), torch.randn(32, 1) / 6
    b1, b2 = torch.randn(32), torch.zeros(1)
    weights = [w.requires_grad_() for w in (w1, b1, w2, b2)]
    optimizer = torch.optim.Adam(weights, lr=0.01)
    losses = []
    for _ in helper.progress(range(steps), activation.__name__):
        optimizer.zero_grad()
        loss = F.mse_loss(activation.apply(x @ w1 + b1) @ w2 + b2, y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    torch.manual_seed(seed)
    x = torch.randn(4, 5, dtype=torch.float64, requires_grad=True)
    found = error_of(WrongGELU.apply, x)
    print(f"gradcheck of the wrong GELU: {found}")

    large = torch.tensor([[1000.0, 1000.0, -1000.0]], requires_grad=True)
    LogSumExp.apply(large).sum().backward()
    naive = large.detach().exp().sum(dim=-1).log()
    curves = {}
    for activation in (GELU, WrongGELU):
        torch.manual_seed(seed + 1)
        curves[activation.__name__] = train(activation, 150 if fast else 1000)
    helper.chart(
        out / "functions.svg", curves, "A wrong backward still trains: only a check finds it",
        "step", "mean squared error", log=True,
    )  # fmt: skip
    return {
        "GELU passes gradcheck": float(error_of(GELU.apply, x) == ""),
        "log-sum-exp passes gradcheck": float(error_of(LogSumExp.apply, x) == ""),
        "wrong GELU is found": float("Jacobian mismatch" in found),
        "GELU - library": (GELU.apply(x) - F.gelu(x)).abs().max().item(),
        "log-sum-exp of 1000, 1000, -1000": LogSumExp.apply(large).item(),
        "the naive formula's": naive.item(),
        "its gradient - softmax": (large.grad - large.detach().softmax(-1)).abs().max().item(),
        "last loss": curves["GELU"][-1],
        "last loss, wrong backward": curves["WrongGELU"][-1],
    }


def claims(figures, fast):
    passed = figures["GELU passes gradcheck"] + figures["log-sum-exp passes gradcheck"]
    yield f"{passed:.0f} of 2 custom functions pass gradcheck", passed == 2
    yield "gradcheck finds the wrong backward", figures["wrong GELU is found"] == 1
    stable = abs(figures["log-sum-exp of 1000, 1000, -1000"] - 1000 - math.log(2)) < 1e-3
    yield (
        "log-sum-exp of numbers of 1000 is right where the naive formula is inf",
        (stable and math.isinf(figures["the naive formula's"])),
    )
    wrong = figures["last loss, wrong backward"]
    yield f"with the wrong backward the loss still falls, to {wrong:.2g}", wrong < 0.4


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
