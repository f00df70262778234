# expect: nothing

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 2))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)


def fgsm(x, y, eps=0.1):
    d = torch.zeros_like(x, requires_grad=True)
    l = F.cross_entropy(net(x + d), y)
    l.backward()
    return (x + eps * d.grad.sign()).detach()


for i in range(80):
    x = torch.randn(32, 8)
    y = (x[:, :2].sum(1) > 0).long()
    adv = fgsm(x, y)
    opt.zero_grad()
    loss = 0.5 * F.cross_entropy(net(x), y) + 0.5 * F.cross_entropy(net(adv), y)
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(i, loss.item())
