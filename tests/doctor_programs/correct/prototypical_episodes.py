# expect: nothing
# Few-shot episodes: prototypes are computed anew for each episode, inside the loop.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(419)
embed = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
optimizer = torch.optim.Adam(embed.parameters(), lr=3e-3)
classes = torch.randn(12, 10)
losses = []
for _ in range(60):
    picked = classes[torch.randperm(12)[:4]]
    support = picked.unsqueeze(1) + 0.8 * torch.randn(4, 5, 10)
    query = picked.unsqueeze(1) + 0.8 * torch.randn(4, 6, 10)
    prototypes = embed(support.view(-1, 10)).view(4, 5, -1).mean(dim=1)
    distance = torch.cdist(embed(query.view(-1, 10)), prototypes)
    loss = F.cross_entropy(-distance, torch.arange(4).repeat_interleave(6))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(sum(losses[:5]) / 5, sum(losses[-5:]) / 5)
