# expect: detached-graph line 18

import torch
import torch.nn as nn
import torch.nn.functional as F


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(16, 32)
        self.mu = nn.Linear(32, 4)
        self.logvar = nn.Linear(32, 4)
        self.dec = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 16))

    def reparam(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        z = torch.normal(mu.data, std.data)
        return z

    def forward(self, x):
        h = F.relu(self.enc(x))
        mu, logvar = self.mu(h), self.logvar(h)
        return self.dec(self.reparam(mu, logvar)), mu, logvar


torch.manual_seed(0)
vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=2e-3)
base = torch.randn(4, 16)
for it in range(40):
    x = torch.sigmoid(torch.randn(32, 4) @ base)
    rec, mu, lv = vae(x)
    bce = F.binary_cross_entropy_with_logits(rec, x, reduction="sum") / 32
    kl = -0.5 * torch.sum(1 + lv - mu.pow(2) - lv.exp()) / 32
    loss = bce + kl
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 10 == 0:
        print(loss.item())
