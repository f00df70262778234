# expect: detached-graph line 15

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(90, 8)
y = x[:, :3].argmax(1)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))

opt = torch.optim.Adam(net.parameters(), lr=0.01)


@torch.no_grad()
def compute_loss(xb, yb):
    return F.cross_entropy(net(xb), yb)


for i in range(5):
    loss = compute_loss(x, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
