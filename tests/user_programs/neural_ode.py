"""Euler and RK4 integration with gradients through the solver, and the adjoint method."""


def main(torch):
    torch.manual_seed(6)
    A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    y0 = torch.tensor([[2.0, 0.0]])
    ts = torch.linspace(0.0, 2.0, 21)

    def integrate(field, y, method):
        path = [y]
        for t0, t1 in zip(ts[:-1], ts[1:]):
            h = t1 - t0
            if method == "euler":
                y = y + h * field(t0, y)
            else:
                k1 = field(t0, y)
                k2 = field(t0 + h / 2, y + h * k1 / 2)
                k3 = field(t0 + h / 2, y + h * k2 / 2)
                k4 = field(t1, y + h * k3)
                y = y + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6
            path.append(y)
        return torch.stack(path)

    truth = integrate(lambda t, y: y**3 @ A, y0, "rk4")
    W1, W2 = torch.randn(2, 16) * 0.3, torch.randn(16, 2) * 0.3
    W1.requires_grad_(), W2.requires_grad_()
    losses = []
    for step in range(10):
        path = integrate(lambda t, y: torch.tanh(y**3 @ W1) @ W2, y0, "euler")
        loss = (path - truth).abs().mean()
        loss.backward()
        with torch.no_grad():
            for p in (W1, W2):
                p -= 0.05 * p.grad
                p.grad = None
        losses.append(loss.item())

    # Adjoint: integrate the sensitivity backwards by vector-Jacobian products.
    y = path[-1].detach()
    a = torch.ones_like(y)
    for _ in range(5):
        with torch.enable_grad():
            leaf = y.clone().requires_grad_()
            dy = torch.tanh(leaf**3 @ W1) @ W2
            (vjp,) = torch.autograd.grad(dy, leaf, a)
        y, a = y - 0.1 * dy.detach(), a + 0.1 * vjp
    return {"losses": losses, "truth": truth, "path": path, "adjoint": a, "y": y}
