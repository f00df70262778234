# expect: zero-grad-before-step line 19

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(64, 8)
y = x[:, :1] * 2 - x[:, 1:2]
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))

opt = torch.optim.Adam(net.parameters(), lr=0.01)


def train(xb, yb):
    loss = F.mse_loss(net(xb), yb)
    loss.backward()
    for p in net.parameters():
        p.grad = None
    opt.step()
    return loss.item()


for i in range(20):
    train(x, y)
