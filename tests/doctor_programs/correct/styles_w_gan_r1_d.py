# expect: nothing
import torch
import torch.nn.functional as F
from torch import autograd, nn

torch.manual_seed(2)


def r1(d, real, gamma):
    real = real.detach().requires_grad_(True)
    score = d(real)
    (g,) = autograd.grad(score.sum(), real, create_graph=True)
    return 0.5 * gamma * g.flatten(1).pow(2).sum(1).mean()


def ring(n):
    t = torch.randint(0, 8, (n,)) * 0.785
    return torch.stack([t.cos(), t.sin()], 1) + 0.02 * torch.randn(n, 2)


class Mapping(nn.Sequential):
    def __init__(self, i, h, o):
        super().__init__(nn.Linear(i, h), nn.LeakyReLU(0.2), nn.Linear(h, h), nn.LeakyReLU(0.2), nn.Linear(h, o))


gen, disc = Mapping(4, 32, 2), Mapping(2, 32, 1)
g_opt = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.5, 0.99))
d_opt = torch.optim.Adam(disc.parameters(), lr=1e-3, betas=(0.5, 0.99))
for it in range(30):
    real = ring(64)
    with torch.no_grad():
        fake = gen(torch.randn(64, 4))
    d_opt.zero_grad()
    d_loss = F.softplus(-disc(real)).mean() + F.softplus(disc(fake)).mean()
    if it % 2 == 0:
        d_loss = d_loss + r1(disc, real, 0.5)
    d_loss.backward()
    d_opt.step()

    disc.requires_grad_(False)
    g_loss = F.softplus(-disc(gen(torch.randn(64, 4)))).mean()
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
    for p in disc.parameters():
        p.requires_grad = True
    if it % 10 == 0:
        print(f"{it} d {d_loss:.3f} g {g_loss:.3f}")
