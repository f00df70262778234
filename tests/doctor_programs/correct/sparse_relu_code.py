# expect: nothing
# A sparse code with an L1 penalty: most ReLU units are off for most samples, none is dead.

import torch
from torch import nn

torch.manual_seed(250)
encoder = nn.Linear(12, 48)
decoder = nn.Linear(48, 12)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=5e-3)
atoms = torch.randn(16, 12)
losses = []
for _ in range(120):
    weights = torch.rand(64, 16) * (torch.rand(64, 16) < 0.15)
    x = weights @ atoms
    code = torch.relu(encoder(x) - 0.2)
    loss = (decoder(code) - x).pow(2).mean() + 0.05 * code.abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print("share of active units", (code > 0).float().mean().item())
print("loss", losses[0], losses[-1])
