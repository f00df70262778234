# expect: nothing
# GAN with several discriminator updates for one of the generator.

import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))
D = nn.Sequential(nn.Linear(2, 24), nn.LeakyReLU(0.2), nn.Dropout(0.2), nn.Linear(24, 1))
gopt = torch.optim.Adam(G.parameters(), lr=5e-4, betas=(0.5, 0.9))
dopt = torch.optim.Adam(D.parameters(), lr=5e-4, betas=(0.5, 0.9))
loss_fn = nn.functional.binary_cross_entropy_with_logits
ones, zeros = torch.full((32, 1), 0.9), torch.zeros(32, 1)


def real_batch():
    t = torch.rand(32) * 6.28
    return torch.stack([t.cos(), t.sin()], 1)


for it in range(20):
    for _ in range(3):
        with torch.no_grad():
            fake = G(torch.randn(32, 4))
        dl = loss_fn(D(real_batch()), ones) + loss_fn(D(fake), zeros)
        dopt.zero_grad()
        dl.backward()
        dopt.step()
    gl = loss_fn(D(G(torch.randn(32, 4))), ones)
    gopt.zero_grad()
    gl.backward()
    gopt.step()
print(dl.item(), gl.item())
