"""Why the scale of initial weights must depend on the width of a layer.

A unit is a sum over `width` inputs, and the variance of a sum grows with the number of its terms.
With weights of one fixed scale a layer multiplies the signal by scale · √width / √2 (relu lets half
of it pass); ten layers do this ten times, and what is right for one width is far off for the next.
With a scale of √(2 / width) the factor is 1 at every width, forward and backward.
"""

import math
from pathlib import Path

import clew as torch
from clew.gallery import helper

nn = torch.nn
DEPTH = 10
FIXED = 0.1  # right for a width of 200
RULES = {"fixed 0.1": lambda width: FIXED, "√(2 / width)": lambda width: math.sqrt(2 / width)}


def signal(width: int, scale: float):
    """The root mean square of the output, and of the gradient that arrives at the input."""
    layers = []
    for _ in range(DEPTH):
        linear = nn.Linear(width, width, bias=False)
        nn.init.normal_(linear.weight, std=scale)
        layers += [linear, nn.ReLU()]
    x = torch.randn(64, width, requires_grad=True)
    y = nn.Sequential(*layers)(x)
    (gradient,) = torch.autograd.grad((y * torch.randn(64, width)).sum(), x)
    return y.pow(2).mean().sqrt().item(), gradient.pow(2).mean().sqrt().item()


def slope(widths, values) -> float:
    """The power of the width with which values grow."""
    x = [math.log(width) for width in widths]
    y = [math.log(value) for value in values]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    above = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y))
    return above / sum((a - mean_x) ** 2 for a in x)


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    torch.manual_seed(seed)
    widths = [32, 64, 128, 256] if fast else [16, 32, 64, 128, 256, 512, 1024]
    figures, curves = {}, {}
    for name, rule in RULES.items():
        bar = helper.progress(widths, f"{name:12}")
        forward, backward = zip(*(signal(width, rule(width)) for width in bar))
        figures[f"{name}: growth of outputs"] = slope(widths, forward)
        figures[f"{name}: growth of gradients"] = slope(widths, backward)
        curves[f"{name}, output"] = forward
        curves[f"{name}, gradient"] = backward
    helper.chart(
        out / "width.svg", curves, f"The signal through {DEPTH} layers, by their width",
        "log2 of the width", "root mean square", log=True, start=math.log2(widths[0]),
    )  # fmt: skip
    return figures


def claims(figures, fast):
    fixed, right = RULES
    expected = DEPTH / 2
    for what in ("outputs", "gradients"):
        power = figures[f"{fixed}: growth of {what}"]
        yield (
            f"fixed scale: {what} grow like width^{power:.1f} ({expected:g} in theory)",
            abs(power - expected) < 0.6,
        )
        power = figures[f"{right}: growth of {what}"]
        yield f"{right}: {what} grow like width^{power:.1f} (0 in theory)", abs(power) < 0.6


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
