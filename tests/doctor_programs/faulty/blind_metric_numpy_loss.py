# expect: detached-graph line 10, 11
# The contrastive distance is computed in numpy and wrapped again.

import numpy as np
import torch
from torch import nn


def pair_distance(a, b):
    d = np.linalg.norm(a.detach().numpy() - b.detach().numpy(), axis=1)
    return torch.tensor(d, requires_grad=True)


torch.manual_seed(9)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
left, right = torch.randn(40, 6), torch.randn(40, 6)
same = torch.randint(0, 2, (40,)).float()
for epoch in range(15):
    opt.zero_grad()
    dist = pair_distance(net(left), net(right))
    loss = (same * dist**2 + (1 - same) * (1.0 - dist).clamp(min=0) ** 2).mean()
    loss.backward()
    opt.step()
print("loss", loss.item())
