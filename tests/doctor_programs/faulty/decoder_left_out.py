# expect: param-not-in-optimizer line 9, 10
# Only the encoder was passed to the optimizer, the decoder receives gradients and never moves.

import torch
from torch import nn

torch.manual_seed(48)
encoder = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 2 * 3))
decoder = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 16))
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-2)
data = torch.randn(200, 3) @ torch.randn(3, 16)


def vae_loss(x):
    mu, logvar = encoder(x).chunk(2, dim=1)
    z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
    recon = decoder(z)
    recon_loss = (recon - x).pow(2).sum(dim=1).mean()
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(dim=1).mean()
    return recon_loss + kl


for epoch in range(8):
    for batch in data.split(50):
        encoder.zero_grad()
        decoder.zero_grad()
        loss = vae_loss(batch)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
