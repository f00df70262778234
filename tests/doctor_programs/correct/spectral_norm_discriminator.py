# expect: nothing
# Spectral normalisation rewrites the weight in each forward by design.

import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm

torch.manual_seed(257)
net = nn.Sequential(
    spectral_norm(nn.Linear(4, 32)), nn.LeakyReLU(0.1), spectral_norm(nn.Linear(32, 1))
)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
losses = []
for _ in range(60):
    real, fake = torch.randn(32, 4) + 1.0, torch.randn(32, 4) - 1.0
    loss = torch.relu(1 - net(real)).mean() + torch.relu(1 + net(fake)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print("hinge", losses[0], losses[-1])
