# expect: nothing
# Triplet loss with hard negatives chosen from detached distances.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(252)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
centers = torch.randn(5, 6)
losses = []
for _ in range(40):
    label = torch.arange(5).repeat_interleave(6)
    z = net(centers[label] + 0.5 * torch.randn(30, 6))
    with torch.no_grad():
        distance = torch.cdist(z, z)
        same = label.unsqueeze(0) == label.unsqueeze(1)
        positive = distance.masked_fill(~same, -1.0).argmax(1)
        negative = distance.masked_fill(same, float("inf")).argmin(1)
    loss = F.triplet_margin_loss(z, z[positive], z[negative], margin=1.0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(sum(losses[:5]) / 5, sum(losses[-5:]) / 5)
