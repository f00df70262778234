"""Newton and Gauss-Newton: steps that know how the slope will change.

Three problems, each beside gradient descent or Adam:

  logistic    a convex loss of few weights; Newton's steps solve a system with the whole Hessian,
              and the number of right digits doubles with each of them
  curve       a small network through points, by least squares; the residuals' Jacobian J gives
              JᵀJ, Gauss-Newton's stand-in for the Hessian, damped as Levenberg and Marquardt say
  network     weights too many for a matrix: conjugate gradients need products with JᵀHJ alone,
              a push forward (`linearize`) and a pull back (`vjp`) each
"""

from pathlib import Path

import clew as torch
from clew.gallery import helper

nn, F, func = torch.nn, torch.nn.functional, torch.func


# -- logistic regression, by Newton ----------------------------------------------------------------


def logistic(seed: int, count: int):
    """Two overlapping clouds of points in five dimensions; the loss of weights."""
    torch.manual_seed(seed)
    y = (torch.arange(count) % 2).double()
    x = torch.randn(count, 5, dtype=torch.float64) + y.unsqueeze(1) * 0.7
    x = torch.cat([x, torch.ones(count, 1, dtype=torch.float64)], dim=1)

    def loss(w):
        return F.binary_cross_entropy_with_logits(x @ w, y) + 1e-3 * w.square().sum()

    return loss, torch.zeros(6, dtype=torch.float64)


def newton(loss, w, steps: int) -> list[float]:
    """The norms of the gradient on the way."""
    norms = []
    for _ in range(steps):
        gradient = func.grad(loss)(w)
        norms.append(gradient.norm().item())
        w = w - torch.linalg.solve(func.hessian(loss)(w), gradient)
    return norms


def descent(loss, w, steps: int) -> list[float]:
    norms = []
    for _ in range(steps):
        gradient = func.grad(loss)(w)
        norms.append(gradient.norm().item())
        w = w - 2.0 * gradient
    return norms


# -- a curve through points, by Gauss-Newton -------------------------------------------------------


def curve(seed: int, count: int):
    """The residuals of a small network at points of a curve, and its first weights."""
    torch.manual_seed(seed)
    x = torch.linspace(-3, 3, count, dtype=torch.float64).unsqueeze(1)
    y = (2 * x).sin() + 0.3 * x
    first = torch.randn(3, 12, dtype=torch.float64) * torch.tensor([[1.5], [1.0], [0.5]]).double()

    def residuals(w):
        return ((x * w[0] + w[1]).tanh() * w[2]).sum(dim=1) - y.squeeze(1)

    return residuals, first


def gauss_newton(residuals, w, steps: int) -> list[float]:
    """As Levenberg and Marquardt: less damping after a step that helps, more after another."""
    losses, damping = [], 1.0
    for _ in range(steps):
        r, jacobian = residuals(w), func.jacrev(residuals)(w).flatten(1)
        losses.append(r.square().mean().item())
        normal = jacobian.T @ jacobian
        eye = torch.eye(len(normal), dtype=torch.float64)
        step = torch.linalg.solve(normal + damping * eye, jacobian.T @ r).reshape(w.shape)
        better = residuals(w - step).square().mean().item() < losses[-1]
        w, damping = (w - step, damping / 3) if better else (w, damping * 4)
    return losses


def adam(residuals, w, steps: int) -> list[float]:
    w = w.clone().requires_grad_()
    optimizer = torch.optim.Adam([w], lr=0.02)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = residuals(w).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# -- a network, by conjugate gradients -------------------------------------------------------------


def spirals(seed: int, count: int):
    """Points of two spirals, and the spiral of each."""
    torch.manual_seed(seed)
    which = torch.arange(count) % 2
    turn = 7 * torch.rand(count, dtype=torch.float64).sqrt() + 0.5
    angle = turn + torch.pi * which
    points = torch.stack([turn * angle.cos(), turn * angle.sin()], dim=1) / 3
    return points + 0.02 * torch.randn(count, 2, dtype=torch.float64), which


def conjugate_gradients(product, b, steps: int):
    """x for which product(x) = b, nearly."""
    x, r = torch.zeros_like(b), b.clone()
    p, squares = r.clone(), r.dot(r)
    for _ in range(steps):
        q = product(p)
        x, r = x + squares / p.dot(q) * p, r - squares / p.dot(q) * q
        before, squares = squares, r.dot(r)
        p = r + squares / before * p
    return x


def hessian_free(model, x, y, steps: int, label: str) -> list[float]:
    """Damped Gauss-Newton steps without a matrix; the loss on the way."""
    names, shapes = zip(*[(name, each.shape) for name, each in model.named_parameters()])
    sizes = [shape.numel() for shape in shapes]
    w = nn.utils.parameters_to_vector(model.parameters()).detach()

    def scores(w):
        pieces = [part.reshape(shape) for part, shape in zip(w.split(sizes), shapes)]
        return func.functional_call(model, dict(zip(names, pieces)), (x,))

    losses, damping = [], 0.1
    bar = helper.progress(range(steps), label)
    for _ in bar:
        z, pull_back = func.vjp(scores, w)
        _, push_forward = func.linearize(scores, w)
        losses.append(F.cross_entropy(z, y).item())
        share = z.softmax(dim=1)
        (gradient,) = pull_back((share - F.one_hot(y, 2)) / len(x))

        def product(v, push=push_forward, pull_back=pull_back, share=share, damping=damping):
            pushed = push(v)
            curved = share * (pushed - (share * pushed).sum(dim=1, keepdim=True)) / len(x)
            return pull_back(curved)[0] + damping * v

        following = w - conjugate_gradients(product, gradient, 20)
        better = F.cross_entropy(scores(following), y).item() < losses[-1]
        w, damping = (following, damping / 2) if better else (w, damping * 4)
        bar.say(f"loss {losses[-1]:.4f}")
    return losses


def by_adam(model, x, y, steps: int) -> list[float]:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def network(seed: int):
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 2)
    ).double()


def main(fast: bool, seed: int, out: Path) -> dict[str, float]:
    figures, curves = {}, {}
    loss, w = logistic(seed, 200 if fast else 2000)
    curves["logistic, Newton"] = newton(loss, w, 7)
    curves["logistic, descent"] = descent(loss, w, 60)
    figures["logistic: gradient after 6 Newton steps"] = curves["logistic, Newton"][-1]
    figures["logistic: gradient after 59 of descent"] = curves["logistic, descent"][-1]

    residuals, first = curve(seed, 40)
    curves["curve, Gauss-Newton"] = gauss_newton(residuals, first, 60)
    curves["curve, Adam"] = adam(residuals, first, 60)
    figures["curve: error after 60 steps"] = min(curves["curve, Gauss-Newton"])
    figures["curve: error after 60 of Adam"] = curves["curve, Adam"][-1]

    x, y = spirals(seed, 256 if fast else 1000)
    steps = 15 if fast else 60
    curves["network, Gauss-Newton"] = hessian_free(network(seed), x, y, steps, "network")
    curves["network, Adam"] = by_adam(network(seed), x, y, 60)
    figures["network: loss after Gauss-Newton"] = curves["network, Gauss-Newton"][-1]
    figures["network: loss after as many of Adam"] = curves["network, Adam"][steps - 1]
    helper.chart(
        out / "newton.svg", curves, "Second order beside first order", "step",
        "gradient (logistic), loss (curve, network)", log=True,
    )  # fmt: skip
    return figures


def claims(figures, fast):
    newton, descent = (
        figures[f"logistic: gradient after {way}"] for way in ("6 Newton steps", "59 of descent")
    )
    yield f"logistic: gradient {newton:.0e} after 6 steps of Newton", newton < 1e-12
    yield f"and {descent:.0e} after 59 steps of descent", descent > 1e-8
    gn, adam = (figures[f"curve: error after 60 {way}"] for way in ("steps", "of Adam"))
    yield f"curve: error {gn:.1e} by Gauss-Newton, {adam:.1e} by Adam", gn < 0.05 * adam
    gn, adam = (
        figures[f"network: loss after {way}"] for way in ("Gauss-Newton", "as many of Adam")
    )
    yield f"network: loss {gn:.1e} by Gauss-Newton, {adam:.1e} by Adam", gn < 0.7 * adam


if __name__ == "__main__":
    raise SystemExit(helper.run(main, claims))
