# expect: detached-graph line 42
import torch
from torch import nn, autograd
import torch.nn.functional as F

torch.manual_seed(8)


def block(i, o):
    return nn.Sequential(nn.Linear(i, o), nn.LeakyReLU(0.2))


G = nn.Sequential(block(8, 32), block(32, 32), nn.Linear(32, 2))
D = nn.Sequential(block(2, 32), block(32, 32), nn.Linear(32, 1))
g_opt = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.99))
d_opt = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.0, 0.99))
r1_gamma, d_reg_every = 1.0, 4


def real_batch(n):
    ang = torch.rand(n) * 6.2832
    return torch.stack([ang.cos(), ang.sin()], 1) + 0.05 * torch.randn(n, 2)


for step in range(40):
    real = real_batch(32)
    fake = G(torch.randn(32, 8)).detach()
    d_loss = F.softplus(D(fake)).mean() + F.softplus(-D(real)).mean()
    d_opt.zero_grad()
    d_loss.backward()
    d_opt.step()

    if step % d_reg_every == 0:
        real = real_batch(32).requires_grad_(True)
        out = D(real)
        (grad,) = autograd.grad(out.sum(), real, create_graph=True)
        penalty = grad.pow(2).sum(1).mean()
        d_opt.zero_grad()
        (r1_gamma / 2 * penalty * d_reg_every).backward()
        d_opt.step()

    g_loss = F.softplus(-D(G(torch.randn(32, 8)).detach())).mean()
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
print(d_loss.item(), g_loss.item(), penalty.item())
