# expect: backward-twice line 19, 25, 29
# The distance to the pre-trained weights is computed once before fine-tuning and reused.

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1111)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
start = copy.deepcopy(model)
with torch.no_grad():
    for p in model.parameters():
        p.add_(0.05 * torch.randn_like(p))


def distance(a, b):
    return sum((p - q.detach()).pow(2).sum() for p, q in zip(a.parameters(), b.parameters()))


optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.randn(60, 6)
y = (x[:, 0] > 0).long()
penalty = distance(model, start)
for epoch in range(5):
    loss = F.cross_entropy(model(x), y) + 0.1 * penalty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
