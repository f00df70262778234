# expect: nothing

import torch
from torch import nn

torch.manual_seed(0)
G, D = (
    nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2)),
    nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1)),
)
both = [*G.parameters(), *D.parameters()]
og, od = torch.optim.Adam(G.parameters(), 1e-3), torch.optim.Adam(D.parameters(), 1e-3)


def decay():
    return 1e-4 * sum(p.pow(2).sum() for p in both)


for i in range(30):
    fake, real = G(torch.randn(32, 4)), torch.randn(32, 2) + 1
    ld = (
        nn.functional.softplus(-D(real)).mean()
        + nn.functional.softplus(D(fake.detach())).mean()
        + decay()
    )
    og.zero_grad()
    od.zero_grad()
    ld.backward()
    od.step()
    lg = nn.functional.softplus(-D(fake)).mean() + decay()
    og.zero_grad()
    od.zero_grad()
    lg.backward()
    og.step()
