# expect: nothing

import torch
from torch import nn


class Disc(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 32)
        self.b = nn.Linear(33, 1)

    def forward(self, x):
        h = nn.functional.leaky_relu(self.a(x), 0.2)
        spread = h.std(0).mean().expand(len(h), 1)
        return self.b(torch.cat([h, spread], 1))


torch.manual_seed(0)
D, G = Disc(), nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
od, og = torch.optim.Adam(D.parameters(), 1e-3), torch.optim.Adam(G.parameters(), 1e-3)
for i in range(30):
    real = torch.randn(32, 2) + 2
    fake = G(torch.randn(32, 4))
    ld = nn.functional.softplus(-D(real)).mean() + nn.functional.softplus(D(fake.detach())).mean()
    od.zero_grad()
    ld.backward()
    od.step()
    lg = nn.functional.softplus(-D(fake)).mean()
    og.zero_grad()
    lg.backward()
    og.step()
