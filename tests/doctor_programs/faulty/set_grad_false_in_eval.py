# expect: detached-graph line 16

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(90, 8)
y = x[:, :3].argmax(1)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))

opt = torch.optim.Adam(net.parameters(), lr=0.01)


def evaluate():
    torch.set_grad_enabled(False)
    return (net(x).argmax(1) == y).float().mean().item()


for epoch in range(5):
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(evaluate())
