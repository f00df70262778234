# expect: step-before-backward line 38

import torch
from torch import nn
import torch.nn.functional as F


class VAE(nn.Module):
    def __init__(self, d=16, z=4):
        super().__init__()
        self.enc = nn.Linear(d, 32)
        self.mu = nn.Linear(32, z)
        self.logvar = nn.Linear(32, z)
        self.dec = nn.Sequential(nn.Linear(z, 32), nn.ReLU(), nn.Linear(32, d))

    def forward(self, x):
        h = F.relu(self.enc(x))
        mu, lv = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * lv)
        return self.dec(z), mu, lv


def elbo(r, x, mu, lv):
    rec = F.mse_loss(r, x, reduction="none").sum(1).mean()
    kl = -0.5 * (1 + lv - mu**2 - lv.exp()).sum(1).mean()
    return rec + 0.1 * kl


torch.manual_seed(0)
basis = torch.randn(3, 16)
data = torch.randn(256, 3) @ basis
vae = VAE()
opt = torch.optim.Adam(vae.parameters(), 1e-3)
for ep in range(8):
    for xb in data.split(32):
        r, mu, lv = vae(xb)
        loss = elbo(r, xb, mu, lv)
        opt.step()
        opt.zero_grad()
        loss.backward()
    print(ep, loss.item())
