# expect: wrong-reduction line 28, 29, 30

import torch
from torch import nn
import torch.nn.functional as F


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Linear(32, 48)
        self.mu, self.lv = nn.Linear(48, 6), nn.Linear(48, 6)
        self.d = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 32))

    def forward(self, x):
        h = F.relu(self.e(x))
        mu, lv = self.mu(h), self.lv(h)
        return self.d(mu + torch.randn_like(mu) * (0.5 * lv).exp()), mu, lv


torch.manual_seed(0)
net = VAE()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
data = torch.tanh(torch.randn(320, 4) @ torch.randn(4, 32))
for ep in range(8):
    for xb in data.split(32):
        rec, mu, lv = net(xb)
        bce = F.mse_loss(rec, xb)
        kld = -0.5 * torch.sum(1 + lv - mu.pow(2) - lv.exp())
        loss = bce + kld
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(ep, bce.item(), kld.item())
