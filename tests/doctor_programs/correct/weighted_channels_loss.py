# expect: nothing
# Per-channel weights of shape (1, C, 1, 1) broadcast over the error map on purpose.

import torch
from torch import nn

torch.manual_seed(274)
clean = torch.rand(24, 3, 8, 8)
noisy = clean + 0.1 * torch.randn_like(clean)
weight = torch.tensor([0.3, 0.6, 0.1]).view(1, 3, 1, 1)
net = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 3, 3, padding=1))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
losses = []
for _ in range(6):
    for a, b in zip(noisy.split(8), clean.split(8)):
        loss = (weight * (net(a) - b) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(losses[0], losses[-1])
