"""A denoising diffusion model in two dimensions; also score matching by divergence."""

import math


def main(torch):
    F = torch.nn.functional
    g = torch.Generator().manual_seed(1000)
    steps = 50
    betas = torch.linspace(1e-4, 0.05, steps)
    alphas = 1.0 - betas
    alpha_bar = torch.cumprod(alphas, dim=0)
    prev = F.pad(alpha_bar[:-1], (1, 0), value=1.0)
    posterior = betas * (1.0 - prev) / (1.0 - alpha_bar)

    def embed(t, dim=8):
        half = dim // 2
        freqs = torch.exp(torch.arange(half) * -(math.log(10000) / (half - 1)))
        args = t[:, None].float() * freqs[None]
        return torch.cat([args.sin(), args.cos()], dim=-1)

    sizes = [10, 32, 32, 2]
    Ws = [
        (torch.randn(i, o, generator=g) * (2 / i) ** 0.5).requires_grad_()
        for i, o in zip(sizes, sizes[1:])
    ]

    def model(x, t):
        h = torch.cat([x, embed(t)], dim=1)
        for w in Ws[:-1]:
            h = F.silu(h @ w)
        return h @ Ws[-1]

    angle = torch.rand(64, generator=g) * 2 * math.pi
    data = torch.stack([angle.cos(), angle.sin()], 1)
    ema = [w.detach().clone() for w in Ws]
    losses = []
    for _ in range(25):
        t = torch.randint(0, steps, (64,), generator=g)
        noise = torch.randn(64, 2, generator=g)
        a = alpha_bar[t].view(-1, 1)
        noisy = a.sqrt() * data + (1 - a).sqrt() * noise
        loss = F.mse_loss(model(noisy, t), noise)
        grads = torch.autograd.grad(loss, Ws)
        with torch.no_grad():
            for w, gr, e in zip(Ws, grads, ema):
                w.sub_(gr, alpha=0.05)
                e.mul_(0.95).add_(w, alpha=0.05)
        losses.append(loss.item())

    with torch.no_grad():
        x = torch.randn(6, 2, generator=g)
        for i in reversed(range(steps)):
            t = torch.full((6,), i, dtype=torch.long)
            mean = (x - betas[i] / (1 - alpha_bar[i]).sqrt() * model(x, t)) / alphas[i].sqrt()
            x = mean + (posterior[i].sqrt() * torch.randn(6, 2, generator=g) if i > 0 else 0)

    # Exact divergence of the score field, one output at a time.
    pts = data[:5].clone().requires_grad_()
    score = -model(pts, torch.zeros(5, dtype=torch.long))
    div = sum(
        torch.autograd.grad(score[:, i].sum(), pts, create_graph=True)[0][:, i] for i in range(2)
    )
    sm = (0.5 * score.pow(2).sum(1) + div).mean()
    return {
        "losses": losses,
        "x": x,
        "div": div,
        "ema": ema,
        "posterior": posterior,
        "sm_grad": torch.autograd.grad(sm, Ws),
    }
