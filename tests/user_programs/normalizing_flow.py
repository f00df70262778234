"""Affine coupling layers and a planar flow, trained by exact likelihood; log-dets checked."""

import math


def main(torch):
    F = torch.nn.functional
    torch.manual_seed(30)
    n = 64
    x = torch.randn(n, 2)
    x[:, 1] = x[:, 1] * 0.3 + 0.5 * x[:, 0].pow(2)
    layers = [
        [torch.randn(1, 16) * 0.1, torch.zeros(16), torch.randn(16, 2) * 0.1] for _ in range(4)
    ]
    for layer in layers:
        for p in layer:
            p.requires_grad_()

    def flow(z):
        logdet = z.new_zeros(z.shape[0])
        for i, (w1, b1, w2) in enumerate(layers):
            a, b = z.split(1, dim=1) if i % 2 == 0 else z.flip(1).split(1, dim=1)
            s, t = (F.silu(a @ w1 + b1) @ w2).chunk(2, dim=1)
            s = torch.tanh(s)
            b = b * torch.exp(s) + t
            logdet = logdet + s.squeeze(1)
            z = torch.hstack([a, b]) if i % 2 == 0 else torch.hstack([b, a])
        return z, logdet

    losses = []
    params = [p for layer in layers for p in layer]
    for _ in range(25):
        z, logdet = flow(x)
        log_prob = -0.5 * z.pow(2).sum(1) - math.log(2 * math.pi) + logdet
        loss = -log_prob.mean()
        for p, g in zip(params, torch.autograd.grad(loss, params)):
            p.data.add_(g, alpha=-0.05)
        losses.append(loss.item())

    J = torch.autograd.functional.jacobian(lambda v: flow(v[None])[0][0], x[0])
    exact = torch.linalg.slogdet(J).logabsdet
    W = torch.linalg.qr(torch.randn(3, 3))[0].requires_grad_()
    volume = torch.logdet(W @ W.T + torch.eye(3)) + torch.det(W).abs().log()
    volume.backward()
    u, w, b = torch.randn(2), torch.randn(2), torch.randn(())
    inner = x @ w + b
    planar = x + u * torch.tanh(inner)[:, None]
    psi = (1 - torch.tanh(inner) ** 2)[:, None] * w
    planar_logdet = torch.log1p((psi @ u).clamp_min(-0.99)).abs()
    return {
        "losses": losses,
        "J": J,
        "exact": exact,
        "mine": flow(x[:1])[1][0],
        "volume": volume,
        "W_grad": W.grad,
        "planar": planar,
        "ld": planar_logdet,
    }
