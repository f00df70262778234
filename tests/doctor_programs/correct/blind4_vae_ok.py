# expect: nothing

import torch
from torch import nn
import torch.nn.functional as F


class VAE(nn.Module):
    def __init__(self, d, z):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 48), nn.ReLU())
        self.mu, self.lv = nn.Linear(48, z), nn.Linear(48, z)
        self.dec = nn.Sequential(nn.Linear(z, 48), nn.ReLU(), nn.Linear(48, d))

    def forward(self, x):
        h = self.enc(x)
        mu, lv = self.mu(h), self.lv(h)
        std = torch.exp(0.5 * lv)
        return self.dec(mu + std * torch.randn_like(std)), mu, lv


def loss_fn(r, x, mu, lv):
    bce = F.binary_cross_entropy_with_logits(r, x, reduction="sum")
    kld = -0.5 * torch.sum(1 + lv - mu.pow(2) - lv.exp())
    return (bce + kld) / x.size(0)


torch.manual_seed(0)
data = (torch.rand(6, 20) > 0.5).float()[torch.randint(0, 6, (320,))]
net = VAE(20, 4)
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for ep in range(10):
    for xb in data.split(32):
        opt.zero_grad()
        r, mu, lv = net(xb)
        loss = loss_fn(r, xb, mu, lv)
        loss.backward()
        opt.step()
    print(ep, loss.item())
