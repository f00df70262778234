"""The curvature of a million parameters: spectrum, trace and natural gradients without a Hessian.

The Hessian of this network has 10¹² elements, and nothing here is ever larger than a few vectors
(`torch.func.curvature`, which PyTorch does not have). Lanczos' method finds its largest eigenvalues
and the density of all: a great many near zero, and a few outliers, about one for each class. Steps
that are preconditioned by EKFAC, the inverse of the curvature layer by layer, and as long as the
Gauss-Newton matrix says, go further than those of gradient descent.
"""

from pathlib import Path

import clew as torch
from clew.gallery import helper

nn, F, curvature = torch.nn, torch.nn.functional, torch.func.curvature
DAMPING, REFRESH = 0.03, 4


def network(width: int, seed: int):
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Linear(64, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 10)
    )


def length(model, x, y, slope) -> float:
    """How far to go along the gradients as they are now, as the Gauss-Newton matrix has it."""
    step = nn.utils.parameters_to_vector([each.grad for each in model.parameters()])
    matrix = curvature.GaussNewton(model, F.cross_entropy, [(x, y)])
    curved = step.dot(matrix @ step) + DAMPING * step.dot(step)
    return (slope.dot(step) / curved).item()


def train(name: str, model, x, y, steps: int, saved: Path):
    """Steps on all examples, of gradient descent or preconditioned; the loss before each."""
    natural = name == "EKFAC"
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    losses = []
    if saved.exists():
        state = torch.load(saved)
        model.load_state_dict(state["model"])
        losses = state["losses"]
    bar = helper.progress(range(len(losses), steps), f"{name:8}")
    for number in bar:
        if natural and number % REFRESH == 0:
            inverse = curvature.EKFAC(model, F.cross_entropy, [(x, y)]).inverse(DAMPING)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        if natural:
            slope = nn.utils.parameters_to_vector([each.grad for each in model.parameters()])
            inverse.precondition_()
            optimizer.param_groups[0]["lr"] = length(model, x, y, slope)
        optimizer.step()
        losses.append(loss.item())
        if (number + 1) % REFRESH == 0 or number + 1 == steps:  # the next step refreshes
            torch.save({"model": model.state_dict(), "losses": losses}, saved)
        bar.say(f"loss {losses[-1]:.4f}")
    return losses


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    images, labels, _, _ = (torch.from_numpy(part) for part in helper.digits())
    width, count, steps = (200, 200, 8) if fast else (1000, 600, 24)
    x, y = images[:count], labels[:count]
    losses, states = {}, []
    for name in ("EKFAC", "descent"):
        model = network(width, seed)
        states.append(out / f"curvature-{name}-{seed}{'-fast' if fast else ''}.pt")
        losses[name] = train(name, model, x, y, steps, states[-1])

    batch = [(x[:256], y[:256])]
    hessian = curvature.Hessian(model, F.cross_entropy, batch)
    gauss_newton = curvature.GaussNewton(model, F.cross_entropy, batch)
    count = 15 if fast else 30
    top = curvature.eigenpairs(hessian, 3, "largest", steps=20 if fast else 60)
    trace, error = curvature.trace(gauss_newton, count, "hutch++")
    rough, rough_error = curvature.trace(gauss_newton, count, "hutchinson")
    density = curvature.spectral_density(hessian, 10 if fast else 40, 1 if fast else 3)

    largest = top.values[0].item()
    nodes, weights = density
    grid = torch.linspace(-0.2 * largest, 1.1 * largest, 300)
    drawn = density.at(grid, 0.01 * largest).clamp(min=1e-8)
    helper.chart(
        out / "curvature.svg", {"density": drawn.tolist()},
        f"The spectrum of a Hessian of {hessian.shape[0]:,} × {hessian.shape[0]:,}", "eigenvalue",
        "density", log=True, start=grid[0].item(), step=(grid[1] - grid[0]).item(),
    )  # fmt: skip
    for saved in states:
        saved.unlink()
    return {
        "parameters": hessian.shape[0],
        "largest eigenvalue": largest,
        "its residual": top.residuals[0].item(),
        "trace": trace,
        "error of Hutch++": error,
        "trace by Hutchinson": rough,
        "error of Hutchinson": rough_error,
        "share of the spectrum near zero": weights[nodes.abs() < 0.02 * largest].sum().item(),
        **{f"loss by {name}": curve[-1] for name, curve in losses.items()},
    }


def claims(figures, fast):
    yield f"{figures['parameters']:,} parameters", fast or figures["parameters"] > 1_000_000
    largest, residual = figures["largest eigenvalue"], figures["its residual"]
    yield f"largest eigenvalue {largest:.3f}, |Hv - λv| {residual:.0e}", residual < 0.01 * largest
    value, error = figures["trace"], figures["error of Hutch++"]
    rough, rough_error = figures["trace by Hutchinson"], figures["error of Hutchinson"]
    yield (
        f"trace {value:.2f} ± {error:.2f} (Hutch++), {rough:.2f} ± {rough_error:.2f} (Hutchinson)",
        abs(value - rough) < 5 * (error + rough_error) and error < 0.3 * value,
    )
    share = figures["share of the spectrum near zero"]
    yield f"{share:.1%} of all eigenvalues are near zero", share > (0.8 if fast else 0.95)
    plain, natural = figures["loss by descent"], figures["loss by EKFAC"]
    yield f"loss {plain:.3f} by descent, {natural:.3f} by EKFAC", natural < 0.7 * plain


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
