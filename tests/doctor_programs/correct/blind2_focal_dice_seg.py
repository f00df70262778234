# expect: nothing

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(8, 8, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(8, 1, 1),
)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)


def dice(p, t, eps=1.0):
    inter = (p * t).sum((1, 2, 3))
    return (1 - (2 * inter + eps) / (p.sum((1, 2, 3)) + t.sum((1, 2, 3)) + eps)).mean()


def focal(l, t, g=2.0):
    b = F.binary_cross_entropy_with_logits(l, t, reduction="none")
    return ((1 - torch.exp(-b)) ** g * b).mean()


for i in range(25):
    m = (F.interpolate(torch.rand(8, 1, 3, 3), size=12) > 0.6).float()
    x = m + 0.3 * torch.randn_like(m)
    l = net(x)
    loss = focal(l, m) + dice(torch.sigmoid(l), m)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
