# expect: detached-graph line 29

import torch
from torch import nn
from torch.distributions import Normal, kl_divergence

torch.manual_seed(1)


class Enc(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, 32), nn.Tanh())
        self.loc = nn.Linear(32, 3)
        self.scale = nn.Linear(32, 3)

    def forward(self, x):
        h = self.body(x)
        return Normal(self.loc(h), nn.functional.softplus(self.scale(h)) + 1e-3)


enc, dec = Enc(), nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 20))
optim = torch.optim.Adam(list(enc.parameters()) + list(dec.parameters()), lr=1e-3)
prior = Normal(torch.zeros(3), torch.ones(3))
data = torch.randn(128, 20)
for epoch in range(6):
    for b in data.split(32):
        q = enc(b)
        z = q.sample()
        recon = ((dec(z) - b) ** 2).sum(1)
        kl = kl_divergence(q, prior).sum(1)
        loss = (recon + kl).mean()
        optim.zero_grad()
        loss.backward()
        optim.step()
