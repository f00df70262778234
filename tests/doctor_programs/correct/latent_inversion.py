# expect: nothing
# A latent code is fitted through a fixed decoder whose own gradients nobody uses.

import torch
from torch import nn

torch.manual_seed(522)
decoder = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 12)).eval()
with torch.no_grad():
    image = decoder(torch.randn(1, 4))
code = torch.zeros(1, 4, requires_grad=True)
optimizer = torch.optim.Adam([code], lr=0.05)
losses = []
for _ in range(60):
    loss = nn.functional.mse_loss(decoder(code), image)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
