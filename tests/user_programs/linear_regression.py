"""First lesson: fit a line by gradient descent, then check against the closed form."""


def main(torch):
    torch.manual_seed(0)
    x = torch.linspace(-3, 3, 64).unsqueeze(1)
    y = 2.5 * x - 0.7 + 0.3 * torch.randn(64, 1)

    w = torch.zeros(1, 1, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    lr, losses = 0.05, []
    for _ in range(50):
        pred = x @ w + b
        loss = ((pred - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= lr * w.grad
            b -= lr * b.grad
        w.grad.zero_()
        b.grad = None
        losses.append(loss.item())

    design = torch.cat([x, torch.ones_like(x)], dim=1)
    closed = torch.linalg.lstsq(design, y).solution
    ridge = torch.linalg.solve(design.T @ design + 0.1 * torch.eye(2), design.T @ y)
    residual = y - design @ closed
    r2 = 1 - residual.square().sum() / (y - y.mean()).pow(2).sum()
    return {"losses": losses, "w": w, "b": b, "closed": closed, "ridge": ridge, "r2": r2.item()}
