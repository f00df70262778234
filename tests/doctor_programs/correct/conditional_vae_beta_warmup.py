# expect: nothing
# A conditional VAE whose KL weight grows from zero: the first epochs ignore the KL on purpose.

import torch
import torch.nn.functional as F
from torch import nn


class CVAE(nn.Module):
    def __init__(self, dim=10, classes=3, latent=2):
        super().__init__()
        self.enc = nn.Linear(dim + classes, 24)
        self.mu, self.logvar = nn.Linear(24, latent), nn.Linear(24, latent)
        self.dec = nn.Sequential(nn.Linear(latent + classes, 24), nn.ReLU(), nn.Linear(24, dim))

    def forward(self, x, c):
        h = F.relu(self.enc(torch.cat([x, c], dim=1)))
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(torch.cat([z, c], dim=1)), mu, logvar


torch.manual_seed(721)
label = torch.randint(0, 3, (150,))
c = F.one_hot(label, 3).float()
x = torch.randn(3, 10)[label] + torch.randn(150, 2) @ torch.randn(2, 10)
model = CVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
recon_history = []
for epoch in range(15):
    beta = min(1.0, epoch / 10)
    for xb, cb in zip(x.split(50), c.split(50)):
        out, mu, logvar = model(xb, cb)
        recon = (out - xb).pow(2).sum(dim=1).mean()
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(dim=1).mean()
        optimizer.zero_grad()
        (recon + beta * kl).backward()
        optimizer.step()
        recon_history.append(recon.item())
print(recon_history[0], recon_history[-1])
