"""A physics-informed network: u'' = -pi^2 sin(pi x) on [0, 1], second derivatives by autograd."""

import math


def main(torch):
    torch.manual_seed(4)
    torch.set_default_dtype(torch.float64)
    try:
        w1, b1 = torch.randn(1, 20) * 2, torch.randn(20)
        w2, b2 = torch.randn(20, 20) / 20**0.5, torch.zeros(20)
        w3 = torch.randn(20, 1) / 20**0.5
        params = [p.requires_grad_() for p in (w1, b1, w2, b2, w3)]

        def u(x):
            return torch.tanh(torch.tanh(x @ w1 + b1) @ w2 + b2) @ w3

        x = torch.linspace(0, 1, 21).reshape(-1, 1).requires_grad_()
        boundary = torch.tensor([[0.0], [1.0]])
        first = [torch.zeros_like(p) for p in params]
        second = [torch.zeros_like(p) for p in params]
        losses = []
        for t in range(1, 31):
            ux = u(x)
            (dudx,) = torch.autograd.grad(ux, x, torch.ones_like(ux), create_graph=True)
            (d2,) = torch.autograd.grad(dudx.sum(), x, create_graph=True)
            residual = d2 + math.pi**2 * torch.sin(math.pi * x)
            loss = residual.pow(2).mean() + 10 * u(boundary).pow(2).sum()
            grads = torch.autograd.grad(loss, params)
            with torch.no_grad():
                for p, g, m, v in zip(params, grads, first, second):
                    m += 0.1 * (g - m)
                    v += 0.001 * (g * g - v)
                    p -= 0.01 * (m / (1 - 0.9**t)) / (torch.sqrt(v / (1 - 0.999**t)) + 1e-8)
            losses.append(loss.item())
        error = (u(x) - torch.sin(math.pi * x)).abs().max().detach()
        return {"losses": losses, "error": error, "u": u(x), "d2": d2}
    finally:
        torch.set_default_dtype(torch.float32)
