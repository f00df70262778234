# expect: nothing
# Least-squares GAN: scores are compared with the plain numbers 1 and 0.

import torch
from torch import nn

torch.manual_seed(1014)
gen = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))
disc = nn.Sequential(nn.Linear(2, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
opt_g = torch.optim.Adam(gen.parameters(), lr=3e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(disc.parameters(), lr=3e-3, betas=(0.5, 0.999))
center = torch.tensor([-1.0, 1.0])


def gap():
    with torch.no_grad():
        return (gen(torch.randn(300, 4)).mean(0) - center).norm().item()


first = gap()
for _ in range(120):
    real = center + 0.3 * torch.randn(48, 2)
    fake = gen(torch.randn(48, 4))
    loss_d = ((disc(real) - 1) ** 2).mean() + (disc(fake.detach()) ** 2).mean()
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()
    loss_g = ((disc(fake) - 1) ** 2).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
print(first, gap())
