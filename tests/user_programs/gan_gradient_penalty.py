"""A plain GAN step and a WGAN with gradient penalty (double backward)."""


def mlp(torch, sizes, gen):
    return [
        (torch.randn(a, b, generator=gen) / a**0.5).requires_grad_()
        for a, b in zip(sizes, sizes[1:])
    ]


def run(torch, weights, x, act):
    for w in weights[:-1]:
        x = act(x @ w)
    return x @ weights[-1]


def main(torch):
    F = torch.nn.functional
    gen = torch.Generator()
    gen.manual_seed(99)

    def lrelu(x):
        return F.leaky_relu(x, negative_slope=0.2)

    def real(n):
        angle = torch.rand(n, generator=gen) * 2 * torch.pi
        return torch.stack([angle.cos(), angle.sin()], -1)

    G, D = mlp(torch, [3, 16, 2], gen), mlp(torch, [2, 16, 1], gen)
    d_curve, g_curve = [], []
    for _ in range(15):
        z = torch.randn(32, 3, generator=gen)
        fake = run(torch, G, z, F.relu)
        d_real, d_fake = run(torch, D, real(32), lrelu), run(torch, D, fake.detach(), lrelu)
        loss_d = F.binary_cross_entropy_with_logits(
            d_real, torch.ones_like(d_real)
        ) + F.binary_cross_entropy_with_logits(d_fake, torch.zeros_like(d_fake))
        for p in D:
            p.grad = None
        loss_d.backward()
        for p in D:
            p.data.sub_(p.grad, alpha=0.1)
        loss_g = F.softplus(-run(torch, D, fake, lrelu)).mean()
        for p in G:
            p.grad = None
        loss_g.backward()
        for p in G:
            p.data.sub_(p.grad, alpha=0.1)
        d_curve.append(loss_d.item())
        g_curve.append(loss_g.item())

    critic, penalties, wcurve = mlp(torch, [2, 16, 16, 1], gen), [], []
    for _ in range(15):
        x, fake = real(24), run(torch, G, torch.randn(24, 3, generator=gen), F.relu).detach()
        alpha = torch.rand(24, 1, generator=gen)
        mixed = (alpha * x + (1 - alpha) * fake).requires_grad_(True)
        out = run(torch, critic, mixed, torch.tanh)
        grads = torch.autograd.grad(
            outputs=out,
            inputs=mixed,
            grad_outputs=torch.ones_like(out),
            create_graph=True,
            retain_graph=True,
            only_inputs=True,
        )[0]
        penalty = ((grads.view(24, -1).norm(2, dim=1) - 1) ** 2).mean()
        w = run(torch, critic, fake, torch.tanh).mean() - run(torch, critic, x, torch.tanh).mean()
        loss = w + 10 * penalty
        g = torch.autograd.grad(loss, critic)
        with torch.no_grad():
            for p, gp in zip(critic, g):
                p.add_(gp, alpha=-0.02)
        penalties.append(penalty.item())
        wcurve.append(loss.item())
    return {"d": d_curve, "g": g_curve, "penalties": penalties, "w": wcurve}
