# expect: detached-graph line 23
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal, kl_divergence

torch.manual_seed(19)


class BetaVAE(nn.Module):
    def __init__(self, d=16, z=3):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 32), nn.ReLU())
        self.mu, self.raw = nn.Linear(32, z), nn.Linear(32, z)
        self.dec = nn.Sequential(nn.Linear(z, 32), nn.ReLU(), nn.Linear(32, d))

    def posterior(self, x):
        h = self.enc(x)
        return Normal(self.mu(h), F.softplus(self.raw(h)) + 1e-4)

    def forward(self, x):
        q = self.posterior(x)
        z = q.sample()
        return self.dec(z), q


def elbo(logits, x, q, beta):
    rec = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1).mean()
    kl = kl_divergence(q, Normal(torch.zeros_like(q.mean), torch.ones_like(q.mean))).sum(1).mean()
    return rec + beta * kl, rec, kl


protos = (torch.rand(4, 16) > 0.5).float()
data = protos[torch.randint(0, 4, (400,))]
data = torch.where(torch.rand_like(data) < 0.05, 1 - data, data)
vae = BetaVAE()
opt = torch.optim.Adam(vae.parameters(), lr=3e-3)
for epoch in range(6):
    for xb in data[torch.randperm(400)].split(50):
        logits, q = vae(xb)
        loss, rec, kl = elbo(logits, xb, q, beta=min(1.0, epoch / 3))
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())
