# expect: missing-zero-grad line 29, 31, 32

import torch
import torch.nn as nn

torch.manual_seed(3)
latent = 8
G = nn.Sequential(nn.Linear(latent, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()


def real_batch(n):
    t = torch.rand(n) * 6.2831853
    return torch.stack([torch.cos(t), torch.sin(t)], 1) + 0.05 * torch.randn(n, 2)


for it in range(120):
    x = real_batch(32)
    z = torch.randn(32, latent)
    # discriminator
    opt_d.zero_grad()
    d_loss = bce(D(x), torch.ones(32, 1)) + bce(D(G(z).detach()), torch.zeros(32, 1))
    d_loss.backward()
    opt_d.step()
    # generator
    opt_d.zero_grad()
    g_loss = bce(D(G(z)), torch.ones(32, 1))
    g_loss.backward()
    opt_g.step()
    if it % 40 == 0:
        print(it, d_loss.item(), g_loss.item())
