# expect: detached-graph line 15, 16

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
trunk = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
head = nn.Linear(16, 3)
params = list(trunk.parameters()) + list(head.parameters())
opt = torch.optim.Adam(params, lr=1e-3)
x = torch.randn(120, 8)
y = x[:, :3].argmax(1)
for step in range(30):
    with torch.no_grad():
        feats = trunk(x)
    loss = F.cross_entropy(head(feats), y)
    loss = loss + 1e-4 * sum((p**2).sum() for p in params)
    opt.zero_grad()
    loss.backward()
    opt.step()
