# expect: detached-graph line 19
# The reparameterisation uses mu.data, so the encoder's mean gets no gradient from the decoder.

import torch
import torch.nn.functional as F
from torch import nn


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(10, 20)
        self.mu = nn.Linear(20, 3)
        self.logvar = nn.Linear(20, 3)
        self.dec = nn.Sequential(nn.Linear(3, 20), nn.ReLU(), nn.Linear(20, 10))

    def reparam(self, mu, logvar):
        std = (0.5 * logvar).exp()
        return torch.normal(mu.data, std.data)

    def forward(self, x):
        h = F.relu(self.enc(x))
        mu, logvar = self.mu(h), self.logvar(h)
        z = self.reparam(mu, logvar)
        return self.dec(z)


torch.manual_seed(12)
vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=1e-3)
X = torch.randn(128, 4) @ torch.randn(4, 10)
for epoch in range(10):
    for xb in X.split(32):
        rec = vae(xb)
        loss = F.mse_loss(rec, xb)
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())
