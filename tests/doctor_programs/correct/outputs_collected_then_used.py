# expect: nothing
# Outputs of several chunks are collected with their graphs, one loss over all of them follows.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1004)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 6))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
base = torch.randn(48, 8)
losses = []
for _ in range(30):
    outputs = []
    for chunk in base.split(12):
        outputs.append(net(chunk + 0.1 * torch.randn_like(chunk)))
        outputs.append(net(chunk + 0.1 * torch.randn_like(chunk)))
    za = F.normalize(torch.cat(outputs[0::2]), dim=1)
    zb = F.normalize(torch.cat(outputs[1::2]), dim=1)
    loss = F.cross_entropy(za @ zb.t() / 0.2, torch.arange(48))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
