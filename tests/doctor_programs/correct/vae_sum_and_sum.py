# expect: nothing
# A VAE whose two terms are both summed over features and averaged over the batch.

import torch
import torch.nn.functional as F
from torch import nn


class VAE(nn.Module):
    def __init__(self, dim=16, latent=3):
        super().__init__()
        self.enc = nn.Linear(dim, 32)
        self.mu, self.logvar = nn.Linear(32, latent), nn.Linear(32, latent)
        self.dec = nn.Sequential(nn.Linear(latent, 32), nn.ReLU(), nn.Linear(32, dim))

    def forward(self, x):
        h = F.relu(self.enc(x))
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.dec(z), mu, logvar


def elbo(recon, x, mu, logvar):
    rec = F.mse_loss(recon, x, reduction="sum") / x.size(0)
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / x.size(0)
    return rec + kl


torch.manual_seed(230)
data = torch.randn(200, 3) @ torch.randn(3, 16)
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
losses = []
for _ in range(15):
    for batch in data.split(50):
        recon, mu, logvar = model(batch)
        loss = elbo(recon, batch, mu, logvar)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print("elbo", losses[0], losses[-1])
