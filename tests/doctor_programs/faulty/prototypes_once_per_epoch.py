# expect: backward-twice line 17, 23
# The class prototypes are computed once per epoch and used by the loss of every batch.

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(323)
embed = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 6))
optimizer = torch.optim.Adam(embed.parameters(), lr=3e-3)
support = torch.randn(4, 10, 5) + 2 * torch.eye(4, 5).unsqueeze(1)
query = torch.randn(4, 12, 5) + 2 * torch.eye(4, 5).unsqueeze(1)
labels = torch.arange(4).unsqueeze(1).expand(4, 12).reshape(-1)
queries = query.reshape(-1, 5)

for epoch in range(3):
    prototypes = embed(support.reshape(-1, 5)).view(4, 10, -1).mean(dim=1)
    order = torch.randperm(48)
    for index in order.split(16):
        distance = torch.cdist(embed(queries[index]), prototypes)
        loss = F.cross_entropy(-distance, labels[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
