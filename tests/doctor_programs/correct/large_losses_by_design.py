# expect: nothing
# Summed log-likelihood over pixels: numbers in the hundreds, gradients fine for Adam.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(249)
pixels = (torch.rand(100, 144) < torch.linspace(0.05, 0.95, 144)).float()
autoencoder = nn.Sequential(nn.Linear(144, 32), nn.ReLU(), nn.Linear(32, 144))
optimizer = torch.optim.Adam(autoencoder.parameters(), lr=2e-3)
losses = []
for _ in range(15):
    for batch in pixels.split(25):
        logits = autoencoder(batch)
        nll = F.binary_cross_entropy_with_logits(logits, batch, reduction="sum") / len(batch)
        optimizer.zero_grad()
        nll.backward()
        optimizer.step()
        losses.append(nll.item())
print("nats per image", losses[0], losses[-1])
