# expect: nothing
# Between G's backward and G's step only D's stray gradients are cleared.

import torch
from torch import nn

torch.manual_seed(1001)
gen = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
disc = nn.Sequential(nn.Linear(1, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt_g = torch.optim.Adam(gen.parameters(), lr=5e-3)
opt_d = torch.optim.Adam(disc.parameters(), lr=1e-2)


def offset():
    with torch.no_grad():
        return (gen(torch.randn(300, 2)).mean() - 1.5).abs().item()


first = offset()
for _ in range(120):
    real = 1.5 + 0.3 * torch.randn(32, 1)
    fake = gen(torch.randn(32, 2)).detach()
    loss_d = (disc(real) - 1).pow(2).mean() + disc(fake).pow(2).mean()
    loss_d.backward()
    opt_d.step()
    opt_d.zero_grad()

    loss_g = (disc(gen(torch.randn(32, 2))) - 1).pow(2).mean()
    loss_g.backward()
    opt_d.zero_grad()
    opt_g.step()
    opt_g.zero_grad()
print(first, offset())
