# expect: nothing
# MoCo: a queue of detached keys, a key encoder that follows by averaging.

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(418)
query_net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8))
key_net = copy.deepcopy(query_net).requires_grad_(False)
queue = F.normalize(torch.randn(64, 8), dim=1)
pointer = 0
optimizer = torch.optim.SGD(query_net.parameters(), lr=0.1, momentum=0.9)
losses = []
for _ in range(60):
    x = torch.randn(16, 8)
    q = F.normalize(query_net(x + 0.1 * torch.randn_like(x)), dim=1)
    with torch.no_grad():
        for k, p in zip(key_net.parameters(), query_net.parameters()):
            k.mul_(0.98).add_(p, alpha=0.02)
        key = F.normalize(key_net(x + 0.1 * torch.randn_like(x)), dim=1)
    positive = (q * key).sum(dim=1, keepdim=True)
    logits = torch.cat([positive, q @ queue.clone().t()], dim=1) / 0.2
    loss = F.cross_entropy(logits, torch.zeros(16, dtype=torch.long))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    queue[pointer : pointer + 16] = key
    pointer = (pointer + 16) % 64
    losses.append(loss.item())
print(sum(losses[:4]) / 4, sum(losses[-4:]) / 4)
