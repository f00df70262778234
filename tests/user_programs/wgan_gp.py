"""WGAN-GP on a ring of Gaussians: gradient penalty by double backward through modules."""

import math


def gradient_penalty(torch, critic, real, fake, lam=10.0):
    alpha = torch.rand(real.size(0), 1, device=real.device)
    alpha = alpha.expand_as(real)
    interpolates = alpha * real.data + (1 - alpha) * fake.data
    interpolates.requires_grad_(True)
    scores = critic(interpolates)
    gradients = torch.autograd.grad(
        outputs=scores,
        inputs=interpolates,
        grad_outputs=torch.ones(scores.size(), device=real.device),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    gradients = gradients.view(gradients.size(0), -1)
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * lam


def main(torch):
    nn = torch.nn
    torch.manual_seed(4)

    def mlp(sizes, act=nn.LeakyReLU, norm=None):
        layers = []
        for a, b in zip(sizes[:-2], sizes[1:-1]):
            layers += [nn.Linear(a, b)] + ([norm(b)] if norm else []) + [act()]
        return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))

    G = mlp([4, 24, 24, 2], nn.ReLU)
    critics = {
        "leaky": mlp([2, 24, 24, 1]),
        "layernorm_silu": mlp([2, 16, 16, 1], nn.SiLU, nn.LayerNorm),
        "tanh": mlp([2, 16, 1], nn.Tanh),
    }

    def sample_real(n):
        angle = 2 * math.pi * torch.randint(0, 8, (n,)) / 8
        return torch.stack([angle.cos(), angle.sin()], 1) * 2 + 0.05 * torch.randn(n, 2)

    result = {}
    for name, critic in critics.items():
        opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.9))
        opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))
        distances, penalties, g_losses = [], [], []
        for it in range(6):
            for p in critic.parameters():
                p.requires_grad = True
            for _ in range(3):
                critic.zero_grad()
                real = sample_real(32)
                with torch.no_grad():
                    noise = torch.randn(32, 4)
                fake = G(noise).detach()
                gp = gradient_penalty(torch, critic, real, fake)
                w = critic(fake).mean() - critic(real).mean()
                (w + gp).backward()
                opt_c.step()
                distances.append(-w.item())
                penalties.append(gp.item())
            for p in critic.parameters():
                p.requires_grad = False
            G.zero_grad()
            g_loss = -critic(G(torch.randn(32, 4))).mean()
            g_loss.backward()
            opt_g.step()
            g_losses.append(g_loss.item())
        result[name] = [distances, penalties, g_losses]
    result["first"] = G[0].weight
    return result
